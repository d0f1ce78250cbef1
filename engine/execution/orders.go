package execution

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// ReasonCancelled is the code of a node that was cancelled alone, and of those
// that can never run because of it.
const ReasonCancelled = "CANCELLED"

// loadOrders takes up what people ordered about single nodes. A loop that takes
// over an execution follows the orders that a former one had taken up, too.
func (l *loop) loadOrders(ctx context.Context) error {
	rows, err := l.service.queries.OrdersOf(ctx, l.id)
	if err != nil {
		return fmt.Errorf("load orders: %w", err)
	}
	now := l.service.now()
	for _, o := range rows {
		i := int(o.NodeIndex)
		if i < 0 || i >= len(l.nodes) {
			continue
		}
		if known, ok := l.orders[i]; ok && known.Seq == o.Seq {
			continue // it is followed already
		}
		if !o.Taken {
			l.batch.orders = append(l.batch.orders, o.Seq)
			if !o.Cancel {
				l.nodeEvent(i, o.OrderedAt, "node.ordered", orderText(o), nil)
			}
		}
		if l.orders == nil {
			l.orders = map[int]db.NodeOrder{}
		}
		l.orders[i] = o
		switch {
		case o.Cancel:
			l.cancelOne(i, o, now)
		case l.progress.State(i) == dag.Ready:
			l.service.quota.Withdraw(l.id, []int{i})
			l.batch.want = slices.DeleteFunc(l.batch.want, func(r fair.Request) bool { return r.Key.Node == i })
			l.ask(i)
		}
	}
	return nil
}

// ordered is a request as people ordered it: with another priority, or for less.
func (l *loop) ordered(r fair.Request) fair.Request {
	o, ok := l.orders[r.Key.Node]
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
func (l *loop) cancelOne(i int, o db.NodeOrder, now time.Time) {
	state := l.progress.State(i)
	if state.Ended() {
		return
	}
	reason := &Reason{Code: ReasonCancelled, Message: withReason("Cancelled by "+o.OrderedBy, o.Reason)}
	l.nodes[i].cancelled = reason
	switch {
	case state.Active() && l.needsCapacity(i):
		l.stop(i, now)
		return
	case state.Active() && l.expands(i):
		l.changed = append(l.changed, l.progress.Halt(l.progress.Inner(i), true)...)
		return
	}
	l.endWithout(i, dag.Cancelled, now, reason)
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

// writeOrders notes which orders this batch follows. It comes after the row of the
// execution is locked, as it is for those who order.
func (l *loop) writeOrders(ctx context.Context, q *db.Queries) error {
	var err error
	switch {
	case l.batch.finished && len(l.orders) > 0:
		err = q.DeleteOrdersOf(ctx, l.id)
	case len(l.batch.orders) > 0:
		err = q.TakeOrders(ctx, l.id, l.batch.orders)
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
