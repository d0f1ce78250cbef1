package runner

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/flowforge/flowforge/platform/testlog"
	"github.com/flowforge/flowforge/platform/unixsocket"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
	"github.com/flowforge/flowforge/proto/flowforge/v1/flowforgev1connect"
)

// warmBundle is a supervisor in its own process, whose attempts are forks, and its log.
type warmBundle struct {
	*supervisorProcess
	server *taskServer
	log    *testlog.Buffer
}

func startWarm(t testing.TB) *warmBundle {
	t.Helper()
	b := &warmBundle{server: newTaskServer(t), log: &testlog.Buffer{}}
	cmd := exec.Command(os.Args[0])
	p := &supervisorProcess{cmd: cmd, dir: shortTempDir(t)}
	cmd.Env = append(os.Environ(), serveVariable+"="+p.dir, "RUNNER_TEST_SOCKET="+b.server.socket)
	cmd.Stderr = b.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	p.RunnerServiceClient = flowforgev1connect.NewRunnerServiceClient(unixsocket.Client(SocketPath(p.dir)), "http://runner")
	eventually(t, "the supervisor", func() bool {
		_, err := p.Hello(t.Context(), connect.NewRequest(&flowforgev1.HelloRequest{}))
		return err == nil
	})
	b.supervisorProcess = p
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(b.log.String())
		}
	})
	return b
}

// script returns an attempt that runs a Python program.
func script(id, text string) *flowforgev1.AttemptSpec {
	spec := argv(id)
	spec.Work = &flowforgev1.AttemptSpec_Process{Process: &flowforgev1.Process{Interpreter: "python", Script: text}}
	return spec
}

// run runs an attempt and returns its end and the lines that it wrote.
func (b *warmBundle) run(t testing.TB, spec *flowforgev1.AttemptSpec) (*flowforgev1.Finished, []string) {
	t.Helper()
	b.start(t, spec)
	f := b.server.awaitFinished(t, spec.TaskId)
	b.server.awaitLog(t, spec.TaskId)
	return f, b.server.lines(spec.TaskId, "stdout")
}

// output is run for an attempt that must succeed.
func (b *warmBundle) output(t testing.TB, spec *flowforgev1.AttemptSpec) []string {
	t.Helper()
	f, lines := b.run(t, spec)
	if f.Outcome != succeeded {
		t.Fatalf("%s: %v, %s\n%s", spec.TaskId, f.Outcome, f.Message, strings.Join(b.server.lines(spec.TaskId, "stderr"), "\n"))
	}
	return lines
}

// readyLine is how the log names a warm process.
var readyLine = regexp.MustCompile(`A warm Python process is ready.*pid=(\d+)`)

// parents returns the pids of the warm processes that are alive.
func (b *warmBundle) parents() []int {
	var warm []int
	for _, found := range readyLine.FindAllStringSubmatch(b.log.String(), -1) {
		if pid, err := strconv.Atoi(found[1]); err == nil && alive([]int{pid}) {
			warm = append(warm, pid)
		}
	}
	return warm
}

// forkedHere is a program that reports whether its process is a fork of a warm one.
const forkedHere = "print('flowforge._warm' in open('/proc/self/cmdline').read())\n"

func TestWarmProcessesHaveTheirOwnSurroundings(t *testing.T) {
	t.Parallel()
	b := startWarm(t)
	text := forkedHere + `
import os, resource, signal, sys, __main__
print(os.getpgid(0) == os.getpid(), os.getppid())
print(os.getcwd() == os.path.dirname(os.path.abspath(sys.argv[0])) == sys.path[0], sys.argv[1:])
print(__main__.__file__ == sys.argv[0], __name__, sys.stdin.read() == "")
print(sorted(os.listdir("/proc/self/fd"))[:3], sorted(n for n in os.environ if "WARM" in n or n == "MARK"))
print(os.umask(0), resource.getrlimit(resource.RLIMIT_NOFILE), signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGPIPE))
print(os.environ["FLOWFORGE_NODE"], os.environ["PYTHONUNBUFFERED"], os.path.basename(os.environ["FLOWFORGE_OUTPUTS"]))
from flowforge import client
print(client.inputs, client._config.task_id)
print("to stderr", file=sys.stderr)
`
	specs := map[bool]*flowforgev1.AttemptSpec{}
	for _, fresh := range []bool{true, false} {
		spec := script(fmt.Sprint("surroundings-", fresh), text)
		spec.Fresh, spec.InputsJson = fresh, `{"n":3}`
		spec.GetProcess().Command = []string{"one", "two words"}
		specs[fresh] = spec
	}
	fresh, warm := b.output(t, specs[true]), b.output(t, specs[false])
	if fresh[0] != "False" || warm[0] != "True" {
		t.Fatalf("forks: %s and %s", fresh[0], warm[0])
	}
	if f, w := strings.ReplaceAll(strings.Join(fresh[1:], "\n"), "surroundings-true", ""), strings.ReplaceAll(strings.Join(warm[1:], "\n"), "surroundings-false", ""); f != w {
		t.Errorf("a new process:\n%s\na fork:\n%s", f, w)
	}
	if lines := b.server.lines("surroundings-false", "stderr"); len(lines) != 1 || lines[0] != "to stderr" {
		t.Errorf("standard error: %q", lines)
	}
	if want := fmt.Sprint("True ", b.cmd.Process.Pid); warm[1] != want {
		t.Errorf("group and parent: %q, want %q", warm[1], want)
	}
}

