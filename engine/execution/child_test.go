package execution_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/argo"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/jobs"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
	"github.com/flowforge/flowforge/proto/flowforge/v1/flowforgev1connect"
	"github.com/flowforge/flowforge/typeregistry"
)

// Environment variables of a child: a server that the kill tests may end at any moment.
const (
	envChild    = "FLOWFORGE_TEST_CHILD"        // set in a child
	envDatabase = "FLOWFORGE_TEST_CHILD_DB"     // address of the test's database
	envDir      = "FLOWFORGE_TEST_CHILD_DIR"    // sockets and blobs
	envCrash    = "FLOWFORGE_TEST_CHILD_CRASH"  // "point:n": end at the n-th visit; see crasher
	envLaunch   = "FLOWFORGE_TEST_CHILD_LAUNCH" // "workflow:count": executions to launch, by key
	envCancel   = "FLOWFORGE_TEST_CHILD_CANCEL" // cancel the first execution once it runs
)

// crashCode is the exit code of a child that crashed on purpose.
const crashCode = 86

// visitedFile is created when a child first reaches its crash point, even if it crashes at a
// later visit.
const visitedFile = "/visited"

// idleFile is created when an idle loop has released its lease. A task that waits for it
// keeps the execution from ending earlier, on machines of any speed.
const idleFile = "/rested"

// untilIdle is a script that waits for it.
func untilIdle(dir string) string {
	return "until test -e " + dir + idleFile + "; do sleep 0.02; done"
}

func TestMain(m *testing.M) {
	if os.Getenv(envChild) != "" {
		os.Exit(childMain())
	}
	goleak.VerifyTestMain(m)
}

