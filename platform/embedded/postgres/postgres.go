// Package postgres runs a private PostgreSQL server as a child process, on a unix
// socket that only its owner can reach, as an ordinary user and as root.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/platform/embedded/child"
)

const (
	what         = "PostgreSQL"
	superuser    = "flowforge"
	maxLogBytes  = 16 << 20
	startTimeout = 2 * time.Minute // recovery after a crash may take a while
)

// Config configures the server.
type Config struct {
	Dir        string            // the server's own directory: data, log, lock, socket
	RuntimeDir string            // where a socket goes when Dir is too long a path; "" is /tmp
	BinDir     string            // the directory with initdb and postgres; "" looks for one
	BinDirs    []string          // directories with initdb and postgres, looked at after the system's
	Database   string            // created when it is missing; "" is flowforge
	Settings   map[string]string // override the defaults of this package

	Logger *slog.Logger
}

// Server is a running, supervised PostgreSQL.
type Server struct {
	cfg        Config
	bin        binaries
	id         identity
	socketDir  string
	supervisor *child.Supervisor
}

// Start starts the server, after initdb when Dir is new, and returns when the
// database takes connections. Errors are one line: Conflict when another
// process owns Dir, Unavailable when it cannot start. The server is started
// again whenever it ends before Close.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	if cfg.Database == "" {
		cfg.Database = superuser
	}
	var err error
	if cfg.Dir, err = filepath.Abs(cfg.Dir); err != nil {
		return nil, child.Explain(err, what, cfg.Dir, "")
	}
	// Another account has to pass; data and socket directories are closed.
	if err := os.MkdirAll(cfg.Dir, 0o755); err != nil {
		return nil, child.Explain(err, what, cfg.Dir, "")
	}
	lock, err := child.Lock(ctx, filepath.Join(cfg.Dir, "lock"))
	if err != nil {
		return nil, child.Explain(err, what, cfg.Dir, "")
	}
	s := &Server{cfg: cfg}
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(child.Explain(err, what, cfg.Dir, ""), lock.Close())
	}
	s.supervisor, err = child.Supervise(ctx, what, cfg.Logger, lock, s.start,
		child.Step{Signal: syscall.SIGINT, Grace: 6 * time.Second},  // fast: end the sessions, checkpoint
		child.Step{Signal: syscall.SIGQUIT, Grace: 2 * time.Second}, // immediate: recovery at the next start
		child.Step{Signal: syscall.SIGKILL, Grace: time.Second})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// URL returns the address of the database for pgx.
func (s *Server) URL() string { return s.urlOf(s.cfg.Database) }

func (s *Server) urlOf(database string) string {
	query := url.Values{"host": {s.socketDir}, "user": {superuser}}.Encode()
	query = strings.ReplaceAll(query, "+", "%20") // as libpq, pgx reads + as a plus sign
	return (&url.URL{Scheme: "postgres", Path: "/" + database, RawQuery: query}).String()
}

// PID returns the id of the main process.
func (s *Server) PID() int { return s.supervisor.PID() }

// Close shuts the server down within nine seconds.
func (s *Server) Close() error { return s.supervisor.Close() }

func (s *Server) data() string { return filepath.Join(s.cfg.Dir, "data") }

// prepare finds programs and identity, cleans up after an earlier run, and creates the
// database cluster when there is none.
func (s *Server) prepare(ctx context.Context) error {
	finished, err := s.initialised()
	if err != nil {
		return err
	}
	want := 0
	if finished {
		if want, err = s.dataVersion(); err != nil {
			return err
		}
	}
	if s.bin, err = findBinaries(ctx, want, s.cfg.BinDir, s.cfg.BinDirs); err != nil {
		return err
	}
	if s.id, err = chooseIdentity(ctx, s.cfg.Dir, s.bin.dir); err != nil {
		return err
	}
	if err := s.reap(ctx); err != nil {
		return err
	}
	if s.socketDir, err = child.SocketDir(filepath.Join(s.cfg.Dir, "run"), s.runtimeDir(), s.id.uid, s.id.gid); err != nil {
		return err
	}
	if finished {
		return nil
	}
	return s.initialise(ctx)
}

// runtimeDir is where a socket with a short path may go: a user's own directory
// is closed to another account.
func (s *Server) runtimeDir() string {
	if s.id.mode == modeAccount {
		return ""
	}
	return s.cfg.RuntimeDir
}

// initialised reports whether initdb completed. PG_VERSION does not show that, because
// it is written early.
func (s *Server) initialised() (bool, error) {
	_, err := os.Stat(filepath.Join(s.cfg.Dir, "initialised"))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func (s *Server) dataVersion() (int, error) {
	b, err := os.ReadFile(filepath.Join(s.data(), "PG_VERSION"))
	if err != nil {
		return 0, fmt.Errorf("read the version of the data: %w", err)
	}
	return strconv.Atoi(strings.TrimSpace(string(b)))
}

// initialise creates a new cluster and removes the remains of an interrupted attempt.
func (s *Server) initialise(ctx context.Context) error {
	if err := os.RemoveAll(s.data()); err != nil {
		return fmt.Errorf("remove unfinished data: %w", err)
	}
	if err := os.Mkdir(s.data(), 0o700); err != nil {
		return err
	}
	if err := os.Lchown(s.data(), s.id.uid, s.id.gid); err != nil {
		return err
	}
	if err := writeSynced(filepath.Join(s.cfg.Dir, "run-as"), s.id.String()+"\n"); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin.dir, "initdb"), "-D", s.data(), "-U", superuser, "-E", "UTF8",
		"--locale=C.UTF-8", "--auth-local=trust", "--auth-host=reject", "--data-checksums", "--no-instructions")
	cmd.SysProcAttr, cmd.Env, cmd.Dir = s.id.attributes(), environment(s.bin.dir), "/"
	if out, err := cmd.CombinedOutput(); err != nil {
		return child.Explain(err, what, s.cfg.Dir, string(out))
	}
	return writeSynced(filepath.Join(s.cfg.Dir, "initialised"), "")
}

