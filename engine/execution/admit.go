package execution

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/execution/stored"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// admission requests capacity from the quotas.
type admission struct {
	feature

	admitted    bool                      // the execution itself has a reservation
	waitReason  *query.Reason             // why it is still PENDING
	unqueued    []int                     // nodes that were refused and are not in the queue
	requestedAt time.Time                 // when all ready nodes last requested capacity
	expected    map[string]query.Estimate // earlier durations of operators

	part admissionPart
}

type admissionPart struct {
	want    []fair.Request      // nodes that became ready
	release map[int]fair.Amount // capacity that ended attempts used
	offers  bool                // capacity may have been reserved for this execution
	pooled  []fair.Request      // nodes of pools that became ready, which no quota counts
}

func (ad *admission) pending() bool {
	return len(ad.part.want) > 0 || len(ad.part.release) > 0 || ad.part.offers || len(ad.part.pooled) > 0
}

// write does nothing: admit, which runs earlier, writes the reservations.
func (ad *admission) write(context.Context, *db.Queries) error { return nil }

func (ad *admission) reset() { ad.part = admissionPart{release: map[int]fair.Amount{}} }

// restore loads the durations that requests contain, and why the execution has not begun.
func (ad *admission) restore(ctx context.Context) (err error) {
	if ad.expected, err = ad.loop.driver.estimates.Of(ctx, ad.loop.row.WorkflowID); err != nil {
		return err
	}
	if ad.loop.status == query.Pending {
		ad.waitReason, ad.part.offers = stored.Into[query.Reason](ad.loop.row.Reason), true
	}
	return nil
}

// quotaRound holds the requests of a flush to the quotas, and their result.
type quotaRound struct {
	round   quota.Round
	granted []fair.Grant
}

// addRequest requests capacity for an attempt of node i with the next flush. Callers use
// readyNodes.requestCapacity, which checks commands, the cache and locks first.
func (ad *admission) addRequest(i int) {
	if ad.loop.operator(i).Pool != "" {
		ad.part.pooled = append(ad.part.pooled, ad.request(i))
		return
	}
	ad.part.want = append(ad.part.want, ad.request(i))
}

// dropRequests removes the requests of the next flush for which drop returns true.
func (ad *admission) dropRequests(drop func(fair.Request) bool) {
	ad.part.want = slices.DeleteFunc(ad.part.want, drop)
	ad.part.pooled = slices.DeleteFunc(ad.part.pooled, drop)
}

// clearRequests removes all requests of the next flush.
func (ad *admission) clearRequests() { ad.part.want, ad.part.pooled = nil, nil }

// release releases the capacity of an ended attempt of node i.
func (ad *admission) release(i int, held fair.Amount) { ad.part.release[i] = held }

// expectOffer makes the next flush check for capacity reserved for this execution.
func (ad *admission) expectOffer() { ad.part.offers = true }

// recheck checks for offers, and repeats the requests of nodes that are not queued.
func (ad *admission) recheck() {
	if ad.loop.progress.Count(dag.Ready) > 0 || ad.loop.status == query.Pending {
		ad.expectOffer()
	}
	for _, i := range ad.unqueued {
		if ad.loop.progress.State(i) == dag.Ready {
			ad.loop.ready.requestCapacity(i)
		}
	}
	ad.unqueued = nil
}

// undo reverts an admission whose transaction did not commit.
func (ad *admission) undo(a quotaRound) {
	if a.round.Execution == ad.loop.id {
		ad.loop.driver.quota.Undo(a.round, a.granted)
	}
}

// oneExecution is the amount that an execution itself uses until it ends.
func oneExecution() fair.Amount { return fair.Amount{Executions: 1} }

