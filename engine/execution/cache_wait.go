package execution

import (
	"sync"

	"github.com/google/uuid"
)

// maxAwaited limits the nodes with known waiters. A removed waiter repeats its lookup itself
// after a while.
const maxAwaited = 100_000

// results records which executions wait for the results of which nodes. It is a hint: the
// rows are authoritative.
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

// ended returns the waiters of a node, and removes them.
func (r *results) ended(on holder) []uuid.UUID {
	r.mu.Lock()
	defer r.mu.Unlock()
	var waiters []uuid.UUID
	for id := range r.waits[on] {
		waiters = append(waiters, id)
	}
	delete(r.waits, on)
	return waiters
}

// lookUpAgain makes the next lookup include node i again.
func (ch *cacheLookups) lookUpAgain(i int) {
	if _, ok := ch.repeated[i]; ok {
		return
	}
	if ch.repeated == nil {
		ch.repeated = map[int]struct{}{}
	}
	ch.repeated[i] = struct{}{}
	ch.lookups = append(ch.lookups, i)
}

// lookUpAwaited repeats the lookups of all nodes that wait for results.
func (ch *cacheLookups) lookUpAwaited() {
	for i := range ch.awaiting {
		ch.lookups = append(ch.lookups, i)
	}
	clear(ch.awaiting)
	clear(ch.repeated)
}

// notifyWaiters notifies the waiters of nodes.
func (ch *cacheLookups) notifyWaiters(nodes map[int]*nodeRow) {
	for i := range nodes {
		if ch.loop.nodes[i].op.Cache == nil || !ch.loop.progress.State(i).Ended() {
			continue
		}
		for _, id := range ch.loop.driver.results.ended(holder{ch.loop.id, i}) {
			if id == ch.loop.id {
				ch.lookUpAwaited()
			} else {
				ch.loop.driver.wake(id)
			}
		}
	}
}