// childMain is a server: the engine, its jobs, and the task service on a socket.
func childMain() int {
	ctx, stop := signal.NotifyContext(auth.WithSubject(context.Background(), auth.Local()), syscall.SIGTERM)
	defer stop()
	ready := fmt.Sprintf("%s/ready-%d", os.Getenv(envDir), os.Getpid()) // from here on, a signal ends it cleanly
	if os.WriteFile(ready, nil, 0o600) != nil {
		return 1
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	err := runChild(ctx, log)
	if err != nil && !(ctx.Err() != nil && errors.Is(err, context.Canceled)) { // otherwise it was still starting
		log.Error("child", "error", err)
		return 1
	}
	return 0
}

func runChild(ctx context.Context, log *slog.Logger) error {
	dir := os.Getenv(envDir)
	pool, err := db.Open(ctx, os.Getenv(envDatabase))
	if err != nil {
		return err
	}
	defer pool.Close()
	store, err := artifact.OpenStore(dir + "/blobs")
	if err != nil {
		return err
	}
	signer, err := auth.NewSigner([]byte("a key of the tests, thirty-two by"))
	if err != nil {
		return err
	}
	workflows := workflow.NewService(pool, builtinTypes{typeregistry.Builtin()}, nil, time.Now)
	workflows.ReadWith(argo.Format{})
	engine, err := execution.New(execution.Config{
		Pool: pool, Artifacts: artifact.NewService(pool, store, time.Now), Signer: signer, Logger: log, Instance: "child",
		Workflows: workflows, HostImages: true,
		Launcher: remoteLauncher{flowforgev1connect.NewRunnerServiceClient(socketClient(dir+"/runner.sock"), "http://runner")},
		Capacity: quota.Capacity{CPUMillis: 4000, MemoryMiB: 4096, Pods: 16},
		Crash:    crasher(os.Getenv(envCrash), pool),
		Timing:   execution.Timing{Reconcile: 50 * time.Millisecond, Linger: 50 * time.Millisecond, Lease: 2 * time.Second, StopGrace: time.Second},
	})
	if err != nil {
		return err
	}
	if err := engine.Prepare(ctx); err != nil {
		return err
	}
	if err := serveTasks(ctx, engine, dir+"/api.sock"); err != nil {
		return err
	}
	client, err := jobs.NewClient(jobs.Config{Pool: pool, Executions: engine, Log: log})
	if err != nil {
		return err
	}
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	go func() {
		if err := childLaunches(ctx, engine); err != nil {
			log.Error("launch", "error", err)
		}
	}()
	err = engine.Run(ctx)
	stopping, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if stopErr := client.Stop(stopping); err == nil {
		err = stopErr
	}
	return err
}

// crasher ends the process at the n-th visit of a point: "flush.committed:2". Visits can be
// counted from the first visit of another point, because the number of earlier batches
// depends on the speed of the machine: "stop.begin>flush.committed:1". For the same reason,
// visits can be those after which a node is in a state: "flush.committed:1@use=QUEUED".
func crasher(text string, pool *pgxpool.Pool) func(string) {
	text, node, state := cutState(text)
	first, rest, armedLater := strings.Cut(text, ">")
	if !armedLater {
		rest = text
	}
	point, count, _ := strings.Cut(rest, ":")
	n, _ := strconv.Atoi(count)
	armed := !armedLater
	var mu sync.Mutex
	return func(at string) {
		mu.Lock()
		defer mu.Unlock()
		if at == "rest.released" {
			_ = os.WriteFile(os.Getenv(envDir)+idleFile, nil, 0o600)
		}
		if armedLater && at == first {
			armed = true
		}
		if !armed || at != point || node != "" && !nodeIs(pool, node, state) {
			return
		}
		if n--; n <= 0 {
			os.Exit(crashCode)
		}
		_ = os.WriteFile(os.Getenv(envDir)+visitedFile, nil, 0o600)
	}
}

// cutState returns a crash point without the state that a node must be in, and that node.
func cutState(text string) (point, node, state string) {
	point, condition, _ := strings.Cut(text, "@")
	node, state, _ = strings.Cut(condition, "=")
	return point, node, state
}

func nodeIs(pool *pgxpool.Pool, name, state string) (is bool) {
	err := pool.QueryRow(context.Background(), "SELECT EXISTS (SELECT FROM nodes WHERE name = $1 AND state = $2)", name, state).Scan(&is)
	return err == nil && is
}

// childLaunches performs the launches that the parent requested; the keys make each happen
// once.
func childLaunches(ctx context.Context, engine *execution.Service) error {
	name, count, ok := strings.Cut(os.Getenv(envLaunch), ":")
	if !ok {
		return nil
	}
	n, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	for i := range n {
		e, _, err := engine.Launches.Launch(ctx, execution.LaunchRequest{Workflow: name, IdempotencyKey: "key-" + strconv.Itoa(i), Priority: query.Normal})
		if err != nil {
			return err
		}
		if i == 0 && os.Getenv(envCancel) != "" {
			go cancelWhenRunning(ctx, engine, e)
		}
	}
	return nil
}

func cancelWhenRunning(ctx context.Context, engine *execution.Service, e query.Execution) {
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for ctx.Err() == nil && !e.Status.Ended() {
		if now, err := engine.Get(ctx, e.ID); err == nil {
			e = now
		}
		if e.Counts.Running > 0 && engine.Commands.Cancel(ctx, e.ID, "the test cancels") == nil {
			return
		}
		<-look.C
	}
}

// taskServer receives reports for the engine.
type taskServer struct {
	flowforgev1connect.UnimplementedTaskServiceHandler
	engine *execution.Service
}

func (s taskServer) Deliver(ctx context.Context, r *connect.Request[flowforgev1.DeliverRequest]) (*connect.Response[flowforgev1.DeliverResponse], error) {
	results, err := s.engine.Supervisor.Deliver(auth.AsSystem(ctx), r.Msg.GetReports())
	if err != nil {
		return nil, connect.NewError(connect.CodeUnavailable, err)
	}
	return connect.NewResponse(&flowforgev1.DeliverResponse{Results: results}), nil
}

func serveTasks(ctx context.Context, engine *execution.Service, socket string) error {
	mux := http.NewServeMux()
	mux.Handle(flowforgev1connect.NewTaskServiceHandler(taskServer{engine: engine}))
	return serveSocket(ctx, mux, socket)
}

func serveSocket(ctx context.Context, handler http.Handler, socket string) error {
	_ = os.Remove(socket)
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() { _ = server.Serve(listener) }()
	return nil
}

func socketClient(socket string) *http.Client {
	return &http.Client{Transport: &http.Transport{
		MaxIdleConns: 4, IdleConnTimeout: time.Second,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", socket)
		},
	}}
}

// remoteLauncher reaches the runner of the parent.
type remoteLauncher struct {
	runner flowforgev1connect.RunnerServiceClient
}

func (r remoteLauncher) Start(ctx context.Context, attempts []launcher.Attempt) error {
	_, err := r.runner.Start(ctx, connect.NewRequest(&flowforgev1.StartRequest{Attempts: attempts}))
	return err
}

func (r remoteLauncher) Stop(ctx context.Context, refs []launcher.Ref, grace time.Duration) error {
	for _, ref := range refs {
		request := &flowforgev1.StopRequest{GraceMs: grace.Milliseconds(), TaskIds: []string{ref.TaskID}, Preempt: ref.Preempt}
		if _, err := r.runner.Stop(ctx, connect.NewRequest(request)); err != nil {
			return err
		}
	}
	return nil
}

func (r remoteLauncher) List(ctx context.Context) ([]launcher.Status, error) {
	response, err := r.runner.List(ctx, connect.NewRequest(&flowforgev1.ListRequest{}))
	if err != nil {
		return nil, err
	}
	var list []launcher.Status
	for _, a := range response.Msg.GetAttempts() {
		list = append(list, launcher.Status{TaskID: a.GetTaskId(), Finished: a.GetFinished()})
	}
	return list, nil
}
