// Package query is the read side of executions: it reads executions, their nodes, attempts,
// events, queues and usage for pages, the API and commands. It writes nothing. Every method
// of Reader authorises the caller.
package query

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/workflow"
)

// Config configures a Reader.
type Config struct {
	Queries *db.Queries
	// Current reads what Queries may lack, because they may use a replica.
	Current   *db.Queries
	Workflows *workflow.Service
	Quota     *quota.Service
	Estimates *Estimates
	// Inputs returns the values of the typed inputs of the node with an index.
	Inputs func(ctx context.Context, row db.Execution, version workflow.Version, node int) (map[string]any, error)
	// Cluster means that attempts run as pods.
	Cluster bool
	// Retention is how long ended executions are kept when neither launch nor definition
	// says it.
	Retention workflow.TTL
	Now       func() time.Time
}

// Reader reads executions.
type Reader struct {
	queries   *db.Queries
	current   *db.Queries
	workflows *workflow.Service
	quota     *quota.Service
	estimates *Estimates
	rows      Rows
	config    Config
}

// New returns a Reader.
func New(c Config) *Reader {
	if c.Current == nil {
		c.Current = c.Queries
	}
	return &Reader{
		queries: c.Queries, current: c.Current, workflows: c.Workflows, quota: c.Quota, estimates: c.Estimates, config: c,
		rows: NewRows(c.Queries, c.Workflows),
	}
}

// complete reads the rows of ids, each of which has at most one. Rows that are missing are looked up
// among the current ones, because an execution may be newer than what a replica has.
func complete[T any](q *Reader, ids []uuid.UUID, read func(*db.Queries) ([]T, error)) ([]T, error) {
	rows, err := read(q.queries)
	if err != nil || len(rows) >= len(ids) || q.current == q.queries {
		return rows, err
	}
	return read(q.current)
}

func (q *Reader) now() time.Time { return q.config.Now() }
