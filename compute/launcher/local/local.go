// Package local runs attempts as processes of this machine. It keeps one detached
// supervisor per data directory: it starts one if there is none, adopts that of an
// earlier server, and restarts it when it dies. The supervisor outlives a server that
// crashes; Shutdown ends it.
package local

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"connectrpc.com/connect"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/platform/unixrpc"
	"github.com/flowforge/flowforge/platform/unixsocket"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
	"github.com/flowforge/flowforge/proto/flowforge/v1/flowforgev1connect"
)

const (
	// protocol is the supported version of runner.proto.
	protocol = 3

	callLimit     = 30 * time.Second
	helloLimit    = 2 * time.Second
	spawnLimit    = 20 * time.Second
	shutdownGrace = 4 * time.Second        // between SIGTERM and SIGKILL
	shutdownLeast = 500 * time.Millisecond // the same when time is short
	shutdownRest  = 4 * time.Second        // maximum time of a shutdown in addition to the grace period
	shutdownLimit = 9 * time.Second
	watchEvery    = 2 * time.Second
)

// Config configures the supervisor of a launcher. The fields up to Executable are
// required.
type Config struct {
	Dir          string   // the supervisor's folder
	ServerSocket string   // the server's socket, to which the supervisor reports
	Executable   string   // the flowforge program
	Args         []string // of the supervisor; nil: runner --dir … --server-socket … --build …
	Environ      []string // of the supervisor; the server's settings are removed
	Version      string   // of this build; "": derived from the program's size and time
	Logger       *slog.Logger
}

// Launcher starts, stops and lists attempts. It is safe for concurrent use.
type Launcher struct {
	config  Config
	logger  *slog.Logger
	http    *http.Client
	client  flowforgev1connect.RunnerServiceClient
	calls   *unixrpc.Client
	start   func(context.Context, *connect.Request[flowforgev1.StartRequest]) (*connect.Response[flowforgev1.StartResponse], error)
	prepare func(context.Context, *connect.Request[flowforgev1.StartRequest]) (*connect.Response[flowforgev1.PrepareResponse], error)

	mu     sync.Mutex      // held while a supervisor is found or started
	pid    int             // of the last supervisor that answered
	child  <-chan struct{} // closed at the end of a supervisor that this process started
	closed bool
	end    context.CancelFunc // ends what Open started
}

// New returns a launcher; it starts no process before it is used.
func New(config Config) *Launcher {
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.Version == "" {
		config.Version = buildOf(config.Executable)
	}
	if config.Args == nil {
		config.Args = []string{
			"runner", "--dir", config.Dir, "--server-socket", config.ServerSocket, "--build", config.Version,
		}
	}
	socket := filepath.Join(config.Dir, "runner.sock")
	http, calls := unixsocket.Client(socket), unixrpc.NewClient(unixrpc.Path(socket))
	client := flowforgev1connect.NewRunnerServiceClient(http, "http://runner")
	return &Launcher{
		config: config, logger: config.Logger, http: http, client: client, calls: calls,
		start:   unixrpc.Call(calls, flowforgev1connect.RunnerServiceStartProcedure, client.Start),
		prepare: unixrpc.Call(calls, flowforgev1connect.RunnerServicePrepareProcedure, client.Prepare),
	}
}

// Open ensures that a supervisor responds, and keeps one alive until Shutdown or Leave.
func (l *Launcher) Open(ctx context.Context) error {
	if err := l.ensure(ctx); err != nil {
		return err
	}
	watching, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = l.Run(watching)
	}()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end = func() { cancel(); <-done }
	return nil
}

// Leave ends what Open started; the supervisor and its attempts continue.
func (l *Launcher) Leave() {
	l.mu.Lock()
	end := l.end
	l.end = nil
	l.mu.Unlock()
	if end != nil {
		end()
	}
}

