package runner

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"

	"github.com/flowforge/flowforge/platform/testlog"
)

func residentForTest(dir string) error {
	sdk, err := filepath.Abs("../../sdk/python") // an image has its own
	if err != nil {
		return err
	}
	return Resident(context.Background(), Config{
		Dir: dir, Server: Endpoint{Socket: os.Getenv("RUNNER_TEST_SOCKET")}, Version: "test", Environ: os.Environ(), SDK: sdk,
		Pod: &Pod{}, Warm: Warm{Parents: 4, MemoryMiB: 512}, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}, Pool{Pool: "pool", Worker: "worker", Token: "pool", ProjectID: "p"}, func() {})
}

// TakeWork hands out the queue.
func (s *taskServer) TakeWork(context.Context, *connect.Request[flowforgev1.TakeWorkRequest]) (*connect.Response[flowforgev1.TakeWorkResponse], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return connect.NewResponse(&flowforgev1.TakeWorkResponse{Leave: true}), nil
	}
	spec, err := proto.Marshal(s.queue[0])
	s.queue = s.queue[1:]
	return connect.NewResponse(&flowforgev1.TakeWorkResponse{Spec: spec}), err
}

// A pod that runs several attempts keeps its warm process between them.
func TestForksInPods(t *testing.T) {
	t.Parallel()
	server := newTaskServer(t)
	for i := range 3 {
		spec := script(fmt.Sprint("pod", i), forkedHere+`
import os, sys, tempfile
home = os.environ["HOME"]
print(os.listdir(home), tempfile.gettempdir().startswith(os.path.dirname(home)), "LEAK" in os.environ, os.getpgid(0) == os.getpid())
open(home + "/left", "w").close(); os.environ["LEAK"] = "1"
`)
		spec.ProjectId = "p"
		server.mu.Lock()
		server.queue = append(server.queue, spec)
		server.mu.Unlock()
	}
	var log testlog.Buffer
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), residentVariable+"="+shortTempDir(t), "RUNNER_TEST_SOCKET="+server.socket)
	cmd.Stderr = &log
	if err := cmd.Run(); err != nil {
		t.Fatalf("the pod: %v\n%s", err, &log)
	}
	for i := range 3 {
		id := fmt.Sprint("pod", i)
		wantOutcome(t, server.awaitFinished(t, id), succeeded)
		if lines := server.lines(id, "stdout"); strings.Join(lines, " ") != "True [] True False True" {
			t.Errorf("%s wrote %q, %q", id, lines, server.lines(id, "stderr"))
		}
	}
	found := readyLine.FindAllStringSubmatch(log.String(), -1)
	if len(found) != 1 {
		t.Fatalf("%d warm processes:\n%s", len(found), &log)
	}
	if pid, err := strconv.Atoi(found[0][1]); err != nil || alive([]int{pid}) {
		t.Errorf("the warm process %s outlives its pod", found[0][1])
	}
}
