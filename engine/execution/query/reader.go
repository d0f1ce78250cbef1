// Package query is the read side of executions: it reads executions, their nodes, attempts,
// events, queues and usage for pages, the API and commands. It writes nothing. Every method
// of the readers authorises the caller.
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

// Reader reads executions. Its fields read what belongs to them.
type Reader struct {
	Nodes     *NodeReader
	Events    *EventReader
	Approvals *ApprovalReader
	Waits     *WaitReader
	Usage     *UsageReader

	queries   *db.Queries
	workflows *workflow.Service
	estimates *Estimates
	rows      Rows
	config    Config
}

// New returns a Reader.
func New(c Config) *Reader {
	if c.Current == nil {
		c.Current = c.Queries
	}
	rows := Rows{queries: c.Queries, current: c.Current, workflows: c.Workflows}
	nodes := &NodeReader{queries: c.Queries, workflows: c.Workflows, rows: rows, inputs: c.Inputs}
	events := &EventReader{queries: c.Queries, workflows: c.Workflows, rows: rows}
	return &Reader{
		Nodes: nodes, Events: events, Approvals: &ApprovalReader{c.Queries, rows},
		Waits:   &WaitReader{queries: c.Queries, rows: rows, quota: c.Quota, nodes: nodes, events: events, now: c.Now},
		Usage:   &UsageReader{queries: c.Queries, rows: rows, now: c.Now},
		queries: c.Queries, workflows: c.Workflows, estimates: c.Estimates, rows: rows, config: c,
	}
}

func (q *Reader) now() time.Time { return q.config.Now() }
