package telemetry

import (
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	chengine "github.com/flowforge/flowforge/platform/embedded/clickhouse"
)

// ownEngine starts an engine that this test can kill, and that stops when it has been idle.
func ownEngine(t *testing.T, idle time.Duration) *chengine.Engine {
	t.Helper()
	cache := os.Getenv("FLOWFORGE_CACHE_DIR")
	if cache == "" {
		cache = filepath.Join("..", "..", ".cache")
	}
	library, err := chengine.FindLibrary(os.Getenv("FLOWFORGE_CHDB_LIB"), filepath.Join(cache, "chdb"))
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	engine, err := chengine.Start(t.Context(), chengine.Config{Dir: t.TempDir(), Library: library, Executable: self, Idle: idle,
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	return engine
}

// TestEngineIsKilled: repeated SIGKILLs of the engine during appends and inserts lose
// and duplicate nothing, in the tables and in the rollup, and appending never fails.
func TestEngineIsKilled(t *testing.T) {
	t.Parallel()
	engine := ownEngine(t, 0)
	b := setup(t, func(c *Config) { c.ClickHouseURL = engine.URL() })
	b.flushed(t)
	const batches, each = 300, 50
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := range int64(batches) {
			if err := b.AppendLogs(b.ctx, b.lines(n*each+1, (n+1)*each)); err != nil {
				t.Error(err)
				return
			}
			points := make([]Point, each)
			for i := range points {
				points[i] = b.point(n*each+int64(i), 1)
			}
			if err := b.AppendMetrics(b.ctx, points); err != nil {
				t.Error(err)
				return
			}
			wait(b.ctx, 10*time.Millisecond) // long enough for several kills
		}
	})
	for range 4 {
		before := b.spool.Committed()
		eventually(t, "some batches are stored", func() bool { return b.spool.Committed() > before+each })
		pid := engine.PID()
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		eventually(t, "the engine is back", func() bool { return engine.PID() != pid && b.store.conn.Ping(b.ctx) == nil })
	}
	wg.Wait()
	b.flushed(t)
	for query, want := range map[string]uint64{
		"SELECT count() FROM logs FINAL":                  batches * each,
		"SELECT count() FROM logs":                        batches * each,
		"SELECT uniqExact(sequence) FROM logs":            batches * each,
		"SELECT count() FROM metrics FINAL":               batches * each,
		"SELECT sum(sample_count) FROM metrics_1m":        batches * each,
		"SELECT toUInt64(sum(sum_value)) FROM metrics_1m": batches * each,
	} {
		var got uint64
		require.NoError(t, b.store.conn.QueryRow(b.ctx, query).Scan(&got))
		require.Equal(t, want, got, query)
	}
	page, err := b.Logs(b.ctx, LogQuery{ExecutionID: b.execution, Limit: 10_000})
	require.NoError(t, err)
	require.Equal(t, sequence(1, 10_000), seqs(page.Lines))
}

// TestWithoutClickHouse: everything is appended, read and followed from the spool
// while there is no engine, also after a restart; then it catches up.
func TestWithoutClickHouse(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config) { c.ClickHouseURL = "http+unix://" + filepath.Join(t.TempDir(), "none.sock") })
	b.append(t, b.lines(1, 300)...)
	require.NoError(t, b.AppendMetrics(b.ctx, []Point{b.point(1, 2)}))
	eventually(t, "it is noticed", func() bool { return b.Status().ClickHouse == StateDown })
	require.True(t, apperr.Is(b.Ready(b.ctx), apperr.Unavailable))

	page, err := b.Logs(b.ctx, LogQuery{ExecutionID: b.execution, Limit: 1000})
	require.NoError(t, err)
	require.True(t, page.Partial)
	require.Equal(t, sequence(1, 300), seqs(page.Lines))
	require.Len(t, follow(b.ctx, t, b.Service, LogQuery{ExecutionID: b.execution}, "", 300), 300)
	require.True(t, apperr.Is(b.WriteLog(b.ctx, t.Output(), LogQuery{ExecutionID: b.execution}), apperr.Unavailable))
	series, err := b.Series(b.ctx, MetricQuery{ExecutionID: b.execution})
	require.NoError(t, err)
	require.Len(t, series, 1)
	cursor := page.Lines[299].Cursor()

	b.cfg.ClickHouseURL = shared(t)
	spoolDir := b.cfg.SpoolDir
	b.cfg.SpoolDir = t.TempDir()
	require.NoError(t, os.CopyFS(b.cfg.SpoolDir, os.DirFS(spoolDir))) // as after a crash: the first service never closed it
	b.Service = b.start(t)
	b.append(t, b.lines(290, 310)...) // the sender repeats unconfirmed lines
	b.flushed(t)
	page, err = b.Logs(b.ctx, LogQuery{ExecutionID: b.execution, Limit: 1000})
	require.NoError(t, err)
	require.False(t, page.Partial)
	require.Equal(t, sequence(1, 310), seqs(page.Lines))
	require.Equal(t, sequence(301, 310), seqs(follow(b.ctx, t, b.Service, LogQuery{ExecutionID: b.execution}, cursor, 10)))
}

