package schedule

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/db"
)

// pauseAllFailing pauses all schedules whose last occurrences failed.
func (s loop) pauseAllFailing(ctx context.Context) error {
	_, err := s.pauseFailing(ctx, nil)
	return err
}

// pauseFailing pauses the schedules whose last occurrences failed; of those with the given IDs, or of
// all for nil. It returns which it paused.
func (s loop) pauseFailing(ctx context.Context, only []uuid.UUID) ([]uuid.UUID, error) {
	ids, err := s.queries.FailingSchedules(ctx, only)
	if err != nil {
		return nil, fmt.Errorf("find failing schedules: %w", err)
	}
	var paused []uuid.UUID
	for _, id := range ids {
		done, err := s.pauseIfFailing(ctx, id)
		if err != nil {
			return paused, fmt.Errorf("pause schedule %s: %w", id, err)
		}
		if done {
			paused = append(paused, id)
		}
	}
	return paused, nil
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
		return s.pauseIn(ctx, q, id, PausedByFailures, fmt.Sprintf("Paused after %d consecutive failures.", row.PauseAfter))
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
