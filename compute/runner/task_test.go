package runner

import (
	"context"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowforge/flowforge/proto/flowforge/v1/flowforgev1connect"
)

// tcp serves the routes of the server's socket at a TCP address.
func (s *taskServer) tcp(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle(flowforgev1connect.NewTaskServiceHandler(s))
	mux.HandleFunc("/api/v1/task/blobs/{sha}", s.blob)
	server := &http.Server{Handler: mux}
	s.mu.Lock()
	s.more = append(s.more, server)
	s.mu.Unlock()
	go func() { _ = server.Serve(listener) }()
	return "http://" + listener.Addr().String()
}

// Task adopts the orphans of its process, so these tests run it in its own process.
func TestTaskRunsOneAttempt(t *testing.T) {
	t.Parallel()
	server := newTaskServer(t)
	p := startSupervisor(t, server, shortTempDir(t))
	p.start(t, shell("one", "echo in its own process"))
	wantOutcome(t, server.awaitFinished(t, "one"), succeeded)

	s, err := New(Config{Dir: t.TempDir(), Server: Endpoint{URL: server.tcp(t)}, Environ: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	spec := shell("pod", "echo hello; exit 4")
	finished, err := s.runOne(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, finished.Finished, failed)
	if diff := cmp.Diff([]string{"hello"}, server.lines("pod", "stdout")); diff != "" {
		t.Error(diff)
	}
}

func TestTaskIsInterrupted(t *testing.T) {
	t.Parallel()
	server := newTaskServer(t)
	s, err := New(Config{Dir: t.TempDir(), Server: Endpoint{URL: server.tcp(t)}, Environ: os.Environ(), Heartbeat: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		server.await(t, "a heartbeat", func() bool { return server.beats["evicted"] > 0 })
		cancel()
	}()
	finished, err := s.runOne(ctx, shell("evicted", "sleep 60"))
	if err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, finished.Finished, interrupted)
	wantOutcome(t, server.awaitFinished(t, "evicted"), interrupted)
}
