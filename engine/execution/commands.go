package execution

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/engine/workflow"
)

// Codes of a Reason of nodes that people keep back, answered or left out.
const (
	ReasonHeld     = "HELD"            // does not begin until somebody releases it
	ReasonApproval = "APPROVAL"        // waits for the answer of a person
	ReasonSkipped  = "SKIPPED_BY_HAND" // somebody skipped it
)

// commandState is what a loop knows of the commands of people.
type commandState struct {
	lastCommand int64                // the latest command that was taken up
	paused      bool                 // by somebody
	orders      map[int]db.NodeOrder // about nodes
}

// loadCommands takes up what people told the execution.
func (l *loop) loadCommands(ctx context.Context) error {
	rows, err := l.service.queries.CommandsOf(ctx, l.id)
	if err != nil {
		return fmt.Errorf("load commands: %w", err)
	}
	for _, c := range rows {
		if c.Seq <= l.lastCommand {
			continue
		}
		l.lastCommand = c.Seq
		if done := l.applyCommand(c); done {
			l.batch.appliedCommands = append(l.batch.appliedCommands, c.Seq)
		} else {
			l.batch.deferredCommands = append(l.batch.deferredCommands, c.Seq)
		}
	}
	return nil
}

// applyCommand carries a command out. It reports false when an attempt has to end first.
func (l *loop) applyCommand(c db.NodeCommand) bool {
	if c.NodeIndex == fair.ExecutionItself {
		l.pause(c)
		return true
	}
	i := int(c.NodeIndex)
	if i >= len(l.nodes) {
		return true
	}
	switch Command(c.Command) {
	case CommandHold:
		l.holdBack(i, c)
	case CommandRelease:
		l.release(i, c)
	case CommandRetry:
		l.retry(i, c)
	case CommandApprove, CommandReject:
		l.answer(i, c)
	case CommandSkip, CommandSucceed:
		return l.settleByHand(i, c)
	case CommandPause, CommandUnpause:
	}
	return true
}

// pause keeps everything from beginning, or lets it go on.
func (l *loop) pause(c db.NodeCommand) {
	paused := Command(c.Command) == CommandPause
	if paused == l.paused {
		return
	}
	l.paused = paused
	kind := "execution.paused"
	if !paused {
		kind = "execution.unpaused"
	}
	l.event(eventRow{At: c.OrderedAt, Kind: kind, Message: withReason(byWhom(kind, c.OrderedBy), c.Reason)})
	l.progress.Pause(paused || l.status == Pending)
	if paused {
		l.service.quota.Withdraw(l.id, nil)
		l.batch.want = nil
		return
	}
	l.all = true
	l.batch.offers = l.batch.offers || l.status == Pending
	for i := range l.nodes {
		if l.progress.State(i) == dag.Ready {
			l.ask(i)
		}
	}
}

func byWhom(kind, who string) string {
	verb := map[string]string{
		"execution.paused": "Paused", "execution.unpaused": "Continued", "node.held": "Held back", "node.released": "Released",
		"node.reopened": "Tried again", "node.skipped": "Skipped", "node.succeeded": "Counted as succeeded",
		"node.approved": "Approved", "node.rejected": "Rejected",
	}[kind]
	return verb + " by " + who
}

// holdBack keeps node i from beginning.
func (l *loop) holdBack(i int, c db.NodeCommand) {
	if state := l.progress.State(i); state.Ended() || state.Active() {
		return
	}
	l.touch(i)
	l.nodes[i].kept = true
	text := withReason(byWhom("node.held", c.OrderedBy), c.Reason)
	if l.progress.State(i) != dag.Retrying {
		l.nodes[i].reason = &Reason{Code: ReasonHeld, Message: text}
	}
	if l.progress.State(i) == dag.Ready {
		l.withdraw(i)
	}
	l.nodeEvent(i, c.OrderedAt, "node.held", text, nil)
}

