package retention

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/db"
)

const (
	chunkSweeps = 100
	namesKept   = 50 // of the sweeps in a report
)

// inputSweeps removes expired sweeps of inputs that have no execution any more; a dry run names those
// that would have none.
func (s *Service) inputSweeps(ctx context.Context, r *Report) error {
	success, failure := secondsOf(s.config.Rule)
	if r.DryRun {
		rows, err := s.queries.PredictInputSweeps(ctx, s.now(), success, failure)
		if err != nil {
			return fmt.Errorf("find expired sweeps: %w", err)
		}
		for _, row := range rows {
			r.note(row.Name)
		}
		return nil
	}
	for ctx.Err() == nil {
		n, err := s.removeSweeps(ctx, r, success, failure)
		if err != nil {
			return fmt.Errorf("remove expired sweeps: %w", err)
		}
		if n == 0 {
			return nil
		}
	}
	return ctx.Err() //nolint:wrapcheck // the context ended
}

func (r *Report) note(name string) {
	r.InputSweeps++
	if len(r.InputSweepNames) < namesKept {
		r.InputSweepNames = append(r.InputSweepNames, name)
	}
}

// removeSweeps removes the next expired sweeps with their runs.
func (s *Service) removeSweeps(ctx context.Context, r *Report, success, failure *float64) (n int, err error) {
	var rows []db.InputSweep
	err = db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
		rows, err = q.ExpiredInputSweeps(ctx, s.now(), success, failure, chunkSweeps)
		if err != nil {
			return err
		}
		ids := make([]uuid.UUID, len(rows))
		for i, row := range rows {
			ids[i] = row.ID
		}
		if err := q.DeleteInputSweeps(ctx, ids); err != nil {
			return err
		}
		for _, row := range rows {
			err := audit.Record(ctx, q, audit.Entry{
				Action: "sweep.expire", Kind: "sweep", ID: row.ID.String(), Name: row.Name, TenantID: row.TenantID, ProjectID: row.ProjectID,
				Old: map[string]any{"state": row.State, "workflow": row.WorkflowName + " " + row.Version, "runs": row.Created, "ended_at": row.EndedAt},
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	s.config.Crash("sweeps.gone")
	for _, row := range rows {
		r.note(row.Name)
	}
	s.config.Count(CountSweeps, int64(len(rows)))
	return len(rows), nil
}
