package execution

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/db"
)

const (
	announceEvery = 50 * time.Millisecond // minimum interval of notifications to other processes
	listenRetry   = time.Second
	channelName   = "flowforge_changed"
)

// hub sends hints of changes to the watchers of this process. A hint has no content: its
// receiver reads again, and several hints may be merged.
type hub struct {
	mu       sync.Mutex
	watchers map[uuid.UUID]map[chan struct{}]struct{} // by execution, or by project
	projects map[uuid.UUID]struct{}                   // which keys of watchers are projects
	homes    map[uuid.UUID]uuid.UUID                  // projects of executions, as far as they are known
	seen     map[uuid.UUID]int64                      // event_seq, or pulse of a project, at the last poll
	pending  map[uuid.UUID]struct{}                   // to be announced to other processes
	signal   chan struct{}                            // pending has an execution
}

// maxHomes limits the executions whose project the hub caches.
const maxHomes = 20_000

func newHub() *hub {
	return &hub{
		watchers: map[uuid.UUID]map[chan struct{}]struct{}{},
		projects: map[uuid.UUID]struct{}{},
		homes:    map[uuid.UUID]uuid.UUID{},
		seen:     map[uuid.UUID]int64{},
		pending:  map[uuid.UUID]struct{}{},
		signal:   make(chan struct{}, 1),
	}
}

// watch returns a channel of hints for key; it closes when ctx ends.
func (h *hub) watch(ctx context.Context, key uuid.UUID, project bool) <-chan struct{} {
	c := make(chan struct{}, 1)
	h.mu.Lock()
	if h.watchers[key] == nil {
		h.watchers[key] = map[chan struct{}]struct{}{}
	}
	h.watchers[key][c] = struct{}{}
	if project {
		h.projects[key] = struct{}{}
	}
	h.mu.Unlock()
	context.AfterFunc(ctx, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.watchers[key], c)
		if len(h.watchers[key]) == 0 {
			delete(h.watchers, key)
			delete(h.projects, key)
			delete(h.seen, key)
		}
		close(c)
	})
	return c
}

// rememberProject caches the project of an execution.
func (h *hub) rememberProject(id, project uuid.UUID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.homes) >= maxHomes {
		clear(h.homes)
	}
	h.homes[id] = project
}

// hint notifies the watchers of an execution and of its project; when its project is
// unknown, the watchers of every project.
func (h *hub) hint(id uuid.UUID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notifyWatchers(id)
	if home, ok := h.homes[id]; ok {
		h.notifyWatchers(home)
		return
	}
	for project := range h.projects {
		h.notifyWatchers(project)
	}
}

func (h *hub) notifyWatchers(key uuid.UUID) {
	for c := range h.watchers[key] {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// WatchService notifies of changes of executions.
type WatchService struct{ *core }

// Watch returns hints that the execution changed, in any process; it closes when ctx ends.
// Read after subscribing, then after each hint. It returns NotFound for a caller who may not read
// the execution.
func (s *WatchService) Watch(ctx context.Context, id uuid.UUID) (<-chan struct{}, error) {
	row, err := s.rows.Execution(ctx, id)
	if err != nil {
		return nil, err
	}
	s.hub.rememberProject(id, row.ProjectID)
	return s.hub.watch(ctx, id, false), nil
}

// WatchAll returns hints that an execution of the current project changed; it closes when
// ctx ends, and is closed for a caller who may not read.
func (s *WatchService) WatchAll(ctx context.Context) <-chan struct{} {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		closed := make(chan struct{})
		close(closed)
		return closed
	}
	return s.hub.watch(ctx, subject.ProjectID, true)
}

// changed notifies the watchers here immediately and those of other processes soon.
func (s *core) changed(id uuid.UUID) {
	if l, ok := s.live.get(id); ok {
		s.hub.rememberProject(id, l.row.ProjectID)
	}
	s.hub.hint(id)
	s.hub.mu.Lock()
	s.hub.pending[id] = struct{}{}
	s.hub.mu.Unlock()
	select {
	case s.hub.signal <- struct{}{}:
	default:
	}
}

// announceForever sends collected hints to the other processes, outside the transactions
// that caused them: a NOTIFY takes a lock that all commits share.
func (s *WatchService) announceForever(ctx context.Context) error {
	rest := time.NewTimer(0)
	defer rest.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.hub.signal:
		}
		select {
		case <-ctx.Done():
			return nil
		case <-rest.C:
		}
		rest.Reset(announceEvery)
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
		err := limited(ctx, hintTimeout, func(ctx context.Context) error { return s.queries.NotifyChanged(ctx, s.owner, ids) })
		if err != nil && ctx.Err() == nil {
			s.config.Logger.Debug("announce changes", "error", err)
		}
	}
}

