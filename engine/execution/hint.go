package execution

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
)

// driveChannel carries the ids of executions whose rows have changes for their loop: stored
// reports, begins, orders, a cancellation.
const driveChannel = "flowforge_drive"

// hints are the executions of which the process that drives them is to be notified.
type hints struct {
	mu      sync.Mutex
	pending map[uuid.UUID]struct{}
	signal  chan struct{}
}

func newHints() *hints {
	return &hints{pending: map[uuid.UUID]struct{}{}, signal: make(chan struct{}, 1)}
}

func (h *hints) add(id uuid.UUID) {
	h.mu.Lock()
	h.pending[id] = struct{}{}
	h.mu.Unlock()
	select {
	case h.signal <- struct{}{}:
	default:
	}
}

func (h *hints) take() []uuid.UUID {
	h.mu.Lock()
	defer h.mu.Unlock()
	ids := make([]uuid.UUID, 0, len(h.pending))
	for id := range h.pending {
		ids = append(ids, id)
	}
	clear(h.pending)
	return ids
}

// sendMessage passes m to the loop of an execution when it is in this process, and otherwise makes
// the loop read its rows. The rows must already contain the content of m.
func (s *core) sendMessage(id uuid.UUID, m message) {
	if !s.live.post(id, m) {
		s.hints.add(id)
	}
}

// sendHintsForever sends hints to the process that drives. Hints that arrive while it sends share
// the next notification.
func (s *waker) sendHintsForever(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.hints.signal:
		}
		ids := s.hints.take()
		if len(ids) == 0 {
			continue
		}
		// Renewals of leases also read the rows, so a lost hint is harmless.
		err := limited(ctx, hintTimeout, func(ctx context.Context) error { return s.queries.NotifyDrive(ctx, ids) })
		if err != nil && ctx.Err() == nil {
			s.config.Logger.Debug("notify of changes", "error", err)
		}
	}
}

// hearHint adds the execution of a notification to heard if a loop of this process drives it.
func (s *Driver) hearHint(heard *hints, payload string) {
	id, err := uuid.Parse(payload)
	if err != nil {
		return
	}
	if _, ok := s.live.get(id); ok {
		heard.add(id)
	}
}

// readHintsForever reads the rows of heard executions until ctx ends. Hints that arrive together are
// read together.
func (s *Driver) readHintsForever(ctx context.Context, heard *hints) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-heard.signal:
		}
		err := limited(ctx, hintTimeout, func(ctx context.Context) error { return s.loadInLoops(ctx, heard.take()) })
		if err != nil && ctx.Err() == nil {
			s.config.Logger.Debug("read changes", "error", err)
		}
	}
}

// hintTimeout limits one statement that sends or follows hints.
const hintTimeout = 10 * time.Second

// loadInLoops makes the loops of these executions read what other processes have stored for them.
func (s *Driver) loadInLoops(ctx context.Context, ids []uuid.UUID) error {
	all := s.live.all()
	leases := make(map[uuid.UUID]leasedLoop, len(ids))
	for _, id := range ids {
		if l, ok := all[id]; ok {
			leases[id] = l
		}
	}
	for id := range leases {
		s.live.post(id, message{reports: true})
	}
	return s.renew(ctx, leases)
}
