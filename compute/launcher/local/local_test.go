package local_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/compute/launcher/local"
	"github.com/flowforge/flowforge/compute/runner"
	"github.com/flowforge/flowforge/platform/unixsocket"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
	"github.com/flowforge/flowforge/proto/flowforge/v1/flowforgev1connect"
)

// The test binary is its own supervisor: serve <dir> <socket> <version>.
func TestMain(m *testing.M) {
	if len(os.Args) == 5 && os.Args[1] == "serve" {
		err := runner.Serve(context.Background(), runner.Config{
			Dir: os.Args[2], Server: runner.Endpoint{Socket: os.Args[3]}, Version: os.Args[4], Environ: os.Environ(),
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// reports is a server that accepts everything and records the ends.
type reports struct {
	flowforgev1connect.UnimplementedTaskServiceHandler
	mu       sync.Mutex
	outcomes map[string]flowforgev1.Outcome
	changed  chan struct{}
}

func (r *reports) Deliver(_ context.Context, req *connect.Request[flowforgev1.DeliverRequest]) (*connect.Response[flowforgev1.DeliverResponse], error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	resp := &flowforgev1.DeliverResponse{}
	for _, report := range req.Msg.Reports {
		if f := report.GetFinished(); f != nil {
			r.outcomes[report.TaskId] = f.Outcome
		}
		resp.Results = append(resp.Results, &flowforgev1.ReportResult{Accepted: true})
	}
	close(r.changed)
	r.changed = make(chan struct{})
	return connect.NewResponse(resp), nil
}

func (r *reports) await(t *testing.T, id string) flowforgev1.Outcome {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		r.mu.Lock()
		outcome, ok := r.outcomes[id]
		changed := r.changed
		r.mu.Unlock()
		if ok {
			return outcome
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("the end of %s was not reported", id)
		}
	}
}

type testBundle struct {
	*reports
	dir, socket string
}

func setup(t *testing.T) *testBundle {
	t.Helper()
	dir, err := os.MkdirTemp("", "ffl")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	b := &testBundle{
		reports: &reports{outcomes: map[string]flowforgev1.Outcome{}, changed: make(chan struct{})},
		dir:     filepath.Join(dir, "runner"), socket: filepath.Join(dir, "run", "api.sock"),
	}
	listener, err := unixsocket.Listen(b.socket)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle(flowforgev1connect.NewTaskServiceHandler(b.reports))
	server := &http.Server{Handler: mux}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	t.Cleanup(func() { _ = b.launcher("test").Shutdown(context.Background()) })
	return b
}

// launcher returns a launcher for a server of the given build.
func (b *testBundle) launcher(version string) *local.Launcher {
	return local.New(local.Config{
		Dir: b.dir, ServerSocket: b.socket, Executable: os.Args[0],
		Args: []string{"serve", b.dir, b.socket, version}, Environ: os.Environ(), Version: version,
	})
}

func (b *testBundle) pid(t *testing.T) int {
	t.Helper()
	client := flowforgev1connect.NewRunnerServiceClient(unixsocket.Client(runner.SocketPath(b.dir)), "http://runner")
	resp, err := client.Hello(t.Context(), connect.NewRequest(&flowforgev1.HelloRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	return int(resp.Msg.Pid)
}

func shell(id, script string) launcher.Attempt {
	return &flowforgev1.AttemptSpec{
		TaskId: id, Token: "t", GraceMs: 100,
		Work: &flowforgev1.AttemptSpec_Process{Process: &flowforgev1.Process{Command: []string{"/bin/sh", "-c", script}}},
	}
}

func start(t *testing.T, l *local.Launcher, attempts ...launcher.Attempt) {
	t.Helper()
	if err := l.Start(t.Context(), attempts); err != nil {
		t.Fatal(err)
	}
}

func TestStartStopList(t *testing.T) {
	t.Parallel()
	b := setup(t)
	l := b.launcher("test")
	start(t, l, shell("quick", "exit 0"), shell("slow", "sleep 60"))
	if got := b.await(t, "quick"); got != flowforgev1.Outcome_OUTCOME_SUCCEEDED {
		t.Errorf("quick: %v", got)
	}
	list, err := l.List(t.Context())
	if err != nil || !slices.Contains(list, launcher.Status{TaskID: "slow"}) {
		t.Errorf("list %v, %v", list, err)
	}
	if err := l.Stop(t.Context(), []launcher.Ref{{TaskID: "slow"}, {TaskID: "unknown"}}, time.Second); err != nil {
		t.Fatal(err)
	}
	if got := b.await(t, "slow"); got != flowforgev1.Outcome_OUTCOME_CANCELLED {
		t.Errorf("slow: %v", got)
	}
	if err := l.Start(t.Context(), []launcher.Attempt{shell("../evil", "true")}); !apperr.Is(err, apperr.Invalid) {
		t.Errorf("a bad task id: %v", err)
	}
}

func TestNextServerAdopts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	gate := filepath.Join(t.TempDir(), "gate")
	start(t, b.launcher("test"), shell("task", "until test -e "+gate+"; do sleep 0.01; done"))
	pid := b.pid(t)
	next := b.launcher("test") // the first has ended without a shutdown
	list, err := next.List(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatalf("list %v, %v", list, err)
	}
	if b.pid(t) != pid {
		t.Error("another supervisor was started")
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := b.await(t, "task"); got != flowforgev1.Outcome_OUTCOME_SUCCEEDED {
		t.Errorf("outcome %v", got)
	}
}

func TestDeadSupervisorIsReplaced(t *testing.T) {
	t.Parallel()
	b := setup(t)
	l := b.launcher("test")
	start(t, l, shell("lost", "sleep 60"))
	if err := syscall.Kill(b.pid(t), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	list, err := l.List(t.Context())
	if err != nil || len(list) != 0 {
		t.Fatalf("list %v, %v", list, err)
	}
	start(t, l, shell("next", "exit 0"))
	if got := b.await(t, "next"); got != flowforgev1.Outcome_OUTCOME_SUCCEEDED {
		t.Errorf("outcome %v", got)
	}
}

func TestEarlierBuildIsReplacedWhenIdle(t *testing.T) {
	t.Parallel()
	b := setup(t)
	start(t, b.launcher("old"), shell("task", "sleep 60"))
	old := b.pid(t)
	l := b.launcher("test")
	start(t, l, shell("other", "exit 0")) // the old one still has work, so it accepts more
	if b.pid(t) != old {
		t.Fatal("a supervisor with work was replaced")
	}
	if err := l.Stop(t.Context(), []launcher.Ref{{TaskID: "task"}}, time.Millisecond); err != nil {
		t.Fatal(err)
	}
	b.await(t, "task")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	deadline := time.Now().Add(20 * time.Second)
	for {
		data, _ := os.ReadFile(filepath.Join(b.dir, "runner.pid"))
		if text := strings.TrimSpace(string(data)); text != "" && text != fmt.Sprint(old) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("an idle supervisor of another build was kept")
		}
		time.Sleep(5 * time.Millisecond)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestShutdownLeavesNoProcess(t *testing.T) {
	t.Parallel()
	b := setup(t)
	l := b.launcher("test")
	start(t, l, shell("task", "sleep 60"))
	pid := b.pid(t)
	if err := l.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := b.await(t, "task"); got != flowforgev1.Outcome_OUTCOME_INTERRUPTED {
		t.Errorf("outcome %v", got)
	}
	if err := syscall.Kill(pid, 0); err == nil {
		t.Error("the supervisor is alive")
	}
	if err := l.Start(t.Context(), []launcher.Attempt{shell("late", "true")}); !apperr.Is(err, apperr.Unavailable) {
		t.Errorf("after the shutdown: %v", err)
	}
}

func TestSupervisorThatCannotStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := local.New(local.Config{Dir: dir, ServerSocket: "s", Executable: "/bin/false", Version: "test"})
	_, err := l.List(t.Context())
	if !apperr.Is(err, apperr.Unavailable) || !strings.Contains(apperr.MessageOf(err), "runner.log") {
		t.Errorf("error %v", err)
	}
}
