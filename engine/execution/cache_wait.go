package execution

import (
	"sync"

	"github.com/google/uuid"
)

// maxAwaited bounds the nodes that others are known to wait for. Who is forgotten asks
// again by itself after a while.
const maxAwaited = 100_000

// results knows which executions wait for the results of which nodes. It is a hint: what
// holds stands in the rows.
type results struct {
	mu    sync.Mutex
	waits map[holder]map[uuid.UUID]struct{}
}

func (r *results) wait(on holder, execution uuid.UUID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waits == nil || len(r.waits) >= maxAwaited {
		r.waits = map[holder]map[uuid.UUID]struct{}{}
	}
	if r.waits[on] == nil {
		r.waits[on] = map[uuid.UUID]struct{}{}
	}
	r.waits[on][execution] = struct{}{}
}

// ended returns who waits for a node, and forgets them.
func (r *results) ended(on holder) []uuid.UUID {
	r.mu.Lock()
	defer r.mu.Unlock()
	var who []uuid.UUID
	for id := range r.waits[on] {
		who = append(who, id)
	}
	delete(r.waits, on)
	return who
}

// retryLookup lets the next look ask for node i once more.
func (l *loop) retryLookup(i int) {
	if _, ok := l.relooked[i]; ok {
		return
	}
	if l.relooked == nil {
		l.relooked = map[int]struct{}{}
	}
	l.relooked[i] = struct{}{}
	l.lookups = append(l.lookups, i)
}

// lookUpAwaited asks again for all nodes that wait for results.
func (l *loop) lookUpAwaited() {
	for i := range l.awaiting {
		l.lookups = append(l.lookups, i)
	}
	clear(l.awaiting)
	clear(l.relooked)
}

// endedResults tells those who wait for results of this batch, which is committed, that
// there is one now, or none will come.
func (l *loop) endedResults(nodes map[int]*nodeRow) {
	for i := range nodes {
		if l.nodes[i].op.Cache == nil || !l.progress.State(i).Ended() {
			continue
		}
		for _, id := range l.service.results.ended(holder{l.id, i}) {
			if id == l.id {
				l.lookUpAwaited()
			} else {
				l.service.wake(id)
			}
		}
	}
}
