package runner

import (
	"context"
	"path/filepath"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// work prepares and runs the work in the spec.
func (a *attempt) work() ending {
	key := a.checkpointKey()
	p, copied, err := a.s.slots.take(a.spec.TaskId, key, a.spec.CheckpointFrom, codeKey(a.spec))
	if err != nil {
		return startFailed("The attempt's folder could not be created: " + err.Error() + ".")
	}
	if pod := a.s.config.Pod; pod != nil && pod.Private != "" && len(a.spec.Secrets) > 0 {
		p.inputs = filepath.Join(pod.Private, "inputs.json")
	}
	a.mu.Lock()
	a.paths = p
	a.mu.Unlock()
	if a.s.config.Pod != nil && key != "" {
		a.saver = newFolderSaver(a)
	}
	a.box.log.at(p.log)
	if copied {
		a.system(levelInfo, "Resuming from the checkpoints of the original execution.")
	}
	if a.alreadyEnded() {
		return stopped(context.Cause(a.ctx), -1)
	}
	switch work := a.spec.Work.(type) {
	case *flowforgev1.AttemptSpec_Process:
		return a.runProcess(work.Process)
	case *flowforgev1.AttemptSpec_Http:
		return a.runHTTP(work.Http)
	case *flowforgev1.AttemptSpec_Sql:
		return a.runSQL(work.Sql)
	case *flowforgev1.AttemptSpec_Object:
		return runObjectSearch(a, work.Object)
	case *flowforgev1.AttemptSpec_Grpc:
		return runGRPC(a, work.Grpc)
	}
	return startFailed("The operator has nothing to run.")
}
