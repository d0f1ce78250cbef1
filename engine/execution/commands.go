package execution

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/engine/workflow"
)

// Codes of a Reason of nodes that users hold, answer or skip.
const (
	ReasonHeld     = "HELD"               // does not begin until a user releases it
	ReasonApproval = query.ReasonApproval // waits for a user's answer
	ReasonSkipped  = "SKIPPED_BY_HAND"    // a user skipped it
)

// commands carries out the commands of users to the execution and its nodes.
type commands struct {
	feature

	last   int64            // the latest command that was loaded
	paused bool             // by a user
	open   map[int]struct{} // nodes that wait for a user, and some that no longer do

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

// loadUpdates loads the commands of users.
func (cs *commands) loadUpdates(ctx context.Context) error {
	rows, err := cs.loop.driver.queries.CommandsOf(ctx, cs.loop.id)
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
	if i >= len(cs.loop.nodes) {
		return true
	}
	switch Command(c.Command) {
	case CommandHold:
		cs.keepFromBeginning(i, c)
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
	kind := query.EventExecutionPaused
	if !paused {
		kind = query.EventExecutionUnpaused
	}
	cs.loop.batch.event(eventRow{At: c.OrderedAt, Kind: kind, Message: withReason(byWhom(kind, c.OrderedBy), c.Reason)})
	cs.loop.progress.Pause(paused || cs.loop.status == query.Pending)
	if paused {
		cs.loop.driver.quota.Withdraw(cs.loop.id, nil)
		cs.loop.admission.clearRequests()
		return
	}
	cs.loop.unseen.addAll()
	if cs.loop.status == query.Pending {
		cs.loop.admission.expectOffer()
	}
	for i := range cs.loop.nodes {
		if cs.loop.progress.State(i) == dag.Ready {
			cs.loop.ready.requestCapacity(i)
		}
	}
}

func byWhom(kind query.EventKind, who string) string {
	verb := map[query.EventKind]string{
		query.EventExecutionPaused: "Paused", query.EventExecutionUnpaused: "Continued", query.EventNodeHeld: "Held", query.EventNodeReleased: "Released",
		query.EventNodeReopened: "Retried", query.EventNodeSkipped: "Skipped", query.EventNodeSucceeded: "Marked as succeeded",
		query.EventNodeApproved: "Approved", query.EventNodeRejected: "Rejected",
	}[kind]
	return verb + " by " + who
}

// keepFromBeginning keeps node i from beginning.
func (cs *commands) keepFromBeginning(i int, c db.NodeCommand) {
	if state := cs.loop.progress.State(i); state.Ended() || state.Active() {
		return
	}
	cs.loop.batch.touch(i)
	cs.loop.nodes[i].onHold = true
	text := withReason(byWhom(query.EventNodeHeld, c.OrderedBy), c.Reason)
	if cs.loop.progress.State(i) != dag.Retrying {
		cs.loop.nodes[i].reason = &query.Reason{Code: ReasonHeld, Message: text}
	}
	if cs.loop.progress.State(i) == dag.Ready {
		cs.loop.admission.withdraw(i)
	}
	cs.loop.batch.nodeEvent(i, c.OrderedAt, query.EventNodeHeld, text, nil)
}

// release lets a held node begin.
func (cs *commands) release(i int, c db.NodeCommand) {
	n := &cs.loop.nodes[i]
	if !n.onHold {
		return
	}
	cs.loop.batch.touch(i)
	n.onHold = false
	if n.reason != nil && n.reason.Code == ReasonHeld {
		n.reason = nil
	}
	cs.loop.batch.nodeEvent(i, c.OrderedAt, query.EventNodeReleased, withReason(byWhom(query.EventNodeReleased, c.OrderedBy), c.Reason), nil)
	if cs.loop.progress.State(i) == dag.Ready {
		cs.loop.ready.requestCapacity(i)
	}
}

// retry runs a node again that failed, or did not run, together with the nodes that depend
// on it and did not run.
func (cs *commands) retry(i int, c db.NodeCommand) {
	if cs.reopen(i) {
		cs.loop.nodes[i].retries = 0
		cs.loop.batch.nodeEvent(i, c.OrderedAt, query.EventNodeReopened, withReason(byWhom(query.EventNodeReopened, c.OrderedBy), c.Reason), nil)
	}
}

// reopen makes node i, which has ended, PENDING again. It reports false when that is no
// longer possible.
func (cs *commands) reopen(i int) bool {
	l := cs.loop
	state := l.progress.State(i)
	if !state.Ended() || state == dag.Succeeded {
		return false
	}
	base, size := l.progress.Members(l.progress.ScopeOf(i))
	for k := base; k < base+size; k++ {
		if state := l.progress.State(k); k == i || state.Ended() && (state != dag.Succeeded || l.operator(k).Serves) {
			l.batch.touch(k) // before its state changes; unchanged columns are written again
		}
	}
	again, ok := l.progress.Reopen(i)
	if !ok {
		return false
	}
	for _, k := range again {
		n := &l.nodes[k]
		l.deadLetters.retried(k)
		n.reason, n.failure, n.finishedAt, n.startedAt, n.readyAt, n.retryAt = nil, nil, nil, nil, nil, nil
		n.cancelled, n.stopSent, n.polling = nil, false, nil
		delete(l.values.outputs, k)
	}
	l.unseen.add(again...)
	l.conclusion.failure = l.conclusion.firstFailure(l.progress.Unhandled)
	return true
}

// settleByHand ends node i as a user decided: skipped, or succeeded with outputs. It reports
// false while its attempt has to end first.
func (cs *commands) settleByHand(i int, c db.NodeCommand) bool {
	n := &cs.loop.nodes[i]
	state := cs.loop.progress.State(i)
	if state == dag.Succeeded || state == dag.Skipped && Command(c.Command) == CommandSkip {
		return true
	}
	if state.Ended() && !cs.reopen(i) {
		return true
	}
	if state.Active() {
		n.endCommand = &c
		if inner := cs.loop.progress.Inner(i); cs.loop.groups.expands(i) && inner != dag.NoNode {
			cs.loop.unseen.add(cs.loop.progress.Halt(inner, true)...)
			return false
		}
		if cs.loop.ready.needsCapacity(i) {
			cs.loop.stopAs(i, c.OrderedAt, &query.Reason{Code: ReasonStopping, Message: "The task was asked to stop."}, commandReason(c).Message)
			return false
		}
	}
	cs.endByCommand(i, c)
	return true
}

// expands reports whether node i expands into other nodes.
func (gs *nodeGroups) expands(i int) bool {
	t := gs.loop.operator(i).Type
	return gs.fansOut(i) || t == workflow.TypeGraph || t == workflow.TypeWorkflow
}

// endByCommand ends node i, which has no live attempt.
func (cs *commands) endByCommand(i int, c db.NodeCommand) {
	n := &cs.loop.nodes[i]
	at := cs.loop.driver.now()
	if cs.loop.progress.State(i) == dag.Ready {
		cs.loop.admission.withdraw(i)
	}
	n.endCommand, n.onHold = nil, false
	if Command(c.Command) == CommandSkip {
		cs.loop.endWithout(i, dag.Skipped, at, commandReason(c))
		return
	}
	cs.loop.batch.touch(i)
	n.attempt = max(n.attempt, 1)
	n.retryAt = nil
	cs.loop.ends.succeed(i, ending{FinishedAt: at, StartedAt: n.startedAt}, decodeValues(c.Data))
	n.reason = commandReason(c)
}

// commandReason explains the end of a node that a user skipped or marked as succeeded.
func commandReason(c db.NodeCommand) *query.Reason {
	if Command(c.Command) == CommandSkip {
		return &query.Reason{Code: ReasonSkipped, Message: withReason(byWhom(query.EventNodeSkipped, c.OrderedBy), c.Reason)}
	}
	return &query.Reason{Code: ReasonByHand, Message: withReason(byWhom(query.EventNodeSucceeded, c.OrderedBy), c.Reason)}
}

// ReasonByHand is the code of a node that a user marked as succeeded.
const ReasonByHand = "BY_HAND"

// await makes node i wait for a user. If a tag of the message has no value, the node fails: the user would decide
// about something unknown.
func (cs *commands) await(ctx context.Context, i int, now time.Time) {
	text, err := cs.question(ctx, i)
	if cs.loop.cannotRead(err) {
		return
	}
	if err != nil {
		n := &cs.loop.nodes[i]
		cs.loop.ends.failNode(i, now, &query.Failure{Code: "approval", Message: clean("The message of the approval cannot be written. "+sentence(err), maxMessage), Node: n.name, Attempt: n.attempt})
		return
	}
	cs.loop.move(i, dag.Running).reason = &query.Reason{Code: ReasonApproval, Message: text}
	cs.open[i] = struct{}{}
	cs.setDeadline(i)
	cs.loop.batch.nodeEvent(i, now, query.EventNodeWaiting, text, map[string]any{"code": ReasonApproval})
}

// awaiting counts the nodes that wait for a user.
func (cs *commands) awaiting() int {
	maps.DeleteFunc(cs.open, func(i int, _ struct{}) bool { return cs.loop.progress.State(i) != dag.Running })
	return len(cs.open)
}

// onlyAwaits reports whether nodes wait for a user and no other node runs, except the groups that contain
// them.
func (cs *commands) onlyAwaits() bool {
	p := cs.loop.progress
	if cs.awaiting() == 0 || p.Count(dag.Queued) > 0 {
		return false
	}
	groups := map[int]struct{}{}
	for i := range cs.open {
		for g := p.Parent(i); g != dag.NoNode; g = p.Parent(g) {
			groups[g] = struct{}{}
		}
	}
	return p.Count(dag.Running) == len(cs.open)+len(groups)
}

// question returns the message of the approval of node i, with the values of its tags.
func (cs *commands) question(ctx context.Context, i int) (text string, err error) {
	op := cs.loop.operator(i)
	if op.Tags != nil {
		text, err = cs.loop.values.at(ctx, i).text(op.Approval.Message, false)
	} else {
		var given map[string]any
		if given, err = cs.loop.values.ofTags(ctx, i); err == nil {
			text, err = op.Approval.Question(given)
		}
	}
	return cmp.Or(clean(text, maxMessage), "Waiting for approval."), err
}

// setDeadline sets the timer of a node that waits for a user.
func (cs *commands) setDeadline(i int) {
	n := &cs.loop.nodes[i]
	if n.op.Timeout > 0 && n.startedAt != nil {
		cs.loop.timers.add(i, n.startedAt.Add(n.op.Timeout))
	}
}

// answer applies a user's answer.
func (cs *commands) answer(i int, c db.NodeCommand) {
	n := &cs.loop.nodes[i]
	if cs.loop.progress.State(i) != dag.Running || n.op.Type != workflow.TypeApproval || cs.loop.groups.fansOut(i) {
		return
	}
	values := decodeValues(c.Data)
	data := map[string]any{"by": c.OrderedBy, "answer": values}
	if Command(c.Command) == CommandReject {
		text := withReason(byWhom(query.EventNodeRejected, c.OrderedBy), c.Reason)
		cs.loop.batch.nodeEvent(i, c.OrderedAt, query.EventNodeRejected, text, data)
		cs.loop.ends.failNode(i, c.OrderedAt, &query.Failure{Code: "rejected", Message: text, Node: n.name, Attempt: n.attempt})
		return
	}
	text := withReason(byWhom(query.EventNodeApproved, c.OrderedBy), c.Reason)
	cs.loop.batch.nodeEvent(i, c.OrderedAt, query.EventNodeApproved, text, data)
	cs.loop.ends.succeed(i, ending{FinishedAt: c.OrderedAt, StartedAt: n.startedAt}, values)
	n.reason = &query.Reason{Code: ReasonApproval, Message: text}
}

// noAnswer ends a node whose time to wait for a user is over.
func (cs *commands) noAnswer(i int, now time.Time) {
	n := &cs.loop.nodes[i]
	waited := fmt.Sprintf("No answer within %s", n.op.Timeout)
	if n.op.Approval.Default == nil {
		cs.loop.ends.failNode(i, now, &query.Failure{Code: "timeout", Message: waited + ".", Node: n.name, Attempt: n.attempt})
		return
	}
	cs.loop.batch.nodeEvent(i, now, query.EventNodeApproved, waited+": the default answer applies.", map[string]any{"answer": n.op.Approval.Default})
	cs.loop.ends.succeed(i, ending{FinishedAt: now, StartedAt: n.startedAt}, n.op.Approval.Default)
	n.reason = &query.Reason{Code: ReasonApproval, Message: waited + ": the default answer applies."}
}

// write records which commands this batch has carried out, or begun to carry out.
func (cs *commands) write(ctx context.Context, q *db.Queries) error {
	var err error
	switch p := cs.part; {
	case cs.loop.batch.finished && cs.last > 0:
		err = q.DeleteCommandsOf(ctx, cs.loop.id)
	default:
		if len(p.deferred) > 0 {
			err = q.TakeCommands(ctx, cs.loop.id, p.deferred)
		}
		if err == nil && len(p.applied) > 0 {
			err = q.DeleteCommands(ctx, cs.loop.id, p.applied)
		}
	}
	if err != nil {
		return fmt.Errorf("note commands: %w", err)
	}
	return nil
}
