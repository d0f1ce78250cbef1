package db

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// DeadJob is a background job about an execution that was given up after its last try.
type DeadJob struct {
	ID           int64
	Kind         string
	Attempt      int
	At           time.Time
	Error        string // of the last try
	ExecutionID  uuid.UUID
	TenantID     uuid.UUID
	ProjectID    uuid.UUID
	WorkflowName string
	Version      string
}

// deadJobs reads River's own table, which sqlc does not know. Jobs of deleted executions
// are omitted, because they have no owner to notify.
const deadJobs = `SELECT j.id, j.kind, j.attempt, coalesce(j.finalized_at, j.created_at),
		coalesce(j.errors[array_length(j.errors, 1)]->>'error', ''), e.id, e.tenant_id, e.project_id, e.workflow_name, e.version
	FROM river_job j JOIN executions e ON e.id = (j.args->>'execution_id')::uuid
	WHERE j.state = 'discarded' AND j.kind = ANY ($1)`

// DeadJobs returns the dead jobs of some kinds about executions of a project, newest
// first.
func DeadJobs(ctx context.Context, pool *pgxpool.Pool, kinds []string, project uuid.UUID, limit int) ([]DeadJob, error) {
	rows, err := pool.Query(ctx, deadJobs+` AND e.project_id = $2 ORDER BY j.id DESC LIMIT $3`, kinds, project, limit)
	if err != nil {
		return nil, fmt.Errorf("list dead jobs: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[DeadJob])
	if err != nil {
		return nil, fmt.Errorf("list dead jobs: %w", err)
	}
	return list, nil
}

// FindDeadJob returns a dead job, or pgx.ErrNoRows when it does not exist.
func FindDeadJob(ctx context.Context, pool *pgxpool.Pool, kinds []string, id int64) (DeadJob, error) {
	rows, err := pool.Query(ctx, deadJobs+` AND j.id = $2`, kinds, id)
	if err != nil {
		return DeadJob{}, fmt.Errorf("find dead job %d: %w", id, err)
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[DeadJob])
}

// DeleteDeadJob deletes a dead job in the transaction of the caller, and returns how many jobs it deleted.
func DeleteDeadJob(ctx context.Context, tx pgx.Tx, id int64) (int64, error) {
	tag, err := tx.Exec(ctx, `DELETE FROM river_job WHERE id = $1 AND state = 'discarded'`, id)
	if err != nil {
		return 0, fmt.Errorf("delete dead job %d: %w", id, err)
	}
	return tag.RowsAffected(), nil
}