// admit releases the capacity of ended attempts and reserves capacity for what may start
// now. An execution that is still PENDING first requests admission for itself: its nodes
// request nothing until it counts among the executions of its project, team and tenant.
func (ad *admission) admit(ctx context.Context, q *db.Queries) (quotaRound, error) {
	b := &ad.part
	if len(b.want) == 0 && len(b.release) == 0 && !b.offers && len(b.pooled) == 0 {
		return quotaRound{}, nil
	}
	a := quotaRound{round: quota.Round{Execution: ad.loop.id, Project: ad.loop.row.ProjectID, Release: b.release}}
	switch {
	case ad.loop.commands.paused, ad.loop.status == query.Pending && !ad.loop.locks.hasExecutionLocks():
	case ad.loop.status == query.Pending:
		a.round.Gate = ad.executionRequest()
		a.round.Want = ad.readyRequests()
	default:
		a.round.Want = slices.DeleteFunc(b.want, func(r fair.Request) bool { return ad.loop.progress.State(r.Node) != dag.Ready })
	}
	var refused []fair.Refusal
	var err error
	began := time.Now()
	a.granted, refused, err = ad.loop.driver.quota.Admit(ctx, q, a.round)
	ad.loop.driver.config.Meter.ObserveDuration(MeterAdmission, time.Since(began))
	if err != nil {
		return a, fmt.Errorf("admit: %w", err)
	}
	now := ad.loop.driver.now()
	for _, g := range a.granted {
		if g.Node == fair.ExecutionItself {
			ad.enter(g, now)
		}
	}
	for _, r := range refused {
		ad.refuse(r, now)
	}
	for _, g := range a.granted {
		if g.Node >= 0 && ad.loop.progress.State(g.Node) == dag.Ready {
			ad.claim(g, now)
		}
	}
	ad.claimPooled(now)
	return a, nil
}

// claimPooled moves the ready nodes of pools to QUEUED: the workers of their pools decide when they
// start.
func (ad *admission) claimPooled(now time.Time) {
	if ad.loop.commands.paused || ad.loop.status == query.Pending {
		return
	}
	for _, r := range ad.part.pooled {
		if ad.loop.progress.State(r.Key.Node) == dag.Ready {
			ad.claim(fair.Grant{Request: r}, now)
		}
	}
}

// executionRequest is the request of the execution itself.
func (ad *admission) executionRequest() *fair.Request {
	return &fair.Request{
		Key: fair.Key{Execution: ad.loop.id, Node: fair.ExecutionItself}, Project: ad.loop.row.ProjectID, Amount: oneExecution(),
		Priority: int(ad.loop.row.Priority), Since: ad.loop.row.CreatedAt, Workflow: ad.loop.row.WorkflowName, Preemptible: true,
	}
}

// readyRequests returns the requests of all READY nodes, except those with a pending check,
// such as a lock or a cache lookup.
func (ad *admission) readyRequests() []fair.Request {
	var want []fair.Request
	for i := range ad.loop.nodes {
		if ad.loop.progress.State(i) == dag.Ready && ad.loop.ready.needsCapacity(i) && ad.loop.operator(i).Pool == "" && !ad.loop.nodes[i].onHold && !ad.loop.cache.needs(i) && !ad.loop.operator(i).Breaker.On() {
			want = append(want, ad.request(i))
		}
	}
	return want
}

// enter begins the execution, which keeps its reservation until it ends.
func (ad *admission) enter(g fair.Grant, now time.Time) {
	ad.loop.begin(now)
	ad.loop.batch.claims = append(ad.loop.batch.claims, claimRow{
		attemptKey: attemptKey{Node: fair.ExecutionItself}, At: now, Executions: g.Amount.Executions, Preemptible: false,
		Priority: g.Priority, ExpiresAt: now.Add(ad.loop.driver.config.Timing.HeartbeatGrace),
	})
	for i := range ad.loop.nodes {
		if ad.loop.progress.State(i) == dag.Ready && (!ad.loop.ready.needsCapacity(i) || ad.loop.cache.needs(i) || ad.loop.operator(i).Pool != "" && !ad.loop.operator(i).Breaker.On()) {
			ad.loop.ready.requestCapacity(i)
		} else if ad.loop.progress.State(i) == dag.Ready && ad.loop.operator(i).Breaker.On() {
			ad.loop.breakers.requestLater(i, now)
		}
	}
}

