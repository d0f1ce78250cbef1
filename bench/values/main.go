// Command values measures searches over many executions with many values. It fills the index with
// seeded executions, 20 inputs and 20 metrics each, and with -postgres also a table of values in
// PostgreSQL, the alternative of docs/decisions/021-index-of-values.md:
//
//	go run ./cmd/testenv go run ./bench/values -executions 1000000
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/db"
)

const (
	inputs  = 20 // of each execution: 16 numbers and 4 texts
	metrics = 20
	texts   = 4
	block   = 5_000 // executions of one insert
)

func main() {
	executions := flag.Int("executions", 1_000_000, "executions in the index")
	requests := flag.Int("requests", 30, "requests of each search, after one that warms up")
	seed := flag.Uint64("seed", 1, "of the values")
	compare := flag.Bool("postgres", false, "fill and measure a table of values in PostgreSQL, too")
	flag.Parse()
	if err := run(*executions, *requests, *seed, *compare); err != nil {
		fmt.Fprintln(os.Stderr, "bench/values:", err)
		os.Exit(1)
	}
}

func run(executions, requests int, seed uint64, compare bool) (err error) {
	database, engine := os.Getenv("FLOWFORGE_TEST_DATABASE_URL"), os.Getenv("FLOWFORGE_TEST_CLICKHOUSE_URL")
	if database == "" || engine == "" {
		return errors.New("run it with cmd/testenv")
	}
	ctx := auth.WithSubject(context.Background(), auth.Local())
	pool, err := db.Open(ctx, database)
	if err != nil {
		return err
	}
	defer pool.Close()
	if err := db.Migrate(ctx, pool); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "flowforge-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	logs, err := telemetry.New(telemetry.Config{ClickHouseURL: engine, Database: fmt.Sprintf("bench%d", os.Getpid()), SpoolDir: filepath.Join(dir, "spool"), Now: time.Now})
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
	var conn driver.Conn
	for conn, err = logs.Conn(); err != nil; conn, err = logs.Conn() {
		time.Sleep(10 * time.Millisecond)
	}
	b := bench{pool: pool, conn: conn, requests: requests, service: index.New(index.Config{Pool: pool, Conn: logs.Conn, Now: time.Now})}
	return b.measure(ctx, executions, seed, compare)
}

type bench struct {
	pool     *pgxpool.Pool
	conn     driver.Conn
	service  *index.Service
	requests int
}

func (b *bench) measure(ctx context.Context, executions int, seed uint64, compare bool) error {
	began := time.Now()
	if err := b.names(ctx); err != nil {
		return err
	}
	if err := b.fill(ctx, executions, seed); err != nil {
		return err
	}
	fmt.Printf("%d executions in the index after %.0f s\n\n", executions, time.Since(began).Seconds())
	var bytes uint64
	err := b.conn.QueryRow(ctx, "SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = currentDatabase() AND table = 'execution_values'").Scan(&bytes)
	if err != nil {
		return err
	}
	fmt.Printf("Bytes per execution: %d\n\n| search | p50 | p95 | found |\n|---|--:|--:|--:|\n", bytes/uint64(executions)) //nolint:gosec // positive
	for _, q := range []struct {
		name  string
		query index.Query
		group string
	}{
		{"two values, sorted by a metric, counted", index.Query{Where: "in0 > 0.5 and metric0 >= 0.7", Sort: "-metric1", Counted: true}, ""},
		{"two selective values, sorted by a metric, counted", index.Query{Where: "in0 > 0.97 and metric0 >= 0.97", Sort: "-metric1", Counted: true}, ""},
		{"a text and a value, sorted by an input, counted", index.Query{Where: "in1 = v3 and metric0.max > 0.5", Sort: "in2", Counted: true}, ""},
		{"a tag and a state, newest first, counted", index.Query{Where: "tag:baseline state:failed", Counted: true}, ""},
		{"four conditions with or and not", index.Query{Where: "(in0 > 0.5 or in2 < 0.1) and not in1 = v3 and metric2 > 0.2", Sort: "-metric3.best", Counted: true}, ""},
		{"nothing filtered, sorted by a metric, counted", index.Query{Sort: "-metric0", Counted: true}, ""},
		{"grouped by an input, with aggregates of four columns", index.Query{Where: "in0 > 0.5"}, "in1"},
	} {
		q.query.Columns = []string{"in0", "in1", "metric0", "metric1.max", "state", "tags"}
		found := 0
		err := b.times(q.name, &found, func() error {
			if q.group != "" {
				q.query.Columns = []string{"in0", "in2", "metric0", "metric1.max"}
				groups, err := b.service.Groups(ctx, q.query, q.group)
				found = len(groups.Groups)
				return err
			}
			r, err := b.service.Find(ctx, q.query)
			found = r.Total
			return err
		})
		if err != nil {
			return err
		}
	}
	var found int
	if err := b.times("facets of a query", &found, func() error {
		_, err := b.service.Facets(ctx, index.Query{Where: "in0 > 0.5"})
		return err
	}); err != nil {
		return err
	}
	if compare {
		return b.postgres(ctx, executions, seed)
	}
	return nil
}

