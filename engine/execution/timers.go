package execution

import (
	"container/heap"
	"context"
	"fmt"
	"time"

	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/workflow"
)

// timers orders the nodes that wait for the time of their next attempt.
type timers struct{ items timerHeap }

type timer struct {
	at   time.Time
	node int
}

func (t *timers) add(node int, at time.Time) { heap.Push(&t.items, timer{at, node}) }

// next returns when the first timer is due.
func (t *timers) next() (time.Time, bool) {
	if len(t.items) == 0 {
		return time.Time{}, false
	}
	return t.items[0].at, true
}

// due removes and returns the nodes that are due.
func (t *timers) due(now time.Time) []int {
	var nodes []int
	for len(t.items) > 0 && !t.items[0].at.After(now) {
		nodes = append(nodes, heap.Pop(&t.items).(timer).node)
	}
	return nodes
}

// fireTimers makes nodes ready whose backoff is over.
func (l *loop) fireTimers(ctx context.Context) {
	now := l.driver.now()
	var retries []int // these count against the budgets
	for _, i := range l.timers.due(now) {
		if i == executionTimer {
			l.timeOut(now)
			continue
		}
		n := &l.nodes[i]
		if l.progress.State(i) == dag.Running && n.op.Type == workflow.TypeApproval && !l.groups.fansOut(i) {
			l.commands.noAnswer(i, now)
			continue
		}
		if l.sensors.fire(ctx, i, now) {
			continue
		}
		if l.breakers.requestAgain(i) {
			continue
		}
		if l.progress.State(i) != dag.Retrying || n.retryAt == nil || n.retryAt.After(now) && !n.overBudget() {
			continue
		}
		if n.reason != nil && n.reason.Code == ReasonInterrupted { // an interruption spends no retry
			l.makeReady(ctx, i, now)
			continue
		}
		retries = append(retries, i)
	}
	l.budgets.startDueRetries(ctx, retries, now)
}

// executionTimer is the index of the execution itself among the timers.
const executionTimer = -1

// setTimeout sets the timer of the execution's own timeout, once it has begun.
func (l *loop) setTimeout() {
	if timeout := l.version.Definition.Timeout; timeout > 0 && l.row.StartedAt != nil {
		l.timers.add(executionTimer, l.row.StartedAt.Add(timeout))
	}
}

// timeOut ends the execution because it exceeded its timeout.
func (l *loop) timeOut(now time.Time) {
	if l.timedOut || l.progress.RootHalted() {
		return
	}
	l.timedOut = true
	l.changed = append(l.changed, l.progress.Halt(dag.Root, false)...)
	l.event(eventRow{At: now, Kind: query.EventExecutionHalted, Message: l.timeoutFailure().Message})
}

func (l *loop) timeoutFailure() *query.Failure {
	return &query.Failure{Code: "timeout", Message: fmt.Sprintf("The execution ran longer than its timeout of %s.", l.version.Definition.Timeout)}
}

// timerHeap implements heap.Interface.
type timerHeap []timer

func (h *timerHeap) Len() int           { return len(*h) }
func (h *timerHeap) Less(i, j int) bool { return (*h)[i].at.Before((*h)[j].at) }
func (h *timerHeap) Swap(i, j int)      { (*h)[i], (*h)[j] = (*h)[j], (*h)[i] }

// Push implements heap.Interface.
func (h *timerHeap) Push(x any) { *h = append(*h, x.(timer)) }

// Pop implements heap.Interface.
func (h *timerHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
