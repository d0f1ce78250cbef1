package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"connectrpc.com/connect"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// forks returns the processes that are forks of warm ones.
func (b *warmBundle) forks() (pids []int) {
	for _, pid := range allPids() {
		stat, ok := readStat(pid)
		text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
		if ok && stat.parent == b.cmd.Process.Pid && strings.Contains(string(text), "flowforge._warm") {
			pids = append(pids, pid)
		}
	}
	for _, parent := range b.parents() {
		for i, pid := range pids {
			if pid == parent {
				pids = append(pids[:i], pids[i+1:]...)
				break
			}
		}
	}
	return pids
}

// forkOf returns the fork that has the program of an attempt; 0: none.
func (b *warmBundle) forkOf(id string) int {
	for _, pid := range b.forks() {
		if found, _ := environment(pid, taskIDVariable); found == id {
			return pid
		}
	}
	return 0
}

// reserve prepares an attempt and returns the fork that has its program.
func (b *warmBundle) reserve(t *testing.T, spec *flowforgev1.AttemptSpec) (fork int) {
	t.Helper()
	b.output(t, script(spec.TaskId+"-before", forkedHere))
	eventually(t, "a fork that waits", func() bool { return len(b.forks()) == 1 })
	if _, err := b.Prepare(t.Context(), connect.NewRequest(&flowforgev1.StartRequest{Attempts: []*flowforgev1.AttemptSpec{spec}})); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the fork with the program", func() bool {
		fork = b.forkOf(spec.TaskId)
		return fork != 0
	})
	return fork
}

func TestTheForkOfAPreparedAttemptWaitsForItsStart(t *testing.T) {
	t.Parallel()
	b := startWarm(t)
	ran := filepath.Join(t.TempDir(), "ran")
	spec := script("prepared", forkedHere+fmt.Sprintf("import os\nopen(%q, 'a').write('x')\nprint(os.getpid())", ran))
	fork := b.reserve(t, spec)
	if _, err := os.Stat(ran); err == nil {
		t.Fatal("the program ran before its start")
	}
	if lines := b.output(t, spec); strings.Join(lines, " ") != fmt.Sprint("True ", fork) {
		t.Errorf("wrote %q; the fork was %d", lines, fork)
	}
	if text, err := os.ReadFile(ran); string(text) != "x" {
		t.Errorf("the program wrote %q, %v", text, err)
	}
}

func TestTheForkOfADiscardedAttemptRunsNothing(t *testing.T) {
	t.Parallel()
	b := startWarm(t)
	ran := filepath.Join(t.TempDir(), "ran")
	fork := b.reserve(t, script("decided", fmt.Sprintf("open(%q, 'a').write('x')", ran)))
	if lines := b.output(t, script("decided", forkedHere)); lines[0] != "True" {
		t.Errorf("the other program wrote %q", lines)
	}
	eventually(t, "the end of the fork", func() bool { return !alive([]int{fork}) })
	if _, err := os.Stat(ran); err == nil {
		t.Error("the discarded program ran")
	}
}

// If the fork of a prepared attempt ends before the start, the attempt gets another process.
func TestThePreparedAttemptOutlivesItsFork(t *testing.T) {
	t.Parallel()
	b := startWarm(t)
	spec := script("killed", forkedHere+"import os\nprint(os.getpid())")
	fork := b.reserve(t, spec)
	kill, err := os.FindProcess(fork)
	if err != nil {
		t.Fatal(err)
	}
	if err := kill.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of the fork", func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", fork))
		return err != nil || len(stat) == 0 // a zombie has none
	})
	if lines := b.output(t, spec); lines[0] != "True" || lines[1] == strconv.Itoa(fork) {
		t.Errorf("wrote %q", lines)
	}
}
