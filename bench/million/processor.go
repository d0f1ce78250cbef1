package main

import (
	"context"
	"os"

	"github.com/flowforge/flowforge/bench/processor"
	"github.com/flowforge/flowforge/bench/site"
)

// roots returns the processes of the server, of PostgreSQL and of the engine of ClickHouse. Their
// processor time depends less on other programs than the time of an answer.
func (b *bench) roots(ctx context.Context, s *site.Server) ([]int, error) {
	var backend int
	if err := b.pool.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&backend); err != nil {
		return nil, err
	}
	postgres, err := processor.Parent(backend)
	if err != nil {
		return nil, err
	}
	engine, err := processor.Listener(ctx, os.Getenv("FLOWFORGE_TEST_CLICKHOUSE_URL"))
	return []int{s.PID(), postgres, engine}, err
}
