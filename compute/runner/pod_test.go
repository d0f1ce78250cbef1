package runner

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

const oftenBeats = 50 * time.Millisecond

// inPod returns a supervisor, configured as in a pod, that reports to server.
func inPod(t *testing.T, server *taskServer, pod Pod, heartbeat time.Duration) *Supervisor {
	t.Helper()
	s, err := New(Config{
		Dir: t.TempDir(), Server: Endpoint{URL: server.tcp(t)}, Environ: os.Environ(), Heartbeat: heartbeat,
		Pod: &pod, SaveEvery: 50 * time.Millisecond, SampleUse: 50 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// during runs spec and calls then once when holds returns true; it returns the outcome of
// the attempt.
func during(t *testing.T, s *Supervisor, server *taskServer, spec *flowforgev1.AttemptSpec, what string, holds func() bool, then func(terminate func())) End {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		server.await(t, what, holds)
		then(cancel)
	}()
	end, err := s.runOne(ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	return end
}

func TestDeletedPodRequestsItsStopReason(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer func(server *taskServer)
		want   flowforgev1.Outcome
	}{
		"no reason":        {func(*taskServer) {}, interrupted},
		"it was cancelled": {func(s *taskServer) { s.cancel["deleted"] = true }, flowforgev1.Outcome_OUTCOME_CANCELLED},
		"it was preempted": {func(s *taskServer) { s.preempt["deleted"] = true }, flowforgev1.Outcome_OUTCOME_PREEMPTED},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newTaskServer(t)
			s := inPod(t, server, Pod{Grace: 20 * time.Second}, time.Hour) // only its request returns the reason
			spec := shell("deleted", `trap 'test -e "$FLOWFORGE_PREEMPTED" && echo marked; exit 3' TERM; echo up; while :; do sleep 0.05; done`)
			end := during(t, s, server, spec, "the first line", func() bool { return len(server.logs["deleted"]) > 0 }, func(terminate func()) {
				server.mu.Lock()
				test.answer(server)
				server.mu.Unlock()
				terminate()
			})
			wantOutcome(t, end.Finished, test.want)
			if !end.Reported {
				t.Error("the end was not reported")
			}
			marked := strings.Contains(strings.Join(server.lines("deleted", "stdout"), " "), "marked")
			if want := test.want != flowforgev1.Outcome_OUTCOME_CANCELLED; marked != want {
				t.Errorf("marked as preempted: %v, want %v", marked, want)
			}
		})
	}
}

func TestDeletedPodStopsRetryingInTime(t *testing.T) {
	t.Parallel()
	server := newTaskServer(t)
	s := inPod(t, server, Pod{Grace: 4 * time.Second}, oftenBeats)
	end := during(t, s, server, shell("alone", "echo up; sleep 60"), "the first line", func() bool { return len(server.logs["alone"]) > 0 }, func(terminate func()) {
		server.stop()
		s.server.http.CloseIdleConnections()
		terminate()
	})
	wantOutcome(t, end.Finished, interrupted)
	if end.Reported {
		t.Error("it claims to be reported without a server")
	}
}

func TestRefusedTokenEndsTheAttempt(t *testing.T) {
	t.Parallel()
	server := newTaskServer(t)
	server.refused["expired"] = true
	s := inPod(t, server, Pod{Grace: 20 * time.Second}, oftenBeats)
	end, err := s.runOne(t.Context(), shell("expired", "sleep 60"))
	if err != nil {
		t.Fatal(err)
	}
	if end.Class != classToken || end.Reported {
		t.Errorf("class %q, reported %v", end.Class, end.Reported)
	}
}

func TestClassesOfEnds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	slow := shell("slow", "sleep 60")
	slow.TimeoutMs = 100
	for id, test := range map[string]struct {
		spec *flowforgev1.AttemptSpec
		want string
	}{
		"fine":    {shell("fine", "true"), ""},
		"wrong":   {shell("wrong", "exit 3"), classError},
		"slow":    {slow, classTimeout},
		"missing": {argv("missing", "/no/such/program"), classStart},
	} {
		if got := b.run(t, test.spec).Class; got != test.want {
			t.Errorf("%s: class %q, want %q", id, got, test.want)
		}
	}
}

