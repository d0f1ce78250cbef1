// Package clickhouse runs a private ClickHouse engine (libchdb) as a child
// process of our own binary, behind the ClickHouse HTTP interface on a unix
// socket. Clients use clickhouse-go as they would with any server.
package clickhouse

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/platform/embedded/child"
)

// EngineCommand is the hidden subcommand of our binary that calls RunEngine.
const EngineCommand = "clickhouse-engine"

const what = "The ClickHouse engine"

// Limits of one start and of the log.
const (
	startTimeout = 60 * time.Second
	maxLogBytes  = 16 << 20
)

// Config sets the directory of the engine and its limits.
type Config struct {
	Dir        string // the engine's own directory: data, log, lock, socket
	RuntimeDir string // where a socket goes when Dir is too long a path; "" is /tmp
	Library    string // path of libchdb.so, as FindLibrary returns it
	Executable string // our own binary, or one that has EngineCommand as well

	MaxMemoryBytes int64 // of the whole engine; 0 is 1 GiB
	MarkCacheBytes int64 // 0 is 64 MiB

	// Idle is the time without a request of a Transport after which the engine stops until the next
	// one; 0: it never stops.
	Idle time.Duration
	// Stopped, if set, is called when it has stopped because it is idle.
	Stopped func()

	Logger *slog.Logger
}

// Engine is a running, supervised engine.
type Engine struct {
	cfg        Config
	socket     string
	supervisor *child.Supervisor
	client     *http.Client // for checks
	demand     *demand
	closing    <-chan struct{}
	cancel     context.CancelFunc // closes closing
	kept       sync.WaitGroup
}

// Start starts the engine and returns when it answers. Errors are one line:
// Conflict when another process owns Dir, Unavailable when the engine does not
// start. The engine is started again whenever it ends before Close, unless it is idle.
func Start(ctx context.Context, cfg Config) (*Engine, error) {
	if cfg.MaxMemoryBytes == 0 {
		cfg.MaxMemoryBytes = 1 << 30
	}
	if cfg.MarkCacheBytes == 0 {
		cfg.MarkCacheBytes = 64 << 20
	}
	var err error
	if cfg.Dir, err = filepath.Abs(cfg.Dir); err != nil {
		return nil, child.Explain(err, what, cfg.Dir, "")
	}
	e := &Engine{cfg: cfg, demand: newDemand()}
	if err := os.MkdirAll(e.data(), 0o700); err != nil {
		return nil, child.Explain(err, what, cfg.Dir, "")
	}
	lock, err := child.Lock(ctx, filepath.Join(cfg.Dir, "lock"))
	if err != nil {
		return nil, child.Explain(err, what, cfg.Dir, "")
	}
	socketDir, err := child.SocketDir(filepath.Join(cfg.Dir, "run"), cfg.RuntimeDir, os.Geteuid(), os.Getegid())
	if err != nil {
		_ = lock.Close()
		return nil, child.Explain(err, what, cfg.Dir, "")
	}
	e.socket = filepath.Join(socketDir, "http.sock")
	e.client = &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", e.socket)
		},
		DisableKeepAlives: true, // a connection of an engine that has ended is of no use
	}}
	e.supervisor, err = child.Supervise(ctx, what, cfg.Logger, lock, e.start,
		child.Step{Signal: syscall.SIGTERM, Grace: 3500 * time.Millisecond}, child.Step{Signal: syscall.SIGKILL, Grace: time.Second})
	if err != nil {
		return nil, err
	}
	keep, cancel := context.WithCancel(context.WithoutCancel(ctx))
	e.closing, e.cancel = keep.Done(), cancel
	if cfg.Idle > 0 {
		e.kept.Go(func() { e.restWhenIdle(keep) })
	}
	return e, nil
}

// URL returns the engine's address: http+unix:// and the path of its socket.
func (e *Engine) URL() string { return (&url.URL{Scheme: "http+unix", Path: e.socket}).String() }

// PID returns the id of the engine's process; 0: it stops or is stopped because it is idle.
func (e *Engine) PID() int {
	if e.demand.rests() {
		return 0
	}
	return e.supervisor.PID()
}

// Close stops the engine within five seconds. Inserted rows are kept.
func (e *Engine) Close() error {
	e.cancel()
	err := e.supervisor.Close()
	e.kept.Wait()
	return err
}

func (e *Engine) data() string { return filepath.Join(e.cfg.Dir, "data") }

// start runs one engine process and waits until it answers.
func (e *Engine) start(ctx context.Context) (*child.Process, error) {
	if err := child.Reap(ctx, e.data(), 0, child.Step{Signal: syscall.SIGTERM, Grace: 4 * time.Second}, child.Step{Signal: syscall.SIGKILL, Grace: 5 * time.Second}); err != nil {
		return nil, err
	}
	logPath := filepath.Join(e.cfg.Dir, "engine.log")
	log, offset, err := child.OpenLog(logPath, maxLogBytes)
	if err != nil {
		return nil, child.Explain(err, what, e.cfg.Dir, "")
	}
	defer func() { _ = log.Close() }() // the child has its own copy
	p, err := child.Start(e.command(log), syscall.SIGTERM)
	if err != nil {
		return nil, child.Explain(err, what, e.cfg.Dir, "")
	}
	if err := e.wait(ctx, p); err != nil {
		if stop := p.Stop(child.Step{Signal: syscall.SIGKILL, Grace: 5 * time.Second}); stop != nil {
			return nil, stop
		}
		return nil, child.Explain(err, what, e.cfg.Dir, child.Tail(logPath, offset))
	}
	return p, nil
}

func (e *Engine) command(log *os.File) *exec.Cmd {
	cmd := exec.Command(e.cfg.Executable, EngineCommand, //nolint:noctx // it outlives the context of its start; Close stops it
		"-library", e.cfg.Library, "-data", e.data(), "-socket", e.socket, "--",
		"--max_server_memory_usage="+strconv.FormatInt(e.cfg.MaxMemoryBytes, 10),
		"--mark_cache_size="+strconv.FormatInt(e.cfg.MarkCacheBytes, 10),
		// It reads the memory of its control group 20 times a second by default, two thirds of the
		// processor time of an idle engine. Allocations count towards the limit at once anyway.
		"--memory_worker_period_ms=1000",
		// With its default of 1 GiB, every query of an engine with 1 GiB runs in one thread.
		"--max_threads_min_free_memory_per_thread="+strconv.Itoa(128<<20))
	cmd.Stdout, cmd.Stderr, cmd.Dir = log, log, e.data()
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8", "HOME=" + e.cfg.Dir, "TZ=UTC"}
	return cmd
}

// wait asks until the engine responds, or its process ended.
func (e *Engine) wait(ctx context.Context, p *child.Process) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		_, err := e.get(ctx, "/ping")
		if err == nil {
			return nil
		}
		select {
		case <-p.Done():
			return fmt.Errorf("it ended: %w", p.Err())
		case <-ctx.Done():
			return apperr.Wrap(apperr.Unavailable, ctx.Err(), "The ClickHouse engine is not responding")
		case <-tick.C:
		}
	}
}
