package trigger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/platform/units"
)

// joining is the part of the service that collects the events of joins.
type joining struct{ *Service }

// receiveForJoin passes an event of the feed to the conditions of a join that wait for it.
func (s joining) receiveForJoin(ctx context.Context, row db.Trigger, e db.EventFeed, ev event) error {
	data := map[string]any{}
	if err := decode(e.Data, &data); err != nil {
		return fmt.Errorf("event %s: %w", e.ID, err)
	}
	return s.joinMatching(ctx, row, ev, e.At, func(c Condition) bool {
		if !c.fits(e.Type, data) {
			return false
		}
		env, err := feedEnv(c.Kind, e)
		return err == nil && matches(c.Kind, c.Sources, env)
	}, func(c Condition) (map[string]any, error) { return feedEnv(c.Kind, e) })
}

// joinMatching passes an event to the conditions of a join that wait for it. env returns the
// values that the expressions of a condition read; if it is nil, these are the values of the
// event.
func (s joining) joinMatching(ctx context.Context, row db.Trigger, ev event, at time.Time, waits func(Condition) bool, env ...func(Condition) (map[string]any, error)) error {
	t, err := triggerOf(row)
	if err != nil {
		return err
	}
	if t.Join == nil {
		return nil
	}
	var failures []error
	for _, c := range t.Join.All {
		if !waits(c) {
			continue
		}
		of := ev.of(c)
		for _, f := range env {
			if of.env, err = f(c); err != nil {
				return err
			}
		}
		_, err := s.join(ctx, row, t.Join, c, of, at)
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}

// added is what an event for a condition of a join caused.
type added struct {
	join     *db.TriggerJoin // that has the event; nil: the event is a delivery
	complete bool            // it completed the join
	repeated bool            // it was received before
}

// join adds an event to the join of its key. The event that completes the join stores the launch
// in the same transaction. Ignored events become deliveries that state the reason.
func (s joining) join(ctx context.Context, row db.Trigger, j *Join, c Condition, ev event, at time.Time) (a added, err error) {
	dec := decide(Trigger{Spec: Spec{Filter: c.Filter}}, ev)
	key := ""
	if dec.outcome == Launched {
		var problem string
		if key, problem = j.keyOf(c, ev.env); problem != "" {
			dec = decision{outcome: Failed, reason: ReasonKey, message: "The key cannot be evaluated. " + problem}
		}
	}
	s.config.Crash("join.begin")
	err = db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
		if _, err := q.LockTriggerByID(ctx, row.ID); err != nil {
			return fmt.Errorf("lock trigger %s: %w", row.ID, err)
		}
		var err error
		a, err = s.joinWithin(ctx, q, row, j, c, ev, at, dec, key)
		return err
	})
	if db.IsNoRows(err) {
		return added{}, nil // the trigger was deleted
	}
	if err != nil {
		return added{}, fmt.Errorf("join event %s: %w", ev.key, err)
	}
	s.config.Crash("join.added")
	prune(ctx, s.Service, row.ID)
	if a.complete {
		return a, s.retryTrigger(ctx, row.ID)
	}
	return a, nil
}

// joinWithin is join within its transaction, in which the trigger is locked.
func (s joining) joinWithin(ctx context.Context, q *db.Queries, row db.Trigger, j *Join, c Condition, ev event, at time.Time, dec decision, key string) (added, error) {
	switch seen, err := q.JoinOfEvent(ctx, row.ID, c.Name, ev.key); {
	case err == nil:
		return added{join: &seen, repeated: true}, ev.writeWithin(ctx, q)
	case !db.IsNoRows(err):
		return added{}, fmt.Errorf("find the event of a join: %w", err)
	}
	if dec.outcome == Launched && j.keyed() {
		switch _, err := q.CompleteJoin(ctx, row.ID, key); {
		case err == nil:
			dec = decision{outcome: Skipped, reason: ReasonJoined, message: fmt.Sprintf("All events of %s have already arrived, so this one is ignored.", key)}
		case !db.IsNoRows(err):
			return added{}, fmt.Errorf("find join %s: %w", key, err)
		}
	}
	if dec.outcome != Launched {
		err := s.record(ctx, q, row, ev, dec, nil)
		if isRepeated(err) {
			return added{repeated: true}, ev.writeWithin(ctx, q)
		}
		return added{}, err
	}
	open, complete, err := s.addToJoin(ctx, q, row, j, c, ev, key, at)
	if err != nil {
		return added{}, err
	}
	return added{join: &open, complete: complete}, ev.writeWithin(ctx, q)
}