// Run keeps the supervisor alive until ctx is cancelled; the supervisor continues.
func (l *Launcher) Run(ctx context.Context) error {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	defer l.closeIdle()
	failed := false
	for {
		err := l.ensure(ctx)
		switch {
		case err != nil && ctx.Err() == nil && !failed:
			l.logger.Error("The local task runner cannot be started.", "error", err)
		case err == nil && failed:
			l.logger.Info("The local task runner is running again.")
		}
		failed = err != nil
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// Start starts attempts. Unavailable means that some may not have started: call it again;
// it is idempotent.
func (l *Launcher) Start(ctx context.Context, attempts []launcher.Attempt) error {
	req := &flowforgev1.StartRequest{Attempts: attempts}
	return l.call(ctx, func(ctx context.Context) error {
		_, err := l.start(ctx, connect.NewRequest(req))
		return err
	})
}

// Prepare lets the supervisor set up attempts that Start probably follows. It starts no
// supervisor, and its errors do not matter: Start sets up what is not prepared.
func (l *Launcher) Prepare(ctx context.Context, attempts []launcher.Attempt) {
	ctx, cancel := context.WithTimeout(ctx, helloLimit)
	defer cancel()
	_, _ = l.prepare(ctx, connect.NewRequest(&flowforgev1.StartRequest{Attempts: attempts}))
}

// Stop asks attempts to end: SIGTERM, and SIGKILL after grace. Preempted attempts use the
// grace period of their spec. Unknown attempts are skipped.
func (l *Launcher) Stop(ctx context.Context, refs []launcher.Ref, grace time.Duration) error {
	cancel := &flowforgev1.StopRequest{GraceMs: grace.Milliseconds()}
	preempt := &flowforgev1.StopRequest{Preempt: true}
	for _, ref := range refs {
		req := cancel
		if ref.Preempt {
			req = preempt
		}
		req.TaskIds = append(req.TaskIds, ref.TaskID)
	}
	for _, req := range []*flowforgev1.StopRequest{cancel, preempt} {
		if len(req.TaskIds) == 0 {
			continue
		}
		if err := l.stop(ctx, req); err != nil {
			return err
		}
	}
	return nil
}

func (l *Launcher) stop(ctx context.Context, req *flowforgev1.StopRequest) error {
	return l.call(ctx, func(ctx context.Context) error {
		_, err := l.client.Stop(ctx, connect.NewRequest(req))
		return err
	})
}

// List returns every attempt that runs or whose result is undelivered.
func (l *Launcher) List(ctx context.Context) ([]launcher.Status, error) {
	var statuses []launcher.Status
	err := l.call(ctx, func(ctx context.Context) error {
		resp, err := l.client.List(ctx, connect.NewRequest(&flowforgev1.ListRequest{}))
		if err != nil {
			return err
		}
		statuses = make([]launcher.Status, 0, len(resp.Msg.Attempts))
		for _, a := range resp.Msg.Attempts {
			statuses = append(statuses, launcher.Status{TaskID: a.TaskId, Finished: a.Finished})
		}
		return nil
	})
	return statuses, err
}

// Shutdown ends all attempts as interrupted, and the supervisor. The server must accept
// reports until it returns. No process remains when it returns.
func (l *Launcher) Shutdown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, shutdownLimit)
	defer cancel()
	l.Leave()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	hello, err := l.hello(ctx)
	if err != nil {
		return nil // no supervisor is running
	}
	return l.shutdown(ctx, int(hello.Pid))
}

