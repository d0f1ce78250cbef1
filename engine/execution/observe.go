package execution

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/execution/query"
)

// locationRow, eventOfPod and waitRow are rows of the record sets in PlaceAttempts,
// KeepPodEvents and SetWaiting.
type locationRow struct {
	Execution uuid.UUID `json:"execution_id"`
	attemptKey
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	Machine   string `json:"machine"`
}

type eventOfPod struct {
	Execution uuid.UUID `json:"execution_id"`
	attemptKey
	ID      string    `json:"id"`
	At      time.Time `json:"at"`
	Warning bool      `json:"warning"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	Count   int       `json:"count"`
}

type waitRow struct {
	attemptKey
	Reason *query.Reason `json:"reason"`
}

// observed groups observations by their handling.
type observed struct {
	locations []locationRow
	events    []eventOfPod
	waits     map[uuid.UUID][]waitRow
	ends      []observedEnd
	serves    []servesRow
}

// observedEnd is the end of an attempt that a launcher observed, and the time at which it is
// applied unless the attempt's own report arrives first.
type observedEnd struct {
	id  attemptID
	end ending
	due time.Time
}

// Observe takes a launcher's observations of attempts, in any process and any number of
// times: where they run, why they have not begun, the events of their pods, and their ends.
// An end waits a moment for the report of the attempt's runner, which takes precedence. When
// Observe returns an error, repeating all observations is safe. The process that composes
// the service calls it, like Drive.
func (s *Supervisor) Observe(ctx context.Context, seen []launcher.Observation) error {
	o := s.groupObservations(seen)
	var errs []error
	if len(o.locations) > 0 {
		changed, err := s.queries.PlaceAttempts(ctx, mustJSON(o.locations))
		errs = append(errs, err)
		slices.SortFunc(changed, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
		for _, id := range slices.Compact(changed) {
			s.changed(id)
		}
	}
	if len(o.events) > 0 {
		errs = append(errs, s.queries.KeepPodEvents(ctx, mustJSON(o.events)))
	}
	errs = append(errs, s.takeServing(ctx, o.serves))
	for id, rows := range o.waits {
		errs = append(errs, s.setWaiting(ctx, id, query.WaitCodes(), rows))
	}
	for _, e := range o.ends {
		if e.due.IsZero() {
			errs = append(errs, s.applyObserved(ctx, e))
			continue
		}
		s.ends.put(e)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("take observations: %w", err)
	}
	return nil
}

// groupObservations groups observations; it ignores unknown tasks.
func (s *Supervisor) groupObservations(seen []launcher.Observation) observed {
	o := observed{waits: map[uuid.UUID][]waitRow{}}
	for _, see := range seen {
		id, ok := parseTaskID(see.TaskID)
		if !ok {
			s.config.Logger.Warn("an observation of an unknown task", "task", see.TaskID)
			continue
		}
		if p := see.Location; p != nil {
			o.locations = append(o.locations, locationRow{id.execution, id.attemptKey, clean(p.Namespace, maxNameLength), clean(p.Pod, maxNameLength), clean(p.Machine, maxNameLength)})
		}
		if w := see.Waiting; w != nil && see.End == nil {
			o.waits[id.execution] = append(o.waits[id.execution], waitRow{id.attemptKey, &query.Reason{Code: w.Code, Message: clean(w.Message, maxMessage)}})
		}
		if a := see.Serving; a != nil && see.End == nil {
			o.serves = append(o.serves, servesRow{id.execution, id.attemptKey, clean(a.Address, maxNameLength)})
		}
		o.events = append(o.events, eventsOf(id, see.Events)...)
		if see.End != nil {
			o.ends = append(o.ends, s.observedEnd(id, *see.End))
		}
	}
	return o
}

// eventsOf returns the rows of an attempt's events, one for each event.
func eventsOf(id attemptID, events []launcher.Event) []eventOfPod {
	latest := map[string]eventOfPod{}
	for _, e := range events {
		row := eventOfPod{
			id.execution, id.attemptKey, clean(e.ID, maxNameLength), e.At, e.Warning,
			clean(e.Reason, maxNameLength), clean(e.Message, maxMessage), max(e.Count, 1),
		}
		if before, ok := latest[row.ID]; !ok || before.Count <= row.Count {
			latest[row.ID] = row
		}
	}
	rows := make([]eventOfPod, 0, len(latest))
	for _, row := range latest {
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b eventOfPod) int { return strings.Compare(a.ID, b.ID) })
	return rows
}

// observedEnd decides how long to wait for the report of the attempt's runner: not at all
// when it cannot have sent one, because none of its commands ran or its machine does not
// respond.
func (s *Supervisor) observedEnd(id attemptID, e launcher.End) observedEnd {
	now := s.now()
	end := ending{
		Outcome: outcomeOfClass(e.Class), Class: classOf(string(e.Class)), ExitCode: e.ExitCode,
		Message: clean(e.Message, maxMessage), FinishedAt: now,
	}
	if !e.FinishedAt.IsZero() {
		end.FinishedAt = earlier(e.FinishedAt.UTC(), now)
	}
	if e.StartedAt != nil {
		at := earlier(e.StartedAt.UTC(), end.FinishedAt)
		end.StartedAt = &at
	}
	o := observedEnd{id: id, end: end}
	if end.Outcome != startFailed && e.Class != launcher.ClassMachineLost && e.Class != launcher.ClassWithdrawn {
		o.due = now.Add(s.config.Timing.ReportGrace)
	}
	return o
}

// applyObserved ends an attempt as observed. For an attempt that has already ended it stores
// the class of the end, if none is stored.
func (s *Supervisor) applyObserved(ctx context.Context, o observedEnd) error {
	id := o.id
	scope := auth.TaskScope{ExecutionID: id.execution, NodeIndex: id.Node, Attempt: id.Attempt}
	done := make(chan receipt, 1)
	var posted <-chan receipt
	if s.live.post(id.execution, message{node: id.Node, attempt: id.Attempt, end: &o.end, done: done}) {
		posted = done
	}
	accepted, err := s.settleEnd(ctx, scope, o.end, posted)
	if err != nil || accepted || o.end.Class == "" {
		return err
	}
	_, err = s.queries.ClassifyAttempt(ctx, db.ClassifyAttemptParams{
		Class: o.end.Class, Message: o.end.Message, ExecutionID: id.execution,
		NodeIndex: int32(id.Node), Attempt: int32(id.Attempt), //nolint:gosec // small numbers
	})
	if err != nil {
		return fmt.Errorf("classify the end of %s: %w", query.TaskID(id.execution, id.Node, id.Attempt), err)
	}
	return nil
}

// setWaiting writes why attempts of an execution have not begun; a nil reason removes one
// with one of codes.
func (s *Supervisor) setWaiting(ctx context.Context, execution uuid.UUID, codes []string, rows []waitRow) error {
	latest := map[int]waitRow{}
	for _, r := range rows {
		latest[r.Node] = r
	}
	rows = rows[:0:0]
	for _, r := range latest {
		rows = append(rows, r)
	}
	changed, err := s.queries.SetWaiting(ctx, db.SetWaitingParams{
		Waiting: mustJSON(rows), ExecutionID: execution, Indexes: indexes(rows, func(r waitRow) int { return r.Node }), Codes: codes, At: s.now(),
	})
	if err != nil {
		return fmt.Errorf("write why attempts of %s wait: %w", execution, err)
	}
	if changed > 0 {
		s.changed(execution)
	}
	return nil
}

// parseTaskID parses "<execution>.<node index>.<attempt>".
func parseTaskID(text string) (attemptID, bool) {
	ref, ok := parseTaskRef(text)
	if !ok || ref.Attempt == 0 {
		return attemptID{}, false
	}
	return attemptID{ref.Execution, attemptKey{ref.Node, ref.Attempt}}, true
}

// observedEnds are the ends that wait for the reports of runners.
type observedEnds struct {
	mu      sync.Mutex
	pending map[attemptID]observedEnd
	signal  chan struct{}
}

func newObservedEnds() *observedEnds {
	return &observedEnds{pending: map[attemptID]observedEnd{}, signal: make(chan struct{}, 1)}
}

// put adds an end; the first one of an attempt is kept.
func (p *observedEnds) put(e observedEnd) {
	p.mu.Lock()
	if _, ok := p.pending[e.id]; !ok {
		p.pending[e.id] = e
	}
	p.mu.Unlock()
	select {
	case p.signal <- struct{}{}:
	default:
	}
}

// due removes and returns the ends whose time has come, and returns the time of the next
// one.
func (p *observedEnds) due(now time.Time) (list []observedEnd, next time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, e := range p.pending {
		switch {
		case !e.due.After(now):
			list = append(list, e)
			delete(p.pending, id)
		case next.IsZero() || e.due.Before(next):
			next = e.due
		}
	}
	return list, next
}

// endObserved applies ends after the grace period for their reports, until ctx ends.
func (s *Supervisor) endObserved(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.ends.signal:
		case <-timer.C:
		}
		list, _ := s.ends.due(s.now())
		for _, e := range list {
			err := limited(ctx, reconcileTimeout, func(ctx context.Context) error { return s.applyObserved(ctx, e) })
			if err != nil && ctx.Err() == nil {
				s.config.Logger.Warn("apply the observed end of an attempt", "execution", e.id.execution, "node", e.id.Node, "error", err)
				e.due = s.now().Add(observedRetry)
				s.ends.put(e)
			}
		}
		if _, next := s.ends.due(time.Time{}); !next.IsZero() {
			timer.Reset(max(next.Sub(s.now()), 0))
		}
	}
}

// observedRetry is the pause after an end could not be written.
const observedRetry = time.Second
