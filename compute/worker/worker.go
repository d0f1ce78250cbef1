// Package worker is the process of a machine outside the cluster that pulls attempts from a pool. It
// runs them with a supervisor of package runner, which reports their results to the server until the
// server accepts them.
package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"github.com/flowforge/flowforge/compute/runner"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
	"github.com/flowforge/flowforge/proto/flowforge/v1/flowforgev1connect"
)

const (
	idFile       = "worker.id"
	callLimit    = 30 * time.Second // in addition to the wait of a call
	retryAtFirst = 500 * time.Millisecond
	retryAtMost  = 10 * time.Second
	defaultWait  = 20 * time.Second
	// interruptGrace is how long interrupted attempts may take to end.
	interruptGrace = 10 * time.Second
	leaveLimit     = 5 * time.Second
)

// Config configures a worker. The fields up to Capacity are required.
type Config struct {
	Runner   runner.Config // its Server has a URL
	Token    string        // of the pool
	Name     string        // of the machine
	Capacity *flowforgev1.WorkerCapacity
	Pool     string // the token must belong to it; "": any
	Labels   map[string]string
	GPUs     []int // indexes of the GPUs that attempts may use
	Logger   *slog.Logger
}

// refusedError is an answer of the server that ends the worker.
type refusedError struct{ message string }

func (e *refusedError) Error() string { return e.message }

// worker is a running worker. Only the goroutine of Run uses it.
type worker struct {
	config     Config
	logger     *slog.Logger
	supervisor *runner.Supervisor
	client     flowforgev1connect.WorkerServiceClient
	session    string
	id         string          // "": it has not joined
	accepted   bool            // a server has accepted it once
	wait       time.Duration   // of a poll
	given      map[string]bool // attempts that the server has not removed yet
	devices    devices
	draining   bool // by an administrator; for the log
	leaveSent  bool // the server knows that the worker leaves, and has assigned nothing before; or it cannot be reached
}

