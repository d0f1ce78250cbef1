package backfill

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// readable returns a backfill that the caller may read.
func (s *Service) readable(ctx context.Context, id uuid.UUID) (db.Backfill, error) {
	if _, err := auth.SignedIn(ctx); err != nil {
		return db.Backfill{}, err
	}
	row, err := s.queries.GetBackfill(ctx, id)
	if db.IsNoRows(err) {
		return row, absent(id)
	}
	if err != nil {
		return row, fmt.Errorf("get backfill %s: %w", id, err)
	}
	_, err = auth.AuthorizeIn(ctx, auth.ExecutionRead, row.ProjectID, absent(id))
	return row, err
}

// Get returns a backfill that the caller may read, or NotFound.
func (s *Service) Get(ctx context.Context, id uuid.UUID) (Backfill, error) {
	row, err := s.readable(ctx, id)
	if err != nil {
		return Backfill{}, err
	}
	list, err := s.counted(ctx, []db.Backfill{row})
	if err != nil {
		return Backfill{}, err
	}
	return list[0], nil
}

// counted returns the backfills of rows with the counts of their slots.
func (s *Service) counted(ctx context.Context, rows []db.Backfill) ([]Backfill, error) {
	out := make([]Backfill, 0, len(rows))
	ids := make([]uuid.UUID, 0, len(rows))
	for _, row := range rows {
		b, err := fromRow(row)
		if err != nil {
			return nil, err
		}
		out, ids = append(out, b), append(ids, b.ID)
	}
	counts, err := s.queries.CountBackfillSlots(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("count slots: %w", err)
	}
	for _, c := range counts {
		for i := range out {
			if out[i].ID == c.BackfillID {
				out[i].Counts.add(State(c.State), c.Status, int(c.Slots))
			}
		}
	}
	return out, nil
}

const (
	defaultRows = 50
	maxRows     = 1000
)

// List returns backfills of the caller's project, newest first, or those of one schedule, and where
// the next page begins.
func (s *Service) List(ctx context.Context, of, before *uuid.UUID, limit int) ([]Backfill, *uuid.UUID, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return nil, nil, err
	}
	limit = min(cmp.Or(max(limit, 0), defaultRows), maxRows)
	rows, err := s.queries.ListBackfills(ctx, subject.ProjectID, of, before, int32(limit+1)) //nolint:gosec // bounded
	if err != nil {
		return nil, nil, fmt.Errorf("list backfills: %w", err)
	}
	var next *uuid.UUID
	if len(rows) > limit {
		rows = rows[:limit]
		next = new(rows[limit-1].ID)
	}
	list, err := s.counted(ctx, rows)
	return list, next, err
}

// Slots returns the slots of a backfill after a time, oldest first, and where the next page begins.
func (s *Service) Slots(ctx context.Context, id uuid.UUID, after *time.Time, limit int) ([]Slot, *time.Time, error) {
	if _, err := s.readable(ctx, id); err != nil {
		return nil, nil, err
	}
	limit = min(cmp.Or(max(limit, 0), defaultRows), MaxSlots)
	rows, err := s.queries.ListBackfillSlots(ctx, id, after, int32(limit+1)) //nolint:gosec // bounded
	if err != nil {
		return nil, nil, fmt.Errorf("list slots of backfill %s: %w", id, err)
	}
	var next *time.Time
	if len(rows) > limit {
		rows = rows[:limit]
		next = new(rows[limit-1].FireAt.UTC())
	}
	out := make([]Slot, 0, len(rows))
	for _, r := range rows {
		out = append(out, Slot{
			Fire: r.FireAt.UTC(), Start: r.IntervalStart.UTC(), State: State(r.State), Message: r.Message, ExecutionID: r.ExecutionID, Status: r.Status,
			DecidedAt: r.DecidedAt.UTC(), StartedAt: r.StartedAt, FinishedAt: r.FinishedAt, Failure: r.Failure,
		})
	}
	return out, next, nil
}

// MayChange reports whether the caller may pause, resume and cancel a backfill: its owner, and
// users who may cancel other users' executions.
func (s *Service) MayChange(ctx context.Context, b Backfill) bool {
	_, err := auth.AuthorizeOwner(ctx, auth.ExecutionLaunch, auth.ExecutionCancelAny, b.ProjectID, b.Owner.ID, absent(b.ID))
	return err == nil
}