// refuse stores why something waits, and adds one event for each cause.
func (ad *admission) refuse(r fair.Refusal, now time.Time) {
	reason := r.Reason
	ad.loop.driver.config.Meter.Count(MeterRefusal, reason.Code, 1)
	if r.Key.Node == fair.ExecutionItself {
		if ad.waitReason == nil || ad.waitReason.Code != reason.Code {
			ad.loop.batch.event(eventRow{At: now, Kind: query.EventExecutionWaiting, Message: reason.Message, Data: mustJSON(map[string]any{"code": reason.Code})})
		}
		ad.waitReason = &reason
		return
	}
	i := r.Key.Node
	if reason.Code == fair.StorageLimit {
		ad.unqueued = append(ad.unqueued, i)
	}
	// A preempted node shows its preemptor until its next attempt begins.
	if before := ad.loop.nodes[i].reason; before != nil && (before.Code == reason.Code || before.Code == fair.Preempted) {
		return
	}
	ad.loop.batch.touch(i)
	ad.loop.nodes[i].reason = &reason
	ad.loop.batch.nodeEvent(i, now, query.EventNodeWaiting, reason.Message, map[string]any{"code": reason.Code})
}

// claim moves a granted node to QUEUED: its next attempt starts after the commit.
func (ad *admission) claim(g fair.Grant, now time.Time) {
	i := g.Node
	n := ad.loop.move(i, dag.Queued)
	n.attempt++
	n.reason, n.startedAt, n.stopSent, n.preempted, n.recalled, n.reserved = nil, nil, false, nil, nil, g.Amount
	n.machine, n.devices = quota.DevicesOf(g.Placement)
	ad.loop.batch.claims = append(ad.loop.batch.claims, claimRow{
		attemptKey: attemptKey{i, n.attempt}, At: now, CPU: g.Amount.CPUMillis, Memory: g.Amount.MemoryMiB,
		GPUs: g.Amount.GPUs, GPUType: g.Amount.GPUType, Pods: g.Amount.Pods, Machine: n.machine, Devices: n.devices,
		Preemptible: g.Preemptible, Priority: g.Priority, ExpiresAt: now.Add(ad.loop.driver.config.Timing.HeartbeatGrace),
	})
	ad.loop.launches.start(i)
	text := ""
	if declared := ad.loop.operator(i).Resources.MemoryMiB; n.memory > declared {
		text = fmt.Sprintf("Memory raised to %s after the previous attempt ran out of memory (the definition requests %s).", memoryText(n.memory), memoryText(declared))
	}
	ad.loop.batch.nodeEvent(i, now, query.EventNodeQueued, text, nil)
}

// withdraw cancels the quota request of node i.
func (ad *admission) withdraw(i int) {
	ad.loop.driver.quota.Withdraw(ad.loop.id, []int{i})
	ad.dropRequests(func(r fair.Request) bool { return r.Key.Node == i })
}

// request is the quota request of node i.
func (ad *admission) request(i int) fair.Request {
	op := ad.loop.operator(i)
	r := ad.loop.driver.requestOf(op, ad.loop.row.ProjectID)
	r.Key = fair.Key{Execution: ad.loop.id, Node: i}
	r.Priority, r.Since, r.Attempt = int(ad.loop.row.Priority), *ad.loop.nodes[i].readyAt, ad.loop.nodes[i].attempt+1
	r.Workflow, r.Expected = ad.loop.row.WorkflowName, ad.expected[op.Name].Fair()
	if op.Pool == "" {
		r.Amount = ad.amount(i)
	}
	r = ad.loop.orders.adjust(r)
	r.Amount.MemoryMiB = max(r.Amount.MemoryMiB, r.Amount.Pods*ad.loop.nodes[i].memory)
	return r
}

// amount is what the next attempt of node i requests of the machines that run it.
func (ad *admission) amount(i int) fair.Amount {
	op := ad.loop.operator(i)
	amount := ad.loop.driver.amountOf(op, ad.loop.row.ProjectID)
	if room, ok := overrideOf(ad.loop.origins.overrides, op.Name); ok {
		amount = room.apply(amount)
	}
	return amount
}

// repeatRequests repeats the requests of all ready nodes after a pause: a loop that cannot become
// idle may have missed an offer, and a missed offer is not repeated.
func (ad *admission) repeatRequests(every time.Duration) {
	now := ad.loop.driver.now()
	if now.Sub(ad.requestedAt) < every || ad.loop.progress.Count(dag.Ready) == 0 {
		return
	}
	ad.requestedAt = now
	for i := range ad.loop.nodes {
		if ad.loop.progress.State(i) == dag.Ready {
			ad.loop.ready.requestCapacity(i)
		}
	}
}
