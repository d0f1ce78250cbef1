package telemetry

import (
	"maps"
	"slices"
	"sync"

	"github.com/google/uuid"
)

// hub notifies tails of new lines of their execution.
type hub struct {
	mu         sync.Mutex
	subs       map[uuid.UUID]map[chan struct{}]struct{}
	generation uint64 // grows with each execution that becomes followed
}

func newHub() *hub { return &hub{subs: map[uuid.UUID]map[chan struct{}]struct{}{}} }

// subscribe returns a channel that gets a token after lines of the execution
// were appended; several appends may share one token.
func (h *hub) subscribe(execution uuid.UUID) (hint <-chan struct{}, stop func()) {
	c := make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.subs[execution] == nil {
		h.subs[execution] = map[chan struct{}]struct{}{}
		h.generation++
	}
	h.subs[execution][c] = struct{}{}
	return c, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.subs[execution], c)
		if len(h.subs[execution]) == 0 {
			delete(h.subs, execution)
		}
	}
}

func (h *hub) notify(execution uuid.UUID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.subs[execution] {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// generationOf returns a number that grows before an execution becomes followed, and whether this
// execution is followed.
func (h *hub) generationOf(execution uuid.UUID) (generation uint64, followed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.generation, len(h.subs[execution]) > 0
}

// executions returns the executions that are followed.
func (h *hub) executions() []uuid.UUID {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.subs))
}

// followers returns the number of tails of an execution.
func (h *hub) followers(execution uuid.UUID) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.subs[execution])
}
