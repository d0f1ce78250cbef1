// Command grid measures the grid of a workflow, 100 executions with 100 nodes each, in the service:
//
//	go run ./cmd/testenv go run ./bench/grid
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/typeregistry"
)

func main() {
	executions := flag.Int("executions", query.MaxGridExecutions, "executions of the grid")
	nodes := flag.Int("nodes", query.MaxGridNodes, "nodes of each")
	requests := flag.Int("requests", 100, "measured requests")
	flag.Parse()
	if err := run(context.Background(), *executions, *nodes, *requests); err != nil {
		fmt.Fprintln(os.Stderr, "bench/grid:", err)
		os.Exit(1)
	}
}

type builtin struct{}

func (builtin) Types(context.Context) (*typeregistry.Registry, error) {
	return typeregistry.Builtin(), nil
}

func run(ctx context.Context, executions, nodes, requests int) (err error) {
	base := os.Getenv("FLOWFORGE_TEST_DATABASE_URL")
	if base == "" {
		return errors.New("FLOWFORGE_TEST_DATABASE_URL is not set: run it with cmd/testenv")
	}
	admin, err := db.Open(ctx, base)
	if err != nil {
		return err
	}
	defer admin.Close()
	name := fmt.Sprintf("bench_grid_%d", os.Getpid())
	if _, err := admin.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return err
	}
	config := admin.Config()
	config.ConnConfig.Database = name
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	defer func() {
		pool.Close()
		_, dropped := admin.Exec(ctx, "DROP DATABASE "+name)
		err = errors.Join(err, dropped)
	}()
	if err := db.Migrate(ctx, pool); err != nil {
		return err
	}
	ctx = auth.WithSubject(ctx, auth.Local())
	workflows := workflow.NewService(pool, builtin{}, nil, time.Now)
	v, err := fill(ctx, pool, workflows, executions, nodes)
	if err != nil {
		return err
	}
	return measure(ctx, query.New(query.Config{Queries: db.New(pool), Workflows: workflows}), v.WorkflowID, requests)
}

// fill registers a workflow and inserts executions of it that have ended, in the last hours.
func fill(ctx context.Context, pool *pgxpool.Pool, workflows *workflow.Service, executions, nodes int) (workflow.Version, error) {
	var operators strings.Builder
	for i := range nodes {
		fmt.Fprintf(&operators, "{name: node_%d, type: command, code: {command: [\"true\"]}},", i)
	}
	v, _, err := workflows.Register(ctx, []byte("{name: bench.grid, version: 1.0.0, operators: ["+operators.String()+"]}"))
	if err != nil {
		return v, err
	}
	for i := range executions {
		id := uuid.Must(uuid.NewV7())
		_, err := pool.Exec(ctx, `INSERT INTO executions (id, tenant_id, project_id, workflow_id, version_id, workflow_name, version, priority, inputs, submitted_by, submitted_by_name,
				created_at, started_at, finished_at, status, total, pending, succeeded, levels)
			VALUES ($1, $2, $3, $4, $5, 'bench.grid', '1.0.0', 50, '{}', $6, 'Mei', now(), now(), now() + interval '1 hour', 'SUCCEEDED', $7, 0, $7, 1)`,
			id, auth.LocalTenant, auth.LocalProject, v.WorkflowID, v.ID, auth.LocalAdmin, nodes)
		if err != nil {
			return v, fmt.Errorf("insert execution: %w", err)
		}
		_, err = pool.Exec(ctx, `INSERT INTO nodes (execution_id, node_index, name, level, state, attempt, pending_dependencies, started_at, finished_at)
			SELECT $1, i, 'node_' || i, 0, 'SUCCEEDED', 1, 0, now(), now() + make_interval(secs => 10 + ($3 * 7 + i) % 40) FROM generate_series(0, $2 - 1) i`, id, nodes, i)
		if err != nil {
			return v, fmt.Errorf("insert nodes: %w", err)
		}
	}
	_, err = pool.Exec(ctx, "ANALYZE")
	return v, err
}

func measure(ctx context.Context, reader *query.Reader, flow uuid.UUID, requests int) error {
	took := make([]time.Duration, 0, requests)
	cells := 0
	for i := range requests + 5 { // the first ones warm up
		begin := time.Now()
		grid, err := reader.NodeGrid(ctx, query.Filter{Workflow: flow.String(), Limit: query.MaxGridExecutions}, 0)
		if err != nil {
			return err
		}
		if i >= 5 {
			took = append(took, time.Since(begin))
		}
		cells = len(grid.Executions) * len(grid.Rows)
	}
	slices.Sort(took)
	at := func(percent int) time.Duration {
		return took[min(len(took)-1, len(took)*percent/100)].Round(100 * time.Microsecond)
	}
	fmt.Printf("%d cells, %d requests: median %s, p95 %s, highest %s\n", cells, requests, at(50), at(95), at(100))
	return nil
}
