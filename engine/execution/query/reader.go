// Package query is the read side of executions: it reads executions, their nodes, attempts,
// events, queues and usage for pages, the API and commands. It writes nothing. Every method
// of Reader authorises the caller.
package query

import (
	"context"
	"time"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/workflow"
)

// Config configures a Reader.
type Config struct {
	Queries   *db.Queries
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
	workflows *workflow.Service
	quota     *quota.Service
	estimates *Estimates
	rows      Rows
	config    Config
}

// New returns a Reader.
func New(c Config) *Reader {
	return &Reader{
		queries: c.Queries, workflows: c.Workflows, quota: c.Quota, estimates: c.Estimates, config: c,
		rows: NewRows(c.Queries, c.Workflows),
	}
}

func (q *Reader) now() time.Time { return q.config.Now() }
