package execution

import (
	"context"
	"fmt"
	"time"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/engine/workflow"
)

// Codes of a Reason of nodes that users hold, answer or skip.
const (
	ReasonHeld     = "HELD"            // does not begin until a user releases it
	ReasonApproval = "APPROVAL"        // waits for the answer of a person
	ReasonSkipped  = "SKIPPED_BY_HAND" // a user skipped it
)

// commands carries out the commands of users to the execution and its nodes.
type commands struct {
	feature

	last   int64 // the latest command that was loaded
	paused bool  // by a user

	part commandsPart
}

type commandsPart struct {
	applied  []int64 // commands that were carried out
	deferred []int64 // commands that wait for an attempt to end
}

// done notes that a command was carried out.
func (cs *commands) done(seq int64) { cs.part.applied = append(cs.part.applied, seq) }

func (cs *commands) pending() bool { return len(cs.part.applied)+len(cs.part.deferred) > 0 }

func (cs *commands) reset() { cs.part = commandsPart{} }

// news loads the commands of users.
func (cs *commands) news(ctx context.Context) error {
	rows, err := cs.service.queries.CommandsOf(ctx, cs.id)
	if err != nil {
		return fmt.Errorf("load commands: %w", err)
	}
	for _, c := range rows {
		if c.Seq <= cs.last {
			continue
		}
		cs.last = c.Seq
		if done := cs.apply(c); done {
			cs.done(c.Seq)
		} else {
			cs.part.deferred = append(cs.part.deferred, c.Seq)
		}
	}
	return nil
}

// apply carries a command out. It reports false when an attempt has to end first.
func (cs *commands) apply(c db.NodeCommand) bool {
	if c.NodeIndex == fair.ExecutionItself {
		cs.pause(c)
		return true
	}
	i := int(c.NodeIndex)
	if i >= len(cs.nodes) {
		return true
	}
	switch Command(c.Command) {
	case CommandHold:
		cs.holdBack(i, c)
	case CommandRelease:
		cs.release(i, c)
	case CommandRetry:
		cs.retry(i, c)
	case CommandApprove, CommandReject:
		cs.answer(i, c)
	case CommandSkip, CommandSucceed:
		return cs.settleByHand(i, c)
	case CommandPause, CommandUnpause:
	}
	return true
}

// pause keeps all nodes from beginning, or continues the execution.
func (cs *commands) pause(c db.NodeCommand) {
	paused := Command(c.Command) == CommandPause
	if paused == cs.paused {
		return
	}
	cs.paused = paused
	kind := "execution.paused"
	if !paused {
		kind = "execution.unpaused"
	}
	cs.event(eventRow{At: c.OrderedAt, Kind: kind, Message: withReason(byWhom(kind, c.OrderedBy), c.Reason)})
	cs.progress.Pause(paused || cs.status == Pending)
	if paused {
		cs.service.quota.Withdraw(cs.id, nil)
		cs.admission.forgetWants()
		return
	}
	cs.all = true
	if cs.status == Pending {
		cs.admission.expectOffer()
	}
	for i := range cs.nodes {
		if cs.progress.State(i) == dag.Ready {
			cs.ask(i)
		}
	}
}

func byWhom(kind, who string) string {
	verb := map[string]string{
		"execution.paused": "Paused", "execution.unpaused": "Continued", "node.held": "Held", "node.released": "Released",
		"node.reopened": "Retried", "node.skipped": "Skipped", "node.succeeded": "Marked as succeeded",
		"node.approved": "Approved", "node.rejected": "Rejected",
	}[kind]
	return verb + " by " + who
}

// holdBack keeps node i from beginning.
func (cs *commands) holdBack(i int, c db.NodeCommand) {
	if state := cs.progress.State(i); state.Ended() || state.Active() {
		return
	}
	cs.touch(i)
	cs.nodes[i].onHold = true
	text := withReason(byWhom("node.held", c.OrderedBy), c.Reason)
	if cs.progress.State(i) != dag.Retrying {
		cs.nodes[i].reason = &Reason{Code: ReasonHeld, Message: text}
	}
	if cs.progress.State(i) == dag.Ready {
		cs.admission.withdraw(i)
	}
	cs.nodeEvent(i, c.OrderedAt, "node.held", text, nil)
}

