package execution

import (
	"container/heap"
	"context"
	"time"

	"github.com/flowforge/flowforge/engine/dag"
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
			l.conclusion.timeOut(now)
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
			l.ready.makeReady(ctx, i, now)
			continue
		}
		retries = append(retries, i)
	}
	l.budgets.startDueRetries(ctx, retries, now)
}

// executionTimer is the index of the execution itself among the timers.
const executionTimer = -1

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
