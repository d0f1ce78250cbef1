package runner

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"

	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

func TestEightForksAtATime(t *testing.T) {
	t.Parallel()
	b := startWarm(t)
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	var specs []*flowforgev1.AttemptSpec
	for i := range 8 {
		specs = append(specs, script(fmt.Sprint("together", i), forkedHere+fmt.Sprintf("print(%d)\nopen(%q).read()", i, pipe)))
	}
	b.start(t, specs...)
	b.server.await(t, "all eight", func() bool {
		for i := range 8 {
			if len(b.server.logs[fmt.Sprint("together", i)]) < 2 {
				return false
			}
		}
		return true
	})
	if n := len(b.parents()); n != 1 {
		t.Errorf("%d warm processes", n)
	}
	open, err := os.OpenFile(pipe, os.O_RDWR, 0) // blocks no reader that is still to come
	if err != nil {
		t.Fatal(err)
	}
	_ = open.Close()
	for i := range 8 {
		id := fmt.Sprint("together", i)
		wantOutcome(t, b.server.awaitFinished(t, id), succeeded)
		if lines := b.server.lines(id, "stdout"); lines[0] != "True" || lines[1] != fmt.Sprint(i) {
			t.Errorf("%s wrote %q", id, lines)
		}
	}
}

func TestForksOutliveTheirParent(t *testing.T) {
	t.Parallel()
	b := startWarm(t)
	pipe, open := pipeFile(t)
	b.start(t, script("running", forkedHere+fmt.Sprintf("open(%q).read()\nprint('end')", pipe)))
	b.server.await(t, "the attempt", func() bool { return len(b.server.logs["running"]) > 0 })
	first := b.parents()
	if len(first) != 1 {
		t.Fatalf("warm processes %v", first)
	}
	if err := syscall.Kill(first[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	// The runner notices the end itself, or because its request for the next fork gets no answer.
	eventually(t, "the end of the warm process", func() bool {
		return strings.Contains(b.log.String(), "ended unexpectedly") || strings.Contains(b.log.String(), "does not fork: request a fork: EOF")
	})
	if lines := b.output(t, script("next", forkedHere)); lines[0] != "True" {
		t.Errorf("the next attempt wrote %q", lines)
	}
	if second := b.parents(); len(second) != 1 || second[0] == first[0] {
		t.Errorf("warm processes %v, then %v", first, second)
	}
	open()
	wantOutcome(t, b.server.awaitFinished(t, "running"), succeeded)
	b.server.awaitLog(t, "running")
	if lines := b.server.lines("running", "stdout"); strings.Join(lines, " ") != "True end" {
		t.Errorf("the running attempt wrote %q", lines)
	}
}

// A parent that is stopped does not respond, and an interpreter that cannot start has none.
func TestAttemptsWithoutAParentStartAnInterpreter(t *testing.T) {
	t.Parallel()
	b := startWarm(t)
	b.output(t, script("warm", forkedHere))
	shadow := script("shadow", forkedHere+"import tokenize\nprint(tokenize.__file__.endswith('work/tokenize.py'))")
	shadow.PackageSha256 = b.server.put(tarball(t, tarEntry{name: "tokenize.py", content: "def open(*a): raise OSError\n"}))
	lines := b.output(t, shadow)
	if strings.Join(lines, " ") != "False True" || !strings.Contains(b.log.String(), "tokenize.py of the code has the name of a loaded module") {
		t.Errorf("wrote %q; the log:\n%s", lines, b.log)
	}
	broken := script("broken", forkedHere)
	broken.Env = map[string]string{"PYTHONPATH": t.TempDir()}
	b.output(t, broken) // its first attempt starts no parent
	if err := os.WriteFile(filepath.Join(broken.Env["PYTHONPATH"], "sitecustomize.py"),
		[]byte("import os\nif '"+warmSpace+"' in os.environ: raise SystemExit('no such luck')"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"broken2", "broken3"} {
		again := script(id, forkedHere)
		again.Env = broken.Env
		if lines := b.output(t, again); lines[0] != "False" {
			t.Errorf("%s wrote %q", id, lines)
		}
	}
	if n := strings.Count(b.log.String(), "No warm Python process can be started"); n != 1 {
		t.Errorf("the log has %d lines about the process that does not start:\n%s", n, b.log)
	}
}

func TestEveryEnvironmentHasItsOwnParent(t *testing.T) {
	t.Parallel()
	b := startWarm(t)
	b.output(t, script("plain", forkedHere))
	for i, want := range []string{"False 5", "True 5"} {
		spec := script(fmt.Sprint("own", i), "import os\nprint('flowforge._warm' in open('/proc/self/cmdline').read(), os.environ['LIBRARY_SETTING'])")
		spec.Env = map[string]string{"LIBRARY_SETTING": "5"}
		if lines := b.output(t, spec); lines[0] != want {
			t.Errorf("attempt %d wrote %q, want %q", i, lines, want)
		}
	}
	if n := len(b.parents()); n != 2 {
		t.Errorf("%d warm processes", n)
	}
	spec := script("fresh", forkedHere)
	spec.Fresh = true
	if lines := b.output(t, spec); lines[0] != "False" {
		t.Errorf("an operator with fresh wrote %q", lines)
	}
}

func TestForksEndWithTheRunner(t *testing.T) {
	t.Parallel()
	b := startWarm(t)
	file := filepath.Join(t.TempDir(), "pids")
	b.start(t, script("forever", fmt.Sprintf(`
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() != 0: os._exit(0)
    open(%[1]q + ".new", "a").write(str(os.getpid())); os.rename(%[1]q + ".new", %[1]q)
else: print(os.getpid())
while True: time.sleep(0.05)`, file)))
	eventually(t, "the escaped process", func() bool { _, err := os.Stat(file); return err == nil })
	b.server.await(t, "the attempt", func() bool { return len(b.server.logs["forever"]) > 0 })
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	escaped, _ := strconv.Atoi(string(text))
	own, _ := strconv.Atoi(b.server.lines("forever", "stdout")[0])
	parents := b.parents()
	b.kill()
	eventually(t, "the end of the forks", func() bool { return !alive(append(parents, own)) })
	if len(parents) != 1 || !alive([]int{escaped}) {
		t.Fatalf("warm processes %v, escaped process %d", parents, escaped)
	}
	startSupervisor(t, b.server, b.dir)
	eventually(t, "the end of the escaped process", func() bool { return !alive([]int{escaped}) })
}

// warmed returns a pool, and a function that makes it start the parent of an environment.
func warmed(t *testing.T, python string, limit Warm) (*warmPool, func(shared environ) *warmParent) {
	t.Helper()
	b := setup(t)
	pool := newWarmPool(b.forker, limit, &b.buffers, b.logger)
	t.Cleanup(pool.close)
	python, err := findPython(b.base, "/", python)
	if err != nil {
		t.Fatal(err)
	}
	return pool, func(shared environ) *warmParent {
		t.Helper()
		maps.Copy(shared, b.base)
		shared["PYTHONPATH"] = b.slots.sdk
		p := &pythonProgram{interpreter: python, shared: shared, sdk: b.slots.sdk, common: true}
		key, err := p.key()
		if err != nil {
			t.Fatal(err)
		}
		parent, err := pool.parent(t.Context(), key, p)
		if err != nil {
			t.Fatal(err)
		}
		return parent
	}
}

func ended(t *testing.T, p *warmParent) {
	t.Helper()
	eventually(t, "the end of the warm process", func() bool { return !p.child.alive() })
}

func TestIdleParentsEnd(t *testing.T) {
	t.Parallel()
	pool, parent := warmed(t, "", Warm{Parents: 4, MemoryMiB: 1000})
	now := time.Now()
	pool.now = func() time.Time { return now }
	p := parent(environ{})
	pool.tick(now.Add(warmIdle - time.Second))
	if !p.child.alive() || parent(environ{}) != p {
		t.Fatal("the process ended before it was idle for a minute")
	}
	pool.tick(now.Add(warmIdle))
	ended(t, p)
	if parent(environ{}) == p {
		t.Error("the process that ended is used again")
	}
}

func TestParentsAreBounded(t *testing.T) {
	t.Parallel()
	pool, parent := warmed(t, "", Warm{Parents: 2, MemoryMiB: 1000})
	now := time.Now()
	pool.now = func() time.Time { now = now.Add(time.Second); return now }
	one, two := parent(environ{"N": "1"}), parent(environ{"N": "2"})
	if parent(environ{"N": "1"}) != one {
		t.Fatal("the first process is not used again")
	}
	three := parent(environ{"N": "3"})
	ended(t, two)
	if !one.child.alive() || !three.child.alive() {
		t.Error("not the least recently used process ended")
	}
	if used := one.memory(); used < 4<<20 || used > 100<<20 {
		t.Errorf("a process uses %d MiB", used>>20)
	}
	pool.limit.MemoryMiB = one.memory()>>20 + 1
	pool.tick(now.Add(warmMeasure))
	ended(t, one)
	if !three.child.alive() {
		t.Error("the process that fits into the memory ended")
	}
	pool.limit.MemoryMiB = 1
	pool.tick(now.Add(2 * warmMeasure))
	ended(t, three)
}

func TestParentsLearnModules(t *testing.T) {
	t.Parallel()
	b := startWarm(t)
	text := forkedHere + "import os, sys\nprint('wave' in sys.modules)\nimport multiprocessing.process as p, wave, this_is_mine\nassert p.ORIGINAL_DIR == os.getcwd()\n"
	spec := func(id string) *flowforgev1.AttemptSpec {
		s := script(id, text)
		s.PackageSha256 = b.server.put(tarball(t, tarEntry{name: "this_is_mine.py", content: "import sys\nassert 'this_is_mine' in sys.modules\n"}))
		return s
	}
	if lines := b.output(t, spec("learn")); strings.Join(lines, " ") != "True False" {
		t.Fatalf("the first attempt wrote %q", lines)
	}
	i := 0
	eventually(t, "a process with the module", func() bool {
		i++
		lines := b.output(t, spec(fmt.Sprint("learned", i)))
		return strings.Join(lines, " ") == "True True"
	})
	lines := b.output(t, script("other", "import sys\nprint('this_is_mine' in sys.modules)"))
	if lines[0] != "False" {
		t.Error("a module of the code was loaded in advance")
	}
}

// Forks of a process with threads or with signal handlers of a library would not be like new
// processes, so such modules stay out of it.
func TestModulesThatForksCannotShare(t *testing.T) {
	t.Parallel()
	venv := filepath.Join(t.TempDir(), "venv")
	if out, err := exec.Command("python3", "-m", "venv", "--without-pip", venv).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	found, err := filepath.Glob(filepath.Join(venv, "lib", "python*", "site-packages"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	install := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(found[0], name+".py"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	install("threaded", "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()")
	install("handling", "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)")
	install("opening", "f = open('/dev/null')")
	install("setting", "import os\nos.environ['PATH'] = '/'")
	install("broken", "raise RuntimeError('no')")
	install("adding", "import os\nos.environ.setdefault('ADDED', '1')")
	install("logs", "import logging\nlogging.basicConfig()")
	install("warns", "import warnings\nwarnings.simplefilter('ignore')")
	install("masks", "import os\nos.umask(0o177)")
	install("recursive", "import sys\nsys.setrecursionlimit(5000)")
	install("impatient", "import socket\nsocket.setdefaulttimeout(3)")
	install("limited", "import resource\nresource.setrlimit(resource.RLIMIT_CORE, (0, 0))")
	install("collecting", "import gc\ngc.set_threshold(1)")
	install("silent", "import io, sys\nsys.stdout = io.StringIO()")
	install("plain", "import logging, os, random, socket, warnings\nlogging.getLogger('plain').addHandler(logging.NullHandler())\n"+
		"warnings.filterwarnings('ignore', module='plain')\nos.environ.setdefault('KMP_INIT_AT_FORK', 'FALSE')")

	pool, parent := warmed(t, filepath.Join(venv, "bin", "python3"), Warm{Parents: 2, MemoryMiB: 1000})
	p := parent(environ{})
	changing := []string{
		"adding", "collecting", "handling", "impatient", "limited", "logs", "masks", "opening", "recursive", "setting", "silent", "threaded", "warns",
	}
	pool.learn(p, append([]string{"plain", "handling.of_a_package", "broken"}, changing...))
	eventually(t, "the next process", func() bool {
		pool.mu.Lock()
		defer pool.mu.Unlock()
		return pool.parents[p.key] != p
	})
	ended(t, p)
	next := parent(environ{})
	pool.mu.Lock()
	l := *pool.modulesOf(p.key)
	pool.mu.Unlock()
	if got := strings.Join(l.modules, " "); got != "plain broken" {
		t.Errorf("loaded %q", got)
	}
	slices.Sort(l.refused)
	if got := strings.Join(l.refused, " "); got != strings.Join(changing, " ") {
		t.Errorf("left out %q", got)
	}
	install("new", "")
	if parent(environ{}) == next {
		t.Error("a process from before the installation of a package is used")
	}
	ended(t, next)
}

// The runner outlives the server, and so do its forks.
func TestForksOutliveTheServer(t *testing.T) {
	t.Parallel()
	b := startWarm(t)
	pipe, open := pipeFile(t)
	b.start(t, script("away", forkedHere+fmt.Sprintf("open(%q).read()\nprint('end')", pipe)))
	b.server.await(t, "the attempt", func() bool { return len(b.server.logs["away"]) > 0 })
	b.server.stop()
	open()
	b.server.listen(t)
	wantOutcome(t, b.server.awaitFinished(t, "away"), succeeded)
	b.server.awaitLog(t, "away")
	if lines := b.server.lines("away", "stdout"); strings.Join(lines, " ") != "True end" {
		t.Errorf("the attempt wrote %q", lines)
	}
	if lines := b.output(t, script("back", forkedHere)); lines[0] != "True" {
		t.Errorf("the next attempt wrote %q", lines)
	}
}

func TestMemoryOfParentsIsReported(t *testing.T) {
	t.Parallel()
	b := startWarm(t)
	hello := func() *flowforgev1.WarmPython {
		resp, err := b.Hello(t.Context(), connect.NewRequest(&flowforgev1.HelloRequest{}))
		if err != nil {
			t.Fatal(err)
		}
		return resp.Msg.WarmPython
	}
	if use := hello(); use.GetProcesses() != 0 || use.GetMemoryBytes() != 0 {
		t.Errorf("before the first attempt: %v", use)
	}
	b.output(t, script("first", forkedHere))
	if use := hello(); use.GetProcesses() != 1 || use.GetMemoryBytes() < 1<<20 {
		t.Errorf("with a warm process: %v", use)
	}
}
