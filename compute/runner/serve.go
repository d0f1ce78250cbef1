package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/sys/unix"

	"github.com/flowforge/flowforge/platform/memory"
	"github.com/flowforge/flowforge/platform/unixrpc"
	"github.com/flowforge/flowforge/platform/unixsocket"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
	"github.com/flowforge/flowforge/proto/flowforge/v1/flowforgev1connect"
)

// Protocol is incremented when a change of runner.proto breaks older peers.
const Protocol = 3

const (
	socketFile = "runner.sock"
	pidFile    = "runner.pid"
	// idleExit is how long an idle supervisor outlives the server.
	idleExit  = 5 * time.Minute
	idleProbe = 15 * time.Second
	// lockWait is how long a new supervisor waits for its predecessor to exit.
	lockWait = 15 * time.Second
)

// ErrLocked reports that another supervisor serves the folder.
var ErrLocked = errors.New("another runner serves this folder")

// SocketPath returns the path of the socket on which the supervisor of dir listens.
func SocketPath(dir string) string { return filepath.Join(dir, socketFile) }

// Serve runs the supervisor of config.Dir until ctx is cancelled, Shutdown is called, or
// it has been idle without a server for some minutes. When ctx is cancelled, attempts are
// interrupted as by Shutdown.
func Serve(ctx context.Context, config Config) error {
	if err := os.MkdirAll(config.Dir, 0o700); err != nil {
		return fmt.Errorf("runner folder: %w", err)
	}
	unlock, err := lockFolder(ctx, config.Dir, func(string) {})
	if err != nil {
		return err
	}
	defer unlock()
	config.OwnProcess = true
	supervisor, err := New(config)
	if err != nil {
		return err
	}
	listener, err := unixsocket.Listen(SocketPath(config.Dir))
	if err != nil {
		supervisor.Close()
		return err
	}
	api := &service{supervisor: supervisor, shutdown: make(chan time.Duration, 1), done: make(chan struct{})}
	mux := http.NewServeMux()
	mux.Handle(flowforgev1connect.NewRunnerServiceHandler(api))
	httpServer := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(supervisor.logger.Handler(), slog.LevelWarn)}
	calls, err := unixrpc.Serve(unixrpc.Path(SocketPath(config.Dir)),
		unixrpc.Unary(flowforgev1connect.RunnerServiceStartProcedure, api.Start),
		unixrpc.Unary(flowforgev1connect.RunnerServicePrepareProcedure, api.Prepare))
	if err != nil {
		supervisor.Close()
		return errors.Join(err, listener.Close())
	}
	served := make(chan error, 1)
	go func() { served <- httpServer.Serve(listener) }()

	supervisor.tasks.Go(func() { supervisor.releaseMemory(supervisor.ctx, idleMemory, memory.Return) })

	grace := defaultShutdownGrace
	select {
	case <-ctx.Done():
	case grace = <-api.shutdown:
	case err = <-served:
	case <-supervisor.abandoned():
		supervisor.logger.Info("Idle and without a server; the runner exits.")
	}
	supervisor.Shutdown(grace)
	close(api.done)
	// Lets the response to Shutdown be sent; the listener is closed at once.
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	calls.Shutdown(closing)
	return errors.Join(err, httpServer.Shutdown(closing))
}

const defaultShutdownGrace = 5 * time.Second

// Lock makes this process the only one that runs attempts in dir, until unlock is called. If another
// process does, Lock calls waiting with the ID of that process, and returns ErrLocked if it does not end
// in time.
func Lock(ctx context.Context, dir string, waiting func(pid string)) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("runner folder: %w", err)
	}
	return lockFolder(ctx, dir, waiting)
}

// lockFolder makes this process the only supervisor of dir.
func lockFolder(ctx context.Context, dir string, waiting func(pid string)) (unlock func(), err error) {
	file, err := os.OpenFile(filepath.Join(dir, pidFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("runner folder: %w", err)
	}
	deadline := time.Now().Add(lockWait)
	for n := 0; ; n++ {
		err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			break
		}
		if n == 0 && errors.Is(err, syscall.EWOULDBLOCK) {
			pid, _ := io.ReadAll(file)
			waiting(strings.TrimSpace(string(pid)))
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) || time.Now().After(deadline) || ctx.Err() != nil {
			_ = file.Close()
			return nil, fmt.Errorf("%w: %s", ErrLocked, dir)
		}
		<-time.After(20 * time.Millisecond)
	}
	_ = file.Truncate(0)
	_, _ = file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return func() { _ = file.Close() }, nil
}