// changing is what differs between attempts: folders and addresses.
var changing = regexp.MustCompile(`attempts/[0-9]+|0x[0-9a-f]+`)

func TestWarmProcessesEndAsNewOnes(t *testing.T) {
	t.Parallel()
	b := startWarm(t)
	for name, text := range map[string]string{
		"zero":      "import sys; sys.exit()",
		"three":     "import sys; sys.exit(3)",
		"large":     "import sys; sys.exit(258)",
		"text":      "import sys; sys.exit('the reason')",
		"error":     "def f(): raise ValueError('bad')\nf()",
		"syntax":    "x = = 1",
		"killed":    "import os; os.kill(os.getpid(), 9)",
		"terminate": "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
		"interrupt": "raise KeyboardInterrupt",
		"quick":     "import os; os._exit(7)",
		"hook":      "import sys\nsys.excepthook = lambda *e: print('own hook', e[1])\nraise ValueError('x')",
		"order": "import atexit, sys, threading\natexit.register(print, 'exit')\nclass D:\n  def __del__(self): print('freed')\nd = D()\n" +
			"said = threading.Event()\nt = threading.Thread(target=lambda: (said.wait(), print('thread')))\nt.start()\nsys.stdout.write('main\\n')\nsaid.set()",
		"daemon":      "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\nprint('end')",
		"file":        "f = open('note', 'w'); f.write('kept')\nimport atexit, subprocess\natexit.register(lambda: None)",
		"badexit":     "import atexit\natexit.register(lambda: 1/0)\nprint('end')",
		"closed":      "import os; os.close(1); print('x')",
		"printf":      "import ctypes; ctypes.CDLL(None).printf(b'from C\\n')",
		"huge":        "import os\nos.dup2(os.open(os.devnull, 1), 2)\nraise SystemExit(2**70)",
		"minus":       "raise SystemExit(-2**63)",
		"unspeakable": "import os\nclass C:\n  def __str__(self): raise ValueError\nos.dup2(os.open(os.devnull, 1), 2)\nraise SystemExit(C())",
		"badhook": "import sys\ndef hook(*e):\n  print(sys.last_type, sys.last_value, sys.last_traceback is e[2], getattr(sys, 'last_exc', e[1]) is e[1])\n  1 / 0\n" +
			"sys.excepthook = hook\nraise ValueError('x')",
		"exithook": "import sys\nsys.excepthook = lambda *e: sys.exit(9)\nraise ValueError('x')",
		"full":     "import os, sys\nsys.stdout = open(1, 'w', closefd=False)\nsys.stdout.write('x')\nos.close(1)",
		"globals": "import collections, os, signal, typing\nROOT = ['root']\ndef tell(*a): print('freed', ROOT, collections.OrderedDict, os.getcwd() != '')\n" +
			"class D:\n  def __del__(self): tell()\nd, nested = D(), [D()]\nd.own = d",
		"kept": "import collections, signal, typing\ndef tell(*a): print('freed', collections.OrderedDict)\n" +
			"class D:\n  def __del__(self): tell()\nd = D()\nsignal.signal(signal.SIGUSR1, tell)\nT = typing.List[D]",
		"buffer":   "import os, signal, typing\ndef tell(*a): pass\nclass D: pass\nf = os.fdopen(os.dup(1), 'w')\nf.write('kept')\nsignal.signal(signal.SIGUSR1, tell)\nT = typing.List[D]",
		"tee":      "import sys\nclass Tee:\n  def write(self, text): return sys.__stdout__.write(text)\n  def flush(self): sys.__stdout__.flush()\nsys.stdout = Tee()\nprint('kept')",
		"teeplain": "import sys\nclass Tee:\n  def write(self, text): return sys.__stdout__.write(text)\nsys.stdout = Tee()\nprint('kept')",
		"teebad":   "import sys\nclass Tee:\n  closed = property(lambda self: 1 / 0)\n  def write(self, text): return sys.__stdout__.write(text)\n  def flush(self): raise KeyError('x')\nsys.stdout = Tee()\nprint('kept')",
		"mp":       "import multiprocessing as m\ndef f(x): return x * x\nif __name__ == '__main__':\n  with m.get_context('spawn').Pool(2) as p: print(p.map(f, [1, 2, 3]))",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			warm, fresh := script("warm-"+name, text), script("fresh-"+name, text)
			fresh.Fresh = true
			w, wrote := b.run(t, warm)
			f, want := b.run(t, fresh)
			if w.Outcome != f.Outcome || w.ExitCode != f.ExitCode || w.Message != f.Message {
				t.Errorf("a fork: %v, %d, %q; a new process: %v, %d, %q", w.Outcome, w.ExitCode, w.Message, f.Outcome, f.ExitCode, f.Message)
			}
			if strings.Join(wrote, "\n") != strings.Join(want, "\n") {
				t.Errorf("a fork wrote %q, a new process %q", wrote, want)
			}
			place := func(id string) string {
				text := strings.Join(b.server.lines(id, "stderr"), "\n")
				return changing.ReplaceAllString(text, "N")
			}
			if got, want := place("warm-"+name), place("fresh-"+name); got != want {
				t.Errorf("standard error of a fork:\n%s\nof a new process:\n%s", got, want)
			}
		})
	}
}