// release lets a held node begin.
func (cs *commands) release(i int, c db.NodeCommand) {
	n := &cs.nodes[i]
	if !n.onHold {
		return
	}
	cs.touch(i)
	n.onHold = false
	if n.reason != nil && n.reason.Code == ReasonHeld {
		n.reason = nil
	}
	cs.nodeEvent(i, c.OrderedAt, "node.released", withReason(byWhom("node.released", c.OrderedBy), c.Reason), nil)
	if cs.progress.State(i) == dag.Ready {
		cs.ask(i)
	}
}

// retry runs a node again that failed, or did not run, together with the nodes that depend
// on it and did not run.
func (cs *commands) retry(i int, c db.NodeCommand) {
	if cs.reopen(i) {
		cs.nodes[i].retries = 0
		cs.nodeEvent(i, c.OrderedAt, "node.reopened", withReason(byWhom("node.reopened", c.OrderedBy), c.Reason), nil)
	}
}

// reopen makes node i, which has ended, PENDING again. It reports false when that is no
// longer possible.
func (l *loop) reopen(i int) bool {
	state := l.progress.State(i)
	if !state.Ended() || state == dag.Succeeded {
		return false
	}
	base, size := l.progress.Members(l.progress.ScopeOf(i))
	for k := base; k < base+size; k++ {
		if state := l.progress.State(k); k == i || state.Ended() && (state != dag.Succeeded || l.operator(k).Serves) {
			l.touch(k) // before its state changes; unchanged columns are written again
		}
	}
	again, ok := l.progress.Reopen(i)
	if !ok {
		return false
	}
	for _, k := range again {
		n := &l.nodes[k]
		l.deadLetters.reopen(k)
		n.reason, n.failure, n.finishedAt, n.startedAt, n.readyAt, n.retryAt = nil, nil, nil, nil, nil, nil
		n.cancelled, n.stopSent = nil, false
		delete(l.outputs, k)
	}
	l.changed = append(l.changed, again...)
	l.failure = l.firstFailure(l.progress.Unhandled)
	return true
}

// firstFailure is the failure of the node that failed first, among those that are not
// tolerated; nil when none has.
func (l *loop) firstFailure(counts func(int) bool) *Failure {
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
	l.failedAt = *first.finishedAt
	return first.failure
}

// settleByHand ends node i as a user decided: skipped, or succeeded with outputs. It reports
// false while its attempt has to end first.
func (cs *commands) settleByHand(i int, c db.NodeCommand) bool {
	n := &cs.nodes[i]
	state := cs.progress.State(i)
	if state == dag.Succeeded || state == dag.Skipped && Command(c.Command) == CommandSkip {
		return true
	}
	if state.Ended() && !cs.reopen(i) {
		return true
	}
	if state.Active() {
		n.endCommand = &c
		if inner := cs.progress.Inner(i); cs.expands(i) && inner != dag.NoNode {
			cs.changed = append(cs.changed, cs.progress.Halt(inner, true)...)
			return false
		}
		if cs.needsCapacity(i) {
			cs.stopAs(i, c.OrderedAt, &Reason{Code: ReasonStopping, Message: "The task was asked to stop."}, commandReason(c).Message)
			return false
		}
	}
	cs.endByCommand(i, c)
	return true
}

// expands reports whether node i expands into other nodes.
func (l *loop) expands(i int) bool {
	t := l.operator(i).Type
	return l.fansOut(i) || t == workflow.TypeGraph || t == workflow.TypeWorkflow
}

// endByCommand ends node i, which has no live attempt.
func (cs *commands) endByCommand(i int, c db.NodeCommand) {
	n := &cs.nodes[i]
	at := cs.service.now()
	if cs.progress.State(i) == dag.Ready {
		cs.admission.withdraw(i)
	}
	n.endCommand, n.onHold = nil, false
	if Command(c.Command) == CommandSkip {
		cs.endWithout(i, dag.Skipped, at, commandReason(c))
		return
	}
	cs.touch(i)
	n.attempt = max(n.attempt, 1)
	n.retryAt = nil
	cs.succeed(i, ending{FinishedAt: at, StartedAt: n.startedAt}, decodeValues(c.Data))
	n.reason = commandReason(c)
}

