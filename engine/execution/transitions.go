package execution

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/engine/workflow"
)

// begin moves the execution from PENDING to RUNNING.
func (l *loop) begin(now time.Time) {
	l.status, l.admission.admitted, l.admission.waitReason = query.Running, true, nil
	l.row.StartedAt = &now
	l.progress.Pause(l.commands.paused)
	l.all = true
	l.setTimeout()
	l.event(eventRow{At: now, Kind: query.EventExecutionStarted})
}

// touch returns the row of node i in the batch, and creates it from the current state when
// the batch has none. Call it before changing the node.
func (l *loop) touch(i int) *nodeRow {
	row, ok := l.batch.nodes[i]
	if !ok {
		row = &nodeRow{Index: i, FromState: l.progress.State(i), FromAttempt: l.nodes[i].attempt}
		l.batch.nodes[i] = row
	}
	return row
}

// move changes the state of node i, and records it for the batch and for dag.Next.
func (l *loop) move(i int, to dag.State) *nodeState {
	l.touch(i)
	l.progress.Set(i, to)
	l.changed = append(l.changed, i)
	return &l.nodes[i]
}

func (l *loop) event(e eventRow) { l.batch.events = append(l.batch.events, e) }

// nodeEvent records an event of node i.
func (l *loop) nodeEvent(i int, at time.Time, kind query.EventKind, text string, data any) {
	e := eventRow{At: at, Kind: kind, Node: &i, Message: clean(text, maxMessage)}
	if attempt := l.nodes[i].attempt; attempt > 0 {
		e.Attempt = &attempt
	}
	if data != nil {
		e.Data = mustJSON(data)
	}
	l.event(e)
}