// shutdown requires the lock.
func (l *Launcher) shutdown(ctx context.Context, pid int) error {
	grace := shutdownGrace
	if deadline, ok := ctx.Deadline(); ok {
		grace = min(grace, max(shutdownLeast, time.Until(deadline)-shutdownRest))
	}
	_, err := l.client.Shutdown(ctx, connect.NewRequest(&flowforgev1.ShutdownRequest{GraceMs: grace.Milliseconds()}))
	if err != nil && ctx.Err() != nil {
		l.logger.Error("The local task runner did not end in time; killing it.", "pid", pid)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	// The response arrives just before the end of the process.
	for ctx.Err() == nil {
		if _, err := l.hello(ctx); err != nil {
			break
		}
		<-time.After(5 * time.Millisecond)
	}
	if l.child != nil {
		select {
		case <-l.child:
		case <-ctx.Done():
		}
		l.child = nil
	}
	l.closeIdle()
	return nil
}

// call makes one call, and repeats it if the supervisor had to be started first.
func (l *Launcher) call(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	l.mu.Lock()
	known := l.pid != 0
	l.mu.Unlock()
	if known {
		err := do(ctx)
		if connect.CodeOf(err) == connect.CodeInvalidArgument {
			return apperr.Wrap(apperr.Invalid, err, "The local task runner rejected the attempt.")
		}
		if err == nil {
			return nil
		}
	}
	if err := l.ensure(ctx); err != nil {
		return err
	}
	if err := do(ctx); err != nil {
		return apperr.Wrap(apperr.Unavailable, err, "The local task runner is not responding.")
	}
	return nil
}

func (l *Launcher) closeIdle() {
	l.http.CloseIdleConnections()
	l.calls.Close()
}

func (l *Launcher) hello(ctx context.Context) (*flowforgev1.HelloResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, helloLimit)
	defer cancel()
	resp, err := l.client.Hello(ctx, connect.NewRequest(&flowforgev1.HelloRequest{}))
	if err != nil {
		return nil, err
	}
	return resp.Msg, nil
}

// WarmPython returns the number of warm Python processes of the supervisor, and their memory
// in bytes. It starts no supervisor.
func (l *Launcher) WarmPython(ctx context.Context) (processes int, memory int64, err error) {
	hello, err := l.hello(ctx)
	if err != nil {
		return 0, 0, apperr.Wrap(apperr.Unavailable, err, "The local task runner is not responding.")
	}
	return int(hello.WarmPython.GetProcesses()), hello.WarmPython.GetMemoryBytes(), nil
}

// ensure ensures that a usable supervisor responds. A supervisor of another build is
// replaced as soon as it is idle; until then it is used, unless it has a different
// protocol version.
func (l *Launcher) ensure(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return apperr.New(apperr.Unavailable, "The local task runner was shut down.")
	}
	hello, err := l.hello(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return l.spawn(ctx)
	}
	foreign := hello.Protocol != protocol
	if hello.Attempts == 0 && (foreign || hello.Version != l.config.Version) {
		l.logger.Info("Replacing the runner of an earlier build.", "pid", hello.Pid)
		if err := l.shutdown(ctx, int(hello.Pid)); err != nil {
			return err
		}
		return l.spawn(ctx)
	}
	if foreign {
		return apperr.New(apperr.Unavailable, "A local task runner of another version is still running %d tasks; new tasks wait until it ends.", hello.Attempts)
	}
	if l.pid != int(hello.Pid) {
		l.pid = int(hello.Pid)
		l.logger.Info("Found a running local task runner.", "pid", hello.Pid, "attempts", hello.Attempts)
	}
	return nil
}

// errEnded reports that a supervisor ended before it answered.
var errEnded = errors.New("it ended at once")

// spawn starts a supervisor and waits until it answers; it requires the lock.
func (l *Launcher) spawn(ctx context.Context) error {
	l.pid = 0
	cmd, log, err := l.command()
	if err != nil {
		return apperr.Wrap(apperr.Unavailable, err, "The local task runner cannot be started.")
	}
	defer log.Close()
	if err := cmd.Start(); err != nil {
		return apperr.Wrap(apperr.Unavailable, err, "The local task runner cannot be started.")
	}
	ended := make(chan struct{})
	var exit error
	go func() { // reap the child, so that it leaves no zombie
		exit = cmd.Wait()
		close(ended)
	}()
	l.child = ended
	deadline := time.NewTimer(spawnLimit)
	defer deadline.Stop()
	for {
		if hello, err := l.hello(ctx); err == nil {
			l.pid = int(hello.Pid)
			l.logger.Info("Started the local task runner.", "pid", hello.Pid)
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline.C:
			_ = cmd.Process.Kill()
			return apperr.New(apperr.Unavailable, "The local task runner is not responding; see %s.", log.Name())
		case <-ended:
			return apperr.Wrap(apperr.Unavailable, errors.Join(errEnded, exit), "The local task runner cannot be started; see "+log.Name()+".")
		case <-time.After(5 * time.Millisecond):
		}
	}
}
