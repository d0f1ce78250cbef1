package runner

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/proto"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// prepareLimit is how long a prepared attempt waits for its start.
const prepareLimit = 10 * time.Second

var errDiscarded = errors.New("the attempt was prepared but not started")

// Prepare sets up an attempt whose start the server expects, while the server still writes that
// it starts. The attempt executes nothing before Start. Prepare does nothing for attempts that
// need more than folders, variables and a package that the runner has, because they would need the
// server before their start.
func (s *Supervisor) Prepare(spec *flowforgev1.AttemptSpec) {
	if !plainName(spec.GetTaskId()) || s.config.Pod != nil || !preparable(spec) || spec.PackageSha256 != "" && !s.packages.has(spec.PackageSha256) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.attempts[spec.TaskId] != nil || s.prepared[spec.TaskId] != nil || s.recent.has(spec.TaskId)
	if s.closing || known {
		return
	}
	a := s.newAttempt(spec)
	a.gate = &gate{start: make(chan struct{}), expire: time.AfterFunc(prepareLimit, func() { s.discard(a) })}
	s.prepared[spec.TaskId] = a
	s.tasks.Go(a.run)
}

// preparable reports whether the preparation of an attempt needs only what the spec contains, and its
// package.
func preparable(spec *flowforgev1.AttemptSpec) bool {
	return spec.GetProcess() != nil && spec.Pods <= 1 && !spec.Serves &&
		len(spec.Files)+len(spec.Secrets)+len(spec.Requirements)+len(spec.Scratch)+len(spec.CheckpointFrom) == 0 && len(pathsOf(spec)) == 0
}

// takePrepared returns the prepared attempt of spec, which may now execute; nil if there is none.
// It requires the lock.
func (s *Supervisor) takePrepared(spec *flowforgev1.AttemptSpec) *attempt {
	a := s.prepared[spec.TaskId]
	if a == nil {
		return nil
	}
	delete(s.prepared, spec.TaskId)
	a.gate.expire.Stop()
	if !proto.Equal(a.spec, spec) { // the server has decided again
		a.cancel(errDiscarded)
		return nil
	}
	close(a.gate.start)
	return a
}

// discard ends a prepared attempt that was not started.
func (s *Supervisor) discard(a *attempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.prepared[a.spec.TaskId] == a {
		delete(s.prepared, a.spec.TaskId)
		a.cancel(errDiscarded)
	}
}

// gate stops a prepared attempt before it executes anything.
type gate struct {
	start  chan struct{} // closed when the attempt may execute
	expire *time.Timer   // discards the attempt
}

// await waits until the attempt with context ctx may execute; false: it was discarded. A nil gate is
// open.
func (g *gate) await(ctx context.Context) bool {
	if g == nil {
		return true
	}
	select {
	case <-g.start:
		return true
	case <-ctx.Done():
	}
	select {
	case <-g.start: // started and then stopped
		return true
	default:
		return false
	}
}

// unprepare removes what was set up for an attempt that was not started.
func (s *Supervisor) unprepare(a *attempt) {
	a.box.log.close()
	if a.paths.base == "" {
		return
	}
	if err := s.slots.saveCheckpoints(a.paths, a.checkpointKey()); err != nil {
		s.logger.Warn("The checkpoints of an attempt that was not started could not be saved.", "task", a.spec.TaskId, "error", err)
	}
	s.slots.release(a.paths)
}

// discardAll ends all prepared attempts.
func (s *Supervisor) discardAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, a := range s.prepared {
		delete(s.prepared, id)
		a.gate.expire.Stop()
		a.cancel(errDiscarded)
	}
}