// result returns what an event caused: a delivery, the launch of the completed join, or Waiting.
func (s joining) result(ctx context.Context, row db.Trigger, ev event, a added) (Delivery, error) {
	key := ev.key
	if a.join != nil {
		key = joinKey(a.join.ID)
	}
	stored, err := s.queries.DeliveryOfKey(ctx, row.ID, key)
	if err == nil {
		d := deliveryOf(stored)
		d.Repeated = a.repeated
		return d, nil
	}
	if !db.IsNoRows(err) {
		return Delivery{}, fmt.Errorf("find delivery of trigger %s: %w", row.ID, err)
	}
	if a.join == nil {
		return Delivery{}, absent(row.Name) // it was deleted
	}
	d := Delivery{ID: a.join.ID, Condition: ev.condition, Subject: ev.subject, Outcome: Waiting, Repeated: a.repeated, At: s.now()}
	switch {
	case a.complete || a.join.State == "COMPLETE":
		d.Message = "All events have arrived. The launch is retried."
	case a.join.State == "EXPIRED":
		d.Message = "The event expired, because other events did not arrive in time."
	default:
		d.Message = "The event waits for the other conditions."
	}
	return d, nil
}

// addToJoin adds an event to the open join of a key, and reports whether the join is now complete.
func (s joining) addToJoin(ctx context.Context, q *db.Queries, row db.Trigger, j *Join, c Condition, ev event, key string, at time.Time) (open db.TriggerJoin, complete bool, err error) {
	open, err = q.OpenJoin(ctx, row.ID, key)
	if db.IsNoRows(err) {
		open = db.TriggerJoin{ID: uuid.Must(uuid.NewV7()), TriggerID: row.ID, Key: key, OpenedAt: at, ExpiresAt: at.Add(j.window())}
		err = q.InsertJoin(ctx, db.InsertJoinParams{ID: open.ID, TriggerID: row.ID, Key: key, OpenedAt: at, ExpiresAt: open.ExpiresAt})
	}
	if err != nil {
		return open, false, fmt.Errorf("open join %s: %w", key, err)
	}
	payload, err := encode(ev.env)
	if err != nil {
		return open, false, err
	}
	err = q.InsertJoinEvent(ctx, db.InsertJoinEventParams{
		TriggerID: row.ID, Condition: c.Name, Key: ev.key, JoinID: open.ID, Subject: ev.subject, Payload: payload, SourceID: ev.source, Depth: int32(ev.depth), At: at, //nolint:gosec // at most MaxDepth
	})
	if err != nil {
		return open, false, fmt.Errorf("add to join %s: %w", key, err)
	}
	// Events that are further from the newest one than the window cannot count with it. This one may be
	// old: the end of an execution is delivered by a job that is repeated after a failure.
	events, err := q.CurrentJoinEvents(ctx, open.ID)
	if err == nil {
		err = s.expireBefore(ctx, q, row, j, open, newest(events).Add(-j.window()))
	}
	if err == nil {
		events, err = q.CurrentJoinEvents(ctx, open.ID)
	}
	if err != nil {
		return open, false, fmt.Errorf("events of join %s: %w", key, err)
	}
	if len(events) < len(j.All) {
		return open, false, wrap("move a join", q.MoveJoin(ctx, oldest(events).Add(j.window()), open.ID))
	}
	joined, err := joinedEvent(open, events, j)
	if err != nil {
		return open, false, err
	}
	if err := q.CloseJoin(ctx, "COMPLETE", new(s.now()), open.ID); err != nil {
		return open, false, fmt.Errorf("close join %s: %w", key, err)
	}
	return open, true, s.pend(ctx, q, row.ID, joined, 0, "")
}

func oldest(events []db.TriggerJoinEvent) time.Time {
	return slices.MinFunc(events, func(a, b db.TriggerJoinEvent) int { return a.At.Compare(b.At) }).At
}

func newest(events []db.TriggerJoinEvent) time.Time {
	return slices.MaxFunc(events, func(a, b db.TriggerJoinEvent) int { return a.At.Compare(b.At) }).At
}

// joinKey is the key of the delivery of a complete join.
func joinKey(id uuid.UUID) string { return "join/" + id.String() }

// joinedEvent is the event of a complete join. Expressions read the event of each condition by
// its name.
func joinedEvent(open db.TriggerJoin, events []db.TriggerJoinEvent, j *Join) (event, error) {
	env, depth := map[string]any{}, 1
	values := map[string]func(map[string]any) any{}
	for _, c := range j.All {
		values[c.Name] = c.value
	}
	for _, e := range events {
		var of map[string]any
		if err := decode(e.Payload, &of); err != nil {
			return event{}, err
		}
		if value := values[e.Condition]; value != nil {
			env[e.Condition] = value(of)
		}
		depth = max(depth, int(e.Depth))
	}
	env[joinName] = map[string]any{"key": open.Key, "started": oldest(events).UTC().Format(time.RFC3339Nano)}
	subject := open.Key
	if subject == "" {
		subject = "All conditions"
	}
	return event{key: joinKey(open.ID), subject: subject, env: env, depth: depth}, nil
}

