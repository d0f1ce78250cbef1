package execution

import (
	"context"
	"time"

	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/workflow"
)

// readyNodes makes nodes READY, requests what their attempts need, and begins the nodes that
// have no attempts.
type readyNodes struct {
	loop *loop

	withoutAttempt []int // ready nodes without an attempt that are to begin
}

// any reports whether nodes are to begin.
func (rn *readyNodes) any() bool { return len(rn.withoutAttempt) > 0 }

// makeReady makes node i READY. A node that needs no capacity begins immediately, once the
// execution itself has begun.
func (rn *readyNodes) makeReady(ctx context.Context, i int, now time.Time) {
	l := rn.loop
	if rn.canStart(i) && !rn.needsCapacity(i) && !l.locks.needs(i) && !l.cache.needs(i) {
		rn.beginAlone(ctx, i, now)
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
	rn.requestCapacity(i)
}

// canStart reports whether neither a pause of the execution nor a hold blocks node i.
func (rn *readyNodes) canStart(i int) bool {
	return rn.loop.status != query.Pending && !rn.loop.commands.paused && !rn.loop.nodes[i].onHold
}

// needsCapacity reports whether node i runs attempts.
func (rn *readyNodes) needsCapacity(i int) bool {
	return rn.loop.operator(i).Runs() && !rn.loop.groups.fansOut(i)
}

// requestCapacity makes the next flush claim node i, which is READY, when there is capacity. Until the
// execution itself is admitted, no node requests capacity.
func (rn *readyNodes) requestCapacity(i int) {
	l := rn.loop
	if !rn.canStart(i) {
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
	if !rn.needsCapacity(i) {
		rn.withoutAttempt = append(rn.withoutAttempt, i)
		return
	}
	l.admission.addRequest(i)
}

// begin begins the nodes without attempts that requested it.
func (rn *readyNodes) begin(ctx context.Context) {
	nodes := rn.withoutAttempt
	rn.withoutAttempt = nil
	for _, i := range nodes {
		if rn.loop.progress.State(i) == dag.Ready && rn.canStart(i) {
			rn.beginAlone(ctx, i, rn.loop.driver.now())
		}
	}
}

// beginAlone begins a node without attempts: it expands, waits for a user, or ends
// immediately.
func (rn *readyNodes) beginAlone(ctx context.Context, i int, now time.Time) {
	l := rn.loop
	n := &l.nodes[i]
	l.batch.touch(i)
	n.attempt++
	n.readyAt, n.startedAt, n.retryAt, n.reason = &now, &now, nil, nil
	switch {
	case l.groups.expands(i):
		l.groups.expand(ctx, i, now)
	case n.op.Type == workflow.TypeApproval:
		l.commands.await(ctx, i, now)
	case n.op.Awaits():
		l.sensors.begin(ctx, i, now)
	default:
		l.move(i, dag.Succeeded).finishedAt = &now
		l.batch.nodeEvent(i, now, query.EventNodeSucceeded, "", nil)
	}
}
