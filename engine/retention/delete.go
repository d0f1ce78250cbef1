package retention

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// RemoveArgs requests the removal of the executions that users deleted.
type RemoveArgs struct{}

// Kind names the job.
func (RemoveArgs) Kind() string { return "remove_executions" }

const (
	removeAgain = 2 * time.Second // while a sweep runs
	removeLater = time.Minute     // while a marked execution cannot be removed yet
)

// MayDelete reports whether the caller may delete an execution now. Errors are those of Delete.
func (s *Service) MayDelete(ctx context.Context, id uuid.UUID) error {
	_, err := s.deletable(ctx, id)
	return err
}

// deletable returns an execution that the caller may delete now.
func (s *Service) deletable(ctx context.Context, id uuid.UUID) (db.RetainedExecutionRow, error) {
	if _, err := auth.SignedIn(ctx); err != nil {
		return db.RetainedExecutionRow{}, err
	}
	row, err := s.queries.RetainedExecution(ctx, id)
	if db.IsNoRows(err) {
		return row, absent(id)
	}
	if err != nil {
		return row, fmt.Errorf("get execution %s: %w", id, err)
	}
	_, err = auth.AuthorizeOwner(ctx, auth.ExecutionCancel, auth.ExecutionCancelAny, row.ProjectID, row.SubmittedBy, absent(id))
	if err != nil {
		return row, err
	}
	switch {
	case row.FinishedAt == nil:
		return row, apperr.New(apperr.Conflict, "It has not ended. Cancel it first.")
	case row.KeptAt != nil:
		return row, apperr.New(apperr.Conflict, "It is marked to be kept. Choose Stop keeping on its page first.")
	case row.RemovalBeganAt != nil:
		return row, apperr.New(apperr.Conflict, "It is being deleted.")
	}
	resumed, err := s.queries.RemovalRefusal(ctx, id)
	if err != nil {
		return row, fmt.Errorf("find executions that resume %s: %w", id, err)
	}
	if resumed {
		return row, apperr.New(apperr.Conflict, "A running execution was resumed from it and reads its results.")
	}
	return row, nil
}

// Delete deletes an ended execution as its expiry would, without waiting for it. It requires the
// right to cancel the execution. It returns once the request is durable; a job then removes the
// execution. It returns apperr.Conflict for an execution that has not ended, is kept, is being
// removed, or was resumed as a live one.
func (s *Service) Delete(ctx context.Context, id uuid.UUID) error {
	row, err := s.deletable(ctx, id)
	if err != nil {
		return err
	}
	return db.Tx(ctx, s.config.Pool, func(tx pgx.Tx, q *db.Queries) error {
		_, err := q.MarkDeleted(ctx, s.now(), id)
		if db.IsNoRows(err) {
			return apperr.New(apperr.Conflict, "It has changed in the meantime. Try again.")
		}
		if err != nil {
			return fmt.Errorf("delete execution %s: %w", id, err)
		}
		if err := s.config.Requested(ctx, tx); err != nil {
			return fmt.Errorf("request the removal of %s: %w", id, err)
		}
		return audit.Record(ctx, q, audit.Entry{
			Action: "execution.delete", Kind: "execution", ID: id.String(), Name: row.WorkflowName + " " + row.Version,
			TenantID: row.TenantID, ProjectID: row.ProjectID, Old: map[string]any{"status": row.Status, "name": row.Name, "finished_at": row.FinishedAt},
		})
	})
}

// Deleted returns the executions among ids that are being removed. The caller has checked that they
// may be read.
func (s *Service) Deleted(ctx context.Context, ids []uuid.UUID) ([]uuid.UUID, error) {
	marked, err := s.queries.MarkedRemoved(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("find executions that are being removed: %w", err)
	}
	return marked, nil
}

// RemoveDeleted removes the executions that are marked for removal. Only jobs call it. It asks River
// to try again while a sweep runs, or while the end of a marked execution is being reported.
func (s *Service) RemoveDeleted(ctx context.Context) error {
	ctx = auth.AsSystem(ctx)
	never := time.Unix(0, 0).UTC() // nothing expired before
	return s.exclusively(ctx, func(*pgxpool.Conn) error {
		if err := s.removeMarked(ctx, never, &Report{}); err != nil {
			return err
		}
		left, err := s.queries.CountMarked(ctx)
		if err != nil {
			return fmt.Errorf("count executions that are being removed: %w", err)
		}
		if left > 0 {
			return river.JobSnooze(removeLater)
		}
		return nil
	}, river.JobSnooze(removeAgain))
}
