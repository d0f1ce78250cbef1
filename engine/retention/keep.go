package retention

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// Keep exempts an execution from expiry until Release. It requires the right to launch
// in the project. It returns apperr.Conflict when the removal has begun.
func (s *Service) Keep(ctx context.Context, id uuid.UUID) error {
	return s.change(ctx, id, "execution.keep", func(q *db.Queries, subject auth.Subject) error {
		_, err := q.KeepExecution(ctx, s.now(), subject.Name, id)
		if db.IsNoRows(err) {
			return apperr.New(apperr.Conflict, "The execution has expired and is being removed.")
		}
		return err
	})
}

// Release reverts Keep: the execution can expire again.
func (s *Service) Release(ctx context.Context, id uuid.UUID) error {
	return s.change(ctx, id, "execution.release", func(q *db.Queries, _ auth.Subject) error {
		return q.ReleaseExecution(ctx, id)
	})
}

// change authorizes the caller, applies the change and writes the entry of the audit
// log; it does nothing when there is no change.
func (s *Service) change(ctx context.Context, id uuid.UUID, action string, change func(*db.Queries, auth.Subject) error) error {
	if _, err := auth.SignedIn(ctx); err != nil {
		return err
	}
	row, err := s.queries.RetainedExecution(ctx, id)
	if db.IsNoRows(err) {
		return absent(id)
	}
	if err != nil {
		return fmt.Errorf("get execution %s: %w", id, err)
	}
	subject, err := auth.AuthorizeIn(ctx, auth.ExecutionLaunch, row.ProjectID, absent(id))
	if err != nil {
		return err
	}
	return db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
		before, err := q.LockRetained(ctx, id)
		if db.IsNoRows(err) {
			return absent(id)
		}
		if err != nil {
			return fmt.Errorf("lock execution %s: %w", id, err)
		}
		if (before.KeptAt != nil) == (action == "execution.keep") {
			return nil
		}
		if err := change(q, subject); err != nil {
			return err
		}
		return audit.Record(ctx, q, audit.Entry{
			Action: action, Kind: "execution", ID: id.String(), Name: row.WorkflowName + " " + row.Version,
			TenantID: row.TenantID, ProjectID: row.ProjectID, Old: map[string]any{"kept": before.KeptAt != nil}, New: map[string]any{"kept": before.KeptAt == nil},
		})
	})
}
