package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

func numbers(n int) []string {
	want := make([]string, n)
	for i := range want {
		want[i] = fmt.Sprint(i + 1)
	}
	return want
}

func TestMuchOutputArrivesOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	wantOutcome(t, b.run(t, shell("much", "seq 1 200000; head -c 300000 /dev/zero | tr '\\0' '\\377'")), succeeded)
	b.server.awaitLog(t, "much")
	lines := b.server.lines("much", "stdout")
	if !slices.Equal(lines[:200000], numbers(200000)) {
		t.Error("the lines differ from those that were written")
	}
	if n := len(lines) - 200000; n != 5 { // 300,000 bytes in pieces of 64 KiB
		t.Errorf("the long line came in %d pieces", n)
	}
	if b.server.doubled > 0 || len(b.server.late) > 0 {
		t.Errorf("%d lines duplicated, %d late", b.server.doubled, len(b.server.late))
	}
}

func TestUnreachableServerLosesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	gate := filepath.Join(t.TempDir(), "gate")
	script := fmt.Sprintf("seq 1 1000; until test -e %s; do sleep 0.01; done; seq 1001 40000", gate)
	spec := shell("away", script+`; echo 9 > "$FLOWFORGE_OUTPUTS/x"; echo blob > "$FLOWFORGE_OUTPUTS/y"`)
	spec.Outputs = []*flowforgev1.OutputSpec{inline("x", "Integer"), blob("y", "File")}
	if err := b.Start(spec); err != nil {
		t.Fatal(err)
	}
	b.server.await(t, "the first lines", func() bool { return len(b.server.logs["away"]) == 1000 })
	b.server.stop()
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the result on disk", func() bool {
		found, _ := filepath.Glob(filepath.Join(b.dir, attemptsFolder, "*", "result"))
		return len(found) == 1
	})
	if list := b.List(); len(list) != 1 || !list[0].Finished {
		t.Errorf("list %v", list)
	}
	b.server.listen(t)
	f := b.server.awaitFinished(t, "away")
	wantOutcome(t, f, succeeded)
	b.server.awaitLog(t, "away")
	if !slices.Equal(b.server.lines("away", "stdout"), numbers(40000)) {
		t.Error("the lines differ from those that were written")
	}
	if len(b.server.late) > 0 || b.server.changedLines > 0 {
		t.Errorf("lines after the end of %v; %d lines changed", b.server.late, b.server.changedLines)
	}
	if len(b.server.blobs) != 1 || len(f.Outputs) != 2 {
		t.Errorf("%d blobs, outputs %v", len(b.server.blobs), f.Outputs)
	}
	eventually(t, "an empty folder", func() bool {
		names, _ := readNames(filepath.Join(b.dir, attemptsFolder))
		return len(names) == 0 && len(b.List()) == 0
	})
}

func TestNextSupervisorDelivers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.server.stop()
	done := shell("done", `seq 1 30000; echo blob > "$FLOWFORGE_OUTPUTS/y"`)
	done.Outputs = []*flowforgev1.OutputSpec{blob("y", "File")}
	for _, spec := range []*flowforgev1.AttemptSpec{done, shell("running", "echo begun; sleep 60")} {
		if err := b.Start(spec); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the end of one", func() bool { running, _ := b.counts(); return running == 1 })
	b.Shutdown(time.Second)
	b.open(t)
	if n := len(b.List()); n != 2 {
		t.Errorf("%d attempts are listed", n)
	}
	b.server.listen(t)
	wantOutcome(t, b.server.awaitFinished(t, "done"), succeeded)
	wantOutcome(t, b.server.awaitFinished(t, "running"), interrupted)
	b.server.awaitLog(t, "done")
	if !slices.Equal(b.server.lines("done", "stdout"), numbers(30000)) {
		t.Error("the lines differ from those that were written")
	}
	if diff := cmp.Diff([]string{"begun"}, b.server.lines("running", "stdout")); diff != "" {
		t.Error(diff)
	}
	if len(b.server.blobs) != 1 {
		t.Errorf("%d blobs", len(b.server.blobs))
	}
}