func TestNothingLeaksIntoTheNextFork(t *testing.T) {
	t.Parallel()
	b := startWarm(t)
	b.output(t, script("first", forkedHere+`
import os, sys, random, json, builtins, signal, flowforge, tempfile, logging
sys.path.insert(0, "/leak"); sys.modules["leaked"] = sys
os.environ["LEAK"] = "1"; os.putenv("LEAK2", "1"); os.chdir("/"); os.umask(0o077)
builtins.leak = json.leak = flowforge.leak = 1
random.seed(1); tempfile.tempdir = "/leak"; signal.signal(signal.SIGUSR1, signal.SIG_IGN)
logging.basicConfig(level="DEBUG")
open("/proc/self/fd/1", "w").close()
`))
	lines := b.output(t, script("second", forkedHere+`
import os, sys, random, json, builtins, signal, flowforge, tempfile, logging
print("/leak" in sys.path, "leaked" in sys.modules, "LEAK" in os.environ, os.system("test -z \"$LEAK2\""))
print(os.getcwd() == "/", os.umask(0) == 0o077, hasattr(builtins, "leak"), hasattr(json, "leak"), hasattr(flowforge, "leak"))
print(tempfile.gettempdir() == "/leak", signal.getsignal(signal.SIGUSR1) == signal.SIG_IGN, logging.root.handlers)
random.seed(1); expected = random.random()
`))
	want := []string{"True", "False False False 0", "False False False False False", "False False []"}
	if strings.Join(lines, "\n") != strings.Join(want, "\n") {
		t.Errorf("the second attempt wrote %q, want %q", lines, want)
	}
	seeds := map[string]bool{}
	for i := range 3 {
		seeds[b.output(t, script(fmt.Sprint("seed", i), "import random, uuid, multiprocessing as m\nprint(random.random(), uuid.uuid4(), m.current_process().authkey)"))[0]] = true
	}
	if len(seeds) != 3 {
		t.Errorf("random numbers of forks repeat: %v", seeds)
	}
}

