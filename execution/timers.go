package execution

import (
	"container/heap"
	"context"
	"time"

	"github.com/flowforge/flowforge/dag"
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

// due removes and returns the nodes whose time has come.
func (t *timers) due(now time.Time) []int {
	var nodes []int
	for len(t.items) > 0 && !t.items[0].at.After(now) {
		nodes = append(nodes, heap.Pop(&t.items).(timer).node)
	}
	return nodes
}

// fireTimers makes nodes ready whose backoff is over.
func (l *loop) fireTimers(ctx context.Context) {
	now := l.service.now()
	for _, i := range l.timers.due(now) {
		n := &l.nodes[i]
		if l.progress.State(i) != dag.Retrying || n.retryAt == nil || n.retryAt.After(now) {
			continue
		}
		l.makeReady(ctx, i, now)
	}
}

// timerHeap implements heap.Interface.
type timerHeap []timer

func (h *timerHeap) Len() int           { return len(*h) }
func (h *timerHeap) Less(i, j int) bool { return (*h)[i].at.Before((*h)[j].at) }
func (h *timerHeap) Swap(i, j int)      { (*h)[i], (*h)[j] = (*h)[j], (*h)[i] }

// Push is for container/heap.
func (h *timerHeap) Push(x any) { *h = append(*h, x.(timer)) }

// Pop is for container/heap.
func (h *timerHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