// TestCrashBetweenInsertAndCommit: a server that stops after ClickHouse has stored a
// batch and before the commit inserts it again, and it is stored once.
func TestCrashBetweenInsertAndCommit(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config) { c.FlushInterval = time.Hour })
	b.flushed(t)
	b.append(t, b.lines(1, 100)...)
	require.NoError(t, b.AppendMetrics(b.ctx, []Point{b.point(1, 5), b.point(2, 5)}))
	batch, err := b.spool.Batch(1000, 1<<20)
	require.NoError(t, err)
	require.NoError(t, b.insert(b.ctx, batch))
	crashed := t.TempDir()
	require.NoError(t, os.CopyFS(crashed, os.DirFS(b.cfg.SpoolDir)))

	b.cfg.SpoolDir, b.cfg.FlushInterval = crashed, time.Millisecond
	b.Service = b.start(t)
	b.append(t, b.lines(101, 120)...)
	b.flushed(t)
	var logs, samples uint64
	require.NoError(t, b.store.conn.QueryRow(b.ctx, "SELECT count() FROM logs").Scan(&logs))
	require.NoError(t, b.store.conn.QueryRow(b.ctx, "SELECT sum(sample_count) FROM metrics_1m").Scan(&samples))
	require.EqualValues(t, 120, logs)
	require.EqualValues(t, 2, samples)
}

// TestFullSpool: appends that do not fit are refused as a whole, reported and counted,
// and can be repeated later.
func TestFullSpool(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config) {
		c.SpoolMaxBytes = 256 << 10
		c.ClickHouseURL = "http+unix://" + filepath.Join(t.TempDir(), "none.sock")
	})
	var (
		err error
		seq int64
	)
	for ; err == nil; seq += 100 {
		err = b.AppendLogs(b.ctx, b.lines(seq+1, seq+100))
	}
	seq -= 100
	require.True(t, apperr.Is(err, apperr.Unavailable))
	require.Contains(t, apperr.MessageOf(err), "full")
	require.EqualValues(t, 100, b.Status().Refused)
	require.Contains(t, apperr.MessageOf(b.Ready(b.ctx)), "full")
	page, err := b.Logs(b.ctx, LogQuery{ExecutionID: b.execution, Limit: 10_000})
	require.NoError(t, err)
	require.Equal(t, sequence(1, seq), seqs(page.Lines))

	b.cfg.ClickHouseURL = shared(t)
	spoolDir := b.cfg.SpoolDir
	b.cfg.SpoolDir = t.TempDir()
	require.NoError(t, os.CopyFS(b.cfg.SpoolDir, os.DirFS(spoolDir)))
	b.Service = b.start(t)
	b.flushed(t)
	b.append(t, b.lines(seq+1, seq+100)...)
	page, err = b.Logs(b.ctx, LogQuery{ExecutionID: b.execution, Limit: 10_000})
	require.NoError(t, err)
	require.Equal(t, sequence(1, seq+100), seqs(page.Lines))
}

func (b *testBundle) point(seq int64, value float64) Point {
	return Point{TenantID: auth.LocalTenant, ProjectID: auth.LocalProject, ExecutionID: b.execution, NodeIndex: 1, Node: "train", Attempt: 1,
		Seq: seq, Name: "loss", Kind: Gauge, Step: &seq, Value: value, Time: time.Unix(1_790_000_000+seq, 0).UTC()}
}