func TestStopAndRepetition(t *testing.T) {
	t.Parallel()
	b := setup(t)
	spec := shell("stopped", "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.01; done")
	for range 3 { // a known attempt does not run again
		if err := b.Start(spec); err != nil {
			t.Fatal(err)
		}
	}
	b.server.await(t, "readiness", func() bool { return len(b.server.logs["stopped"]) == 1 })
	b.Stop([]string{"stopped", "unknown"}, time.Minute)
	wantOutcome(t, b.server.awaitFinished(t, "stopped"), cancelled)
	eventually(t, "an empty list", func() bool { return len(b.List()) == 0 })
	if err := b.Start(spec); err != nil {
		t.Fatal(err)
	}
	if n := len(b.List()); n > 0 {
		t.Errorf("%d attempts run after delivery", n)
	}
	if diff := cmp.Diff([]string{"ready", "bye"}, b.server.lines("stopped", "stdout")); diff != "" {
		t.Error(diff)
	}
	if b.server.started["stopped"] != 1 {
		t.Errorf("started %d times", b.server.started["stopped"])
	}
}

func TestServerCancelsByAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.server.cancel["unwanted"] = true
	wantOutcome(t, b.run(t, shell("unwanted", "sleep 60")), cancelled)
}

func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	spec := shell("greedy", "")
	spec.MemoryLimitMib = 64
	spec.Work = &flowforgev1.AttemptSpec_Process{Process: &flowforgev1.Process{
		Interpreter: "python", Script: "import time\nx = b'1' * (200 << 20)\ntime.sleep(60)\n",
	}}
	f := b.run(t, spec)
	wantOutcome(t, f, failed)
	if f.PeakRssBytes < 64<<20 {
		t.Errorf("peak of %d bytes (%s)", f.PeakRssBytes, f.Message)
	}
}

// eventually polls for conditions that send no signal: files and processes.
func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for !done() {
		if time.Now().After(deadline) {
			t.Fatalf("timed out waiting for %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// TestPreemptionLeavesACheckpoint: the program detects the preemption and saves its
// state, and the next attempt resumes from there.
func TestPreemptionLeavesACheckpoint(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := shell("e.0.1", `trap 'test -e "$FLOWFORGE_PREEMPTED" && echo 41 > "$FLOWFORGE_CHECKPOINTS/epoch"; exit 3' TERM; echo ready; while :; do sleep 0.01; done`)
	first.CheckpointKey, first.PreemptGraceMs = "e.0", 60_000
	if err := b.Start(first); err != nil {
		t.Fatal(err)
	}
	b.server.await(t, "readiness", func() bool { return len(b.server.logs["e.0.1"]) == 1 })
	b.Preempt([]string{"e.0.1", "unknown"})
	wantOutcome(t, b.server.awaitFinished(t, "e.0.1"), flowforgev1.Outcome_OUTCOME_PREEMPTED)
	second := shell("e.0.2", `test ! -e "$FLOWFORGE_PREEMPTED" && cat "$FLOWFORGE_CHECKPOINTS/epoch"`)
	second.CheckpointKey = "e.0"
	wantOutcome(t, b.run(t, second), succeeded)
	if diff := cmp.Diff([]string{"41"}, b.server.lines("e.0.2", "stdout")); diff != "" {
		t.Error(diff)
	}
}

// TestPreemptionIsFinal: a process that ignores the signal is killed after its grace
// period.
func TestPreemptionIsFinal(t *testing.T) {
	t.Parallel()
	b := setup(t)
	spec := shell("stubborn", `trap '' TERM; echo ready; while :; do sleep 0.01; done`)
	spec.PreemptGraceMs = 20
	if err := b.Start(spec); err != nil {
		t.Fatal(err)
	}
	b.server.await(t, "readiness", func() bool { return len(b.server.logs["stubborn"]) == 1 })
	b.Preempt([]string{"stubborn"})
	f := b.server.awaitFinished(t, "stubborn")
	wantOutcome(t, f, flowforgev1.Outcome_OUTCOME_PREEMPTED)
	if f.GetExitCode() != 137 {
		t.Errorf("exit code %d", f.GetExitCode())
	}
}