// expireBefore removes the events before a time from a join, and records them as a delivery that
// names the missing events.
func (s joining) expireBefore(ctx context.Context, q *db.Queries, row db.Trigger, j *Join, open db.TriggerJoin, before time.Time) error {
	events, err := q.CurrentJoinEvents(ctx, open.ID)
	if err != nil {
		return fmt.Errorf("events of join %s: %w", open.ID, err)
	}
	if err := q.ExpireJoinEvents(ctx, open.ID, before); err != nil {
		return fmt.Errorf("expire events of join %s: %w", open.ID, err)
	}
	arrived, old := map[string]bool{}, []db.TriggerJoinEvent{}
	for _, e := range events {
		if e.At.Before(before) {
			old = append(old, e)
		} else {
			arrived[e.Condition] = true
		}
	}
	if len(old) == 0 {
		return nil
	}
	var had, missing []string
	for _, e := range old {
		had, arrived[e.Condition] = append(had, e.Condition), true
	}
	for _, c := range j.All {
		if !arrived[c.Name] {
			missing = append(missing, c.Name)
		}
	}
	partial, err := joinedEvent(open, old, j)
	if err != nil {
		return err
	}
	partial.key = fmt.Sprintf("expired/%s/%d", open.ID, before.UnixMicro())
	message := fmt.Sprintf("%s arrived, and %s did not within %s.", strings.Join(had, ", "), strings.Join(missing, ", "), units.Exact(j.window()))
	if len(missing) == 0 {
		message = fmt.Sprintf("%s arrived more than %s before the others.", strings.Join(had, ", "), units.Exact(j.window()))
	}
	err = s.record(ctx, q, row, partial, decision{outcome: Skipped, reason: ReasonExpired, message: message}, nil)
	if isRepeated(err) {
		return nil
	}
	return err
}

// expiredTogether limits how many joins one pass expires.
const expiredTogether = 200

// ExpireJoins removes events that have left the window of their join, and returns how many joins it
// changed. It is called when all events up to now have been received. Run does this by itself.
func (s *Service) ExpireJoins(ctx context.Context) (int, error) {
	if _, err := auth.Authorize(ctx, auth.Administer); err != nil {
		return 0, err
	}
	now := s.now()
	ids, err := s.queries.ExpiredJoins(ctx, now, expiredTogether)
	if err != nil {
		return 0, fmt.Errorf("find expired joins: %w", err)
	}
	for _, id := range ids {
		if err := (joining{s}).expireJoin(ctx, id, now); err != nil {
			return 0, fmt.Errorf("expire join %s: %w", id, err)
		}
	}
	return len(ids), nil
}

// pruneJoins removes joins that are no longer kept.
func (s joining) pruneJoins(ctx context.Context) error {
	now := s.now()
	if err := s.queries.PruneJoinEvents(ctx, now.Add(-KeepFor)); err != nil {
		return fmt.Errorf("remove old events of joins: %w", err)
	}
	return wrap("remove old joins", s.queries.PruneJoins(ctx, new(now.Add(-KeepFor)), new(now.Add(-KeepKeys))))
}

func (s joining) expireJoin(ctx context.Context, id uuid.UUID, now time.Time) error {
	var row db.Trigger
	err := db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
		seen, err := q.JoinTrigger(ctx, id)
		if db.IsNoRows(err) {
			return nil
		}
		if err != nil {
			return err
		}
		row, err = q.LockTriggerByID(ctx, seen) // before its join, as new events do
		if db.IsNoRows(err) {
			return nil
		}
		if err != nil {
			return err
		}
		open, err := q.ClaimExpiredJoin(ctx, id, now)
		if db.IsNoRows(err) {
			return nil
		}
		if err != nil {
			return err
		}
		t, err := triggerOf(row)
		if err != nil || t.Join == nil {
			return err
		}
		if err := s.expireBefore(ctx, q, row, t.Join, open, now.Add(-t.Join.window())); err != nil {
			return err
		}
		rest, err := q.CurrentJoinEvents(ctx, id)
		if err != nil {
			return err
		}
		s.config.Crash("join.expired")
		if len(rest) > 0 {
			return q.MoveJoin(ctx, oldest(rest).Add(t.Join.window()), id)
		}
		return q.CloseJoin(ctx, "EXPIRED", &now, id)
	})
	if err == nil && row.ID != uuid.Nil {
		prune(ctx, s.Service, row.ID)
	}
	return err
}
