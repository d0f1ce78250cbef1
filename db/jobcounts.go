package db

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// JobCount is the number of background jobs in a queue in one state.
type JobCount struct {
	Queue string
	State string
	N     int64
}

// JobCounts counts the unfinished background jobs. The table belongs to River, so sqlc
// does not know it.
func JobCounts(ctx context.Context, pool *pgxpool.Pool) ([]JobCount, error) {
	rows, err := pool.Query(ctx, `SELECT queue, state::text, count(*) FROM river_job
		WHERE state IN ('available', 'pending', 'retryable', 'running', 'scheduled') GROUP BY queue, state ORDER BY queue, state`)
	if err != nil {
		return nil, fmt.Errorf("count jobs: %w", err)
	}
	counts, err := pgx.CollectRows(rows, pgx.RowToStructByPos[JobCount])
	if err != nil {
		return nil, fmt.Errorf("count jobs: %w", err)
	}
	return counts, nil
}
