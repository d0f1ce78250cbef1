package retention

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/workflow"
)

const (
	chunkExecutions = 100    // that are removed together
	chunkNodes      = 20_000 // that they have in total, approximately
	chunkOrphans    = 1000
)

// removed lists the tables whose rows are removed before their execution, by
// execution_id. Other tables with that column keep their rows: usage is history, and
// artifacts are checked individually. Labels are removed with the execution.
func removed() []string {
	return []string{
		"nodes", "attempts", "events", "reports", "checkpoints", "checkpoint_folders", "node_orders", "node_commands", "locks", "lock_waits",
		"pod_events", "tracebacks", "gang_members", "stream_pieces", "open_logs", "dead_letters", "cached_results", "execution_idempotency_keys",
		"inbox_items",
	}
}

// secondsOf returns the retention of the installation's rule in seconds; nil: forever.
func secondsOf(rule workflow.TTL) (success, failure *float64) {
	seconds := func(succeeded bool) *float64 {
		if d, ok := rule.After(succeeded); ok {
			return new(d.Seconds())
		}
		return nil
	}
	return seconds(true), seconds(false)
}

// newest is the time before which ended executions expire under the installation's
// rule; the zero time without a rule.
func (s *Service) newest(now time.Time) time.Time {
	at := time.Unix(0, 0).UTC()
	for _, succeeded := range []bool{true, false} {
		if d, ok := s.config.Rule.After(succeeded); ok && now.Add(-d).After(at) {
			at = now.Add(-d)
		}
	}
	return at
}

// removeExpired removes expired executions.
func (s *Service) removeExpired(ctx context.Context, r *Report) error {
	return s.removeMarked(ctx, s.now(), r)
}

// removeMarked removes executions that are marked for removal, or have expired at a time, in chunks.
func (s *Service) removeMarked(ctx context.Context, at time.Time, r *Report) error {
	for ctx.Err() == nil {
		rows, err := s.beginRemoval(ctx, at)
		if err != nil || len(rows) == 0 {
			return err
		}
		for len(rows) > 0 {
			n, nodes := 0, 0
			for n < len(rows) && (n == 0 || nodes+int(rows[n].Total) <= chunkNodes) {
				nodes += int(rows[n].Total)
				n++
			}
			if err := s.remove(ctx, rows[:n], r); err != nil {
				return err
			}
			rows = rows[n:]
		}
	}
	return ctx.Err() //nolint:wrapcheck // the context ended
}

