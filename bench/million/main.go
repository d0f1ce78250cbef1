// Command million measures pages and searches of an installation with many executions. It fills
// PostgreSQL and ClickHouse with seeded executions of 20 inputs and 20 metrics each, and requests
// pages and the API of the team that has half of them:
//
//	go build -o bin/flowforge ./cmd/flowforge
//	scripts/environment go run ./cmd/testenv go run ./bench/million -executions 1000000
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/bench/site"
	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/db"
)

type options struct {
	binary            string
	executions, lines int
	requests          int
	seed              uint64
	filled            bool
}

func main() {
	var o options
	flag.StringVar(&o.binary, "binary", "bin/flowforge", "the server")
	flag.IntVar(&o.executions, "executions", 1_000_000, "executions of all teams")
	flag.IntVar(&o.lines, "lines", 1_000_000, "log lines of the newest executions, ten each")
	flag.IntVar(&o.requests, "requests", 30, "requests of each page, after one that warms up")
	flag.Uint64Var(&o.seed, "seed", 1, "of the values")
	flag.BoolVar(&o.filled, "filled", false, "measure what an earlier run on the same engines filled")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench/million:", err)
		os.Exit(1)
	}
}

// bench is an installation that is filled and measured.
type bench struct {
	options
	pool *pgxpool.Pool
	conn driver.Conn
}

func run(ctx context.Context, o options) (err error) {
	database, engine := os.Getenv("FLOWFORGE_TEST_DATABASE_URL"), os.Getenv("FLOWFORGE_TEST_CLICKHOUSE_URL")
	if database == "" || engine == "" {
		return errors.New("run it with cmd/testenv")
	}
	ctx = auth.WithSubject(ctx, auth.Local())
	dir, err := os.MkdirTemp("", "flowforge-million-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := site.Start(ctx, o.binary, filepath.Join(dir, "data"), "FLOWFORGE_DATABASE_URL="+database, "FLOWFORGE_CLICKHOUSE_URL="+engine)
	if err != nil {
		return err
	}
	defer s.Stop()
	pool, err := db.Open(ctx, database)
	if err != nil {
		return err
	}
	defer pool.Close()
	logs, err := telemetry.New(telemetry.Config{ClickHouseURL: engine, SpoolDir: filepath.Join(dir, "spool"), Now: time.Now})
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- logs.Run(running) }()
	defer func() {
		stop()
		err = errors.Join(err, <-done, logs.Close())
	}()
	conn, err := connection(ctx, logs)
	if err != nil {
		return err
	}
	b := &bench{options: o, pool: pool, conn: conn}
	if !o.filled {
		if err := b.fill(ctx); err != nil {
			return err
		}
	}
	return b.measure(ctx, s)
}

// connection waits for the tables of ClickHouse.
func connection(ctx context.Context, logs *telemetry.Service) (driver.Conn, error) {
	for {
		conn, err := logs.Conn()
		if err == nil {
			return conn, nil
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// fill writes teams, workflows, executions and log lines, and prints how long it takes.
func (b *bench) fill(ctx context.Context) error {
	began := time.Now()
	if err := b.adopted(ctx); err != nil {
		return err
	}
	flows, err := b.teams(ctx)
	if err != nil {
		return fmt.Errorf("teams and workflows: %w", err)
	}
	if err := b.names(ctx, flows); err != nil {
		return fmt.Errorf("names of the index: %w", err)
	}
	if err := b.executed(ctx, flows); err != nil {
		return fmt.Errorf("executions: %w", err)
	}
	if _, err := b.pool.Exec(ctx, "VACUUM ANALYZE"); err != nil {
		return err
	}
	if err := b.merged(ctx); err != nil {
		return fmt.Errorf("merge the index: %w", err)
	}
	var stored, indexed uint64
	err = b.pool.QueryRow(ctx, "SELECT pg_database_size(current_database())").Scan(&stored)
	if err != nil {
		return err
	}
	err = b.conn.QueryRow(ctx, "SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = currentDatabase()").Scan(&indexed)
	if err != nil {
		return err
	}
	fmt.Printf("%d executions and %d log lines after %.0f s; PostgreSQL %d MiB, ClickHouse %d MiB\n\n",
		b.executions, b.lines, time.Since(began).Seconds(), stored>>20, indexed>>20)
	return nil
}

// merged merges the months of the index that ClickHouse merges when they had no changes for a day.
func (b *bench) merged(ctx context.Context) error {
	var months []string
	err := b.conn.QueryRow(ctx, `SELECT groupUniqArray(partition) FROM system.parts WHERE active AND database = currentDatabase()
		AND table = 'execution_values' AND partition != toString(toYYYYMM(now('UTC')))`).Scan(&months)
	for _, month := range months {
		err = errors.Join(err, b.conn.Exec(ctx, "OPTIMIZE TABLE execution_values PARTITION "+month+" FINAL"))
	}
	return err
}

// adopted waits until the server knows the table of the index, which it would build again.
func (b *bench) adopted(ctx context.Context) error {
	for {
		var known bool
		err := b.pool.QueryRow(ctx, "SELECT EXISTS (SELECT FROM search_index WHERE next_id IS NULL)").Scan(&known)
		if err != nil || known {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}
