package trigger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

const (
	// tries is how often a launch that fails for a temporary reason is tried before the delivery fails.
	tries = 10
	// retryFirst is the time until the second try. It doubles with each failure, up to retryLongest.
	retryFirst   = 2 * time.Second
	retryLongest = 5 * time.Minute
	// retriesTogether limits how many triggers retry launches at the same time, and retriesOfTurn how
	// many events of one trigger a pass retries.
	retriesTogether = 8
	retriesOfTurn   = 50
	retryTriggers   = 200
)

// deliverOrDefer delivers an event, or stores it for later if the launch fails for a temporary
// reason. While earlier events of the trigger wait, later ones are stored as well. An error
// means that neither was possible, and that the event must be delivered again.
func (s *Service) deliverOrDefer(ctx context.Context, row db.Trigger, ev event) error {
	if ev.own { // it launches nothing, so it does not wait behind other events
		_, err := s.deliver(ctx, row, ev)
		return err
	}
	waiting, err := s.queries.HasPending(ctx, row.ID)
	if err != nil {
		return fmt.Errorf("find waiting events of trigger %s: %w", row.ID, err)
	}
	if waiting {
		_, err := s.queries.DeliveryOfKey(ctx, row.ID, ev.key)
		if db.IsNoRows(err) {
			return s.postpone(ctx, row, ev, 0, "An earlier event of the trigger is being retried.")
		}
		if err != nil {
			return fmt.Errorf("find delivery of trigger %s: %w", row.ID, err)
		}
	}
	_, err = s.deliver(ctx, row, ev)
	if err == nil || ctx.Err() != nil || errors.Is(err, errTurnLost) {
		return err
	}
	s.config.Logger.Warn("a trigger could not launch; the launch is retried later", "trigger", row.ID, "event", ev.key, "error", err)
	return s.postpone(ctx, row, ev, 1, apperr.MessageOf(err))
}

// postpone stores an event for later, together with its related rows.
func (s *Service) postpone(ctx context.Context, row db.Trigger, ev event, failures int32, message string) error {
	return db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
		if err := s.pend(ctx, q, row.ID, ev, failures, message); err != nil {
			return err
		}
		return ev.writeWithin(ctx, q)
	})
}

// pend stores an event that waits.
func (s *Service) pend(ctx context.Context, q *db.Queries, trigger uuid.UUID, ev event, failures int32, message string) error {
	id, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("make the id of a waiting event: %w", err)
	}
	payload, err := json.Marshal(ev.env)
	if err != nil {
		return fmt.Errorf("encode payload: %w", err)
	}
	now := s.now()
	due := now
	if failures > 0 {
		due = now.Add(retryAfter(failures))
	}
	err = q.InsertPending(ctx, db.InsertPendingParams{
		ID: id, TriggerID: trigger, Key: ev.key, Subject: ev.subject, Payload: payload, SourceID: ev.source, Depth: int32(ev.depth), //nolint:gosec // at most MaxDepth+1
		Failures: failures, Error: message, DueAt: due, CreatedAt: now,
	})
	return wrap("store a waiting event", err)
}

func retryAfter(failures int32) time.Duration {
	wait := retryFirst
	for range failures - 1 {
		if wait *= 2; wait >= retryLongest {
			return retryLongest
		}
	}
	return wait
}

// runRetries retries launches until ctx ends.
func (s *Service) runRetries(ctx context.Context) {
	for ctx.Err() == nil {
		turn := s.config.Watch.Turn()
		err := s.RetryPending(ctx)
		if err != nil && ctx.Err() == nil {
			s.config.Logger.Warn("launches of triggers could not be repeated; the next attempt retries them", "error", err)
		}
		turn.Rest(ctx, s.retry, passInterval, until(ctx, s.now(), err, passInterval, s.queries.NextPending))
	}
}