// beginRemoval marks the next executions to remove. It unmarks executions that were
// resumed at the same time.
func (s *Service) beginRemoval(ctx context.Context, now time.Time) ([]db.BeginRemovalRow, error) {
	success, failure := secondsOf(s.config.Rule)
	var rows []db.BeginRemovalRow
	err := db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
		marked, err := q.BeginRemoval(ctx, db.BeginRemovalParams{
			Moment: now, Newest: s.newest(now), AfterSuccess: success, AfterFailure: failure, RowLimit: chunkExecutions,
		})
		if err != nil {
			return err
		}
		ids := make([]uuid.UUID, len(marked))
		for i, m := range marked {
			ids[i] = m.ID
		}
		spared, err := q.SpareResumed(ctx, ids)
		if err != nil {
			return err
		}
		gone := map[uuid.UUID]bool{}
		for _, id := range spared {
			gone[id] = true
		}
		for _, m := range marked {
			if !gone[m.ID] {
				rows = append(rows, m)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("mark expired executions: %w", err)
	}
	s.config.Crash("executions.marked")
	return rows, nil
}

// remove removes marked executions: external data first, the row last. Until the row is
// deleted, every sweep retries them.
func (s *Service) remove(ctx context.Context, rows []db.BeginRemovalRow, r *Report) error {
	ids := make([]uuid.UUID, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
	}
	if err := s.config.Telemetry(ctx, ids); err != nil {
		return fmt.Errorf("logs and metrics: %w", err)
	}
	s.config.Crash("executions.telemetry")
	for _, table := range removed() {
		if _, err := s.config.Pool.Exec(ctx, "DELETE FROM "+table+" WHERE execution_id = ANY ($1)", ids); err != nil {
			return fmt.Errorf("rows of %s: %w", table, err)
		}
		s.config.Crash("executions." + table)
	}
	artifacts, err := s.removeRows(ctx, rows, ids)
	if err != nil {
		return fmt.Errorf("remove executions: %w", err)
	}
	s.config.Crash("executions.gone")
	r.Executions += int64(len(rows))
	r.Artifacts += artifacts
	s.config.Count(CountExecutions, int64(len(rows)))
	s.config.Count(CountArtifacts, artifacts)
	return nil
}

// removeRows removes the executions with their unused artifacts, and with artifacts of
// earlier executions that only these used.
func (s *Service) removeRows(ctx context.Context, rows []db.BeginRemovalRow, ids []uuid.UUID) (artifacts int64, err error) {
	err = db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
		if _, err := q.LockRemoved(ctx, ids); err != nil {
			return err
		}
		used, err := q.ReleaseUses(ctx, ids)
		if err != nil {
			return err
		}
		if artifacts, err = deleteArtifacts(ctx, q, ids, used); err != nil {
			return err
		}
		if err := q.DeleteLabels(ctx, ids); err != nil { // pages show them as long as the execution exists
			return err
		}
		if err := q.KeepOutcomes(ctx, ids); err != nil {
			return err
		}
		if _, err := q.DeleteExecutions(ctx, ids); err != nil {
			return err
		}
		for _, row := range rows {
			err := audit.Record(ctx, q, audit.Entry{
				Action: "execution.expire", Kind: "execution", ID: row.ID.String(), Name: row.WorkflowName + " " + row.Version,
				TenantID: row.TenantID, ProjectID: row.ProjectID, Old: map[string]any{"status": row.Status, "name": row.Name, "finished_at": row.FinishedAt},
			})
			if err != nil {
				return err
			}
		}
		s.config.Crash("executions.written")
		return nil
	})
	return artifacts, err
}

// deleteArtifacts deletes the unused artifacts among those of executions and others. It
// locks them all first: a new user has either recorded its use by then, or finds the
// artifact deleted.
func deleteArtifacts(ctx context.Context, q *db.Queries, executions, others []uuid.UUID) (int64, error) {
	held, err := q.LockArtifacts(ctx, executions, others)
	if err != nil || len(held) == 0 {
		return 0, err
	}
	named, err := q.NamedArtifacts(ctx)
	if err != nil {
		return 0, err
	}
	if named == nil {
		named = []uuid.UUID{} // NULL never compares equal
	}
	gone, err := q.DeleteArtifacts(ctx, held, named, executions)
	return int64(len(gone)), err
}

// removeOrphans removes artifacts that outlived their execution because others used
// them, and that are no longer used.
func (s *Service) removeOrphans(ctx context.Context, r *Report) error {
	before := s.now().Add(-s.config.Grace)
	return s.removeFound(ctx, r, func(after uuid.UUID) ([]uuid.UUID, error) {
		return s.queries.OrphanArtifacts(ctx, after, before, chunkOrphans)
	})
}

// removeCompleted removes the artifacts whose retention ends with their execution.
func (s *Service) removeCompleted(ctx context.Context, r *Report) error {
	return s.removeFound(ctx, r, func(after uuid.UUID) ([]uuid.UUID, error) {
		return s.queries.CompletedArtifacts(ctx, after, chunkOrphans)
	})
}

// removeFound removes the artifacts that find returns, in chunks.
func (s *Service) removeFound(ctx context.Context, r *Report, find func(after uuid.UUID) ([]uuid.UUID, error)) error {
	after := uuid.Nil
	for {
		ids, err := find(after)
		if err != nil {
			return fmt.Errorf("find unused artifacts: %w", err)
		}
		if len(ids) == 0 {
			return nil
		}
		after = ids[len(ids)-1]
		var n int64
		err = db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
			n, err = deleteArtifacts(ctx, q, nil, ids)
			return err
		})
		if err != nil {
			return fmt.Errorf("remove unused artifacts: %w", err)
		}
		r.Artifacts += n
		s.config.Count(CountArtifacts, n)
	}
}
