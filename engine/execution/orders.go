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
	"github.com/flowforge/flowforge/platform/units"
)

// ReasonCancelled is the code of a node that was cancelled individually, and of nodes that
// can never run because of it.
const ReasonCancelled = "CANCELLED"

// nodeOrders are the orders of users for single nodes.
type nodeOrders struct {
	feature

	byNode map[int]db.NodeOrder

	part ordersPart
}

type ordersPart struct {
	taken []int64 // orders that were applied
}

func (od *nodeOrders) pending() bool { return len(od.part.taken) > 0 }

func (od *nodeOrders) reset() { od.part = ordersPart{} }

// loadUpdates loads the orders of users for single nodes. A loop that acquires an execution also
// follows the orders that an earlier loop applied.
func (od *nodeOrders) loadUpdates(ctx context.Context) error {
	rows, err := od.loop.driver.queries.OrdersOf(ctx, od.loop.id)
	if err != nil {
		return fmt.Errorf("load orders: %w", err)
	}
	now := od.loop.driver.now()
	for _, o := range rows {
		i := int(o.NodeIndex)
		if i < 0 || i >= len(od.loop.nodes) {
			continue
		}
		if known, ok := od.byNode[i]; ok && known.Seq == o.Seq {
			continue // it is already followed
		}
		if !o.Taken {
			od.part.taken = append(od.part.taken, o.Seq)
			if !o.Cancel {
				od.loop.batch.nodeEvent(i, o.OrderedAt, query.EventNodeOrdered, orderText(o), nil)
			}
		}
		if od.byNode == nil {
			od.byNode = map[int]db.NodeOrder{}
		}
		od.byNode[i] = o
		switch {
		case o.Cancel:
			od.cancelOne(i, o, now)
		case od.loop.progress.State(i) == dag.Ready:
			od.loop.admission.withdraw(i)
			od.loop.ready.requestCapacity(i)
		}
	}
	return nil
}

// adjust changes a request as users ordered: to another priority, or to a smaller amount.
func (od *nodeOrders) adjust(r fair.Request) fair.Request {
	o, ok := od.byNode[r.Key.Node]
	if !ok {
		return r
	}
	lower := func(to *int, by *int32) {
		if by != nil {
			*to = min(*to, int(*by))
		}
	}
	if o.Priority != nil {
		r.Priority = int(*o.Priority)
	}
	lower(&r.Amount.CPUMillis, o.CpuMillis)
	lower(&r.Amount.MemoryMiB, o.MemoryMib)
	if lower(&r.Amount.GPUs, o.Gpus); r.Amount.GPUs == 0 {
		r.Amount.GPUType = ""
	}
	return r
}

// cancelOne cancels node i; dag.Next decides about the nodes that depend on it.
func (od *nodeOrders) cancelOne(i int, o db.NodeOrder, now time.Time) {
	state := od.loop.progress.State(i)
	if state.Ended() {
		return
	}
	reason := &query.Reason{Code: ReasonCancelled, Message: withReason("Cancelled by "+o.OrderedBy, o.Reason)}
	od.loop.nodes[i].cancelled = reason
	switch {
	case state.Active() && od.loop.ready.needsCapacity(i):
		od.loop.stop(i, now)
		return
	case state.Active() && od.loop.groups.expands(i):
		od.loop.unseen.add(od.loop.progress.Halt(od.loop.progress.Inner(i), true)...)
		return
	}
	od.loop.endWithout(i, dag.Cancelled, now, reason)
}

// write records which orders this batch follows. It runs after the row of the execution is
// locked; new orders lock the same row.
func (od *nodeOrders) write(ctx context.Context, q *db.Queries) error {
	var err error
	switch {
	case od.loop.batch.finished && len(od.byNode) > 0:
		err = q.DeleteOrdersOf(ctx, od.loop.id)
	case len(od.part.taken) > 0:
		err = q.TakeOrders(ctx, od.loop.id, od.part.taken)
	}
	if err != nil {
		return fmt.Errorf("record orders: %w", err)
	}
	return nil
}

// orderText describes an order for the history.
func orderText(o db.NodeOrder) string {
	var parts []string
	if o.Priority != nil {
		parts = append(parts, "priority "+query.Priority(*o.Priority).String())
	}
	if o.CpuMillis != nil {
		parts = append(parts, fmt.Sprintf("%dm of CPU", *o.CpuMillis))
	}
	if o.MemoryMib != nil {
		parts = append(parts, fmt.Sprintf("%d MiB of memory", *o.MemoryMib))
	}
	if o.Gpus != nil {
		parts = append(parts, units.Plural(int(*o.Gpus), "GPU", "GPUs"))
	}
	return withReason(fmt.Sprintf("%s requested %s", o.OrderedBy, strings.Join(parts, ", ")), o.Reason)
}