// Run takes and runs attempts until drain is closed and they have ended, or until ctx is cancelled:
// then it interrupts them. It returns an error when the server rejects the worker.
func Run(ctx context.Context, config Config, drain <-chan struct{}) error {
	logger := cmp.Or(config.Logger, slog.New(slog.DiscardHandler))
	unlock, err := runner.Lock(ctx, config.Runner.Dir, func(pid string) {
		logger.Info("Another worker uses this folder. Waiting for it to exit. To run both, choose another folder with --dir.", "folder", config.Runner.Dir, "pid", pid)
	})
	if errors.Is(err, runner.ErrLocked) {
		return fmt.Errorf("another worker uses the folder %s: stop it, or choose another folder with --dir", config.Runner.Dir)
	}
	if err != nil {
		return err
	}
	defer unlock()
	config.Runner.OwnProcess = true
	supervisor, err := runner.New(config.Runner)
	if err != nil {
		return err
	}
	w := &worker{
		config: config, logger: logger, supervisor: supervisor, session: uuid.NewString(), wait: defaultWait,
		client: flowforgev1connect.NewWorkerServiceClient(config.Runner.Server.HTTP(), config.Runner.Server.URL),
		given:  map[string]bool{}, devices: devices{all: config.GPUs, of: map[string][]int{}},
	}
	for _, id := range w.held() {
		w.given[id] = true // results of an earlier process
	}
	err = w.run(ctx, drain)
	supervisor.Shutdown(interruptGrace)
	if id := w.id; id != "" {
		w.leave(context.WithoutCancel(ctx))
	}
	if n := len(supervisor.List()); n > 0 {
		w.logger.Warn("Results that the server has not accepted are on disk. Start the worker again to deliver them.", "results", n, "folder", config.Runner.Dir)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// run polls until the worker is drained or refused, or ctx is cancelled.
func (w *worker) run(ctx context.Context, drain <-chan struct{}) error {
	pause := retryAtFirst
	for ctx.Err() == nil {
		leaving := closed(drain)
		if leaving && len(w.held()) == 0 && (w.leaveSent || w.id == "") {
			return nil
		}
		err := w.turn(ctx, drain, leaving)
		if refused, ok := errors.AsType[*refusedError](err); ok {
			return refused
		}
		if err == nil {
			pause = retryAtFirst
			continue
		}
		w.logger.Warn("The server cannot be reached, or tasks cannot start. Running tasks continue.", "error", err, "retry_in", pause)
		select {
		case <-ctx.Done():
		case <-unlessClosed(drain, leaving):
		case <-w.supervisor.Changed(): // a result may have been delivered, so the server is back
		case <-time.After(pause/2 + rand.N(pause)): //nolint:gosec // spreads the retries of many workers
		}
		pause = min(2*pause, retryAtMost)
	}
	return nil
}

// turn joins or polls once, and starts the attempts of the response.
func (w *worker) turn(ctx context.Context, drain <-chan struct{}, leaving bool) error {
	if w.id == "" {
		return w.join(ctx)
	}
	resp, err := w.poll(ctx, drain, leaving)
	w.leaveSent = leaving && (err != nil || resp != nil && len(resp.Specs) == 0)
	if err != nil || resp == nil {
		return err
	}
	if resp.Draining != w.draining {
		w.draining = resp.Draining
		w.logger.Info("An administrator started or stopped draining the worker.", "draining", resp.Draining)
	}
	return w.startAll(resp.Specs)
}

// startAll starts the attempts that the server assigned. One that cannot start delays no other; the next
// poll returns it again.
func (w *worker) startAll(specs [][]byte) error {
	var failures []error
	for _, data := range specs {
		failures = append(failures, w.start(data))
	}
	return errors.Join(failures...)
}

// join registers the worker. Its ID is kept in its folder, so that a restarted worker is the same.
func (w *worker) join(ctx context.Context) error {
	path := filepath.Join(w.config.Runner.Dir, idFile)
	known, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("read the ID of the worker: %w", err)
	}
	req := &flowforgev1.JoinRequest{
		WorkerId: strings.TrimSpace(string(known)), Session: w.session, Name: w.config.Name, Labels: w.config.Labels, Capacity: w.config.Capacity,
		Version: w.config.Runner.Version, Held: w.held(),
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	resp, err := w.client.Join(ctx, withToken(req, w.config.Token))
	if problem := certificateProblem(err); problem != "" && !w.accepted {
		return &refusedError{problem}
	}
	if err != nil {
		return answer(err, "join the pool")
	}
	w.accepted = true
	w.id = resp.Msg.WorkerId // a refused worker leaves the pool
	if w.config.Pool != "" && resp.Msg.Pool != w.config.Pool {
		return &refusedError{fmt.Sprintf("the token belongs to the pool %s, not to %s", resp.Msg.Pool, w.config.Pool)}
	}
	if err := os.WriteFile(path, []byte(w.id+"\n"), 0o600); err != nil {
		w.id = ""
		return fmt.Errorf("store the ID of the worker: %w", err)
	}
	if ms := resp.Msg.WaitMs; ms > 0 {
		w.wait = time.Duration(ms) * time.Millisecond
	}
	w.logger.Info("Joined the pool.", "pool", resp.Msg.Pool, "worker", w.id)
	return nil
}

// poll sends a heartbeat and waits for attempts. It returns nil when a result was delivered in the
// meantime, or when the drain began, which the server has to know.
func (w *worker) poll(ctx context.Context, drain <-chan struct{}, leaving bool) (*flowforgev1.PollResponse, error) {
	held := w.held()
	done := w.done(held)
	wait := w.wait
	if leaving && len(held) == 0 {
		wait = 0
	}
	calling, cancel := context.WithTimeout(ctx, wait+callLimit)
	defer cancel()
	news := make(chan struct{})
	watching, end := context.WithCancel(calling)
	defer end()
	go func() {
		defer cancel()
		if w.awaitNews(watching, drain, leaving, held) {
			close(news)
		}
	}()
	resp, err := w.client.Poll(calling, withToken(&flowforgev1.PollRequest{
		WorkerId: w.id, Session: w.session, Held: held, Done: done, Leaving: leaving, WaitMs: wait.Milliseconds(),
	}, w.config.Token))
	if err != nil && (closed(news) || ctx.Err() != nil) {
		return nil, nil //nolint:nilnil // the next call reports the news
	}
	if connect.CodeOf(err) == connect.CodeNotFound { // the server has removed the worker
		w.id = ""
		return nil, nil //nolint:nilnil // it joins again
	}
	if err != nil {
		return nil, answer(err, "poll")
	}
	for _, id := range done {
		delete(w.given, id)
		w.devices.release(id)
	}
	return resp.Msg, nil
}

// awaitNews returns true when one of the held attempts has been delivered, or when the drain begins.
func (w *worker) awaitNews(ctx context.Context, drain <-chan struct{}, leaving bool, held []string) bool {
	for {
		changed := w.supervisor.Changed()
		if now := w.held(); slices.ContainsFunc(held, func(id string) bool { return !slices.Contains(now, id) }) {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-unlessClosed(drain, leaving):
			return true
		case <-changed:
		}
	}
}

// start starts an attempt that the server assigned.
func (w *worker) start(data []byte) error {
	spec := &flowforgev1.AttemptSpec{}
	if err := proto.Unmarshal(data, spec); err != nil {
		return fmt.Errorf("read an attempt: %w", err)
	}
	spec.ApiEndpoint, spec.StoreDir = w.config.Runner.Server.URL, ""
	if len(w.devices.all) > 0 {
		if spec.Env == nil {
			spec.Env = map[string]string{}
		}
		visible, err := w.devices.assign(spec.GetTaskId(), int(spec.GetResources().GetGpus()))
		if err != nil {
			return err
		}
		spec.Env["CUDA_VISIBLE_DEVICES"], spec.Env["NVIDIA_VISIBLE_DEVICES"] = visible, visible
		if visible == "" {
			spec.Env["NVIDIA_VISIBLE_DEVICES"] = "void"
		}
	}
	if err := w.supervisor.Start(spec); err != nil {
		return fmt.Errorf("start %s: %w", spec.GetTaskId(), err)
	}
	w.given[spec.GetTaskId()] = true
	w.logger.Info("Started a task.", "task", spec.GetTaskId(), "node", spec.GetNode())
	return nil
}

// held returns the attempts that run or whose results are not delivered.
func (w *worker) held() []string {
	list := w.supervisor.List()
	ids := make([]string, len(list))
	for i, a := range list {
		ids[i] = a.TaskId
	}
	return ids
}

// done returns the assigned attempts whose results have been delivered.
func (w *worker) done(held []string) []string {
	var done []string
	for id := range w.given {
		if !slices.Contains(held, id) {
			done = append(done, id)
		}
	}
	return done
}

// leave removes the worker from the pool. A worker with undelivered results stays registered.
func (w *worker) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, leaveLimit)
	defer cancel()
	_, err := w.client.Leave(ctx, withToken(&flowforgev1.LeaveRequest{WorkerId: w.id, Session: w.session, Done: w.done(w.held())}, w.config.Token))
	if err != nil {
		w.logger.Warn("The worker could not report that it is leaving the pool.", "error", err)
	}
}

func withToken[T any](message *T, token string) *connect.Request[T] {
	req := connect.NewRequest(message)
	req.Header().Set("Authorization", "Bearer "+token)
	return req
}

// answer returns the error of a call; an refusedError if repeating the call is useless.
func answer(err error, what string) error {
	switch connect.CodeOf(err) {
	case connect.CodeUnauthenticated, connect.CodeInvalidArgument, connect.CodeFailedPrecondition:
		message := err.Error()
		if e, ok := errors.AsType[*connect.Error](err); ok {
			message = e.Message()
		}
		return &refusedError{message}
	}
	return fmt.Errorf("%s: %w", what, err)
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// unlessClosed returns c, or a channel that is never ready when the close of c is known.
func unlessClosed(c <-chan struct{}, known bool) <-chan struct{} {
	if known {
		return nil
	}
	return c
}
