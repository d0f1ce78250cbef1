package execution

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/auth"
	"github.com/flowforge/flowforge/db"
)

const (
	announceEvery = 50 * time.Millisecond // notifications to other processes are gathered for so long
	listenRetry   = time.Second
	channelName   = "flowforge_changed"
)

// hub passes hints of changes to the watchers of this process. A hint carries
// nothing: whoever gets one reads again, and several hints may become one.
type hub struct {
	mu       sync.Mutex
	watchers map[uuid.UUID]map[chan struct{}]struct{} // uuid.Nil: of everything
	seen     map[uuid.UUID]int64                      // event_seq at the last poll
	pending  map[uuid.UUID]struct{}                   // to be announced to other processes
}

func newHub() *hub {
	return &hub{
		watchers: map[uuid.UUID]map[chan struct{}]struct{}{},
		seen:     map[uuid.UUID]int64{},
		pending:  map[uuid.UUID]struct{}{},
	}
}

// watch returns a channel of hints for id that closes when ctx ends.
func (h *hub) watch(ctx context.Context, id uuid.UUID) <-chan struct{} {
	c := make(chan struct{}, 1)
	h.mu.Lock()
	if h.watchers[id] == nil {
		h.watchers[id] = map[chan struct{}]struct{}{}
	}
	h.watchers[id][c] = struct{}{}
	h.mu.Unlock()
	context.AfterFunc(ctx, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.watchers[id], c)
		if len(h.watchers[id]) == 0 {
			delete(h.watchers, id)
			delete(h.seen, id)
		}
		close(c)
	})
	return c
}

// hint tells the watchers of id and of everything.
func (h *hub) hint(id uuid.UUID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, key := range [2]uuid.UUID{id, uuid.Nil} {
		for c := range h.watchers[key] {
			select {
			case c <- struct{}{}:
			default:
			}
		}
	}
}

// Watch returns hints that something of the execution changed, from whichever
// process; it closes when ctx ends. Read after subscribing, then after each hint.
func (s *Service) Watch(ctx context.Context, id uuid.UUID) (<-chan struct{}, error) {
	if _, err := s.row(ctx, auth.ExecutionRead, id); err != nil {
		return nil, err
	}
	return s.hub.watch(ctx, id), nil
}

// WatchAll returns hints that some execution changed; it closes when ctx ends,
// and is closed for a caller who may not read.
func (s *Service) WatchAll(ctx context.Context) <-chan struct{} {
	if _, err := auth.Authorize(ctx, auth.ExecutionRead); err != nil {
		closed := make(chan struct{})
		close(closed)
		return closed
	}
	return s.hub.watch(ctx, uuid.Nil)
}

// changed hints the watchers here at once and those elsewhere soon.
func (s *Service) changed(id uuid.UUID) {
	s.hub.hint(id)
	s.hub.mu.Lock()
	s.hub.pending[id] = struct{}{}
	s.hub.mu.Unlock()
}

// announceForever sends gathered hints to the other processes, outside the
// transactions that made them: a NOTIFY takes a lock that all commits share.
func (s *Service) announceForever(ctx context.Context) error {
	ticker := time.NewTicker(announceEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		s.hub.mu.Lock()
		ids := make([]uuid.UUID, 0, len(s.hub.pending))
		for id := range s.hub.pending {
			ids = append(ids, id)
		}
		clear(s.hub.pending)
		s.hub.mu.Unlock()
		if len(ids) == 0 {
			continue
		}
		if err := s.queries.NotifyChanged(ctx, s.owner, ids); err != nil && ctx.Err() == nil {
			s.config.Logger.Debug("announce changes", "error", err)
		}
	}
}

// listenForever takes the hints of other processes.
func (s *Service) listenForever(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := s.listen(ctx); err != nil && ctx.Err() == nil {
			s.config.Logger.Debug("listen for changes", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(listenRetry):
		}
	}
	return nil
}

func (s *Service) listen(ctx context.Context) error {
	pooled, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	conn := pooled.Hijack() // a listening session is of no use to anybody else
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "LISTEN "+channelName); err != nil {
		return err
	}
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		text, sender, _ := strings.Cut(n.Payload, " ")
		id, err := uuid.Parse(text)
		if err == nil && sender != s.owner {
			s.hub.hint(id)
		}
	}
}

// pollForever is the guarantee behind the notifications.
func (s *Service) pollForever(ctx context.Context) error {
	ticker := time.NewTicker(s.config.Timing.Poll)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if err := s.poll(ctx); err != nil && ctx.Err() == nil {
			s.config.Logger.Debug("poll for changes", "error", err)
		}
	}
}

func (s *Service) poll(ctx context.Context) error {
	s.hub.mu.Lock()
	ids := make([]uuid.UUID, 0, len(s.hub.watchers))
	all := false
	for id := range s.hub.watchers {
		if id == uuid.Nil {
			all = true
			continue
		}
		ids = append(ids, id)
	}
	s.hub.mu.Unlock()
	rows := []db.EventSeqsRow{}
	if len(ids) > 0 {
		var err error
		if rows, err = s.queries.EventSeqs(ctx, ids); err != nil {
			return err
		}
	}
	if all {
		pulse, err := s.queries.LivePulse(ctx)
		if err != nil {
			return err
		}
		rows = append(rows, db.EventSeqsRow{ID: uuid.Nil, EventSeq: pulse})
	}
	for _, row := range rows {
		s.hub.mu.Lock()
		before, known := s.hub.seen[row.ID]
		s.hub.seen[row.ID] = row.EventSeq
		s.hub.mu.Unlock()
		if !known || before != row.EventSeq {
			s.hub.hint(row.ID)
		}
	}
	return nil
}