func TestSecretsStayInTheirFork(t *testing.T) {
	t.Parallel()
	b := startWarm(t)
	b.server.secrets = map[string]string{"token": "hunter2-hunter2"}
	b.output(t, script("before", forkedHere))
	parents := b.parents()
	spec := script("secret", forkedHere+"import os\nprint(len(os.environ['API_KEY']), len(open('/proc/self/environ').read().replace('\\0', '')))\n"+
		"assert 'hunter2' in os.environ['API_KEY'] and 'hunter2' not in open('/proc/self/environ').read()")
	spec.Secrets = []*flowforgev1.InputSecret{{Grant: &flowforgev1.SecretGrant{Name: "token", Mac: []byte("good")}, Variable: "API_KEY"}}
	if lines := b.output(t, spec); lines[0] != "True" {
		t.Fatalf("the attempt with a secret is no fork: %q", lines)
	}
	if lines := b.output(t, script("after", forkedHere+"import os\nprint('API_KEY' in os.environ, os.environ['FLOWFORGE_AUTH_TOKEN'])")); lines[1] != "False token-after" {
		t.Errorf("the next attempt sees %q", lines)
	}
	if now := b.parents(); len(now) != 1 || len(parents) != 1 || now[0] != parents[0] {
		t.Fatalf("warm processes %v, then %v", parents, now)
	}
	if memoryHas(t, parents[0], "hunter2-hunter2") {
		t.Error("the memory of the warm process contains the secret")
	}
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", parents[0]))
	if err != nil || bytes.Contains(environ, []byte("hunter2")) || bytes.Contains(environ, []byte("token-")) {
		t.Errorf("the environment of the warm process: %q, %v", environ, err)
	}
}

// memoryHas reports whether the writable memory of a process contains a text.
func memoryHas(t *testing.T, pid int, text string) bool {
	t.Helper()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	read := 0
	for line := range strings.Lines(string(maps)) {
		var from, to int64
		var mode string
		if _, err := fmt.Sscanf(line, "%x-%x %s", &from, &to, &mode); err != nil || !strings.HasPrefix(mode, "rw") {
			continue
		}
		page := make([]byte, to-from)
		n, _ := memory.ReadAt(page, from)
		read += n
		if bytes.Contains(page[:n], []byte(text)) {
			return true
		}
	}
	if read == 0 {
		t.Fatal("the memory of the warm process cannot be read")
	}
	return false
}

func TestForksAreStoppedLikeNewProcesses(t *testing.T) {
	t.Parallel()
	b := startWarm(t)
	text := forkedHere + `
import os, subprocess, sys, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
def spin():
    while True: time.sleep(0.05)
one = subprocess.Popen([sys.executable, "-c", "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: time.sleep(0.05)"])
two = os.fork()
if two == 0:
    os.setsid()
    if os.fork() == 0:
        open("escaped.new", "w").write(str(os.getpid())); os.rename("escaped.new", "escaped")
        spin()
    os._exit(0)
while not os.path.exists("escaped"): time.sleep(0.01)
print(os.getpid(), one.pid, open("escaped").read())
spin()
`
	spec := script("timeout", text)
	spec.TimeoutMs = 1500
	b.start(t, spec)
	stopped := script("stopped", text)
	b.start(t, stopped)
	b.server.await(t, "the processes", func() bool {
		return len(b.server.logs["stopped"]) > 1
	})
	if _, err := b.Stop(t.Context(), connect.NewRequest(&flowforgev1.StopRequest{TaskIds: []string{"stopped"}, GraceMs: 50})); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]flowforgev1.Outcome{"timeout": timedOut, "stopped": cancelled} {
		f := b.server.awaitFinished(t, id)
		wantOutcome(t, f, want)
		b.server.awaitLog(t, id)
		lines := b.server.lines(id, "stdout")
		if lines[0] != "True" || len(lines) != 2 {
			t.Fatalf("%s wrote %q", id, lines)
		}
		var pids []int
		for field := range strings.FieldsSeq(lines[1]) {
			pid, _ := strconv.Atoi(field)
			pids = append(pids, pid)
		}
		if len(pids) != 3 || alive(pids) {
			t.Errorf("%s: of the processes %v, one is alive when the end is reported", id, pids)
		}
	}
}

func TestMemoryOfForks(t *testing.T) {
	t.Parallel()
	b := startWarm(t)
	spec := script("large", forkedHere+"import time\na = bytearray(b'x') * (200 << 20)\ntime.sleep(60)")
	spec.MemoryLimitMib = 100
	f, lines := b.run(t, spec)
	if f.Outcome != failed || f.Class != classMemory || len(lines) == 0 || lines[0] != "True" {
		t.Errorf("%v, %q, %q, %q", f.Outcome, f.Class, f.Message, lines)
	}
	spec = script("peak", forkedHere+"a = bytearray(b'x') * (80 << 20)")
	spec.MemoryLimitMib = 200
	f, _ = b.run(t, spec)
	wantOutcome(t, f, succeeded)
	if f.PeakRssBytes < 80<<20 || f.PeakRssBytes > 160<<20 || f.CpuSeconds <= 0 {
		t.Errorf("peak %d MiB, CPU %v s", f.PeakRssBytes>>20, f.CpuSeconds)
	}
}
