package execution

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// ReasonCancelled is the code of a node that was cancelled alone, and of those
// that can never run because of it.
const ReasonCancelled = "CANCELLED"

// nodeOrders are what people ordered about single nodes.
type nodeOrders struct {
	feature

	byNode map[int]db.NodeOrder

	part ordersPart
}

type ordersPart struct {
	taken []int64 // orders that were taken up
}

func (od *nodeOrders) pending() bool { return len(od.part.taken) > 0 }

func (od *nodeOrders) reset() { od.part = ordersPart{} }

// news takes up what people ordered about single nodes. A loop that takes
// over an execution follows the orders that a former one had taken up, too.
func (od *nodeOrders) news(ctx context.Context) error {
	rows, err := od.service.queries.OrdersOf(ctx, od.id)
	if err != nil {
		return fmt.Errorf("load orders: %w", err)
	}
	now := od.service.now()
	for _, o := range rows {
		i := int(o.NodeIndex)
		if i < 0 || i >= len(od.nodes) {
			continue
		}
		if known, ok := od.byNode[i]; ok && known.Seq == o.Seq {
			continue // it is followed already
		}
		if !o.Taken {
			od.part.taken = append(od.part.taken, o.Seq)
			if !o.Cancel {
				od.nodeEvent(i, o.OrderedAt, "node.ordered", orderText(o), nil)
			}
		}
		if od.byNode == nil {
			od.byNode = map[int]db.NodeOrder{}
		}
		od.byNode[i] = o
		switch {
		case o.Cancel:
			od.cancelOne(i, o, now)
		case od.progress.State(i) == dag.Ready:
			od.admission.withdraw(i)
			od.ask(i)
		}
	}
	return nil
}

// adjust is a request as people ordered it: with another priority, or for less.
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

// cancelOne ends node i alone; dag.Next decides about those that depend on it.
func (od *nodeOrders) cancelOne(i int, o db.NodeOrder, now time.Time) {
	state := od.progress.State(i)
	if state.Ended() {
		return
	}
	reason := &Reason{Code: ReasonCancelled, Message: withReason("Cancelled by "+o.OrderedBy, o.Reason)}
	od.nodes[i].cancelled = reason
	switch {
	case state.Active() && od.needsCapacity(i):
		od.stop(i, now)
		return
	case state.Active() && od.expands(i):
		od.changed = append(od.changed, od.progress.Halt(od.progress.Inner(i), true)...)
		return
	}
	od.endWithout(i, dag.Cancelled, now, reason)
}

// stopReason says why node i ends that nobody let begin, or that was stopped.
func (l *loop) stopReason(i int) *Reason {
	if own := l.nodes[i].cancelled; own != nil {
		return own
	}
	if scope := l.progress.ScopeOf(i); !l.progress.RootHalted() && scope != dag.Root {
		return l.causeReason(l.progress.Cause(scope))
	}
	return l.haltReason()
}

// causeReason says why a node ends because cause, which it depends on, was cancelled.
func (l *loop) causeReason(cause int) *Reason {
	if cause < 0 || l.progress.RootHalted() {
		return l.haltReason()
	}
	verb := "was cancelled"
	if l.progress.State(cause) == dag.Failed {
		verb = "failed and fails fast"
	}
	return &Reason{Code: ReasonCancelled, Message: fmt.Sprintf("%s %s.", l.nodes[cause].name, verb)}
}

// write notes which orders this batch follows. It comes after the row of the
// execution is locked, as it is for those who order.
func (od *nodeOrders) write(ctx context.Context, q *db.Queries) error {
	var err error
	switch {
	case od.batch.finished && len(od.byNode) > 0:
		err = q.DeleteOrdersOf(ctx, od.id)
	case len(od.part.taken) > 0:
		err = q.TakeOrders(ctx, od.id, od.part.taken)
	}
	if err != nil {
		return fmt.Errorf("note orders: %w", err)
	}
	return nil
}

// cancelledAlone says of an execution in which nothing failed which node somebody
// cancelled.
func (l *loop) cancelledAlone() *Failure {
	first := -1
	for i := range l.nodes {
		if l.nodes[i].cancelled != nil && l.progress.State(i) == dag.Cancelled {
			first = i
			break
		}
	}
	if first < 0 {
		return l.failure
	}
	name := l.nodes[first].name
	return &Failure{Code: "cancelled", Message: name + ": " + l.nodes[first].cancelled.Message, Node: name, Attempt: l.nodes[first].attempt}
}

// orderText says what was ordered, for the history.
func orderText(o db.NodeOrder) string {
	var parts []string
	if o.Priority != nil {
		parts = append(parts, "priority "+Priority(*o.Priority).String())
	}
	for _, amount := range []struct {
		of   *int32
		unit string
	}{{o.CpuMillis, "m of CPU"}, {o.MemoryMib, " MiB of memory"}, {o.Gpus, " GPU"}} {
		if amount.of != nil {
			parts = append(parts, fmt.Sprintf("%d%s", *amount.of, amount.unit))
		}
	}
	return withReason(fmt.Sprintf("%s asked for %s", o.OrderedBy, strings.Join(parts, ", ")), o.Reason)
}