func TestCgroupOfEitherVersion(t *testing.T) {
	t.Parallel()
	write := func(t *testing.T, root, name, content string) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("1", func(t *testing.T) {
		t.Parallel()
		root := t.TempDir()
		write(t, root, "memory/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n")
		write(t, root, "memory/memory.usage_in_bytes", "1000\n")
		write(t, root, "memory/memory.stat", "cache 1\ntotal_inactive_file 400\n")
		write(t, root, "memory/memory.limit_in_bytes", "9223372036854771712\n")
		write(t, root, "cpuacct/cpuacct.usage", "2000000000\n")
		// The path is the group's on the host, which its container does not see.
		wantCgroup(t, ownCgroup("4:memory:/kubepods/pod1/c1\n2:cpu,cpuacct:/kubepods/pod1/c1\n", root), 2, 0)
	})
	t.Run("2", func(t *testing.T) {
		t.Parallel()
		root := t.TempDir()
		write(t, root, "cgroup.controllers", "cpu memory\n")
		write(t, root, "memory.events", "low 0\noom 3\noom_kill 2\n")
		write(t, root, "memory.current", "1000\n")
		write(t, root, "memory.stat", "anon 1\ninactive_file 400\n")
		write(t, root, "memory.max", "2048\n")
		write(t, root, "cpu.stat", "usage_usec 2000000\nuser_usec 1\n")
		wantCgroup(t, ownCgroup("0::/\n", root), 2, 2048)
	})
}

func wantCgroup(t *testing.T, c cgroup, kills, limit int64) {
	t.Helper()
	used, ok := c.used()
	if !ok || used.memory != 600 || used.cpu != 2*time.Second {
		t.Errorf("used %+v %v", used, ok)
	}
	if got := c.oomKills(); got != kills {
		t.Errorf("%d kills, want %d", got, kills)
	}
	if got := c.limit(); got != limit {
		t.Errorf("limit %d, want %d", got, limit)
	}
}

func TestOutOfMemoryByTheKernelsCount(t *testing.T) {
	t.Parallel()
	server := newTaskServer(t)
	s := inPod(t, server, Pod{Grace: 20 * time.Second}, oftenBeats)
	root := t.TempDir()
	events := filepath.Join(root, "memory.events")
	if err := os.WriteFile(events, []byte("oom_kill 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.cgroup = cgroup{unified: true, memory: root}
	// The kernel kills a process of the command, and the command fails because of it.
	end, err := s.runOne(t.Context(), shell("hungry", "echo 'oom_kill 2' > "+events+"; exit 1"))
	if err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, end.Finished, failed)
	if end.Class != classMemory {
		t.Errorf("class %q (%s)", end.Class, end.Message)
	}
}

func TestUseIsMeasured(t *testing.T) {
	t.Parallel()
	server := newTaskServer(t)
	tools := t.TempDir()
	smi := "#!/bin/sh\necho '0, GPU-a, 35, 1024'\necho '1, GPU-b, [N/A], 2048'\n"
	if err := os.WriteFile(filepath.Join(tools, "nvidia-smi"), []byte(smi), 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := New(Config{
		Dir: t.TempDir(), Server: Endpoint{URL: server.tcp(t)}, Environ: []string{"PATH=" + tools + ":" + os.Getenv("PATH")},
		Pod: &Pod{Grace: 20 * time.Second}, SampleUse: 50 * time.Millisecond, Heartbeat: 50 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	spec := shell("busy", "sleep 60")
	spec.Resources = &flowforgev1.Resources{Gpus: 2}
	names := []string{"system.cpu", "system.gpu0_memory_mib", "system.gpu0_utilisation", "system.gpu1_memory_mib", "system.gpu1_utilisation", "system.memory_mib"}
	during(t, s, server, spec, "metrics", func() bool {
		for _, name := range names {
			if server.points["busy"][name] < 2 {
				return false
			}
		}
		return true
	}, func(terminate func()) { terminate() })
}

func TestGPUsOfTheAttemptAlone(t *testing.T) {
	t.Parallel()
	spec := &flowforgev1.AttemptSpec{Env: map[string]string{"CUDA_VISIBLE_DEVICES": "1,GPU-x"}}
	if diff := cmp.Diff([]string{"1", "GPU-x"}, visibleDevices(spec, environ{"CUDA_VISIBLE_DEVICES": "0"}, false)); diff != "" {
		t.Error(diff)
	}
	spec.Env["CUDA_VISIBLE_DEVICES"] = ""
	if got := visibleDevices(spec, environ{"CUDA_VISIBLE_DEVICES": "0"}, false); got != nil {
		t.Errorf("%v for an attempt without GPUs", got)
	}
}

// TestPodOfAnEndedAttemptRunsNothing: a pod that starts after the end of its attempt must
// not run the command a second time.
func TestPodOfAnEndedAttemptRunsNothing(t *testing.T) {
	t.Parallel()
	server := newTaskServer(t)
	server.cancel["late"] = true
	s := inPod(t, server, Pod{Grace: 20 * time.Second}, time.Hour)
	ran := filepath.Join(t.TempDir(), "ran")
	end, err := s.runOne(t.Context(), shell("late", "touch "+ran))
	if err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, end.Finished, flowforgev1.Outcome_OUTCOME_CANCELLED)
	if _, err := os.Stat(ran); err == nil {
		t.Error("the command was run")
	}
}
