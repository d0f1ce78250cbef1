package clickhouse_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/platform/embedded/child"
	"github.com/flowforge/flowforge/platform/embedded/clickhouse"
)

// startIdle starts an engine with a table n, and returns it with a connection that starts it on
// demand.
func startIdle(t *testing.T, cfg clickhouse.Config, idle time.Duration) (*clickhouse.Engine, driver.Conn) {
	t.Helper()
	cfg.Idle = idle
	engine := start(t, cfg)
	conn := onDemand(t, engine)
	mustExec(t, conn, "CREATE TABLE IF NOT EXISTS n (x UInt64) ENGINE = MergeTree ORDER BY x")
	return engine, conn
}

func onDemand(t *testing.T, engine *clickhouse.Engine) driver.Conn {
	t.Helper()
	return openWith(t, engine.URL(), &ch.Options{DialTimeout: time.Minute, TransportFunc: engine.Transport})
}

func untilResting(t *testing.T, engine *clickhouse.Engine, dir string) {
	t.Helper()
	eventually(t, 20*time.Second, func() bool { return engine.PID() == 0 && len(child.In(filepath.Join(dir, "data"))) == 0 })
}

func TestIdleEngineStopsAndIsStartedByTheFirstReads(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	engine, conn := startIdle(t, config(t, dir), 300*time.Millisecond)
	mustExec(t, conn, "INSERT INTO n SELECT number FROM numbers(1000)")
	untilResting(t, engine, dir)

	if err := engine.Check(t.Context()); err != nil {
		t.Errorf("the check of a resting engine: %v", err)
	}
	if engine.PID() != 0 {
		t.Error("the check started the engine")
	}
	var readers sync.WaitGroup
	for range 8 {
		readers.Go(func() {
			var n uint64
			if err := conn.QueryRow(t.Context(), "SELECT count() FROM n").Scan(&n); err != nil || n != 1000 {
				t.Errorf("%d rows, %v, want 1000", n, err)
			}
		})
	}
	readers.Wait()
	if err := engine.Check(t.Context()); err != nil {
		t.Errorf("the check of a running engine: %v", err)
	}
}

func TestNothingIsLostWhenRequestsMeetStops(t *testing.T) {
	t.Parallel()
	engine, conn := startIdle(t, config(t, t.TempDir()), 20*time.Millisecond)
	const rounds, writers = 4, 3
	for round := range rounds {
		eventually(t, 20*time.Second, func() bool { return engine.PID() == 0 }) // from here on, the process stops
		var group sync.WaitGroup
		for w := range writers {
			group.Go(func() {
				b, err := conn.PrepareBatch(t.Context(), "INSERT INTO n")
				if err == nil {
					err = b.Append(uint64(round*writers + w))
				}
				if err == nil {
					err = b.Send()
				}
				if err != nil {
					t.Errorf("round %d, writer %d: %v", round, w, err)
				}
			})
		}
		group.Wait()
	}
	if n := count(t, conn, "SELECT uniqExact(x) FROM n"); n != rounds*writers {
		t.Errorf("%d rows, want %d", n, rounds*writers)
	}
}

func TestRunningQueryIsAUse(t *testing.T) {
	t.Parallel()
	_, conn := startIdle(t, config(t, t.TempDir()), 50*time.Millisecond)
	rows, err := conn.Query(t.Context(), "SELECT number, sleepEachRow(0.2) FROM numbers(6) SETTINGS max_block_size = 1")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for rows.Next() {
		n++
	}
	if err := rows.Err(); err != nil || n != 6 {
		t.Errorf("%d rows, %v, want 6", n, err)
	}
	if err := rows.Close(); err != nil {
		t.Error(err)
	}
}

func TestKillDuringAStartOnDemand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	engine, conn := startIdle(t, config(t, dir), 200*time.Millisecond)
	mustExec(t, conn, "INSERT INTO n VALUES (1)")
	untilResting(t, engine, dir)

	result := make(chan error, 1)
	go func() {
		var n uint64
		err := conn.QueryRow(t.Context(), "SELECT count() FROM n").Scan(&n)
		if err == nil && n != 1 {
			err = fmt.Errorf("%d rows, want 1", n)
		}
		result <- err
	}()
	var starting []int
	eventually(t, 20*time.Second, func() bool {
		starting = child.In(filepath.Join(dir, "data"))
		return len(starting) > 0
	})
	if err := syscall.Kill(starting[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-result; err != nil {
		t.Errorf("a read during the start: %v", err)
	}
}

func TestEngineThatCannotStartOnDemand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := config(t, dir)
	real := cfg.Library
	cfg.Library = filepath.Join(t.TempDir(), "libchdb.so")
	if err := os.Symlink(real, cfg.Library); err != nil {
		t.Fatal(err)
	}
	engine, conn := startIdle(t, cfg, 200*time.Millisecond)
	mustExec(t, conn, "INSERT INTO n VALUES (1)")
	untilResting(t, engine, dir)

	move := func(target string) {
		t.Helper()
		next := cfg.Library + ".next"
		if err := os.Symlink(target, next); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, cfg.Library); err != nil {
			t.Fatal(err)
		}
	}
	move("/dev/null")
	var n uint64
	err := conn.QueryRow(t.Context(), "SELECT count() FROM n").Scan(&n)
	if !apperr.Is(err, apperr.Unavailable) {
		t.Errorf("a read without a library: %v, want unavailable", err)
	}
	if err := engine.Check(t.Context()); err == nil {
		t.Error("the check of an engine that cannot start succeeds")
	}
	move(real)
	eventually(t, 30*time.Second, func() bool { return conn.QueryRow(t.Context(), "SELECT count() FROM n").Scan(&n) == nil })
	if n != 1 {
		t.Errorf("%d rows, want 1", n)
	}
}

func TestCloseOfARestingEngineKeepsData(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := config(t, dir)
	cfg.Idle = 200 * time.Millisecond
	first, err := clickhouse.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	conn := onDemand(t, first)
	mustExec(t, conn, "CREATE TABLE n (x UInt64) ENGINE = MergeTree ORDER BY x")
	mustExec(t, conn, "INSERT INTO n SELECT number FROM numbers(10)")
	untilResting(t, first, dir)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := conn.QueryRow(t.Context(), "SELECT 1").Err(); !apperr.Is(err, apperr.Unavailable) {
		t.Errorf("a read of a closed engine: %v, want unavailable", err)
	}
	if left := child.In(filepath.Join(dir, "data")); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
	_, again := startIdle(t, config(t, dir), 0)
	if n := count(t, again, "SELECT count() FROM n"); n != 10 {
		t.Errorf("%d rows after a restart, want 10", n)
	}
}

func TestEngineWithWorkOfItsOwnIsNotIdle(t *testing.T) {
	t.Parallel()
	engine, conn := startIdle(t, config(t, t.TempDir()), 0)
	mustExec(t, conn, "INSERT INTO n VALUES (1)")
	if engine.Works(t.Context()) {
		t.Error("a new engine works")
	}
	mustExec(t, conn, "SYSTEM STOP MERGES n")
	mustExec(t, conn, "ALTER TABLE n DELETE WHERE x = 1 SETTINGS mutations_sync = 0")
	if !engine.Works(t.Context()) {
		t.Error("an engine with a waiting mutation does not work")
	}
	mustExec(t, conn, "SYSTEM START MERGES n")
	eventually(t, 20*time.Second, func() bool { return !engine.Works(t.Context()) })
}