// listenForever receives the notifications of other processes. handlers has a function for each channel.
func (s *WatchService) listenForever(ctx context.Context, handlers map[string]func(payload string)) error {
	for ctx.Err() == nil {
		if err := s.listen(ctx, handlers); err != nil && ctx.Err() == nil {
			s.config.Logger.Debug("listen for changes", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(listenRetry):
		}
	}
	return nil
}

func (s *WatchService) listen(ctx context.Context, handlers map[string]func(payload string)) error {
	pooled, err := cmp.Or(s.config.Sessions, s.pool).Acquire(ctx)
	if err != nil {
		return err
	}
	conn := pooled.Hijack() // do not return a listening session to the pool
	defer conn.Close(context.WithoutCancel(ctx))
	for channel := range handlers {
		if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
			return err
		}
	}
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		handlers[n.Channel](n.Payload)
	}
}

// onChange forwards a change of an execution in another process.
func (s *WatchService) onChange(payload string) {
	text, sender, _ := strings.Cut(payload, " ")
	id, err := uuid.Parse(text)
	if err == nil && sender != s.owner {
		s.hub.hint(id)
	}
}

// pollForever is a fallback for lost notifications.
func (s *WatchService) pollForever(ctx context.Context) error {
	ticker := time.NewTicker(s.config.Timing.Poll)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if err := limited(ctx, hintTimeout, s.poll); err != nil && ctx.Err() == nil {
			s.config.Logger.Debug("poll for changes", "error", err)
		}
	}
}

func (s *WatchService) poll(ctx context.Context) error {
	s.hub.mu.Lock()
	ids := make([]uuid.UUID, 0, len(s.hub.watchers))
	pulses := map[uuid.UUID]int64{} // of the watched projects; 0 for those without live executions
	for key := range s.hub.watchers {
		if _, ok := s.hub.projects[key]; ok {
			pulses[key] = 0
			continue
		}
		ids = append(ids, key)
	}
	s.hub.mu.Unlock()
	rows := []db.EventSeqsRow{}
	if len(ids) > 0 {
		var err error
		if rows, err = s.queries.EventSeqs(ctx, ids); err != nil {
			return err
		}
	}
	if len(pulses) > 0 {
		live, err := s.queries.ChangeCounters(ctx)
		if err != nil {
			return err
		}
		for _, p := range live {
			if _, watched := pulses[p.ProjectID]; watched {
				pulses[p.ProjectID] = p.Pulse
			}
		}
	}
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	for _, row := range rows {
		s.hub.moved(row.ID, row.EventSeq)
	}
	for project, pulse := range pulses {
		s.hub.moved(project, pulse)
	}
	return nil
}

// moved notifies for key when its mark differs from the last poll.
func (h *hub) moved(key uuid.UUID, mark int64) {
	if _, watched := h.watchers[key]; !watched {
		return
	}
	before, known := h.seen[key]
	h.seen[key] = mark
	if !known || before != mark {
		h.notifyWatchers(key)
	}
}
