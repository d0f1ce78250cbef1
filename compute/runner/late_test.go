package runner

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// manyLines is more than the memory of a log queue and one delivery hold.
const manyLines = 40_000

func writer(id, done string) *flowforgev1.AttemptSpec {
	return shell(id, `yes "a line of the log that is long enough to fill the queue" | head -n 40000; : > `+done)
}

// wantWholeLog waits for the last line and checks for missing and unannounced lines.
func (s *taskServer) wantWholeLog(t *testing.T, id string) {
	t.Helper()
	s.awaitLog(t, id)
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.logs[id]); n < manyLines || s.changedLines > 0 || len(s.late) > 0 {
		t.Errorf("%d of %d lines, %d of them changed, %q arrived unannounced", n, manyLines, s.changedLines, s.late)
	}
}

func TestTheEndIsReportedBeforeALongLog(t *testing.T) {
	t.Parallel()
	b := setup(t)
	held := make(chan struct{})
	b.server.held = held
	spec := writer("long", filepath.Join(t.TempDir(), "done"))
	if err := b.Start(spec); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end", func() bool { running, _ := b.counts(); return running == 0 })
	b.server.mu.Lock()
	b.server.held = nil
	b.server.mu.Unlock()
	close(held)
	wantOutcome(t, b.server.awaitFinished(t, "long"), succeeded)
	b.server.wantWholeLog(t, "long")
	if !b.server.announced["long"] {
		t.Error("the end waited for the log")
	}
	eventually(t, "its folder", func() bool { _, undelivered := b.counts(); return undelivered == 0 })
}

func TestTheLogAfterTheEndOutlivesTheRunner(t *testing.T) {
	t.Parallel()
	server := newTaskServer(t)
	held, dir := make(chan struct{}), shortTempDir(t)
	server.held, server.holdAfterEnd = held, true
	done := filepath.Join(t.TempDir(), "done")
	first := startSupervisor(t, server, dir)
	first.start(t, writer("killed", done))
	eventually(t, "the end of the command", func() bool { return unix.Access(done, unix.F_OK) == nil })
	server.mu.Lock()
	server.held = nil
	server.mu.Unlock()
	close(held)
	wantOutcome(t, server.awaitFinished(t, "killed"), succeeded)
	first.kill()
	server.mu.Lock()
	held, announced := server.held, server.announced["killed"]
	server.held = nil
	server.mu.Unlock()
	if held == nil || !announced {
		t.Fatal("the end waited for the log")
	}
	close(held)
	startSupervisor(t, server, dir)
	server.wantWholeLog(t, "killed")
}

func TestTimeoutCoversStoringOutputs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.server.noUploads = true
	spec := shell("stuck", `echo model > "$FLOWFORGE_OUTPUTS/model.bin"`)
	spec.Outputs = []*flowforgev1.OutputSpec{{Name: "model", Kind: "File"}}
	spec.TimeoutMs = 3000
	f := b.run(t, spec)
	wantOutcome(t, f, timedOut)
	if f.Class != classTimeout || !strings.Contains(f.Message, "not yet stored") || len(f.Outputs) > 0 {
		t.Errorf("class %q, %d outputs: %s", f.Class, len(f.Outputs), f.Message)
	}
}
