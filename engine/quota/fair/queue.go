package fair

import (
	"bytes"
	"cmp"
	"container/heap"
	"slices"
	"time"

	"github.com/google/uuid"
)

// size is the key that requests of one line share, so that either all or none of them
// fit, and none overtakes another.
type size struct {
	project     uuid.UUID
	amount      Amount
	priority    int
	preemptible bool
	spread      bool
}

func sizeOf(r Request) size {
	return size{r.Project, r.Amount, r.Priority, r.Preemptible, r.Spread}
}

// queue holds waiting requests. Finding the next one that fits checks one request per
// project and size.
type queue struct {
	entries map[uuid.UUID]map[int]*entry
	lines   map[size]*line
	count   int
}

type entry struct {
	request Request
	index   int // in its line
}

func newQueue() queue {
	return queue{entries: map[uuid.UUID]map[int]*entry{}, lines: map[size]*line{}}
}

// line is a heap of requests of one size by age.
type line struct {
	size

	demand  demand
	level   int  // of the project; -1 when the tree does not know it
	never   bool // it can never fit, even if nothing else runs
	least   int  // borrow distance in an empty cluster
	entries []*entry
}

func (l *line) head() *Request { return &l.entries[0].request }

// byAge orders the requests of a line.
func byAge(a, b *Request) int {
	return cmp.Or(a.Since.Compare(b.Since), compareKeys(a.Key, b.Key))
}

func compareKeys(a, b Key) int {
	return cmp.Or(bytes.Compare(a.Execution[:], b.Execution[:]), cmp.Compare(a.Node, b.Node))
}

// add puts r in the queue; a request with the same key keeps its position. It returns a
// newly created line, or nil.
func (q *queue) add(r Request) *line {
	nodes := q.entries[r.Execution]
	if nodes == nil {
		nodes = map[int]*entry{}
		q.entries[r.Execution] = nodes
	}
	if _, ok := nodes[r.Node]; ok {
		return nil
	}
	e := &entry{request: r}
	nodes[r.Node] = e
	q.count++
	of, known := q.lines[sizeOf(r)]
	if !known {
		of = &line{size: sizeOf(r)}
		q.lines[of.size] = of
	}
	heap.Push(of, e)
	if known {
		return nil
	}
	return of
}

func (q *queue) find(key Key) (Request, bool) {
	e, ok := q.entries[key.Execution][key.Node]
	if !ok {
		return Request{}, false
	}
	return e.request, true
}

func (q *queue) remove(key Key) {
	e, ok := q.entries[key.Execution][key.Node]
	if !ok {
		return
	}
	of := q.lines[sizeOf(e.request)]
	heap.Remove(of, e.index)
	if of.Len() == 0 {
		delete(q.lines, of.size)
	}
	q.count--
	delete(q.entries[key.Execution], key.Node)
	if len(q.entries[key.Execution]) == 0 {
		delete(q.entries, key.Execution)
	}
}

// requests returns all waiting requests, by age.
func (q *queue) requests() []Request {
	all := make([]Request, 0, q.count)
	for _, l := range q.lines {
		for _, e := range l.entries {
			all = append(all, e.request)
		}
	}
	slices.SortFunc(all, func(a, b Request) int { return byAge(&a, &b) })
	return all
}

// oldest returns the request that has waited longest.
func (q *queue) oldest() (first *Request) {
	for _, l := range q.lines {
		if h := l.head(); first == nil || byAge(h, first) < 0 {
			first = h
		}
	}
	return first
}

// clone copies the queue; requests are copied, so that both can change.
func (q *queue) clone() queue {
	out := queue{entries: make(map[uuid.UUID]map[int]*entry, len(q.entries)), lines: make(map[size]*line, len(q.lines)), count: q.count}
	block := make([]entry, 0, q.count)
	for key, l := range q.lines {
		of := &line{size: l.size, demand: l.demand, level: l.level, never: l.never, least: l.least, entries: make([]*entry, len(l.entries))}
		for i, e := range l.entries {
			block = append(block, *e)
			copied := &block[len(block)-1]
			of.entries[i] = copied
			nodes := out.entries[e.request.Execution]
			if nodes == nil {
				nodes = map[int]*entry{}
				out.entries[e.request.Execution] = nodes
			}
			nodes[e.request.Node] = copied
		}
		out.lines[key] = of
	}
	return out
}

// Len, Less, Swap, Push and Pop make line a heap.Interface.
func (l *line) Len() int           { return len(l.entries) }
func (l *line) Less(i, j int) bool { return byAge(&l.entries[i].request, &l.entries[j].request) < 0 }
func (l *line) Swap(i, j int) {
	l.entries[i], l.entries[j] = l.entries[j], l.entries[i]
	l.entries[i].index, l.entries[j].index = i, j
}

// Push is for container/heap.
func (l *line) Push(x any) {
	e := x.(*entry)
	e.index = len(l.entries)
	l.entries = append(l.entries, e)
}

// Pop is for container/heap.
func (l *line) Pop() any {
	last := len(l.entries) - 1
	e := l.entries[last]
	l.entries[last] = nil
	l.entries = l.entries[:last]
	return e
}

// waited is how long r has waited at now.
func (r *Request) waited(now time.Time) time.Duration { return max(0, now.Sub(r.Since)) }
