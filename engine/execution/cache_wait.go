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

// lookUpAgain lets the next look ask for node i once more.
func (ch *cacheLookups) lookUpAgain(i int) {
	if _, ok := ch.repeated[i]; ok {
		return
	}
	if ch.repeated == nil {
		ch.repeated = map[int]struct{}{}
	}
	ch.repeated[i] = struct{}{}
	ch.wanted = append(ch.wanted, i)
}

// lookUpAwaited asks again for all nodes that wait for results.
func (ch *cacheLookups) lookUpAwaited() {
	for i := range ch.awaiting {
		ch.wanted = append(ch.wanted, i)
	}
	clear(ch.awaiting)
	clear(ch.repeated)
}

// tellAwaiting tells those who wait for results of nodes.
func (ch *cacheLookups) tellAwaiting(nodes map[int]*nodeRow) {
	for i := range nodes {
		if ch.nodes[i].op.Cache == nil || !ch.progress.State(i).Ended() {
			continue
		}
		for _, id := range ch.service.results.ended(holder{ch.id, i}) {
			if id == ch.id {
				ch.lookUpAwaited()
			} else {
				ch.service.wake(id)
			}
		}
	}
}
