package execution

import (
	"time"

	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
)

// groupEnding is the end of node i, a group, for its retry policy: the end of the first
// failed task in it, with the message of the group.
func (l *loop) groupEnding(i int, now time.Time, failure *query.Failure) (ending, *query.Failure) {
	cause := failure
	for at, ok := l.firstFailed(i); ok && l.nodes[at].failure != nil; at, ok = l.firstFailed(at) {
		cause = l.nodes[at].failure
	}
	e := ending{
		Outcome: outcomeOfCode(cause.Code), Class: classOf(cause.Code), ExitCode: cause.ExitCode, Message: cause.Message,
		StartedAt: l.nodes[i].startedAt, FinishedAt: now,
	}
	return e, &query.Failure{Code: cause.Code, Message: failure.Message, ExitCode: cause.ExitCode, Class: cause.Class}
}

// firstFailed is the first failed node of the group of node i.
func (l *loop) firstFailed(i int) (int, bool) {
	first, found := 0, false
	base, size := l.nodes[i].children.first, l.nodes[i].children.count
	for k := base; k < base+size; k++ {
		at := l.nodes[k].finishedAt
		if l.progress.State(k) == dag.Failed && at != nil && (!found || at.Before(*l.nodes[first].finishedAt)) {
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
