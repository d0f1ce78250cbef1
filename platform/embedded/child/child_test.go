package child_test

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/platform/embedded/child"
)

var kill = child.Step{Signal: syscall.SIGKILL, Grace: 5 * time.Second}

func sleeper(dir string) *exec.Cmd {
	cmd := exec.Command("sleep", "300")
	cmd.Dir = dir
	return cmd
}

func TestStopGoesOnToTheNextStep(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sh", "-c", `trap "" TERM; echo deaf; while :; do sleep 0.1; done`)
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = in
	p, err := child.Start(cmd, syscall.SIGKILL)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 5)); err != nil { // from here on it ignores SIGTERM
		t.Fatal(err)
	}
	if err := p.Stop(child.Step{Signal: syscall.SIGTERM, Grace: 50 * time.Millisecond}, kill); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(p.Err().Error(), "killed") {
		t.Errorf("it ended by %v, want the second step", p.Err())
	}
}

func TestSupervisorStartsAgainUntilClose(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lock, err := child.Lock(t.Context(), filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	var starts atomic.Int32
	started := make(chan *child.Process, 10)
	s, err := child.Supervise(t.Context(), "sleep", slog.New(slog.DiscardHandler), lock, func(context.Context) (*child.Process, error) {
		if starts.Add(1) == 2 {
			return nil, errors.New("not this time")
		}
		p, err := child.Start(sleeper(dir), syscall.SIGKILL)
		if err == nil {
			started <- p
		}
		return p, err
	}, kill)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		p := <-started
		if err := syscall.Kill(p.PID(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	last := <-started
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	<-last.Done()
	if n := starts.Load(); n != 4 {
		t.Errorf("%d starts, want 4: the first, a failed one, and one after each kill", n)
	}
	again, err := child.Lock(t.Context(), filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatalf("the lock is not given up: %v", err)
	}
	_ = again.Close()
}

func TestSupervisorThatCannotStartReleasesTheLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	for range 2 {
		lock, err := child.Lock(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = child.Supervise(t.Context(), "nothing", slog.New(slog.DiscardHandler), lock, func(context.Context) (*child.Process, error) {
			return nil, errors.New("no")
		}, kill)
		if err == nil || err.Error() != "no" {
			t.Fatalf("error %v, want that of the start", err)
		}
	}
}

func TestReapStopsWhatWorksInTheDirectory(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), t.TempDir()
	var processes []*child.Process
	for _, d := range []string{dir, dir, other} {
		p, err := child.Start(sleeper(d), syscall.SIGKILL)
		if err != nil {
			t.Fatal(err)
		}
		processes = append(processes, p)
	}
	if n := len(child.In(dir)); n != 2 {
		t.Fatalf("%d processes in the directory, want 2", n)
	}
	if err := child.Reap(t.Context(), dir, 0, child.Step{Signal: syscall.SIGTERM, Grace: 5 * time.Second}, kill); err != nil {
		t.Fatal(err)
	}
	<-processes[0].Done()
	<-processes[1].Done()
	if len(child.In(other)) != 1 {
		t.Error("a process of another directory was stopped")
	}
	if err := processes[2].Stop(kill); err != nil {
		t.Error(err)
	}
}

func TestSocketDir(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	short := filepath.Join(base, "run")
	long := filepath.Join(base, strings.Repeat("long", 30))
	for _, c := range []struct {
		name, dir, runtime, prefix string
	}{
		{"a short path is taken as it is", short, "", short},
		{"a long one goes to the user's own directory", long, base, base + "/flowforge-"},
		{"and to /tmp when that is long as well", long, long, "/tmp/flowforge-"},
	} {
		for range 2 { // a second start finds the directory there
			got, err := child.SocketDir(c.dir, c.runtime, os.Geteuid(), os.Getegid())
			if err != nil || !strings.HasPrefix(got, c.prefix) {
				t.Errorf("%s: %q, %v", c.name, got, err)
			}
			if info, err := os.Stat(got); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("%s: mode %v, %v, want 0700", c.name, info.Mode(), err)
			}
		}
	}
	t.Cleanup(func() {
		if dir, err := child.SocketDir(long, "", os.Geteuid(), os.Getegid()); err == nil {
			_ = os.Remove(dir)
		}
	})
}

func TestSocketDirRefusesWhatIsNoDirectory(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	link := filepath.Join(base, "run")
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	if _, err := child.SocketDir(link, "", os.Geteuid(), os.Getegid()); !apperr.Is(err, apperr.Forbidden) {
		t.Errorf("a symlink: %v, want it refused", err)
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	exit := errors.New("exit status 1")
	for _, c := range []struct {
		name   string
		err    error
		output string
		want   string
	}{
		{"disk full, by error", &fs.PathError{Op: "write", Path: "/d/x", Err: syscall.ENOSPC}, "", "Engine cannot start: the disk that holds /d is full"},
		{"disk full, by output", exit, "FATAL: could not write to file: No space left on device\n", "Engine cannot start: the disk that holds /d is full"},
		{"no permission", &fs.PathError{Op: "open", Path: "/d/x", Err: fs.ErrPermission}, "", "Engine cannot start: no permission in /d: open /d/x: permission denied"},
		{"the fatal line", exit, "LOG: a\nFATAL: bad setting\nLOG: shut down\n", "Engine cannot start in /d: FATAL: bad setting"},
		{"the last line", exit, "one\ntwo\n\n", "Engine cannot start in /d: two"},
		{"nothing said", exit, "", "Engine cannot start in /d: exit status 1"},
		{"a sentence stays", apperr.New(apperr.Conflict, "in use"), "", "in use"},
	} {
		if got := child.Explain(c.err, "Engine", "/d", c.output); got.Error() != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestLogIsKeptOnceWhenItHasGrown(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	for _, text := range []string{"first\n", "second\n", "third\n"} {
		f, offset, err := child.OpenLog(path, 10)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if got := child.Tail(path, offset); got != text {
			t.Errorf("tail %q, want %q", got, text)
		}
		_ = f.Close()
	}
	if old, err := os.ReadFile(path + ".1"); err != nil || string(old) != "first\nsecond\n" {
		t.Errorf("the old log is %q, %v", old, err)
	}
}