// times prints how long f takes.
func (b *bench) times(name string, found *int, f func() error) error {
	waits := make([]time.Duration, 0, b.requests)
	for i := range b.requests + 1 {
		began := time.Now()
		if err := f(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if i > 0 {
			waits = append(waits, time.Since(began))
		}
	}
	slices.Sort(waits)
	ms := func(p float64) float64 { return waits[int(p*float64(len(waits)-1))].Seconds() * 1000 }
	fmt.Printf("| %s | %.0f ms | %.0f ms | %d |\n", name, ms(0.5), ms(0.95), *found)
	return nil
}

// names assigns columns as the index does.
func (b *bench) names(ctx context.Context) error {
	numbers, strings := 0, 0
	add := func(part, name, stat, kind string, slot int) error {
		_, err := b.pool.Exec(ctx, `INSERT INTO search_fields (project_id, part, name, stat, type, slot) VALUES ($1, $2, $3, $4, $5, $6)`,
			auth.LocalProject, part, name, stat, kind, slot)
		return err
	}
	for i := range inputs {
		kind, slot := "number", numbers
		if isText(i) {
			kind, slot = "text", strings
			strings++
		} else {
			numbers++
		}
		if err := add("inputs", fmt.Sprintf("in%d", i), "", kind, slot); err != nil {
			return err
		}
	}
	for i := range metrics {
		for _, stat := range []string{"last", "min", "max"} {
			if err := add("metrics", fmt.Sprintf("metric%d", i), stat, "number", numbers); err != nil {
				return err
			}
			numbers++
		}
	}
	var columns []string
	for i := range numbers {
		columns = append(columns, fmt.Sprintf("ADD COLUMN n%d Nullable(Float64)", i))
	}
	for i := range strings {
		columns = append(columns, fmt.Sprintf("ADD COLUMN t%d Nullable(String)", i))
	}
	return b.conn.Exec(ctx, "ALTER TABLE execution_values "+join(columns))
}

func join(list []string) string { return strings.Join(list, ", ") }

// isText reports whether input i is a text: one in five.
func isText(i int) bool { return i%(inputs/texts) == 1 }

// execution is a seeded execution.
type execution struct {
	id      uuid.UUID
	at      time.Time
	status  string
	tags    []string
	numbers []float64
	texts   []string
}

// some returns n executions from first on, one every 20 s until now.
func some(r *rand.Rand, first, n, of int) []execution {
	list := make([]execution, n)
	end := time.Now().UTC().Truncate(time.Minute)
	for i := range list {
		e := &list[i]
		e.at = end.Add(-time.Duration(of-first-i) * 20 * time.Second)
		e.id = idAt(r, e.at)
		e.status = []string{"SUCCEEDED", "SUCCEEDED", "SUCCEEDED", "FAILED"}[r.IntN(4)]
		if r.IntN(20) == 0 {
			e.tags = []string{"baseline"}
		}
		for range inputs - texts {
			e.numbers = append(e.numbers, r.Float64())
		}
		for range texts {
			e.texts = append(e.texts, fmt.Sprintf("v%d", r.IntN(20)))
		}
		for range metrics {
			last := r.Float64()
			e.numbers = append(e.numbers, last, last*r.Float64(), math.Min(1, last*1.1))
		}
	}
	return list
}

// idAt is a UUIDv7 of a moment.
func idAt(r *rand.Rand, at time.Time) (id uuid.UUID) {
	for i := range id {
		id[i] = byte(r.UintN(256)) //nolint:gosec // less than 256
	}
	ms := at.UnixMilli()
	for i := 5; i >= 0; i-- {
		id[i] = byte(ms)
		ms >>= 8
	}
	id[6], id[8] = id[6]&0x0f|0x70, id[8]&0x3f|0x80
	return id
}

func (b *bench) fill(ctx context.Context, executions int, seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // seeded on purpose
	for first := 0; first < executions; first += block {
		if err := b.insert(ctx, some(r, first, min(block, executions-first), executions)); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) insert(ctx context.Context, list []execution) error {
	columns := []string{"project_id", "execution_id", "created_at", "version", "status", "workflow", "submitted_by", "tags"}
	for i := range list[0].numbers {
		columns = append(columns, fmt.Sprintf("n%d", i))
	}
	for i := range list[0].texts {
		columns = append(columns, fmt.Sprintf("t%d", i))
	}
	batch, err := b.conn.PrepareBatch(ctx, "INSERT INTO execution_values ("+join(columns)+")")
	if err != nil {
		return err
	}
	defer batch.Close()
	for _, e := range list {
		row := []any{auth.LocalProject, e.id, e.at, uint64(1), e.status, "train", "Mei", append([]string{}, e.tags...)}
		for _, n := range e.numbers {
			row = append(row, n)
		}
		for _, t := range e.texts {
			row = append(row, t)
		}
		if err := batch.Append(row...); err != nil {
			return err
		}
	}
	return batch.Send()
}

// postgres fills a table of values, one row per value, and measures the first three searches.
func (b *bench) postgres(ctx context.Context, executions int, seed uint64) error {
	began := time.Now()
	_, err := b.pool.Exec(ctx, `CREATE UNLOGGED TABLE bench_values (field int NOT NULL, number float8, text text, execution_id uuid NOT NULL)`)
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // seeded on purpose
	for first := 0; first < executions; first += block {
		list := some(r, first, min(block, executions-first), executions)
		var rows [][]any
		for _, e := range list {
			for i, n := range e.numbers {
				if i < inputs-texts || (i-inputs+texts)%3 == 0 { // of metrics, the last value alone
					rows = append(rows, []any{i, n, nil, e.id})
				}
			}
			for i, t := range e.texts {
				rows = append(rows, []any{1000 + i, nil, t, e.id})
			}
		}
		if _, err := b.pool.CopyFrom(ctx, pgx.Identifier{"bench_values"}, []string{"field", "number", "text", "execution_id"}, pgx.CopyFromRows(rows)); err != nil {
			return err
		}
	}
	for _, statement := range []string{
		"CREATE INDEX ON bench_values (field, number, execution_id) WHERE number IS NOT NULL", "CREATE INDEX ON bench_values (field, text, execution_id) WHERE text IS NOT NULL",
		"CREATE INDEX ON bench_values (execution_id, field) INCLUDE (number)", "VACUUM ANALYZE bench_values",
	} {
		if _, err := b.pool.Exec(ctx, statement); err != nil {
			return err
		}
	}
	fmt.Printf("\nThe table in PostgreSQL after %.0f s\n\n| search | p50 | p95 | found |\n|---|--:|--:|--:|\n", time.Since(began).Seconds())
	first := inputs - texts
	for _, q := range []struct{ name, filters string }{
		{"two values, sorted by a metric, counted", fmt.Sprintf("a.field = 0 AND a.number > 0.5 AND m.field = %d AND m.number >= 0.7", first)},
		{"two selective values, sorted by a metric, counted", fmt.Sprintf("a.field = 0 AND a.number > 0.97 AND m.field = %d AND m.number >= 0.97", first)},
	} {
		from := "FROM bench_values a JOIN bench_values m USING (execution_id)"
		found := 0
		err := b.times(q.name, &found, func() error {
			if err := b.pool.QueryRow(ctx, "SELECT count(*) "+from+" WHERE "+q.filters).Scan(&found); err != nil {
				return err
			}
			rows, err := b.pool.Query(ctx, fmt.Sprintf("SELECT execution_id %s JOIN bench_values s USING (execution_id) WHERE %s AND s.field = %d ORDER BY s.number DESC LIMIT 50", from, q.filters, first+3))
			if err != nil {
				return err
			}
			_, err = pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
