package telemetry

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/migrations"
	chengine "github.com/flowforge/flowforge/platform/embedded/clickhouse"
)

// TestMain lets the test binary run as an engine process, for the tests that kill it.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == chengine.EngineCommand {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		err := chengine.RunEngine(ctx, os.Args[2:])
		stop()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	// A connection that the driver's HTTP transport takes back at the moment of its
	// close stays idle until its own timeout.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

// shared is the address of the engine that the tests share. Tests never skip.
func shared(t *testing.T) string {
	t.Helper()
	url := os.Getenv("FLOWFORGE_TEST_CLICKHOUSE_URL")
	if url == "" {
		t.Fatal("there is no ClickHouse for tests: run `make services` and use the exports that it prints, or set FLOWFORGE_TEST_CLICKHOUSE_URL")
	}
	return url
}

// databases gives every test its own database.
var databases atomic.Int64

type testBundle struct {
	*Service
	ctx       context.Context // of the system
	execution uuid.UUID
	cfg       Config
}

// setup starts a service with its own spool and database; it flushes at once.
func setup(t *testing.T, change func(*Config)) *testBundle {
	t.Helper()
	cfg := Config{
		Database: fmt.Sprintf("t%d_%d", os.Getpid(), databases.Add(1)), SpoolDir: t.TempDir(), SpoolMaxBytes: 64 << 20,
		FlushInterval: time.Millisecond, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	if change != nil {
		change(&cfg)
	}
	if cfg.ClickHouseURL == "" {
		cfg.ClickHouseURL = shared(t)
	}
	b := &testBundle{ctx: auth.AsSystem(t.Context()), execution: uuid.Must(uuid.NewV7()), cfg: cfg}
	b.Service = b.start(t)
	t.Cleanup(func() {
		_ = b.store.conn.Exec(context.Background(), "DROP DATABASE IF EXISTS "+cfg.Database) // a test that ended with its engine
	})
	return b
}

// start opens the service of cfg and runs it to the end of the test.
func (b *testBundle) start(t *testing.T) *Service {
	t.Helper()
	s, err := New(b.cfg)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		if err := s.Run(ctx); err != nil {
			t.Errorf("run: %v", err)
		}
	})
	t.Cleanup(func() {
		stop()
		done.Wait()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// eventually polls what another process does, until the deadline.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not within 30 s: %s", what)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// flushed waits until everything is in ClickHouse.
func (b *testBundle) flushed(t *testing.T) {
	t.Helper()
	eventually(t, "flushed", func() bool {
		st := b.Status()
		return st.ClickHouse == StateUp && st.PendingRecords == 0
	})
}

func (b *testBundle) line(seq int64, change func(*LogLine)) LogLine {
	l := LogLine{TenantID: auth.LocalTenant, ProjectID: auth.LocalProject, ExecutionID: b.execution, NodeIndex: 1, Node: "train", Attempt: 1,
		Stream: "stdout", Seq: seq, Time: time.Unix(1_790_000_000+seq, 0).UTC(), Level: "INFO", Message: fmt.Sprintf("line %d", seq)}
	if change != nil {
		change(&l)
	}
	return l
}

func (b *testBundle) lines(from, to int64) []LogLine {
	var out []LogLine
	for seq := from; seq <= to; seq++ {
		out = append(out, b.line(seq, nil))
	}
	return out
}

func (b *testBundle) append(t *testing.T, lines ...LogLine) {
	t.Helper()
	require.NoError(t, b.AppendLogs(b.ctx, lines))
}

func seqs(lines []LogLine) []int64 {
	out := []int64{}
	for _, l := range lines {
		out = append(out, l.Seq)
	}
	return out
}

func sequence(from, to int64) []int64 {
	out := []int64{}
	for n := from; n <= to; n++ {
		out = append(out, n)
	}
	return out
}

// TestMigrate: twice on one database, and again with another retention.
func TestMigrate(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	b.flushed(t)
	require.NoError(t, b.store.migrate(b.ctx, 30))
	require.NoError(t, b.store.migrate(b.ctx, 7))
	var definition string
	require.NoError(t, b.store.conn.QueryRow(b.ctx, "SELECT create_table_query FROM system.tables WHERE database = ? AND name = 'logs'",
		b.cfg.Database).Scan(&definition))
	require.Contains(t, definition, "toIntervalDay(7)")
	require.NoError(t, b.Ready(b.ctx))
	var applied uint64
	require.NoError(t, b.store.conn.QueryRow(b.ctx, "SELECT count() FROM schema_migrations").Scan(&applied))
	files, err := fs.Glob(migrations.ClickHouse, "clickhouse/*.sql")
	require.NoError(t, err)
	require.EqualValues(t, len(files), applied)
}

// TestTableComesBack: missing tables are created again, and no spooled record is lost.
func TestTableComesBack(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	b.flushed(t)
	require.NoError(t, b.store.conn.Exec(b.ctx, "DROP DATABASE "+b.cfg.Database))
	b.append(t, b.lines(1, 3)...)
	b.flushed(t)
	page, err := b.Logs(b.ctx, LogQuery{ExecutionID: b.execution})
	require.NoError(t, err)
	require.Equal(t, sequence(1, 3), seqs(page.Lines))
}

func TestFacts(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	start := time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)
	f := Fact{ExecutionID: b.execution, TenantID: auth.LocalTenant, ProjectID: auth.LocalProject, WorkflowID: uuid.New(), WorkflowName: "digits.train",
		Version: "1.0.0", Status: "FAILED", CreatedAt: start, StartedAt: &start, FinishedAt: start.Add(time.Second), Total: 3, Failed: 1}
	require.NoError(t, b.AppendFacts(b.ctx, []Fact{f}))
	f.Status, f.FinishedAt, f.Failed, f.Succeeded = "SUCCEEDED", start.Add(5*time.Second), 0, 3
	require.NoError(t, b.AppendFacts(b.ctx, []Fact{f}))
	b.flushed(t)
	var (
		status   string
		duration *int64
		rows     uint64
	)
	require.NoError(t, b.store.conn.QueryRow(b.ctx, "SELECT any(status), any(duration_ms), count() FROM execution_facts FINAL WHERE execution_id = ?",
		b.execution).Scan(&status, &duration, &rows))
	require.Equal(t, "SUCCEEDED", status)
	require.EqualValues(t, 5000, *duration)
	require.EqualValues(t, 1, rows)
}

// TestBatchIsStoredOnce: a batch that is repeated after a lost answer changes neither
// the points nor their rollup.
func TestBatchIsStoredOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	b.flushed(t)
	send := func(token string, values ...float64) {
		ctx := clickhouse.Context(b.ctx, clickhouse.WithSettings(clickhouse.Settings{
			"insert_deduplication_token": token, "deduplicate_blocks_in_dependent_materialized_views": 1}))
		rows := make([]string, len(values))
		for i, v := range values {
			rows[i] = fmt.Sprintf("('%s', 'loss', 'gauge', %d, %v, '2026-11-21 06:00:01')", b.execution, i, v)
		}
		require.NoError(t, b.store.conn.Exec(ctx, "INSERT INTO metrics (execution_id, name, type, sequence, value, timestamp) VALUES "+strings.Join(rows, ", ")))
	}
	send("a", 1, 2)
	send("a", 1, 2)
	send("b", 10)
	var (
		samples uint64
		sum     float64
	)
	require.NoError(t, b.store.conn.QueryRow(b.ctx, "SELECT sum(sample_count), sum(sum_value) FROM metrics_1m WHERE execution_id = ?", b.execution).Scan(&samples, &sum))
	require.EqualValues(t, 3, samples)
	require.InDelta(t, 13, sum, 0)
}
