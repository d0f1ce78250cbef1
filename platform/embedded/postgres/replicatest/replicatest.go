// Package replicatest gives a test a PostgreSQL server with a streaming replica.
package replicatest

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/flowforge/flowforge/platform/embedded/postgres"
)

// Pair is a primary and its replica.
type Pair struct{ Primary, Replica *postgres.Server }

// Start starts a primary and a replica of it, which end with the test. The programs are those of
// `make setup`, or the system's.
func Start(t testing.TB) Pair {
	t.Helper()
	dir, err := os.MkdirTemp("", "ffpair-") // not t.TempDir: PostgreSQL may run as another account
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil { // that account has to pass
		t.Fatal(err)
	}
	first, second := filepath.Join(dir, "primary"), filepath.Join(dir, "replica")
	if err := start(t, first).Close(); err != nil {
		t.Fatal(err)
	}
	// A copy of a server that was shut down can become its replica. pg_basebackup is not part of the
	// programs that `make setup` installs.
	if out, err := exec.CommandContext(t.Context(), "cp", "-a", first, second).CombinedOutput(); err != nil {
		t.Fatalf("copy the primary: %v: %s", err, out)
	}
	primary := running(t, first)
	follow(t, filepath.Join(second, "data"), primary)
	return Pair{primary, running(t, second)}
}

// follow makes a server that is not running a replica of primary when it starts.
func follow(t testing.TB, data string, primary *postgres.Server) {
	t.Helper()
	settings, err := os.OpenFile(filepath.Join(data, "postgresql.auto.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fprintf(settings, "primary_conninfo = '%s'\n", primary.URL())
	if err := errors.Join(err, settings.Close()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "standby.signal"), nil, 0o644); err != nil { // read by another account
		t.Fatal(err)
	}
}

// running starts a server that ends with the test.
func running(t testing.TB, dir string) *postgres.Server {
	t.Helper()
	server := start(t, dir)
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

func start(t testing.TB, dir string) *postgres.Server {
	t.Helper()
	c := postgres.Config{Dir: dir, BinDir: os.Getenv("FLOWFORGE_POSTGRES_DIR"), Logger: slog.New(slog.DiscardHandler)}
	if cache := os.Getenv("FLOWFORGE_CACHE_DIR"); cache != "" {
		c.BinDirs = []string{filepath.Join(cache, "postgres", "native", "bin")}
	}
	c.Settings = map[string]string{
		"wal_level": "replica", "max_wal_senders": "4", "hot_standby": "on", "shared_buffers": "32MB",
		"fsync": "off", "max_standby_streaming_delay": "200ms", // a conflicting read ends soon
	}
	server, err := postgres.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return server
}