// RetryPending delivers the events that wait and are due. Run does this by itself.
func (s *Service) RetryPending(ctx context.Context) error {
	if _, err := auth.Authorize(ctx, auth.Administer); err != nil {
		return err
	}
	ids, err := s.queries.DuePending(ctx, s.now(), retryTriggers)
	if err != nil {
		return fmt.Errorf("find waiting events: %w", err)
	}
	slots := make(chan struct{}, retriesTogether)
	failures := make([]error, len(ids))
	var all sync.WaitGroup
	for i, id := range ids {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			failures[i] = s.retryTrigger(ctx, id)
		})
	}
	all.Wait()
	return errors.Join(failures...)
}

// retryTrigger delivers the waiting events of a trigger in their order, until one fails.
func (s *Service) retryTrigger(ctx context.Context, id uuid.UUID) error {
	row, err := s.queries.GetTrigger(ctx, id)
	if db.IsNoRows(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get trigger %s: %w", id, err)
	}
	for range retriesOfTurn {
		first, err := s.queries.FirstPending(ctx, id)
		if db.IsNoRows(err) || err == nil && first.DueAt.After(s.now()) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("find waiting events of trigger %s: %w", id, err)
		}
		if err := s.retryEvent(ctx, row, first); err != nil {
			return err
		}
	}
	return nil
}

// retryEvent delivers a waiting event, or stores when to retry it.
func (s *Service) retryEvent(ctx context.Context, row db.Trigger, p db.TriggerPending) error {
	ev := event{key: p.Key, subject: p.Subject, source: p.SourceID, depth: int(p.Depth), within: func(ctx context.Context, q *db.Queries) error {
		return wrap("remove a waiting event", q.DeletePending(ctx, p.ID))
	}}
	if err := decode(p.Payload, &ev.env); err != nil {
		return err
	}
	give := func(d decision) error {
		err := db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
			err := s.record(ctx, q, row, ev, d, nil)
			if isRepeated(err) {
				return ev.within(ctx, q)
			}
			return err
		})
		return err
	}
	if !row.Enabled {
		return give(decision{outcome: Skipped, reason: ReasonOff, message: "The trigger was turned off before the event could be delivered."})
	}
	_, err := s.deliver(ctx, row, ev)
	if err == nil || ctx.Err() != nil {
		return err
	}
	failures := p.Failures + 1
	if failures >= tries {
		s.config.Logger.Warn("a trigger could not launch", "trigger", row.ID, "event", p.Key, "error", err)
		return give(decision{outcome: Failed, reason: ReasonUnavailable, message: fmt.Sprintf("The launch failed %d times for a temporary reason. Deliver the event again later. %s", tries, apperr.MessageOf(err))})
	}
	return wrap("store a failed launch", s.queries.RetryPendingLater(ctx, failures, apperr.MessageOf(err), s.now().Add(retryAfter(failures)), p.ID))
}

// Pending is an event that waits to be delivered.
type Pending struct {
	ID       uuid.UUID
	Subject  string
	Failures int    // launches that failed; 0: it waits behind another event
	Error    string // of the last one
	SourceID *uuid.UUID
	NextAt   time.Time
}

// maxPendingShown limits how many waiting events PendingOf returns.
const maxPendingShown = 10

// PendingOf returns the first events that wait for a trigger of the current project, and how many wait.
func (s *Service) PendingOf(ctx context.Context, t Trigger) ([]Pending, int, error) {
	if _, err := auth.Authorize(ctx, auth.ExecutionRead); err != nil {
		return nil, 0, err
	}
	rows, err := s.queries.ListPending(ctx, t.ID, maxPendingShown)
	if err != nil {
		return nil, 0, fmt.Errorf("list waiting events of trigger %s: %w", t.ID, err)
	}
	count, err := s.queries.CountPending(ctx, t.ID)
	if err != nil {
		return nil, 0, fmt.Errorf("count waiting events of trigger %s: %w", t.ID, err)
	}
	list := make([]Pending, 0, len(rows))
	for _, row := range rows {
		list = append(list, Pending{ID: row.ID, Subject: row.Subject, Failures: int(row.Failures), Error: row.Error, SourceID: row.SourceID, NextAt: row.DueAt})
	}
	return list, int(count), nil
}
