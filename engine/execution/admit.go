package execution

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/stored"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// admission requests capacity from the quotas.
type admission struct {
	feature

	admitted   bool      // the execution itself has a reservation
	waitReason *Reason   // why it is still PENDING
	unqueued   []int     // nodes that were refused and are not in the queue
	askedAt    time.Time // when all ready nodes last requested capacity

	part admissionPart
}

type admissionPart struct {
	want    []fair.Request      // nodes that became ready
	release map[int]fair.Amount // capacity that ended attempts used
	offers  bool                // capacity may have been reserved for this execution
}

func (ad *admission) pending() bool {
	return len(ad.part.want) > 0 || len(ad.part.release) > 0 || ad.part.offers
}

// write does nothing: admit, which runs earlier, writes the reservations.
func (ad *admission) write(context.Context, *db.Queries) error { return nil }

func (ad *admission) reset() { ad.part = admissionPart{release: map[int]fair.Amount{}} }

// restore loads why the execution has not begun.
func (ad *admission) restore(context.Context) error {
	if ad.status == Pending {
		ad.waitReason, ad.part.offers = stored.Into[Reason](ad.row.Reason), true
	}
	return nil
}

// quotaRound holds the requests of a flush to the quotas, and their result.
type quotaRound struct {
	round   quota.Round
	granted []fair.Grant
}

// want requests capacity for an attempt of node i with the next flush.
func (ad *admission) want(i int) { ad.part.want = append(ad.part.want, ad.request(i)) }

// dropWants removes the requests of the next flush for which drop returns true.
func (ad *admission) dropWants(drop func(fair.Request) bool) {
	ad.part.want = slices.DeleteFunc(ad.part.want, drop)
}

// forgetWants removes all requests of the next flush.
func (ad *admission) forgetWants() { ad.part.want = nil }

// giveBack releases the capacity of an ended attempt of node i.
func (ad *admission) giveBack(i int, held fair.Amount) { ad.part.release[i] = held }

// expectOffer makes the next flush check for capacity reserved for this execution.
func (ad *admission) expectOffer() { ad.part.offers = true }

// askAgain checks for offers, and repeats the requests of nodes that are not queued.
func (ad *admission) askAgain() {
	if ad.progress.Count(dag.Ready) > 0 || ad.status == Pending {
		ad.expectOffer()
	}
	for _, i := range ad.unqueued {
		if ad.progress.State(i) == dag.Ready {
			ad.ask(i)
		}
	}
	ad.unqueued = nil
}

// undo reverts an admission whose transaction did not commit.
func (ad *admission) undo(a quotaRound) {
	if a.round.Execution == ad.id {
		ad.service.quota.Undo(a.round, a.granted)
	}
}

// oneExecution is the amount that an execution itself uses until it ends.
func oneExecution() fair.Amount { return fair.Amount{Executions: 1} }

// admit releases the capacity of ended attempts and reserves capacity for what may start
// now. An execution that is still PENDING first requests admission for itself: its nodes
// request nothing until it counts among the executions of its project, team and tenant.
func (ad *admission) admit(ctx context.Context, q *db.Queries) (quotaRound, error) {
	b := &ad.part
	if len(b.want) == 0 && len(b.release) == 0 && !b.offers {
		return quotaRound{}, nil
	}
	a := quotaRound{round: quota.Round{Execution: ad.id, Project: ad.row.ProjectID, Release: b.release}}
	switch {
	case ad.commands.paused, ad.status == Pending && !ad.locks.mayEnter():
	case ad.status == Pending:
		a.round.Gate = ad.gate()
		a.round.Want = ad.readyRequests()
	default:
		a.round.Want = slices.DeleteFunc(b.want, func(r fair.Request) bool { return ad.progress.State(r.Node) != dag.Ready })
	}
	var refused []fair.Refusal
	var err error
	began := time.Now()
	a.granted, refused, err = ad.service.quota.Admit(ctx, q, a.round)
	ad.service.config.Meter.ObserveDuration(MeterAdmission, time.Since(began))
	if err != nil {
		return a, fmt.Errorf("admit: %w", err)
	}
	now := ad.service.now()
	for _, g := range a.granted {
		if g.Node == fair.ExecutionItself {
			ad.enter(g, now)
		}
	}
	for _, r := range refused {
		ad.refuse(r, now)
	}
	for _, g := range a.granted {
		if g.Node >= 0 && ad.progress.State(g.Node) == dag.Ready {
			ad.claim(g, now)
		}
	}
	return a, nil
}

// gate is the request of the execution itself.
func (ad *admission) gate() *fair.Request {
	return &fair.Request{
		Key: fair.Key{Execution: ad.id, Node: fair.ExecutionItself}, Project: ad.row.ProjectID, Amount: oneExecution(),
		Priority: int(ad.row.Priority), Since: ad.row.CreatedAt, Workflow: ad.row.WorkflowName, Preemptible: true,
	}
}

