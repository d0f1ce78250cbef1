package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/flowforge/flowforge/data/bucket"
	"github.com/flowforge/flowforge/platform/unixrpc"
	"github.com/flowforge/flowforge/platform/unixsocket"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
	"github.com/flowforge/flowforge/proto/flowforge/v1/flowforgev1connect"
)

// When one of these variables is set, the test binary is a supervisor of the folder that it
// names, or a pod that runs several attempts in it.
const (
	serveVariable    = "RUNNER_TEST_SERVE"
	residentVariable = "RUNNER_TEST_RESIDENT"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(serveVariable); dir != "" {
		if err := serveForTest(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if dir := os.Getenv(residentVariable); dir != "" {
		if err := residentForTest(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func serveForTest(dir string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	return Serve(ctx, Config{
		Dir: dir, Server: Endpoint{Socket: os.Getenv("RUNNER_TEST_SOCKET")}, Version: "test",
		Environ: os.Environ(), Heartbeat: 200 * time.Millisecond,
		Warm:   Warm{Parents: 4, MemoryMiB: 512},
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
}

// taskServer is the server's side of the contract, kept in memory.
type taskServer struct {
	flowforgev1connect.UnimplementedTaskServiceHandler
	socket string

	mu           sync.Mutex
	changed      chan struct{}
	http         *http.Server
	more         []*http.Server // at other addresses
	finished     map[string]*flowforgev1.Finished
	started      map[string]int
	beats        map[string]int
	memory       map[string]int64                            // from the last heartbeat, in bytes
	logs         map[string]map[string]*flowforgev1.LogEntry // task → stream:sequence
	follows      map[string]bool                             // tasks whose end announced more log lines
	held         chan struct{}                               // when set, deliveries wait until it is closed
	calls        *unixrpc.Server
	holdAfterEnd bool                        // deliveries wait after an end that announces more log lines
	noUploads    bool                        // PUT accepts no bytes
	buckets      map[string]*bucket.Location // by the name of the input or output
	maxObject    int64                       // maximum size of an object in bytes
	announced    map[string]bool             // all tasks whose end has announced more log lines
	late         []string                    // tasks with unannounced logs after their end
	doubled      int                         // log entries that arrived twice
	changedLines int                         // log entries that arrived twice with different content
	metrics      map[string]int
	points       map[string]map[string]int // task → metric → points
	cancel       map[string]bool
	preempt      map[string]bool
	refused      map[string]bool // tasks with an invalid token
	folders      map[string]string
	blobs        map[string][]byte
	batches      int  // requests with many blobs
	single       bool // a server that does not know batches
	secrets      map[string]string
	silentStore  int  // requests for secrets that fail, because a secret store does not respond
	refuse       int  // status of PUT; 0: it accepts
	adopts       bool // it adopts files from the folder handover
	handover     string
	adopted      []string
	pieces       map[string][]*flowforgev1.Blob // by task and output
	queue        []*flowforgev1.AttemptSpec     // work of a pod, which leaves when there is no more
}

func newTaskServer(t testing.TB) *taskServer {
	t.Helper()
	s := &taskServer{
		socket:   filepath.Join(shortTempDir(t), "api.sock"),
		changed:  make(chan struct{}),
		finished: map[string]*flowforgev1.Finished{}, started: map[string]int{}, beats: map[string]int{}, memory: map[string]int64{}, follows: map[string]bool{}, announced: map[string]bool{},
		logs: map[string]map[string]*flowforgev1.LogEntry{}, metrics: map[string]int{},
		points: map[string]map[string]int{}, preempt: map[string]bool{}, refused: map[string]bool{}, folders: map[string]string{},
		cancel: map[string]bool{}, blobs: map[string][]byte{},
	}
	s.listen(t)
	t.Cleanup(s.stop)
	return s
}

func (s *taskServer) listen(t testing.TB) {
	t.Helper()
	listener, err := unixsocket.Listen(s.socket)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle(flowforgev1connect.NewTaskServiceHandler(s))
	mux.HandleFunc("POST /api/v1/task/blobs", s.batch)
	mux.HandleFunc("/api/v1/task/blobs/{sha}", s.blob)
	mux.HandleFunc("POST /api/v1/task/blobs/{sha}/adopt", s.adopt)
	server := &http.Server{Handler: mux}
	calls, err := unixrpc.Serve(unixrpc.Path(s.socket), unixrpc.Unary(flowforgev1connect.TaskServiceDeliverProcedure, s.Deliver))
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	s.http, s.calls = server, calls
	s.mu.Unlock()
	go func() { _ = server.Serve(listener) }()
}

func (s *taskServer) stop() {
	s.mu.Lock()
	servers, calls := append([]*http.Server{s.http}, s.more...), s.calls
	s.mu.Unlock()
	now, cancel := context.WithCancel(context.Background())
	cancel()
	calls.Shutdown(now)
	for _, server := range servers {
		_ = server.Close()
	}
}

func (s *taskServer) blob(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sha := r.PathValue("sha")
	if r.Method == http.MethodPut && s.noUploads {
		s.mu.Unlock()
		<-r.Context().Done()
		s.mu.Lock()
		return
	}
	if r.Method == http.MethodPut {
		body, _ := io.ReadAll(r.Body)
		sum := sha256.Sum256(body)
		switch {
		case s.refuse != 0:
			http.Error(w, "refused", s.refuse)
		case hex.EncodeToString(sum[:]) != sha:
			http.Error(w, "hash", http.StatusUnprocessableEntity)
		default:
			s.blobs[sha] = body
			w.WriteHeader(http.StatusCreated)
		}
		return
	}
	body, ok := s.blobs[sha]
	if !ok {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write(body)
}

// adopt adopts the only file in the folder handover.
func (s *taskServer) adopt(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sha := r.PathValue("sha")
	found, _ := filepath.Glob(filepath.Join(s.handover, "*."+sha))
	if !s.adopts || len(found) != 1 {
		http.Error(w, "send it", http.StatusConflict)
		return
	}
	content, err := os.ReadFile(found[0])
	if err != nil || os.Remove(found[0]) != nil {
		http.Error(w, "no file", http.StatusInternalServerError)
		return
	}
	s.blobs[sha] = content
	s.adopted = append(s.adopted, sha)
	w.WriteHeader(http.StatusCreated)
}

func (s *taskServer) put(content string) string {
	sum := sha256.Sum256([]byte(content))
	sha := hex.EncodeToString(sum[:])
	s.mu.Lock()
	s.blobs[sha] = []byte(content)
	s.mu.Unlock()
	return sha
}

func (s *taskServer) Deliver(ctx context.Context, req *connect.Request[flowforgev1.DeliverRequest]) (*connect.Response[flowforgev1.DeliverResponse], error) {
	s.mu.Lock()
	held := s.held
	s.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	resp := &flowforgev1.DeliverResponse{}
	for _, report := range req.Msg.Reports {
		id := report.TaskId
		if s.refused[id] {
			resp.Results = append(resp.Results, &flowforgev1.ReportResult{Refused: true})
			continue
		}
		switch r := report.Report.(type) {
		case *flowforgev1.AttemptReport_Started:
			s.started[id]++
		case *flowforgev1.AttemptReport_Heartbeat:
			s.beats[id]++
			s.memory[id] = r.Heartbeat.RssBytes
		case *flowforgev1.AttemptReport_Finished:
			s.finished[id], s.follows[id] = r.Finished, r.Finished.LogFollows
			s.announced[id] = s.announced[id] || r.Finished.LogFollows
			if s.holdAfterEnd && r.Finished.LogFollows {
				s.holdAfterEnd, s.held = false, make(chan struct{})
			}
		case *flowforgev1.AttemptReport_Telemetry:
			s.telemetry(id, r.Telemetry)
		}
		resp.Results = append(resp.Results, &flowforgev1.ReportResult{Accepted: true, Cancel: s.cancel[id], Preempt: s.preempt[id]})
	}
	close(s.changed)
	s.changed = make(chan struct{})
	return connect.NewResponse(resp), nil
}

func (s *taskServer) telemetry(id string, t *flowforgev1.Telemetry) {
	s.metrics[id] += len(t.Metrics)
	if t.Last {
		defer delete(s.follows, id)
	}
	for _, m := range t.Metrics {
		if s.points[id] == nil {
			s.points[id] = map[string]int{}
		}
		s.points[id][m.Name]++
	}
	if s.logs[id] == nil {
		s.logs[id] = map[string]*flowforgev1.LogEntry{}
	}
	if s.finished[id] != nil && !s.follows[id] {
		s.late = append(s.late, id)
	}
	for _, e := range t.Logs {
		key := fmt.Sprintf("%s:%09d", e.Stream, e.Sequence)
		if old := s.logs[id][key]; old != nil {
			s.doubled++ // correct after a lost response, when the entry is the same
			if old.Message != e.Message || old.Timestamp != e.Timestamp {
				s.changedLines++
			}
		}
		s.logs[id][key] = e
	}
}

// await returns when done returns true; it checks after every delivery.
func (s *taskServer) await(t testing.TB, what string, done func() bool) {
	t.Helper()
	deadline := time.After(4 * time.Minute) // pip on a busy machine
	for {
		s.mu.Lock()
		ok, changed := done(), s.changed
		s.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("timed out waiting for %s", what)
		}
	}
}

func (s *taskServer) awaitFinished(t testing.TB, id string) *flowforgev1.Finished {
	t.Helper()
	s.await(t, "the end of "+id, func() bool { return s.finished[id] != nil })
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.finished[id]
}

// awaitLog waits for the log lines that the end of an attempt announced.
func (s *taskServer) awaitLog(t testing.TB, id string) {
	t.Helper()
	s.await(t, "the log of "+id, func() bool { return s.finished[id] != nil && !s.follows[id] })
}

// lines returns the messages of one stream in order.
func (s *taskServer) lines(id, stream string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []string
	for key := range s.logs[id] {
		if strings.HasPrefix(key, stream+":") {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	lines := make([]string, 0, len(keys))
	for _, key := range keys {
		lines = append(lines, s.logs[id][key].Message)
	}
	return lines
}

// testBundle is a supervisor in this process and the server to which it reports.
type testBundle struct {
	*Supervisor
	server      *taskServer
	dir         string
	environment []string // in addition to that of the test
}

func setup(t testing.TB) *testBundle {
	t.Helper()
	b := &testBundle{server: newTaskServer(t), dir: t.TempDir()}
	b.open(t)
	return b
}

func (b *testBundle) open(t testing.TB) {
	t.Helper()
	s, err := New(Config{
		Dir: b.dir, Server: Endpoint{Socket: b.server.socket}, Version: "test", Host: "here",
		Environ: append(os.Environ(), b.environment...), Heartbeat: 100 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	b.Supervisor = s
	t.Cleanup(s.Close)
}

// shell returns an attempt that runs a script with /bin/sh.
func shell(id, script string) *flowforgev1.AttemptSpec {
	return argv(id, "/bin/sh", "-c", script)
}

func argv(id string, command ...string) *flowforgev1.AttemptSpec {
	return &flowforgev1.AttemptSpec{
		TaskId: id, Name: id, Token: "token-" + id, ExecutionId: "e", Node: "n", Attempt: 1,
		InputsJson: "{}", GraceMs: 200, CheckpointKey: "key-" + id,
		Work: &flowforgev1.AttemptSpec_Process{Process: &flowforgev1.Process{Command: command}},
	}
}

func (b *testBundle) run(t testing.TB, spec *flowforgev1.AttemptSpec) *flowforgev1.Finished {
	t.Helper()
	if err := b.Start(spec); err != nil {
		t.Fatal(err)
	}
	return b.server.awaitFinished(t, spec.TaskId)
}

func wantOutcome(t testing.TB, f *flowforgev1.Finished, want flowforgev1.Outcome) {
	t.Helper()
	if f.Outcome != want {
		t.Fatalf("outcome %v (%q, exit %d), want %v", f.Outcome, f.Message, f.ExitCode, want)
	}
}
