package execution

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// conclusion knows why the execution ends, and in which state: a user cancelled it, it
// exceeded its timeout, it cannot begin, a node failed, or all of its nodes ended.
type conclusion struct {
	loop *loop

	cancelled    bool // a user requested the end
	cancelReason string
	timedOut     bool           // it exceeded the timeout of its definition
	refused      *query.Failure // why the execution cannot begin
	failure      *query.Failure // the first node's that failed
	failedAt     time.Time
}

func newConclusion(l *loop) *conclusion {
	co := &conclusion{loop: l}
	co.readCancellation(l.row)
	return co
}

// readCancellation takes from the row whether a user requested the end.
func (co *conclusion) readCancellation(row db.Execution) {
	co.cancelled, co.cancelReason = row.CancelRequestedAt != nil, row.CancelReason
}

// haltIfCancelled stops the nodes if a user requested the end.
func (co *conclusion) haltIfCancelled() {
	if co.cancelled && !co.loop.progress.RootHalted() {
		co.loop.unseen.add(co.loop.progress.Halt(dag.Root, true)...)
	}
}

// setTimeout sets the timer of the execution's own timeout, once it has begun.
func (co *conclusion) setTimeout() {
	l := co.loop
	if timeout := l.version.Definition.Timeout; timeout > 0 && l.row.StartedAt != nil {
		l.timers.add(executionTimer, l.row.StartedAt.Add(timeout))
	}
}

// timeOut ends the execution because it exceeded its timeout.
func (co *conclusion) timeOut(now time.Time) {
	if co.timedOut || co.loop.progress.RootHalted() {
		return
	}
	co.timedOut = true
	co.halt(now, co.timeoutFailure())
}

func (co *conclusion) timeoutFailure() *query.Failure {
	return &query.Failure{Code: "timeout", Message: fmt.Sprintf("The execution ran longer than its timeout of %s.", co.loop.version.Definition.Timeout)}
}

// refuse ends an execution that cannot begin.
func (co *conclusion) refuse(why *query.Failure) {
	co.refused = why
	co.halt(co.loop.driver.now(), why)
}

// halt stops the nodes, and records why.
func (co *conclusion) halt(now time.Time, why *query.Failure) {
	co.loop.unseen.add(co.loop.progress.Halt(dag.Root, false)...)
	co.loop.batch.event(eventRow{At: now, Kind: query.EventExecutionHalted, Message: why.Message})
}

// noteFailure records the failure of node i if it is the first that counts.
func (co *conclusion) noteFailure(i int, failure *query.Failure, at time.Time) {
	if co.failure == nil && co.loop.groups.counts(i) {
		co.failure, co.failedAt = failure, at
	}
}

// restoreFailure records the failure of node i, which has failed, if no earlier one is known.
func (co *conclusion) restoreFailure(i int) {
	n := &co.loop.nodes[i]
	if co.loop.progress.Unhandled(i) && (co.failure == nil || n.finishedAt.Before(co.failedAt)) {
		co.failure, co.failedAt = n.failure, *n.finishedAt
	}
}

// firstFailure is the failure of the node that failed first, among those for which counts
// returns true; nil when none has.
func (co *conclusion) firstFailure(counts func(int) bool) *query.Failure {
	l := co.loop
	var first *nodeState
	for i := range l.nodes {
		n := &l.nodes[i]
		if l.progress.State(i) == dag.Failed && n.failure != nil && counts(i) && (first == nil || n.finishedAt.Before(*first.finishedAt)) {
			first = n
		}
	}
	if first == nil {
		return nil
	}
	co.failedAt = *first.finishedAt
	return first.failure
}

// cancelledAlone returns the failure of an execution without failed nodes: the node that a
// user cancelled.
func (co *conclusion) cancelledAlone() *query.Failure {
	l := co.loop
	for i := range l.nodes {
		if n := &l.nodes[i]; n.cancelled != nil && l.progress.State(i) == dag.Cancelled {
			return &query.Failure{Code: "cancelled", Message: n.name + ": " + n.cancelled.Message, Node: n.name, Attempt: n.attempt}
		}
	}
	return co.failure
}

// stopReason explains why node i ends that never began, or that was stopped.
func (co *conclusion) stopReason(i int) *query.Reason {
	l := co.loop
	if own := l.nodes[i].cancelled; own != nil {
		return own
	}
	if scope := l.progress.ScopeOf(i); !l.progress.RootHalted() && scope != dag.Root {
		return co.causeReason(l.progress.Cause(scope))
	}
	return co.haltReason()
}

// causeReason explains why a node ends because cause, which it depends on, ended.
func (co *conclusion) causeReason(cause int) *query.Reason {
	l := co.loop
	if cause < 0 || l.progress.RootHalted() {
		return co.haltReason()
	}
	verb := "was cancelled"
	if l.progress.State(cause) == dag.Failed {
		verb = "failed (fail-fast is on)"
	}
	return &query.Reason{Code: ReasonCancelled, Message: fmt.Sprintf("%s %s.", l.nodes[cause].name, verb)}
}

// haltReason explains why nodes end without having begun.
func (co *conclusion) haltReason() *query.Reason {
	text := "The execution was cancelled."
	if !co.cancelled {
		text = "The execution failed."
		if co.failure != nil {
			text = fmt.Sprintf("The execution stopped because %s failed.", co.failure.Node)
		}
	}
	return &query.Reason{Code: ReasonHalted, Message: text}
}

// state returns the state in which the execution ends, or would end if only exit handlers
// are open.
func (co *conclusion) state() query.State {
	by := dag.Uninterrupted
	switch {
	case co.cancelled:
		by = dag.ByPerson
	case co.refused != nil:
		return query.Failed
	case co.timedOut:
		by = dag.ByTimeout
	}
	return query.State(co.loop.progress.Conclude(by))
}

// finish ends the execution: every node has ended.
func (co *conclusion) finish(ctx context.Context, now time.Time) error {
	l := co.loop
	l.status = co.state()
	stopped := l.progress.Count(dag.Cancelled) > 0
	switch {
	case l.status == query.Cancelled && co.cancelled:
		co.failure = &query.Failure{Code: "cancelled", Message: withReason("The execution was cancelled", co.cancelReason)}
	case l.status == query.Cancelled:
		co.failure = co.cancelledAlone()
	case co.refused != nil:
		co.failure = co.refused
	case co.timedOut && stopped:
		co.failure = co.timeoutFailure()
	case l.status == query.Failed && co.failure == nil: // tolerated, yet the execution failed
		co.failure = co.firstFailure(func(int) bool { return true })
	}
	if l.status == query.Succeeded {
		co.failure = nil
		outputs, err := l.values.workflowOutputs(ctx)
		switch {
		case isUnreadable(err):
			return err
		case err != nil:
			l.status, co.failure = query.Failed, &query.Failure{Code: "outputs", Message: "An output of the workflow could not be evaluated: " + sentence(err)}
		default:
			l.row.Outputs = outputs
		}
	}
	l.row.FinishedAt = &now
	l.batch.finished = true
	if l.admission.admitted {
		l.admission.release(fair.ExecutionItself, oneExecution())
	} else {
		l.driver.quota.Withdraw(l.id, nil) // an offer must not start an execution that has ended
	}
	text := ""
	if co.failure != nil {
		text = co.failure.Message
	}
	l.batch.event(eventRow{At: now, Kind: query.EventKind("execution." + strings.ToLower(string(l.status))), Message: clean(text, maxMessage)})
	return nil
}
