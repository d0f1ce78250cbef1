package runner

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

const mebibyte = 1 << 20

// pipeFile returns a named pipe and a function that unblocks its reader.
func pipeFile(t *testing.T) (path string, open func()) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, func() {
		t.Helper()
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// python returns an attempt that runs a program with a memory limit of limit MiB.
func python(id, script string, limit int64) *flowforgev1.AttemptSpec {
	spec := argv(id, "python3", "-c", script)
	spec.MemoryLimitMib = limit
	return spec
}

// measured waits until a heartbeat reports that the attempt uses at least that many
// bytes: an earlier heartbeat reports less.
func (s *taskServer) measured(t *testing.T, id string, least int64) int64 {
	t.Helper()
	s.await(t, "the memory of "+id, func() bool { return s.memory[id] >= least || s.finished[id] != nil })
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.memory[id]
}

func TestForkedCopiesOfAnArrayCountOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	pipe, open := pipeFile(t)
	spec := python("forked", `
import os, sys
a = bytearray(b"x") * (96 << 20)
r, w = os.pipe()
children = []
for i in range(8):
    pid = os.fork()
    if pid == 0:
        os.close(w)
        assert a.count(b"x") == len(a)
        os.read(r, 1)  # returns when the parent closes its end
        os._exit(0)
    children.append(pid)
os.close(r)
print("ready", flush=True)
open(sys.argv[1] if len(sys.argv) > 1 else "`+pipe+`").read()
os.close(w)
for pid in children: os.waitpid(pid, 0)
`, 300)
	if err := b.Start(spec); err != nil {
		t.Fatal(err)
	}
	b.server.await(t, "the copies", func() bool { return len(b.server.logs["forked"]) > 0 || b.server.finished["forked"] != nil })
	if used := b.server.measured(t, "forked", 90*mebibyte); used < 90*mebibyte || used > 250*mebibyte {
		t.Errorf("%d MiB are counted", used/mebibyte)
	}
	open()
	f := b.server.awaitFinished(t, "forked")
	wantOutcome(t, f, succeeded)
	if f.PeakRssBytes < 90*mebibyte || f.PeakRssBytes > 250*mebibyte {
		t.Errorf("a peak of %d MiB", f.PeakRssBytes/mebibyte)
	}
}

func TestMemoryOfEscapedProcessesCounts(t *testing.T) {
	t.Parallel()
	server := newTaskServer(t)
	p := startSupervisor(t, server, shortTempDir(t))
	for _, test := range []struct{ id, script string }{
		{"session", "if os.fork() == 0:\n    os.setsid()\n    use()\nos.wait()"},
		{"orphan", "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: use()\n    os._exit(0)\nos.wait()\nsignal.pause()"},
		{"nameless", "if os.fork() == 0:\n    if os.fork() == 0: os.execve(sys.executable, ['python3', '-c', 'import signal; a = bytearray(b\"x\") * (96 << 20); signal.pause()'], {})\n    os._exit(0)\nos.wait()\nsignal.pause()"},
	} {
		spec := python(test.id, "import os, signal, sys\ndef use():\n    a = bytearray(b'x') * (96 << 20)\n    signal.pause()\n"+test.script, 64)
		p.start(t, spec)
		f := server.awaitFinished(t, test.id)
		wantOutcome(t, f, failed)
		if f.Class != classMemory || f.PeakRssBytes < 64*mebibyte {
			t.Errorf("%s: class %q, a peak of %d MiB: %s", test.id, f.Class, f.PeakRssBytes/mebibyte, f.Message)
		}
	}
}

func TestPeakIsThatOfTheTask(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ballast := make([]byte, 160*mebibyte)
	for i := 0; i < len(ballast); i += os.Getpagesize() {
		ballast[i] = 1
	}
	if mark := highWaterMark(); mark < 160*mebibyte {
		t.Fatalf("this process has a high-water mark of %d MiB", mark/mebibyte)
	}
	f := b.run(t, argv("true", "/bin/true"))
	wantOutcome(t, f, succeeded)
	if f.PeakRssBytes > 16*mebibyte {
		t.Errorf("/bin/true has a peak of %d MiB", f.PeakRssBytes/mebibyte)
	}
	size := highWaterMark()/mebibyte + 200
	f = b.run(t, python("large", "bytearray(b'x') * ("+strconv.FormatInt(size, 10)+" << 20)", 0))
	wantOutcome(t, f, succeeded)
	if f.PeakRssBytes < size*mebibyte {
		t.Errorf("a peak of %d MiB, it used %d", f.PeakRssBytes/mebibyte, size)
	}
	runtime.KeepAlive(ballast)
}

// A child that has not yet executed its program runs in the memory of its parent:
// posix_spawn of glibc shares it, and blocks here while it opens the pipe.
func TestMemoryBeforeExecIsTheParents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	pipe, open := pipeFile(t)
	spec := python("spawn", `
import os
a = bytearray(b"x") * (96 << 20)
print(os.getpid(), flush=True)
os.waitpid(os.posix_spawn("/bin/true", ["true"], {}, file_actions=[(os.POSIX_SPAWN_OPEN, 0, "`+pipe+`", os.O_RDONLY, 0)]), 0)
`, 150)
	if err := b.Start(spec); err != nil {
		t.Fatal(err)
	}
	b.server.await(t, "its number", func() bool { return len(b.server.logs["spawn"]) > 0 })
	pid, err := strconv.Atoi(strings.Join(b.server.lines("spawn", "stdout"), ""))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "its child", func() bool { return len(descendants(pid)) > 1 })
	if processes := descendants(pid); residentOf(processes) < 190*mebibyte {
		t.Errorf("%d processes with %d MiB: they do not share their memory", len(processes), residentOf(processes)/mebibyte)
	}
	if used := b.server.measured(t, "spawn", 90*mebibyte); used < 90*mebibyte || used > 150*mebibyte {
		t.Errorf("%d MiB are counted", used/mebibyte)
	}
	open()
	wantOutcome(t, b.server.awaitFinished(t, "spawn"), succeeded)
}
