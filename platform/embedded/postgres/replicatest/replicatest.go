// Package replicatest gives a test a PostgreSQL server with a streaming replica.
package replicatest

import (
	"log/slog"
	"os"
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
	primary := start(t, postgres.Config{Dir: filepath.Join(dir, "primary")})
	return Pair{primary, start(t, postgres.Config{Dir: filepath.Join(dir, "replica"), ReplicaOf: primary})}
}

func start(t testing.TB, c postgres.Config) *postgres.Server {
	t.Helper()
	c.BinDir, c.Logger = os.Getenv("FLOWFORGE_POSTGRES_DIR"), slog.New(slog.DiscardHandler)
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
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}
