package execution

import (
	"time"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
)

// ending is the end of node i, a group, for its retry policy: the end of the first
// failed task in it, with the message of the group.
func (gs *nodeGroups) ending(i int, now time.Time, failure *query.Failure) (ending, *query.Failure) {
	cause := failure
	for at, ok := gs.firstFailed(i); ok && gs.loop.nodes[at].failure != nil; at, ok = gs.firstFailed(at) {
		cause = gs.loop.nodes[at].failure
	}
	e := ending{
		Outcome: outcomeOfCode(cause.Code), Class: classOf(cause.Code), ExitCode: cause.ExitCode, Message: cause.Message,
		StartedAt: gs.loop.nodes[i].startedAt, FinishedAt: now,
	}
	return e, &query.Failure{Code: cause.Code, Message: failure.Message, ExitCode: cause.ExitCode, Class: cause.Class}
}

// firstFailed is the first failed node of the group of node i.
func (gs *nodeGroups) firstFailed(i int) (int, bool) {
	first, found := 0, false
	base, size := gs.loop.nodes[i].children.first, gs.loop.nodes[i].children.count
	for k := base; k < base+size; k++ {
		at := gs.loop.nodes[k].finishedAt
		if gs.loop.progress.State(k) == dag.Failed && at != nil && (!found || at.Before(*gs.loop.nodes[first].finishedAt)) {
			first, found = k, true
		}
	}
	return first, found
}

// outcomeOfCode returns the outcome of the attempt that left a failure with this code.
func outcomeOfCode(code string) outcome {
	switch code {
	case "timeout":
		return timedOut
	case "start_failed", "expand", "condition":
		return startFailed
	case "interrupted":
		return interrupted
	case "output":
		return outputFailed
	case "preempted":
		return preempted
	case "lost":
		return lost
	}
	if class := classOf(code); class != "" {
		return outcomeOfClass(launcher.Class(class))
	}
	return failed
}
