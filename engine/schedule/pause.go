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
func (s *Service) pauseAllFailing(ctx context.Context) error {
	_, err := s.pauseFailing(ctx, nil)
	return err
}

// pauseFailing pauses the schedules whose last occurrences failed; of those with the given IDs, or of
// all for nil. It returns which it paused.
func (s *Service) pauseFailing(ctx context.Context, only []uuid.UUID) ([]uuid.UUID, error) {
	ids, err := s.queries.FailingSchedules(ctx, only)
	if err != nil {
		return nil, fmt.Errorf("find failing schedules: %w", err)
	}
	for _, id := range ids {
		row, err := s.queries.GetSchedule(ctx, id)
		if err != nil {
			return nil, fmt.Errorf("get schedule %s: %w", id, err)
		}
		if err := s.pause(ctx, row, PausedByFailures, fmt.Sprintf("Paused after %d consecutive failures.", row.PauseAfter)); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// pause pauses a schedule on behalf of FlowForge.
func (s *Service) pause(ctx context.Context, row db.Schedule, reason, message string) error {
	return db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
		return s.pauseIn(ctx, q, row.ID, reason, message)
	})
}

func (s *Service) pauseIn(ctx context.Context, q *db.Queries, id uuid.UUID, reason, message string) error {
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
