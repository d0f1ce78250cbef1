package execution

import (
	"context"
	"sync"

	"github.com/google/uuid"
)

// startHolds delays the start of executions that are launched together with many others: their drives
// would slow down the launches of the others.
type startHolds struct {
	mu    sync.Mutex
	until map[uuid.UUID]<-chan struct{}
}

func newStartHolds() *startHolds { return &startHolds{until: map[uuid.UUID]<-chan struct{}{}} }

// add holds the executions of launches until a channel is closed.
func (h *startHolds) add(list []*launch, until <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range list {
		h.until[l.id] = until
	}
}

// remove forgets executions.
func (h *startHolds) remove(ids []uuid.UUID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range ids {
		delete(h.until, id)
	}
}

// wait waits while an execution is held, until ctx ends.
func (h *startHolds) wait(ctx context.Context, id uuid.UUID) {
	h.mu.Lock()
	until, held := h.until[id]
	h.mu.Unlock()
	if !held {
		return
	}
	select {
	case <-until:
	case <-ctx.Done():
	}
}