// withdraw takes back what node i asked of the quota.
func (l *loop) withdraw(i int) {
	l.service.quota.Withdraw(l.id, []int{i})
	l.batch.want = slices.DeleteFunc(l.batch.want, func(r fair.Request) bool { return r.Key.Node == i })
}

// release lets a node begin that was held back.
func (l *loop) release(i int, c db.NodeCommand) {
	n := &l.nodes[i]
	if !n.kept {
		return
	}
	l.touch(i)
	n.kept = false
	if n.reason != nil && n.reason.Code == ReasonHeld {
		n.reason = nil
	}
	l.nodeEvent(i, c.OrderedAt, "node.released", withReason(byWhom("node.released", c.OrderedBy), c.Reason), nil)
	if l.progress.State(i) == dag.Ready {
		l.ask(i)
	}
}

// retry makes a node that failed, or did not run, run again, and what depends on it
// and did not run.
func (l *loop) retry(i int, c db.NodeCommand) {
	if l.reopen(i) {
		l.nodes[i].retries = 0
		l.nodeEvent(i, c.OrderedAt, "node.reopened", withReason(byWhom("node.reopened", c.OrderedBy), c.Reason), nil)
	}
}

// reopen makes node i, which has ended, PENDING again. It reports false when nothing
// can come of that any more.
func (l *loop) reopen(i int) bool {
	state := l.progress.State(i)
	if !state.Ended() || state == dag.Succeeded {
		return false
	}
	base, size := l.progress.Members(l.progress.ScopeOf(i))
	for k := base; k < base+size; k++ {
		if state := l.progress.State(k); k == i || state.Ended() && (state != dag.Succeeded || l.operator(k).Serves) {
			l.touch(k) // before its state changes; what does not change is written as it was
		}
	}
	again, ok := l.progress.Reopen(i)
	if !ok {
		return false
	}
	for _, k := range again {
		n := &l.nodes[k]
		l.batch.reopened = append(l.batch.reopened, int32(k)) //nolint:gosec // at most maxNodes
		n.reason, n.failure, n.finishedAt, n.startedAt, n.readyAt, n.retryAt = nil, nil, nil, nil, nil, nil
		n.cancelled, n.stopSent = nil, false
		delete(l.outputs, k)
	}
	l.changed = append(l.changed, again...)
	l.failure = l.firstFailure(l.progress.Unhandled)
	return true
}

// firstFailure is the failure of the node that failed first of those that count, nil
// when none has.
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

// settleByHand ends node i as somebody said: skipped, or succeeded with outputs. It
// reports false while its attempt has to end first.
func (l *loop) settleByHand(i int, c db.NodeCommand) bool {
	n := &l.nodes[i]
	state := l.progress.State(i)
	if state == dag.Succeeded || state == dag.Skipped && Command(c.Command) == CommandSkip {
		return true
	}
	if state.Ended() && !l.reopen(i) {
		return true
	}
	if state.Active() {
		n.verdict = &c
		if inner := l.progress.Inner(i); l.expands(i) && inner != dag.NoNode {
			l.changed = append(l.changed, l.progress.Halt(inner, true)...)
			return false
		}
		if l.needsCapacity(i) {
			l.stop(i, c.OrderedAt)
			return false
		}
	}
	l.endByCommand(i, c)
	return true
}

// expands reports whether node i becomes other nodes.
func (l *loop) expands(i int) bool {
	t := l.operator(i).Type
	return l.fansOut(i) || t == workflow.TypeGraph || t == workflow.TypeWorkflow
}