// Pause pauses a backfill. Running executions continue.
func (s *Service) Pause(ctx context.Context, id uuid.UUID) (Backfill, error) {
	return s.change(ctx, id, "backfill.pause", func(_ context.Context, _ *db.Queries, row *db.Backfill, by auth.Subject) error {
		row.Status, row.Message = string(Paused), "Paused by "+by.Name+"."
		return nil
	})
}

// Resume resumes a paused backfill, with the permissions of the caller.
func (s *Service) Resume(ctx context.Context, id uuid.UUID) (Backfill, error) {
	return s.change(ctx, id, "backfill.resume", func(_ context.Context, _ *db.Queries, row *db.Backfill, by auth.Subject) error {
		row.Status, row.Message, row.OwnerID, row.OwnerName = string(Running), "", by.ID, by.Name
		return nil
	})
}

// Cancel ends a backfill: slots that have not been launched are cancelled. With stop, its
// running executions are cancelled as well; otherwise, they continue. A backfill that was cancelled
// can be cancelled again with stop.
func (s *Service) Cancel(ctx context.Context, id uuid.UUID, stop bool) (Backfill, error) {
	b, err := s.change(ctx, id, "backfill.cancel", func(ctx context.Context, q *db.Queries, row *db.Backfill, by auth.Subject) error {
		row.Status, row.Message = string(Cancelled), "Cancelled by "+by.Name+"."
		return q.CancelBackfillSlots(ctx, row.Message, s.now(), row.ID)
	})
	if stop && apperr.Is(err, apperr.Conflict) {
		if now, getErr := s.Get(ctx, id); getErr == nil && now.Status == Cancelled {
			b, err = now, nil
		}
	}
	if err != nil || !stop {
		return b, err
	}
	live, err := s.queries.LiveBackfillExecutions(ctx, id)
	if err != nil {
		return b, fmt.Errorf("executions of backfill %s: %w", id, err)
	}
	for _, e := range live {
		if err := s.config.Executions.Commands.Cancel(ctx, e, "The backfill was cancelled."); err != nil && !apperr.Is(err, apperr.Conflict) {
			return b, fmt.Errorf("cancel an execution of backfill %s: %w", id, err)
		}
	}
	return s.Get(ctx, id)
}

// change locks a backfill that has not ended, changes its status and writes the audit entry.
func (s *Service) change(ctx context.Context, id uuid.UUID, action string, f func(context.Context, *db.Queries, *db.Backfill, auth.Subject) error) (Backfill, error) {
	row, err := s.readable(ctx, id)
	if err != nil {
		return Backfill{}, err
	}
	subject, err := auth.AuthorizeOwner(ctx, auth.ExecutionLaunch, auth.ExecutionCancelAny, row.ProjectID, row.OwnerID, absent(id))
	if err != nil {
		return Backfill{}, err
	}
	err = db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
		row, err := q.LockBackfill(ctx, id)
		if err != nil {
			return err
		}
		if Status(row.Status).Ended() {
			return apperr.New(apperr.Conflict, "The backfill has ended.")
		}
		was := row.Status
		if err := f(ctx, q, &row, subject); err != nil {
			return err
		}
		return s.set(ctx, q, row, action, was)
	})
	if err != nil {
		return Backfill{}, fmt.Errorf("%s %s: %w", action, id, err)
	}
	s.Wake()
	return s.Get(ctx, id)
}

// set writes the status of a row and its audit entry.
func (s *Service) set(ctx context.Context, q *db.Queries, row db.Backfill, action, was string) error {
	err := q.SetBackfillStatus(ctx, db.SetBackfillStatusParams{ID: row.ID, Status: row.Status, Message: row.Message, OwnerID: row.OwnerID, OwnerName: row.OwnerName, Now: s.now()})
	if err != nil {
		return err
	}
	return audit.Record(ctx, q, audit.Entry{
		Action: action, Kind: "backfill", ID: row.ID.String(), Name: row.ScheduleName, TenantID: row.TenantID, ProjectID: row.ProjectID,
		Old: map[string]any{"status": was}, New: map[string]any{"status": row.Status, "message": row.Message},
	})
}