// settle calls dag.Next and carries out its actions until there are none, or the batch is
// full.
func (l *loop) settle(ctx context.Context) error {
	for (l.all || len(l.changed) > 0 || len(l.withoutAttempt) > 0 || len(l.cache.lookups) > 0) && !l.batch.full() && !l.batch.finished {
		if len(l.changed) == 0 && !l.all && len(l.withoutAttempt) == 0 {
			l.cache.lookUp(ctx)
		}
		l.beginReady(ctx)
		changed := l.changed
		switch {
		case l.all:
			changed = nil
		case changed == nil:
			changed = []int{} // nil would be all of them
		}
		l.changed, l.all = nil, false
		for _, a := range dag.Next(l.progress, changed) {
			if err := l.carryOut(ctx, a); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *loop) carryOut(ctx context.Context, a dag.Action) error {
	now := l.driver.now()
	switch a.Kind {
	case dag.MakeReady:
		l.makeReady(ctx, a.Node, now)
	case dag.Evaluate:
		l.evaluate(ctx, a.Node, now)
	case dag.HoldNode:
		l.groups.hold(a)
	case dag.OmitNode:
		l.endWithout(a.Node, dag.Skipped, now, l.groups.omitReason(a))
	case dag.EndGroup:
		l.groups.end(ctx, a, now)
	case dag.CancelNode:
		l.endWithout(a.Node, dag.Cancelled, now, l.causeReason(a.Cause))
	case dag.StopNode:
		l.stop(a.Node, now)
	case dag.DismissNode:
		l.serving.dismiss(a.Node, now)
	case dag.RecallNode:
		l.streams.recall(a, now)
	case dag.HaltScope, dag.DrainScope:
		l.halt(a, now)
	case dag.FinishRun:
		return l.finish(ctx, now)
	}
	return nil
}

// haltReason explains why nodes end without having begun.
func (l *loop) haltReason() *query.Reason {
	text := "The execution was cancelled."
	if !l.cancelled {
		text = "The execution failed."
		if l.failure != nil {
			text = fmt.Sprintf("The execution stopped because %s failed.", l.failure.Node)
		}
	}
	return &query.Reason{Code: ReasonHalted, Message: text}
}

// makeReady makes node i READY. A node that needs no capacity begins immediately, once the
// execution itself has begun.
func (l *loop) makeReady(ctx context.Context, i int, now time.Time) {
	if l.canStart(i) && !l.needsCapacity(i) && !l.locks.needs(i) && !l.cache.needs(i) {
		l.beginAlone(ctx, i, now)
		return
	}
	n := l.move(i, dag.Ready)
	n.readyAt, n.retryAt = &now, nil
	if l.sensors.sensor(i) != nil && n.polling == nil {
		l.sensors.polling(i)
		l.sensors.watch(i)
	}
	if n.reason = nil; n.onHold {
		n.reason = &query.Reason{Code: ReasonHeld, Message: "On hold until a user releases it."}
	}
	l.requestCapacity(i)
}

// canStart reports whether neither a pause of the execution nor a hold blocks node i.
func (l *loop) canStart(i int) bool {
	return l.status != query.Pending && !l.commands.paused && !l.nodes[i].onHold
}

// needsCapacity reports whether node i runs attempts.
func (l *loop) needsCapacity(i int) bool { return l.operator(i).Runs() && !l.groups.fansOut(i) }

// beginAlone begins a node without attempts: it expands, waits for a user, or ends
// immediately.
func (l *loop) beginAlone(ctx context.Context, i int, now time.Time) {
	n := &l.nodes[i]
	l.touch(i)
	n.attempt++
	n.readyAt, n.startedAt, n.retryAt, n.reason = &now, &now, nil, nil
	switch {
	case l.groups.expands(i):
		l.groups.expand(ctx, i, now)
	case n.op.Type == workflow.TypeApproval:
		l.commands.await(i, now)
	case n.op.Awaits():
		l.sensors.begin(ctx, i, now)
	default:
		l.move(i, dag.Succeeded).finishedAt = &now
		l.nodeEvent(i, now, query.EventNodeSucceeded, "", nil)
	}
}

// requestCapacity makes the next flush claim node i, which is READY, when there is capacity. Until the
// execution itself is admitted, no node requests capacity.
func (l *loop) requestCapacity(i int) {
	if !l.canStart(i) {
		return
	}
	if l.cache.needs(i) {
		l.cache.requestLookup(i)
		return
	}
	if l.locks.needs(i) {
		l.locks.requestLocks(i)
		return
	}
	if !l.needsCapacity(i) {
		l.withoutAttempt = append(l.withoutAttempt, i)
		return
	}
	l.admission.addRequest(i)
}

// requestOf returns the request of an attempt of op in a project.
//
// The work of a pool requests nothing: it runs on machines that no quota counts, and the workers
// of the pool decide when it starts.
func (s *core) requestOf(op *workflow.Operator, project uuid.UUID) fair.Request {
	if op.Pool != "" {
		return fair.Request{Project: project, Operator: op.Name}
	}
	return fair.Request{
		Project: project, Amount: s.amountOf(op, project), Preemptible: !op.NeverPreempt, Spread: op.Resources.Spread, Operator: op.Name,
	}
}

// DefaultRequests returns the requests of each pod of a task in project whose definition
// sets no CPU (in millicores) or no memory (in MiB).
func (s *LaunchService) DefaultRequests(project uuid.UUID) (cpuMillis, memoryMiB int) {
	return s.quota.Levels.Requests(project)
}

// amountOf returns the amount of one attempt of an operator in a project, which sets the
// defaults of CPU and memory.
func (s *core) amountOf(o *workflow.Operator, project uuid.UUID) fair.Amount {
	r, pods := o.Resources, max(o.Resources.Pods, 1)
	cpu, memory := s.quota.Levels.Requests(project)
	return fair.Amount{CPUMillis: pods * cmp.Or(r.CPUMillis, cpu), MemoryMiB: pods * cmp.Or(r.MemoryMiB, memory), GPUs: pods * r.GPUs, GPUType: r.GPUType, Pods: pods}
}

// endWithout ends a node without a live attempt.
func (l *loop) endWithout(i int, state dag.State, now time.Time, reason *query.Reason) {
	if l.progress.State(i) == dag.Ready {
		l.driver.quota.Withdraw(l.id, []int{i})
	}
	l.touch(i)
	if state == dag.Skipped && !skipsInTurn(reason.Code) {
		l.progress.Omit(i)
	}
	n := l.move(i, state)
	n.finishedAt, n.retryAt, n.reason = &now, nil, reason
	kind := query.EventNodeSkipped
	if state == dag.Cancelled {
		kind = query.EventNodeCancelled
	}
	l.nodeEvent(i, now, kind, reason.Message, nil)
}

// stop ends the attempt of node i; repeated calls have no effect.
func (l *loop) stop(i int, now time.Time) {
	l.stopAs(i, now, &query.Reason{Code: ReasonStopping, Message: "The task was asked to stop."}, l.stopReason(i).Message)
}

// stopAs is stop with the given reason of the node and message of its event.
func (l *loop) stopAs(i int, now time.Time, reason *query.Reason, message string) {
	n := &l.nodes[i]
	if n.stopSent {
		return
	}
	l.touch(i)
	n.stopSent, n.reason = true, reason
	l.launches.requestStop(i)
	l.nodeEvent(i, now, query.EventNodeStopping, message, nil)
}

// finish ends the execution: every node has ended.
func (l *loop) finish(ctx context.Context, now time.Time) error {
	l.status = l.conclude()
	stopped := l.progress.Count(dag.Cancelled) > 0
	switch {
	case l.status == query.Cancelled && l.cancelled:
		l.failure = &query.Failure{Code: "cancelled", Message: withReason("The execution was cancelled", l.cancelReason)}
	case l.status == query.Cancelled:
		l.failure = l.cancelledAlone()
	case l.refused != nil:
		l.failure = l.refused
	case l.timedOut && stopped:
		l.failure = l.timeoutFailure()
	case l.status == query.Failed && l.failure == nil: // tolerated, yet the execution failed
		l.failure = l.firstFailure(func(int) bool { return true })
	}
	if l.status == query.Succeeded {
		l.failure = nil
		outputs, err := l.values.workflowOutputs(ctx)
		switch {
		case isUnreadable(err):
			return err
		case err != nil:
			l.status, l.failure = query.Failed, &query.Failure{Code: "outputs", Message: "An output of the workflow could not be evaluated: " + sentence(err)}
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
	if l.failure != nil {
		text = l.failure.Message
	}
	l.event(eventRow{At: now, Kind: query.EventKind("execution." + strings.ToLower(string(l.status))), Message: clean(text, maxMessage)})
	return nil
}

// conclude returns the state in which the execution ends, or would end if only exit handlers
// are open.
func (l *loop) conclude() query.State {
	by := dag.Uninterrupted
	switch {
	case l.cancelled:
		by = dag.ByPerson
	case l.refused != nil:
		return query.Failed
	case l.timedOut:
		by = dag.ByTimeout
	}
	return query.State(l.progress.Conclude(by))
}

func withReason(text, reason string) string {
	if reason == "" {
		return text + "."
	}
	return text + ": " + reason
}