// endByCommand ends node i, of which no attempt is alive any more.
func (l *loop) endByCommand(i int, c db.NodeCommand) {
	n := &l.nodes[i]
	at := l.service.now()
	if l.progress.State(i) == dag.Ready {
		l.withdraw(i)
	}
	n.verdict, n.kept = nil, false
	if Command(c.Command) == CommandSkip {
		l.endWithout(i, dag.Skipped, at, &Reason{Code: ReasonSkipped, Message: withReason(byWhom("node.skipped", c.OrderedBy), c.Reason)})
		return
	}
	l.touch(i)
	n.attempt = max(n.attempt, 1)
	n.retryAt = nil
	l.succeed(i, ending{FinishedAt: at, StartedAt: n.startedAt}, decodeValues(c.Data))
	n.reason = &Reason{Code: ReasonByHand, Message: withReason(byWhom("node.succeeded", c.OrderedBy), c.Reason)}
}

// ReasonByHand is the code of a node that somebody counted as succeeded.
const ReasonByHand = "BY_HAND"

// await lets node i wait for a person.
func (l *loop) await(i int, now time.Time) {
	n := l.move(i, dag.Running)
	text := n.op.Approval.Message
	if text == "" {
		text = "It waits for somebody to approve it."
	}
	n.reason = &Reason{Code: ReasonApproval, Message: text}
	l.setDeadline(i)
	l.nodeEvent(i, now, "node.waiting", text, map[string]any{"code": ReasonApproval})
}

// setDeadline sets the timer of a node that waits for a person.
func (l *loop) setDeadline(i int) {
	n := &l.nodes[i]
	if n.op.Timeout > 0 && n.startedAt != nil {
		l.timers.add(i, n.startedAt.Add(n.op.Timeout))
	}
}

// answer takes the answer of a person.
func (l *loop) answer(i int, c db.NodeCommand) {
	n := &l.nodes[i]
	if l.progress.State(i) != dag.Running || n.op.Type != workflow.TypeApproval || l.fansOut(i) {
		return
	}
	values := decodeValues(c.Data)
	told := map[string]any{"by": c.OrderedBy, "answer": values}
	if Command(c.Command) == CommandReject {
		text := withReason(byWhom("node.rejected", c.OrderedBy), c.Reason)
		l.nodeEvent(i, c.OrderedAt, "node.rejected", text, told)
		l.failNode(i, c.OrderedAt, &Failure{Code: "rejected", Message: text, Node: n.name, Attempt: n.attempt})
		return
	}
	text := withReason(byWhom("node.approved", c.OrderedBy), c.Reason)
	l.nodeEvent(i, c.OrderedAt, "node.approved", text, told)
	l.succeed(i, ending{FinishedAt: c.OrderedAt, StartedAt: n.startedAt}, values)
	n.reason = &Reason{Code: ReasonApproval, Message: text}
}

// noAnswer ends a node that waited for a person as long as it may.
func (l *loop) noAnswer(i int, now time.Time) {
	n := &l.nodes[i]
	waited := fmt.Sprintf("Nobody answered within %s", n.op.Timeout)
	if n.op.Approval.Default == nil {
		l.failNode(i, now, &Failure{Code: "timeout", Message: waited + ".", Node: n.name, Attempt: n.attempt})
		return
	}
	l.nodeEvent(i, now, "node.approved", waited+": the default answer holds.", map[string]any{"answer": n.op.Approval.Default})
	l.succeed(i, ending{FinishedAt: now, StartedAt: n.startedAt}, n.op.Approval.Default)
	n.reason = &Reason{Code: ReasonApproval, Message: waited + ": the default answer holds."}
}

// writeCommands notes which commands this batch has carried out, or begun to.
func (l *loop) writeCommands(ctx context.Context, q *db.Queries) error {
	var err error
	switch b := l.batch; {
	case b.finished && l.lastCommand > 0:
		err = q.DeleteCommandsOf(ctx, l.id)
	default:
		if len(b.deferredCommands) > 0 {
			err = q.TakeCommands(ctx, l.id, b.deferredCommands)
		}
		if err == nil && len(b.appliedCommands) > 0 {
			err = q.DeleteCommands(ctx, l.id, b.appliedCommands)
		}
	}
	if err != nil {
		return fmt.Errorf("note commands: %w", err)
	}
	return nil
}