// Changed returns a channel that is closed when an attempt ends or its result is delivered.
func (s *Supervisor) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// abandoned returns a channel that is closed when nothing has run for idleExit and no
// server was reachable.
func (s *Supervisor) abandoned() <-chan struct{} {
	gone := make(chan struct{})
	s.tasks.Go(func() {
		ticker := time.NewTicker(idleProbe)
		defer ticker.Stop()
		idleSince := time.Now()
		for {
			select {
			case <-s.ctx.Done():
				return
			case now := <-ticker.C:
				if running, _ := s.counts(); running > 0 || s.server.reachable(s.ctx) {
					idleSince = now
				} else if now.Sub(idleSince) >= idleExit {
					close(gone)
					return
				}
			}
		}
	})
	return gone
}

// service implements RunnerService on a supervisor.
type service struct {
	supervisor *Supervisor
	shutdown   chan time.Duration
	done       chan struct{}
}

var _ flowforgev1connect.RunnerServiceHandler = (*service)(nil)

// Hello identifies the runner.
func (s *service) Hello(context.Context, *connect.Request[flowforgev1.HelloRequest]) (*connect.Response[flowforgev1.HelloResponse], error) {
	_, attempts := s.supervisor.counts()
	return connect.NewResponse(&flowforgev1.HelloResponse{
		Protocol: Protocol, Version: s.supervisor.config.Version,
		Pid: int32(os.Getpid()), Attempts: int32(attempts), //nolint:gosec // the kernel's ids and counts fit
		WarmPython: s.supervisor.warm.use(),
	}), nil
}

// Start starts attempts. It starts none when one of them is invalid.
func (s *service) Start(_ context.Context, req *connect.Request[flowforgev1.StartRequest]) (*connect.Response[flowforgev1.StartResponse], error) {
	for _, spec := range req.Msg.Attempts {
		if !plainName(spec.GetTaskId()) {
			return nil, connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("%q is not a task ID", spec.GetTaskId()))
		}
	}
	for _, spec := range req.Msg.Attempts {
		if err := s.supervisor.Start(spec); err != nil {
			return nil, connect.NewError(connect.CodeUnavailable, err)
		}
	}
	return connect.NewResponse(&flowforgev1.StartResponse{}), nil
}

// Prepare sets up attempts whose start is expected.
func (s *service) Prepare(_ context.Context, req *connect.Request[flowforgev1.StartRequest]) (*connect.Response[flowforgev1.PrepareResponse], error) {
	for _, spec := range req.Msg.Attempts {
		s.supervisor.Prepare(spec)
	}
	return connect.NewResponse(&flowforgev1.PrepareResponse{}), nil
}

// Stop asks attempts to end.
func (s *service) Stop(_ context.Context, req *connect.Request[flowforgev1.StopRequest]) (*connect.Response[flowforgev1.StopResponse], error) {
	if req.Msg.Preempt {
		s.supervisor.Preempt(req.Msg.TaskIds)
		return connect.NewResponse(&flowforgev1.StopResponse{}), nil
	}
	s.supervisor.Stop(req.Msg.TaskIds, time.Duration(req.Msg.GraceMs)*time.Millisecond)
	return connect.NewResponse(&flowforgev1.StopResponse{}), nil
}

// List returns the attempts that run or are not delivered.
func (s *service) List(context.Context, *connect.Request[flowforgev1.ListRequest]) (*connect.Response[flowforgev1.ListResponse], error) {
	return connect.NewResponse(&flowforgev1.ListResponse{Attempts: s.supervisor.List()}), nil
}

// Shutdown ends the runner; it returns when the runner has ended.
func (s *service) Shutdown(ctx context.Context, req *connect.Request[flowforgev1.ShutdownRequest]) (*connect.Response[flowforgev1.ShutdownResponse], error) {
	grace := time.Duration(req.Msg.GraceMs) * time.Millisecond
	if grace <= 0 {
		grace = defaultShutdownGrace
	}
	select {
	case s.shutdown <- grace:
	default: // already shutting down
	}
	select {
	case <-s.done:
	case <-ctx.Done():
	}
	return connect.NewResponse(&flowforgev1.ShutdownResponse{}), nil
}
