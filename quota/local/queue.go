package local

import (
	"bytes"
	"cmp"
	"container/heap"

	"github.com/google/uuid"
)

// queue orders waiting requests. Requests of one size share a line, so that
// finding the next that fits costs as many looks as there are sizes, not
// requests.
type queue struct {
	entries map[uuid.UUID]map[int]*entry
	lines   map[Amount]*line
}

type entry struct {
	request Request
	index   int // in its line
}

func newQueue() queue {
	return queue{entries: map[uuid.UUID]map[int]*entry{}, lines: map[Amount]*line{}}
}

// compare orders by right: priority, then age, then a fixed order.
func compare(a, b Request) int {
	return cmp.Or(
		cmp.Compare(b.Priority, a.Priority),
		a.Since.Compare(b.Since),
		bytes.Compare(a.Key.Execution[:], b.Key.Execution[:]),
		cmp.Compare(a.Key.Node, b.Key.Node),
	)
}

// add puts r in the queue; a request of the same node keeps its place.
func (q *queue) add(r Request) {
	nodes := q.entries[r.Key.Execution]
	if nodes == nil {
		nodes = map[int]*entry{}
		q.entries[r.Key.Execution] = nodes
	}
	if _, ok := nodes[r.Key.Node]; ok {
		return
	}
	e := &entry{request: r}
	nodes[r.Key.Node] = e
	of := q.lines[r.Amount]
	if of == nil {
		of = &line{}
		q.lines[r.Amount] = of
	}
	heap.Push(of, e)
}

func (q *queue) remove(key Key) {
	e, ok := q.entries[key.Execution][key.Node]
	if !ok {
		return
	}
	of := q.lines[e.request.Amount]
	heap.Remove(of, e.index)
	if of.Len() == 0 {
		delete(q.lines, e.request.Amount)
	}
	delete(q.entries[key.Execution], key.Node)
	if len(q.entries[key.Execution]) == 0 {
		delete(q.entries, key.Execution)
	}
}

func (q *queue) removeAll(execution uuid.UUID) {
	for node := range q.entries[execution] {
		q.remove(Key{execution, node})
	}
}

// first returns the request with the most right.
func (q *queue) first() (Request, bool) {
	return q.best(func(Amount) bool { return true })
}

// take removes and returns the request with the most right among those that fit.
func (q *queue) take(free Amount) (Request, bool) {
	r, ok := q.best(free.fits)
	if ok {
		q.remove(r.Key)
	}
	return r, ok
}

func (q *queue) best(fits func(Amount) bool) (best Request, found bool) {
	for size, of := range q.lines {
		if !fits(size) {
			continue
		}
		if r := (*of)[0].request; !found || compare(r, best) < 0 {
			best, found = r, true
		}
	}
	return best, found
}

// ahead counts the requests with more right than r, up to limit.
func (q *queue) ahead(r Request, limit int) int {
	n := 0
	for _, of := range q.lines {
		n += of.ahead(r, 0, limit-n)
	}
	return n
}

// line is a heap of requests of one size.
type line []*entry

// ahead walks only the part of the heap that is ahead of r.
func (l *line) ahead(r Request, i, limit int) int {
	if i >= len(*l) || limit <= 0 || compare((*l)[i].request, r) >= 0 {
		return 0
	}
	n := 1
	n += l.ahead(r, 2*i+1, limit-n)
	return n + l.ahead(r, 2*i+2, limit-n)
}

// Len, Less, Swap, Push and Pop make line a heap.Interface.
func (l *line) Len() int           { return len(*l) }
func (l *line) Less(i, j int) bool { return compare((*l)[i].request, (*l)[j].request) < 0 }
func (l *line) Swap(i, j int) {
	entries := *l
	entries[i], entries[j] = entries[j], entries[i]
	entries[i].index, entries[j].index = i, j
}

// Push is for container/heap.
func (l *line) Push(x any) {
	e := x.(*entry)
	e.index = len(*l)
	*l = append(*l, e)
}

// Pop is for container/heap.
func (l *line) Pop() any {
	old := *l
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*l = old[:len(old)-1]
	return e
}
