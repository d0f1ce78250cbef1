package schedule

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/db"
)

const (
	queuesAtOnce  = 8                // queues that are processed concurrently
	maxDue        = 10_000           // schedules in one pass
	checkInterval = 30 * time.Second // between two searches for failing schedules and changes of the clock
	cleanInterval = time.Hour        // between two removals of old occurrences

	// Schedules that are due are processed in groups. A group is read, checked and written before the
	// next one, so that the first launches do not wait for the checks of all others.
	groupSize = 100
	maxSeries = 4 // groups that are processed concurrently, each series on its own connection

	// Steps of a schedule in one pass, so that schedules that are always due do not delay others.
	turnSteps = 10
	turnTime  = time.Second
)

// Run runs schedules until ctx ends. The leader calls it. A second loop does no harm, because
// each step is a transaction that claims the schedule and checks its state.
func (s *Service) Run(ctx context.Context) { s.loop().run(auth.AsSystem(ctx)) }

// loop runs what is due. Its steps act as the system, or as the owners of schedules.
type loop struct {
	*Service

	database db.Database // the pool, or the connection of a series
	queries  *db.Queries // of database
}

func (s *Service) loop() loop { return loop{s, s.config.Pool, s.queries} }

// on returns the loop with another connection.
func (s loop) on(database db.Database) loop { return loop{s.Service, database, db.New(database)} }

func (s loop) run(ctx context.Context) {
	var checked, cleaned time.Time
	for {
		turn := s.config.Watch.Turn()
		woken := turn.Rest(ctx, s.wake, s.config.Every, s.look(ctx))
		if ctx.Err() != nil {
			return
		}
		if now := time.Now(); woken || now.Sub(checked) > checkInterval {
			checked = now
			s.logged(ctx, "failing schedules could not be paused", s.pauseAllFailing(ctx))
			s.logged(ctx, "schedules could not be recomputed after a clock change", s.followClock(ctx))
		}
		if now := time.Now(); now.Sub(cleaned) > cleanInterval {
			cleaned = now
			s.logged(ctx, "old occurrences could not be removed", s.queries.DeleteOldOccurrences(ctx, s.now().Add(-KeepOccurrences)))
			s.logged(ctx, "old executions of schedules could not be marked for removal", s.expireHistory(ctx))
		}
	}
}

// look processes everything that is due, and returns how long to wait for the next pass without a change.
func (s loop) look(ctx context.Context) time.Duration {
	err := s.fireAll(ctx)
	s.logged(ctx, "schedules could not be run; the next attempt retries them", err)
	return s.waitTime(ctx, err != nil)
}

func (s loop) logged(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		s.config.Logger.Warn(what, "error", err)
	}
}

// waitTime returns how long the loop waits at most: until the next run. After a failure it waits for
// Every, because the failed run is still due.
func (s loop) waitTime(ctx context.Context, failed bool) time.Duration {
	if failed {
		return s.config.Every
	}
	due, err := s.queries.NextDue(ctx)
	if db.IsNoRows(err) {
		return db.Safety
	}
	if err != nil {
		return s.config.Every
	}
	return db.RestUntil(due, s.now(), 10*time.Millisecond)
}

// fireAll processes the due runs of all schedules.
func (s loop) fireAll(ctx context.Context) error {
	queues, err := s.queries.SchedulesWithQueue(ctx)
	if err != nil {
		return fmt.Errorf("find queued occurrences: %w", err)
	}
	results := each(queues, queuesAtOnce, func(id uuid.UUID) error {
		if err := s.launchQueued(ctx, id); !errors.Is(err, errNotDue) {
			return err
		}
		return nil
	})
	failed := problems{}
	for i, id := range queues {
		failed[id] = results[i]
	}
	err = s.show(ctx, "launch a queued run of this schedule", failed)
	due, failure := s.queries.DueSchedules(ctx, s.now(), maxDue)
	if failure != nil {
		return errors.Join(err, fmt.Errorf("find due schedules: %w", failure))
	}
	return errors.Join(err, s.fireDue(ctx, due))
}

// each calls f for items, atOnce at a time. The failure of one item does not affect the others. It
// returns the error of each item.
func each[T any](items []T, atOnce int, f func(T) error) []error {
	if len(items) == 1 {
		return []error{f(items[0])}
	}
	slots := make(chan struct{}, atOnce)
	failures := make([]error, len(items))
	var all sync.WaitGroup
	for i, item := range items {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			failures[i] = f(item)
		})
	}
	all.Wait()
	return failures
}

// followClock recomputes the next runs of schedules whose last run is in the future because the
// clock of a server was ahead. Without it, they would not run until that time.
func (s loop) followClock(ctx context.Context) error {
	ids, err := s.queries.SchedulesAhead(ctx, s.now().Add(ClockBack))
	if err != nil {
		return fmt.Errorf("find schedules whose last fire is in the future: %w", err)
	}
	failed := problems{}
	for _, id := range ids {
		failed[id] = s.recompute(ctx, id)
	}
	return s.show(ctx, "compute the next run of this schedule after a change of the clock", failed)
}

// recompute recomputes the next run of a schedule whose last run is in the future.
func (s loop) recompute(ctx context.Context, id uuid.UUID) error {
	return db.Tx(ctx, s.database, func(_ pgx.Tx, q *db.Queries) error {
		row, err := q.LockSchedule(ctx, id)
		if db.IsNoRows(err) || err == nil && (row.LastAt == nil || !row.LastAt.After(s.now().Add(ClockBack))) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("lock it: %w", err)
		}
		_, t, fields, err := s.read(ctx, q, row)
		if err != nil {
			return err
		}
		if len(fields) > 0 {
			return s.pauseIn(ctx, q, id, PausedByAccess, unreadable(fields))
		}
		s.config.Logger.Warn("the clock went back: the next fire of a schedule is computed again", "schedule", id, "last_fire", row.LastAt)
		before := map[string]any{"last_fire_at": row.LastAt, "next_fire_at": row.NextAt}
		row.LastAt = nil
		setNext(&row, t, s.now())
		if err := q.UpdateSchedule(ctx, update(row)); err != nil {
			return fmt.Errorf("store the next run: %w", err)
		}
		return audit.Record(ctx, q, entry("schedule.clock", row, before, map[string]any{"next_fire_at": row.NextAt}))
	})
}

// expireHistory marks executions beyond those that schedules keep for removal.
func (s loop) expireHistory(ctx context.Context) error {
	ids, err := s.queries.SchedulesWithHistory(ctx)
	if err != nil {
		return fmt.Errorf("find schedules that keep some executions: %w", err)
	}
	failed := problems{}
	for _, id := range ids {
		_, failed[id] = s.queries.ExpireHistory(ctx, s.now(), id)
	}
	return s.show(ctx, "remove the old executions of this schedule", failed)
}
