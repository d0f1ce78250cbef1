package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/platform/embedded/child"
	"github.com/flowforge/flowforge/platform/embedded/postgres"
)

// ownerCommand turns the test binary into a process that owns a server, so that
// a test can kill the owner.
const ownerCommand = "own-a-server"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == ownerCommand {
		server, err := postgres.Start(context.Background(), postgres.Config{Dir: os.Args[2], Logger: slog.Default(), BinDir: os.Getenv("FLOWFORGE_POSTGRES_DIR"), BinDirs: binDirs()})
		if err != nil {
			fmt.Println("failed:", err)
			os.Exit(1)
		}
		fmt.Println("ready", server.URL())
		select {} // until it is killed
	}
	os.Exit(m.Run())
}

// binDirs are those of `make setup`; without any PostgreSQL the tests fail.
func binDirs() []string {
	cache := os.Getenv("FLOWFORGE_CACHE_DIR")
	if cache == "" {
		cache = filepath.Join("..", "..", "..", ".cache")
	}
	return []string{filepath.Join(cache, "postgres", "native", "bin")}
}

// sharedBinDirs is binDirs with programs that other accounts can execute. The cache can be below
// the home folder of root, which only root may pass.
func sharedBinDirs(t *testing.T) []string {
	t.Helper()
	var list []string
	for _, dir := range binDirs() {
		if _, err := os.Stat(dir); err != nil {
			continue
		}
		copied := filepath.Join(newDir(t), "native")
		if err := os.CopyFS(copied, os.DirFS(filepath.Dir(dir))); err != nil {
			t.Fatal(err)
		}
		list = append(list, filepath.Join(copied, "bin"))
	}
	return list
}

// newDir is a directory that another account may pass, if PostgreSQL has to run
// as one.
func newDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "flowforge-postgres-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func config(t *testing.T, dir string) postgres.Config {
	t.Helper()
	return postgres.Config{Dir: dir, BinDir: os.Getenv("FLOWFORGE_POSTGRES_DIR"), BinDirs: binDirs(), Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}
}

func start(t *testing.T, cfg postgres.Config) *postgres.Server {
	t.Helper()
	server, err := postgres.Start(t.Context(), cfg)
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

func exec(ctx context.Context, url, query string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, query)
	return errors.Join(err, conn.Close(ctx))
}

func count(t *testing.T, url string) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM kept").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestServerComesBackAfterKill(t *testing.T) {
	t.Parallel()
	server := start(t, config(t, newDir(t)))
	if err := exec(t.Context(), server.URL(), "CREATE TABLE kept (x int)"); err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		if err := exec(t.Context(), server.URL(), "INSERT INTO kept VALUES (1)"); err != nil {
			t.Fatal(err)
		}
		before := server.PID()
		if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		eventually(t, 20*time.Second, func() bool {
			return server.PID() != before && exec(t.Context(), server.URL(), "SELECT 1") == nil
		})
		if n := count(t, server.URL()); n != round+1 {
			t.Fatalf("round %d: %d rows after the restart, want %d", round, n, round+1)
		}
	}
}

func TestServerComesBackAfterKillOfItsOwner(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	for round := range 4 {
		owner := startOwner(t, dir)
		url := owner.url
		if round == 0 {
			if err := exec(t.Context(), url, "CREATE TABLE kept (x int)"); err != nil {
				t.Fatal(err)
			}
		}
		if err := exec(t.Context(), url, "INSERT INTO kept VALUES (1)"); err != nil {
			t.Fatal(err)
		}
		if round%2 == 1 {
			// A suspended postmaster cannot follow its owner: a true orphan.
			if err := syscall.Kill(owner.postmaster(t, dir), syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
		}
		owner.kill(t)
	}
	server := start(t, config(t, dir))
	if n := count(t, server.URL()); n != 4 {
		t.Errorf("%d rows after four kills, want 4", n)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	if left := child.In(filepath.Join(dir, "data")); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
}

func TestInterruptedInitialisationStartsOver(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	if err := os.MkdirAll(filepath.Join(dir, "data", "base"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "data", "PG_VERSION"), []byte("15\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := start(t, config(t, dir))
	if err := exec(t.Context(), server.URL(), "SELECT 1"); err != nil {
		t.Fatal(err)
	}
}

// Root that cannot use user namespaces runs the server as another account. An
// ordinary user must not touch a directory made that way.
func TestServerOfAnotherAccount(t *testing.T) {
	t.Parallel()
	nobody, err := user.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(newDir(t), "postgres")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "run-as"), []byte("account "+nobody.Uid+" "+nobody.Gid+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 {
		_, err := postgres.Start(t.Context(), config(t, dir))
		if !apperr.Is(err, apperr.Forbidden) || !strings.Contains(err.Error(), "nobody") {
			t.Errorf("another user's directory: %v, want it refused", err)
		}
		return
	}
	cfg := config(t, dir)
	cfg.BinDirs = sharedBinDirs(t)
	for range 2 {
		server, err := postgres.Start(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := exec(t.Context(), server.URL(), "SELECT 1"); err != nil {
			t.Error(err)
		}
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", server.PID()))
		if err != nil || !strings.Contains(string(status), "\nUid:\t"+nobody.Uid+"\t") {
			t.Errorf("the server is not of user %s (%v)", nobody.Uid, err)
		}
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestSecondServerIsRefused(t *testing.T) {
	t.Parallel()
	cfg := config(t, newDir(t))
	start(t, cfg)
	_, err := postgres.Start(t.Context(), cfg)
	if !apperr.Is(err, apperr.Conflict) || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Fatalf("second server: %v, want a conflict that names this process", err)
	}
}

func TestOddDirectories(t *testing.T) {
	t.Parallel()
	for name, below := range map[string]string{
		"long":  strings.Repeat("a folder with a rather long name, ä & 'quotes'/", 4),
		"short": "my data + ü 100%", // short enough to hold the socket itself
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := start(t, config(t, filepath.Join(newDir(t), below)))
			if err := exec(t.Context(), server.URL(), "SELECT 1"); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestClearErrors(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	first, err := postgres.Start(t.Context(), config(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	wrongSetting := config(t, dir)
	wrongSetting.Settings = map[string]string{"shared_buffers": "nonsense"}
	wantStartError(t, wrongSetting, "shared_buffers")

	// A data folder of a version that is not supported.
	if err := os.WriteFile(filepath.Join(dir, "data", "PG_VERSION"), []byte("9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantStartError(t, config(t, dir), "PostgreSQL 9")

	blocked := filepath.Join(newDir(t), "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wantStartError(t, config(t, filepath.Join(blocked, "postgres")), "not a directory")
}

func wantStartError(t *testing.T, cfg postgres.Config, part string) {
	t.Helper()
	server, err := postgres.Start(t.Context(), cfg)
	if err == nil {
		_ = server.Close()
		t.Fatalf("it started, want an error with %q", part)
	}
	if !apperr.Is(err, apperr.Unavailable) || !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %q (%s), want one line with %q", err, apperr.CodeOf(err), part)
	}
}

// eventually watches an outside process, which has no signal to wait for.
func eventually(t *testing.T, limit time.Duration, ok func() bool) {
	t.Helper()
	deadline := time.After(limit)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline:
			t.Fatalf("not so within %v", limit)
		case <-tick.C:
		}
	}
}
