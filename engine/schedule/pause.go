package schedule

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/db"
)

// pauseAllFailing pauses all schedules whose last occurrences failed.
func (s loop) pauseAllFailing(ctx context.Context) error {
	results, err := s.pauseFailing(ctx, nil)
	return errors.Join(err, s.show(ctx, couldNotPause, results))
}

// couldNotPause is what could not be done for a schedule whose last executions failed.
const couldNotPause = "pause this schedule after consecutive failures"

// pauseFailing pauses the schedules whose last occurrences failed; of those with the given IDs, or of
// all for nil. It returns the result for each schedule that it found. A schedule that cannot be paused
// does not affect the others.
func (s loop) pauseFailing(ctx context.Context, only []uuid.UUID) (problems, error) {
	ids, err := s.queries.FailingSchedules(ctx, only)
	if err != nil {
		return nil, fmt.Errorf("find failing schedules: %w", err)
	}
	results := problems{}
	for _, id := range ids {
		paused, err := s.pauseIfFailing(ctx, id)
		if paused || err != nil {
			results[id] = err
		}
	}
	return results, nil
}

// pauseIfFailing pauses a schedule that fails while it is locked: a user may just have resumed,
// changed or deleted it.
func (s loop) pauseIfFailing(ctx context.Context, id uuid.UUID) (paused bool, err error) {
	err = db.Tx(ctx, s.database, func(_ pgx.Tx, q *db.Queries) error {
		row, err := q.LockSchedule(ctx, id)
		if db.IsNoRows(err) {
			return nil
		}
		if err != nil {
			return err
		}
		failing, err := q.FailingSchedules(ctx, []uuid.UUID{id})
		if err != nil || len(failing) == 0 {
			return err
		}
		paused = true
		return s.pauseIn(ctx, q, id, PausedByFailures, fmt.Sprintf("Paused after %d consecutive failures. Correct their cause, and resume the schedule.", row.PauseAfter))
	})
	return paused, err
}

// pause pauses a schedule on behalf of FlowForge.
func (s loop) pause(ctx context.Context, row db.Schedule, reason, message string) error {
	return db.Tx(ctx, s.database, func(_ pgx.Tx, q *db.Queries) error {
		return s.pauseIn(ctx, q, row.ID, reason, message)
	})
}

func (s loop) pauseIn(ctx context.Context, q *db.Queries, id uuid.UUID, reason, message string) error {
	row, err := q.LockSchedule(ctx, id)
	if db.IsNoRows(err) || err == nil && row.Paused {
		return nil
	}
	if err != nil {
		return fmt.Errorf("lock schedule %s: %w", id, err)
	}
	before := factsOf(row)
	row.Paused, row.Reason, row.Message, row.UpdatedAt = true, reason, message, s.now()
	if err := q.UpdateSchedule(ctx, update(row)); err != nil {
		return fmt.Errorf("pause schedule %s: %w", id, err)
	}
	return audit.Record(ctx, q, entry("schedule.pause", row, before, factsOf(row)))
}
