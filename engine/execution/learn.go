package execution

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/execution/query"
)

// MaintenanceService does the recurring work of the engine's jobs.
type MaintenanceService struct{ *core }

// learn adds the durations of an ended execution's attempts to the estimates. complete, when
// not nil, is part of the transaction: a job that may be repeated completes itself there, so
// that nothing is counted twice.
func (s *MaintenanceService) learn(ctx context.Context, id uuid.UUID, complete func(context.Context, pgx.Tx) error) error {
	e, err := s.queries.GetExecution(ctx, id)
	if db.IsNoRows(err) {
		return query.Absent(id)
	}
	if err != nil {
		return fmt.Errorf("get execution %s: %w", id, err)
	}
	err = db.Tx(ctx, s.pool, func(tx pgx.Tx, q *db.Queries) error {
		if err := q.LearnDurations(ctx, s.now(), id); err != nil {
			return fmt.Errorf("learn durations of %s: %w", id, err)
		}
		if complete == nil {
			return nil
		}
		return complete(ctx, tx)
	})
	if err == nil {
		s.estimates.Drop(e.WorkflowID)
	}
	return err
}

// Finished reports that an execution has ended, and updates the estimates. The finished job
// calls it; complete, when not nil, ends that job in a transaction of this call.
func (s *MaintenanceService) Finished(ctx context.Context, id uuid.UUID, complete func(context.Context, pgx.Tx) error) error {
	if err := s.config.OnFinished(ctx, id); err != nil {
		return err
	}
	err := s.learn(ctx, id, complete)
	if apperr.Is(err, apperr.NotFound) {
		return nil // its partition was dropped
	}
	return err
}