// readyRequests returns the requests of all READY nodes, except those with a pending check,
// such as a lock or a cache lookup.
func (ad *admission) readyRequests() []fair.Request {
	var want []fair.Request
	for i := range ad.nodes {
		if ad.progress.State(i) == dag.Ready && ad.needsCapacity(i) && !ad.nodes[i].onHold && !ad.cache.needs(i) && !ad.operator(i).Breaker.On() {
			want = append(want, ad.request(i))
		}
	}
	return want
}

// enter begins the execution, which keeps its reservation until it ends.
func (ad *admission) enter(g fair.Grant, now time.Time) {
	ad.begin(now)
	ad.batch.claims = append(ad.batch.claims, claimRow{
		attemptKey: attemptKey{Node: fair.ExecutionItself}, At: now, Executions: g.Amount.Executions, Preemptible: false,
		Priority: g.Priority, ExpiresAt: now.Add(ad.service.config.Timing.HeartbeatGrace),
	})
	for i := range ad.nodes {
		if ad.progress.State(i) == dag.Ready && (!ad.needsCapacity(i) || ad.cache.needs(i)) {
			ad.ask(i)
		} else if ad.progress.State(i) == dag.Ready && ad.operator(i).Breaker.On() {
			ad.breakers.askLater(i, now)
		}
	}
}

// refuse stores why something waits, and adds one event for each cause.
func (ad *admission) refuse(r fair.Refusal, now time.Time) {
	reason := r.Reason
	ad.service.config.Meter.Count(MeterRefusal, reason.Code, 1)
	if r.Key.Node == fair.ExecutionItself {
		if ad.waitReason == nil || ad.waitReason.Code != reason.Code {
			ad.event(eventRow{At: now, Kind: "execution.waiting", Message: reason.Message, Data: mustJSON(map[string]any{"code": reason.Code})})
		}
		ad.waitReason = &reason
		return
	}
	i := r.Key.Node
	if reason.Code == fair.StorageLimit {
		ad.unqueued = append(ad.unqueued, i)
	}
	// A preempted node shows its preemptor until its next attempt begins.
	if before := ad.nodes[i].reason; before != nil && (before.Code == reason.Code || before.Code == fair.Preempted) {
		return
	}
	ad.touch(i)
	ad.nodes[i].reason = &reason
	ad.nodeEvent(i, now, "node.waiting", reason.Message, map[string]any{"code": reason.Code})
}

// claim moves a granted node to QUEUED: its next attempt starts after the commit.
func (ad *admission) claim(g fair.Grant, now time.Time) {
	i := g.Node
	n := ad.move(i, dag.Queued)
	n.attempt++
	n.reason, n.startedAt, n.stopSent, n.preempted, n.recalled, n.reserved = nil, nil, false, nil, nil, g.Amount
	n.machine, n.devices = quota.DevicesOf(g.Placement)
	ad.batch.claims = append(ad.batch.claims, claimRow{
		attemptKey: attemptKey{i, n.attempt}, At: now, CPU: g.Amount.CPUMillis, Memory: g.Amount.MemoryMiB,
		GPUs: g.Amount.GPUs, GPUType: g.Amount.GPUType, Pods: g.Amount.Pods, Machine: n.machine, Devices: n.devices,
		Preemptible: g.Preemptible, Priority: g.Priority, ExpiresAt: now.Add(ad.service.config.Timing.HeartbeatGrace),
	})
	ad.launches.start(i)
	text := ""
	if declared := ad.operator(i).Resources.MemoryMiB; n.memory > declared {
		text = fmt.Sprintf("Memory raised to %s after the previous attempt ran out of memory (the definition requests %s).", memoryText(n.memory), memoryText(declared))
	}
	ad.nodeEvent(i, now, "node.queued", text, nil)
}

// withdraw cancels the quota request of node i.
func (ad *admission) withdraw(i int) {
	ad.service.quota.Withdraw(ad.id, []int{i})
	ad.dropWants(func(r fair.Request) bool { return r.Key.Node == i })
}

// request is the quota request of node i.
func (ad *admission) request(i int) fair.Request {
	op := ad.operator(i)
	r := ad.service.requestOf(op, ad.row.ProjectID)
	r.Key = fair.Key{Execution: ad.id, Node: i}
	r.Priority, r.Since, r.Attempt = int(ad.row.Priority), *ad.nodes[i].readyAt, ad.nodes[i].attempt+1
	r.Workflow, r.Expected = ad.row.WorkflowName, ad.expected[op.Name].Fair()
	if room, ok := roomOf(ad.origins.overrides, op.Name); ok {
		r.Amount = room.apply(r.Amount)
	}
	r = ad.orders.adjust(r)
	r.Amount.MemoryMiB = max(r.Amount.MemoryMiB, r.Amount.Pods*ad.nodes[i].memory)
	return r
}

// askOnce repeats the requests of all ready nodes after a pause: a loop that cannot become
// idle may have missed an offer, and a missed offer is not repeated.
func (ad *admission) askOnce(every time.Duration) {
	now := ad.service.now()
	if now.Sub(ad.askedAt) < every || ad.progress.Count(dag.Ready) == 0 {
		return
	}
	ad.askedAt = now
	for i := range ad.nodes {
		if ad.progress.State(i) == dag.Ready {
			ad.ask(i)
		}
	}
}
