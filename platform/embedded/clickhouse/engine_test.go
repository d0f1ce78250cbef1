package clickhouse_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/platform/embedded/child"
	"github.com/flowforge/flowforge/platform/embedded/clickhouse"
)

// library is the engine that `make setup` installs. Without it these tests fail:
// nothing skips itself.
func library(t *testing.T) string {
	t.Helper()
	cache := os.Getenv("FLOWFORGE_CACHE_DIR")
	if cache == "" {
		cache = filepath.Join("..", "..", "..", ".cache")
	}
	path, err := clickhouse.FindLibrary(os.Getenv("FLOWFORGE_CHDB_LIB"), filepath.Join(cache, "chdb"))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func config(t *testing.T, dir string) clickhouse.Config {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return clickhouse.Config{
		Dir: dir, Library: library(t), Executable: self,
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
}

func start(t *testing.T, cfg clickhouse.Config) *clickhouse.Engine {
	t.Helper()
	engine, err := clickhouse.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	return engine
}

func TestEngineComesBackAfterKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	engine := start(t, config(t, dir))
	conn := open(t, engine.URL(), "default", "")
	mustExec(t, conn, "CREATE DATABASE kept")
	mustExec(t, conn, "CREATE TABLE kept.n (x UInt64) ENGINE = MergeTree ORDER BY x")
	for round := range 3 {
		mustExec(t, conn, "INSERT INTO kept.n VALUES (1)")
		before := engine.PID()
		if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		eventually(t, 20*time.Second, func() bool {
			return engine.PID() != before && conn.Ping(t.Context()) == nil
		})
		if got := count(t, conn, "SELECT count() FROM kept.n"); got != uint64(round+1) {
			t.Fatalf("round %d: %d rows after the restart, want %d", round, got, round+1)
		}
	}
}

func TestEngineKeepsDataOverCloseAndIsGoneInTime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := clickhouse.Start(t.Context(), config(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	conn := open(t, first.URL(), "default", "")
	mustExec(t, conn, "CREATE DATABASE kept")
	mustExec(t, conn, "CREATE TABLE kept.n (x UInt64) ENGINE = MergeTree ORDER BY x")
	mustExec(t, conn, "INSERT INTO kept.n SELECT number FROM numbers(1000)")

	endless := make(chan error, 1)
	go func() {
		endless <- conn.Exec(context.WithoutCancel(t.Context()), "SELECT count() FROM system.numbers WHERE NOT ignore(sipHash64(number))")
	}()
	eventually(t, 10*time.Second, func() bool { return count(t, conn, "SELECT count() FROM system.processes") == 2 })
	if err := first.Close(); err != nil { // it does not wait for the query, which never ends
		t.Fatal(err)
	}
	if err := <-endless; err == nil {
		t.Error("the running query ended well, want an error")
	}
	if left := child.In(filepath.Join(dir, "data")); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}

	second := start(t, config(t, dir))
	if got := count(t, open(t, second.URL(), "kept", ""), "SELECT count() FROM n"); got != 1000 {
		t.Errorf("%d rows after a restart, want 1000", got)
	}
}

func TestEngineOnALongPath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 5 {
		dir = filepath.Join(dir, "a-folder-with-a-rather-long-name")
	}
	engine := start(t, config(t, dir))
	if err := open(t, engine.URL(), "default", "").Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestSecondEngineIsRefused(t *testing.T) {
	t.Parallel()
	cfg := config(t, t.TempDir())
	start(t, cfg)
	_, err := clickhouse.Start(t.Context(), cfg)
	if !apperr.Is(err, apperr.Conflict) {
		t.Fatalf("second engine: %v, want a conflict", err)
	}
}

func TestMissingLibrary(t *testing.T) {
	t.Parallel()
	for _, explicit := range []string{"", filepath.Join(t.TempDir(), "libchdb.so")} {
		if _, err := clickhouse.FindLibrary(explicit, t.TempDir()); !apperr.Is(err, apperr.Unavailable) {
			t.Errorf("FindLibrary(%q): %v, want unavailable", explicit, err)
		}
	}
}

func TestBrokenLibraryIsOneLine(t *testing.T) {
	t.Parallel()
	cfg := config(t, t.TempDir())
	cfg.Library = filepath.Join(t.TempDir(), "libchdb.so")
	if err := os.WriteFile(cfg.Library, []byte("not a library"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := clickhouse.Start(t.Context(), cfg)
	if !apperr.Is(err, apperr.Unavailable) {
		t.Fatalf("broken library: %v, want unavailable", err)
	}
	oneLine(t, err)
}

func mustExec(t *testing.T, conn driver.Conn, query string, args ...any) {
	t.Helper()
	if err := conn.Exec(t.Context(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func count(t *testing.T, conn driver.Conn, query string, args ...any) (n uint64) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// eventually watches an outside process, which has no signal to wait for.
func eventually(t *testing.T, limit time.Duration, ok func() bool) {
	t.Helper()
	deadline := time.After(limit)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline:
			t.Fatalf("not so within %v", limit)
		case <-tick.C:
		}
	}
}

func oneLine(t *testing.T, err error) {
	t.Helper()
	for _, r := range err.Error() {
		if r == '\n' {
			t.Fatalf("the error has more than one line: %q", err)
		}
	}
}