// commandReason explains the end of a node that a user skipped or marked as succeeded.
func commandReason(c db.NodeCommand) *Reason {
	if Command(c.Command) == CommandSkip {
		return &Reason{Code: ReasonSkipped, Message: withReason(byWhom("node.skipped", c.OrderedBy), c.Reason)}
	}
	return &Reason{Code: ReasonByHand, Message: withReason(byWhom("node.succeeded", c.OrderedBy), c.Reason)}
}

// ReasonByHand is the code of a node that a user marked as succeeded.
const ReasonByHand = "BY_HAND"

// await makes node i wait for a person.
func (cs *commands) await(i int, now time.Time) {
	n := cs.move(i, dag.Running)
	text := n.op.Approval.Message
	if text == "" {
		text = "Waits for approval."
	}
	n.reason = &Reason{Code: ReasonApproval, Message: text}
	cs.setDeadline(i)
	cs.nodeEvent(i, now, "node.waiting", text, map[string]any{"code": ReasonApproval})
}

// setDeadline sets the timer of a node that waits for a person.
func (cs *commands) setDeadline(i int) {
	n := &cs.nodes[i]
	if n.op.Timeout > 0 && n.startedAt != nil {
		cs.timers.add(i, n.startedAt.Add(n.op.Timeout))
	}
}

// answer applies the answer of a person.
func (cs *commands) answer(i int, c db.NodeCommand) {
	n := &cs.nodes[i]
	if cs.progress.State(i) != dag.Running || n.op.Type != workflow.TypeApproval || cs.fansOut(i) {
		return
	}
	values := decodeValues(c.Data)
	told := map[string]any{"by": c.OrderedBy, "answer": values}
	if Command(c.Command) == CommandReject {
		text := withReason(byWhom("node.rejected", c.OrderedBy), c.Reason)
		cs.nodeEvent(i, c.OrderedAt, "node.rejected", text, told)
		cs.failNode(i, c.OrderedAt, &Failure{Code: "rejected", Message: text, Node: n.name, Attempt: n.attempt})
		return
	}
	text := withReason(byWhom("node.approved", c.OrderedBy), c.Reason)
	cs.nodeEvent(i, c.OrderedAt, "node.approved", text, told)
	cs.succeed(i, ending{FinishedAt: c.OrderedAt, StartedAt: n.startedAt}, values)
	n.reason = &Reason{Code: ReasonApproval, Message: text}
}

// noAnswer ends a node whose time to wait for a person is over.
func (cs *commands) noAnswer(i int, now time.Time) {
	n := &cs.nodes[i]
	waited := fmt.Sprintf("No answer within %s", n.op.Timeout)
	if n.op.Approval.Default == nil {
		cs.failNode(i, now, &Failure{Code: "timeout", Message: waited + ".", Node: n.name, Attempt: n.attempt})
		return
	}
	cs.nodeEvent(i, now, "node.approved", waited+": the default answer applies.", map[string]any{"answer": n.op.Approval.Default})
	cs.succeed(i, ending{FinishedAt: now, StartedAt: n.startedAt}, n.op.Approval.Default)
	n.reason = &Reason{Code: ReasonApproval, Message: waited + ": the default answer applies."}
}

// write records which commands this batch has carried out, or begun to carry out.
func (cs *commands) write(ctx context.Context, q *db.Queries) error {
	var err error
	switch p := cs.part; {
	case cs.batch.finished && cs.last > 0:
		err = q.DeleteCommandsOf(ctx, cs.id)
	default:
		if len(p.deferred) > 0 {
			err = q.TakeCommands(ctx, cs.id, p.deferred)
		}
		if err == nil && len(p.applied) > 0 {
			err = q.DeleteCommands(ctx, cs.id, p.applied)
		}
	}
	if err != nil {
		return fmt.Errorf("note commands: %w", err)
	}
	return nil
}