func writeSynced(path, content string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	return errors.Join(err, f.Sync(), f.Close())
}

// reap stops the remaining processes of an earlier server and removes its pid files:
// postgres itself only checks whether the number in postmaster.pid exists.
func (s *Server) reap(ctx context.Context) error {
	pidFile := filepath.Join(s.data(), "postmaster.pid")
	leader := 0
	if b, err := os.ReadFile(pidFile); err == nil {
		line, _, _ := strings.Cut(string(b), "\n")
		leader, _ = strconv.Atoi(line) // torn: signals go to all
	}
	err := child.Reap(ctx, s.data(), leader,
		child.Step{Signal: syscall.SIGINT, Grace: 6 * time.Second},
		child.Step{Signal: syscall.SIGQUIT, Grace: 2 * time.Second},
		child.Step{Signal: syscall.SIGKILL, Grace: 5 * time.Second})
	if err != nil {
		return err
	}
	stale := []string{pidFile}
	if s.socketDir != "" {
		socket := filepath.Join(s.socketDir, ".s.PGSQL.5432")
		stale = append(stale, socket, socket+".lock")
	}
	for _, path := range stale {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("clear an earlier run: %w", err)
		}
	}
	return nil
}

// start runs one server and waits until the database takes connections.
func (s *Server) start(ctx context.Context) (*child.Process, error) {
	if err := s.reap(ctx); err != nil {
		return nil, child.Explain(err, what, s.cfg.Dir, "")
	}
	logPath := filepath.Join(s.cfg.Dir, "postgres.log")
	log, offset, err := child.OpenLog(logPath, maxLogBytes)
	if err != nil {
		return nil, child.Explain(err, what, s.cfg.Dir, "")
	}
	defer func() { _ = log.Close() }()                                          // the child has its own copy
	cmd := exec.Command(filepath.Join(s.bin.dir, "postgres"), s.arguments()...) //nolint:noctx // it outlives the context of its start; Close stops it
	cmd.Stdout, cmd.Stderr, cmd.Dir = log, log, "/"
	cmd.SysProcAttr, cmd.Env = s.id.attributes(), environment(s.bin.dir)
	p, err := child.Start(cmd, syscall.SIGINT)
	if err != nil {
		return nil, child.Explain(err, what, s.cfg.Dir, "")
	}
	if err := s.wait(ctx, p); err != nil {
		output := child.Tail(logPath, offset)
		stop := p.Stop(child.Step{Signal: syscall.SIGQUIT, Grace: 2 * time.Second}, child.Step{Signal: syscall.SIGKILL, Grace: 5 * time.Second})
		return nil, errors.Join(child.Explain(err, what, s.cfg.Dir, output), stop)
	}
	return p, nil
}

func (s *Server) arguments() []string {
	settings := defaultSettings()
	maps.Copy(settings, s.cfg.Settings)
	settings["unix_socket_directories"] = s.socketDir
	args := []string{"-D", s.data()}
	for name, value := range settings {
		args = append(args, "-c", name+"="+value)
	}
	return args
}

// defaultSettings fit the engine: many short transactions that must be durable,
// one machine, no replicas.
func defaultSettings() map[string]string {
	return map[string]string{
		"listen_addresses":               "",
		"port":                           "5432",                                      // names the socket
		"max_connections":                strconv.Itoa(max(100, runtime.NumCPU()+40)), // a pool has one for each core
		"shared_buffers":                 "128MB",                                     // the system caches the rest
		"work_mem":                       "16MB",
		"maintenance_work_mem":           "128MB",
		"max_locks_per_transaction":      "256", // monthly partitions, each with its indexes
		"jit":                            "off", // compiling costs more than our short queries
		"random_page_cost":               "1.1",
		"wal_level":                      "minimal", // no replica reads it
		"max_wal_senders":                "0",
		"wal_compression":                "on",
		"max_wal_size":                   "2GB",
		"checkpoint_timeout":             "15min",
		"autovacuum_vacuum_scale_factor": "0.05", // hot rows: leases, queue, counters
		"autovacuum_naptime":             "30s",
		"timezone":                       "UTC",
		"log_timezone":                   "UTC",
		"log_min_duration_statement":     "1000",
	}
}

// wait connects until the database takes it, or the process ended.
func (s *Server) wait(ctx context.Context, p *child.Process) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := s.ensureDatabase(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.Done():
			return fmt.Errorf("it ended: %w", p.Err())
		case <-ctx.Done():
			return apperr.Wrap(apperr.Unavailable, err, "PostgreSQL did not become ready")
		case <-tick.C:
		}
	}
}

func (s *Server) ensureDatabase(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.urlOf("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	var exists bool
	if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", s.cfg.Database).Scan(&exists); err != nil || exists {
		return err
	}
	_, err = conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{s.cfg.Database}.Sanitize())
	return err
}
