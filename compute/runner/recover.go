package runner

import (
	"os"
	"path/filepath"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// recover handles the slots of an earlier runner: it delivers results and logs, keeps
// checkpoints for the next attempt, and removes the other files.
func (s *Supervisor) recover() {
	names, _ := readNames(s.slots.dir)
	for _, name := range names {
		p := s.slots.paths(filepath.Join(s.slots.dir, name))
		_ = os.Remove(p.inputs) // it may hold secrets
		taskID, key := readOwner(p)
		if plainName(taskID) && s.recoverAttempt(taskID, key, p) {
			continue
		}
		if err := os.RemoveAll(p.base); err != nil {
			s.logger.Warn("The folder of an old attempt could not be removed.", "folder", p.base, "error", err)
		}
	}
}

// recoverAttempt delivers the remaining reports of one attempt; it returns false when
// there are none.
func (s *Supervisor) recoverAttempt(taskID, key string, p paths) bool {
	var result flowforgev1.SpooledResult
	hasResult := readMessage(p.result, &result) == nil && result.Report.GetFinished() != nil
	if !hasResult {
		if err := s.slots.saveCheckpoints(p, key); err != nil {
			s.logger.Warn("The checkpoints of a lost attempt could not be saved.", "task", taskID, "error", err)
		}
	}
	a := s.newAttempt(&flowforgev1.AttemptSpec{TaskId: taskID, Token: result.GetReport().GetToken()})
	a.paths = p
	log, err := openLogQueue(p.log, s.reporter.away.Load, func() { s.reporter.logged(a.box) })
	if err != nil {
		s.logger.Error("A log on disk could not be read.", "task", taskID, "error", err)
	}
	if log != nil {
		a.box.log, a.box.token = log, log.token
		a.box.follows = !hasResult // its end may have announced these lines
	}
	if !hasResult && log == nil {
		return false
	}
	a.ended.Store(true)
	if hasResult {
		a.delivery.result, a.delivery.persisted = &result, true
		// Without a result the attempt is lost; a lost attempt must not be listed.
		s.attempts[taskID] = a
	}
	s.tasks.Go(a.delivery.run)
	return true
}
