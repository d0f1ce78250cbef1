package execution

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// admitting is what a loop knows of its requests for capacity.
type admitting struct {
	admitted bool      // the execution itself holds a reservation
	waits    *Reason   // why it is still PENDING
	unqueued []int     // nodes that were refused and do not stand in the queue
	asked    time.Time // when all that is ready asked last
}

// admission is what a flush asked of the quotas, and got.
type admission struct {
	round   quota.Round
	granted []fair.Grant
}

// undo takes an admission back whose transaction did not commit.
func (l *loop) undo(a admission) {
	if a.round.Execution == l.id {
		l.service.quota.Undo(a.round, a.granted)
	}
}

// oneExecution is what an execution itself holds while it lives.
func oneExecution() fair.Amount { return fair.Amount{Executions: 1} }

// admit gives back what ended attempts held and claims what may start now. An
// execution that is still PENDING asks for itself first: without a place among
// the executions of its project, team and tenant none of its nodes asks.
func (l *loop) admit(ctx context.Context, q *db.Queries) (admission, error) {
	b := l.batch
	if len(b.want) == 0 && len(b.release) == 0 && !b.offers {
		return admission{}, nil
	}
	a := admission{round: quota.Round{Execution: l.id, Project: l.row.ProjectID, Release: b.release}}
	switch {
	case l.paused, l.status == Pending && !l.mayEnter():
	case l.status == Pending:
		a.round.Gate = l.gate()
		a.round.Want = l.readyRequests()
	default:
		a.round.Want = slices.DeleteFunc(b.want, func(r fair.Request) bool { return l.progress.State(r.Node) != dag.Ready })
	}
	var refused []fair.Refusal
	var err error
	began := time.Now()
	a.granted, refused, err = l.service.quota.Admit(ctx, q, a.round)
	l.service.config.Meter.ObserveDuration(MeterAdmission, time.Since(began))
	if err != nil {
		return a, fmt.Errorf("admit: %w", err)
	}
	now := l.service.now()
	for _, g := range a.granted {
		if g.Node == fair.ExecutionItself {
			l.enter(g, now)
		}
	}
	for _, r := range refused {
		l.refuse(r, now)
	}
	for _, g := range a.granted {
		if g.Node >= 0 && l.progress.State(g.Node) == dag.Ready {
			l.claim(g, now)
		}
	}
	return a, nil
}

// gate is the request of the execution itself.
func (l *loop) gate() *fair.Request {
	return &fair.Request{
		Key: fair.Key{Execution: l.id, Node: fair.ExecutionItself}, Project: l.row.ProjectID, Amount: oneExecution(),
		Priority: int(l.row.Priority), Since: l.row.CreatedAt, Workflow: l.row.WorkflowName, Preemptible: true,
	}
}

// readyRequests are the requests of all nodes that are READY, but for those that have to look
// at something else first.
func (l *loop) readyRequests() []fair.Request {
	var want []fair.Request
	for i := range l.nodes {
		if l.progress.State(i) == dag.Ready && l.needsCapacity(i) && !l.nodes[i].kept && !l.needsLookup(i) && !l.operator(i).Breaker.On() {
			want = append(want, l.request(i))
		}
	}
	return want
}

// enter begins the execution, which holds its place until it ends.
func (l *loop) enter(g fair.Grant, now time.Time) {
	l.begin(now)
	l.batch.claims = append(l.batch.claims, claimRow{
		attemptKey: attemptKey{Node: fair.ExecutionItself}, At: now, Executions: g.Amount.Executions, Preemptible: false,
		Priority: g.Priority, ExpiresAt: now.Add(l.service.config.Timing.HeartbeatGrace),
	})
	for i := range l.nodes {
		if l.progress.State(i) == dag.Ready && (!l.needsCapacity(i) || l.needsLookup(i)) {
			l.ask(i)
		} else if l.progress.State(i) == dag.Ready && l.operator(i).Breaker.On() {
			l.askLater(i, now)
		}
	}
}

// refuse keeps why something waits, and says so once for each cause.
func (l *loop) refuse(r fair.Refusal, now time.Time) {
	reason := r.Reason
	l.service.config.Meter.Count(MeterRefusal, reason.Code, 1)
	if r.Key.Node == fair.ExecutionItself {
		if l.waits == nil || l.waits.Code != reason.Code {
			l.event(eventRow{At: now, Kind: "execution.waiting", Message: reason.Message, Data: mustJSON(map[string]any{"code": reason.Code})})
		}
		l.waits = &reason
		return
	}
	i := r.Key.Node
	if reason.Code == fair.StorageLimit {
		l.unqueued = append(l.unqueued, i)
	}
	// Who was preempted shows for whom until its next attempt begins.
	if before := l.nodes[i].reason; before != nil && (before.Code == reason.Code || before.Code == fair.Preempted) {
		return
	}
	l.touch(i)
	l.nodes[i].reason = &reason
	l.nodeEvent(i, now, "node.waiting", reason.Message, map[string]any{"code": reason.Code})
}

// claim moves a granted node to QUEUED: its next attempt starts after the commit.
func (l *loop) claim(g fair.Grant, now time.Time) {
	i := g.Node
	n := l.move(i, dag.Queued)
	n.attempt++
	n.reason, n.startedAt, n.stopSent, n.preempted, n.recalled, n.held = nil, nil, false, nil, nil, g.Amount
	n.machine, n.devices = quota.DevicesOf(g.Placement)
	l.batch.claims = append(l.batch.claims, claimRow{
		attemptKey: attemptKey{i, n.attempt}, At: now, CPU: g.Amount.CPUMillis, Memory: g.Amount.MemoryMiB,
		GPUs: g.Amount.GPUs, GPUType: g.Amount.GPUType, Pods: g.Amount.Pods, Machine: n.machine, Devices: n.devices,
		Preemptible: g.Preemptible, Priority: g.Priority, ExpiresAt: now.Add(l.service.config.Timing.HeartbeatGrace),
	})
	l.batch.starts = append(l.batch.starts, i)
	text := ""
	if declared := l.operator(i).Resources.MemoryMiB; n.memory > declared {
		text = fmt.Sprintf("It has %s of memory after running out of it; its definition says %s.", memoryText(n.memory), memoryText(declared))
	}
	l.nodeEvent(i, now, "node.queued", text, nil)
}
