package runner

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"connectrpc.com/connect"

	"github.com/flowforge/flowforge/platform/unixsocket"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
	"github.com/flowforge/flowforge/proto/flowforge/v1/flowforgev1connect"
)

// supervisorProcess is a supervisor in its own process.
type supervisorProcess struct {
	flowforgev1connect.RunnerServiceClient
	cmd *exec.Cmd
	dir string
}

func startSupervisor(t testing.TB, server *taskServer, dir string) *supervisorProcess {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serveVariable+"="+dir, "RUNNER_TEST_SOCKET="+server.socket)
	if testing.Verbose() {
		cmd.Stderr = os.Stderr
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &supervisorProcess{cmd: cmd, dir: dir}
	t.Cleanup(p.kill)
	p.RunnerServiceClient = flowforgev1connect.NewRunnerServiceClient(unixsocket.Client(SocketPath(dir)), "http://runner")
	eventually(t, "the supervisor", func() bool {
		_, err := p.Hello(t.Context(), connect.NewRequest(&flowforgev1.HelloRequest{}))
		return err == nil
	})
	return p
}

func (p *supervisorProcess) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

func (p *supervisorProcess) start(t testing.TB, specs ...*flowforgev1.AttemptSpec) {
	t.Helper()
	if _, err := p.Start(t.Context(), connect.NewRequest(&flowforgev1.StartRequest{Attempts: specs})); err != nil {
		t.Fatal(err)
	}
}

// family returns a task with a child in its group and one in its own session. All of them
// ignore SIGTERM. It writes their ids to a file.
func family(id, file string) *flowforgev1.AttemptSpec {
	return shell(id, `trap "" TERM
		(trap "" TERM; while :; do sleep 0.05; done) & one=$!
		setsid sh -c 'trap "" TERM; echo $$ > `+file+`.session; while :; do sleep 0.05; done' &
		until test -s `+file+`.session; do sleep 0.01; done
		echo $$ $one $(cat `+file+`.session) > `+file+`.new; mv `+file+`.new `+file+`
		while :; do sleep 0.05; done`)
}

func familyPids(t *testing.T, file string) []int {
	t.Helper()
	eventually(t, "the family", func() bool { _, err := os.Stat(file); return err == nil })
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for field := range strings.FieldsSeq(string(text)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	if len(pids) != 3 {
		t.Fatalf("family %q", text)
	}
	return pids
}

func alive(pids []int) bool {
	for _, pid := range pids {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err == nil && !strings.Contains(string(stat), ") Z ") {
			return true
		}
	}
	return false
}

func TestStopKillsTheWholeFamily(t *testing.T) {
	t.Parallel()
	server := newTaskServer(t)
	p := startSupervisor(t, server, shortTempDir(t))
	file := filepath.Join(t.TempDir(), "pids")
	p.start(t, family("family", file), shell("bystander", "setsid sleep 60 & sleep 0.2; kill -0 $!"))
	pids := familyPids(t, file)
	if _, err := p.Stop(t.Context(), connect.NewRequest(&flowforgev1.StopRequest{TaskIds: []string{"family"}, GraceMs: 50})); err != nil {
		t.Fatal(err)
	}
	f := server.awaitFinished(t, "family")
	wantOutcome(t, f, cancelled)
	if alive(pids) {
		t.Error("a process is alive when the end is reported")
	}
	wantOutcome(t, server.awaitFinished(t, "bystander"), succeeded)
}

func TestQuickParentLeavesNoProcess(t *testing.T) {
	t.Parallel()
	server := newTaskServer(t)
	p := startSupervisor(t, server, shortTempDir(t))
	file := filepath.Join(t.TempDir(), "pids")
	p.start(t, shell("daemon", `sleep 100 & one=$!; setsid sleep 100 & two=$!
		(env -i setsid sleep 100 & echo $! > `+file+`.three)
		echo $one $two $(cat `+file+`.three) > `+file))
	wantOutcome(t, server.awaitFinished(t, "daemon"), succeeded)
	if alive(familyPids(t, file)) {
		t.Error("a process is alive when the end is reported")
	}
}

func TestKilledSupervisorLeavesNoProcess(t *testing.T) {
	t.Parallel()
	server := newTaskServer(t)
	dir := shortTempDir(t)
	p := startSupervisor(t, server, dir)
	file := filepath.Join(t.TempDir(), "pids")
	p.start(t, family("family", file))
	pids := familyPids(t, file)
	p.kill()
	eventually(t, "the leader's death", func() bool { return !alive(pids[:1]) })
	next := startSupervisor(t, server, dir)
	eventually(t, "the family's death", func() bool { return !alive(pids) })
	list, err := next.List(t.Context(), connect.NewRequest(&flowforgev1.ListRequest{}))
	if err != nil || len(list.Msg.Attempts) > 0 {
		t.Errorf("lost attempts are listed: %v, %v", list, err)
	}
}

func TestShutdownInterrupts(t *testing.T) {
	t.Parallel()
	server := newTaskServer(t)
	dir := shortTempDir(t)
	p := startSupervisor(t, server, dir)
	file := filepath.Join(t.TempDir(), "pids")
	p.start(t, family("family", file))
	pids := familyPids(t, file)
	if err := Serve(expired(t), Config{Dir: dir}); !errors.Is(err, ErrLocked) {
		t.Errorf("a second supervisor: %v", err)
	}
	holder := ""
	if _, err := Lock(expired(t), dir, func(pid string) { holder = pid }); !errors.Is(err, ErrLocked) || holder != strconv.Itoa(p.cmd.Process.Pid) {
		t.Errorf("a second worker: %v; process %q holds the lock", err, holder)
	}
	if _, err := p.Shutdown(t.Context(), connect.NewRequest(&flowforgev1.ShutdownRequest{GraceMs: 100})); err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, server.awaitFinished(t, "family"), interrupted)
	if err := p.cmd.Wait(); err != nil {
		t.Error(err)
	}
	if alive(pids) {
		t.Error("a process is alive after the shutdown")
	}
}

func TestTerminationInterrupts(t *testing.T) {
	t.Parallel()
	server := newTaskServer(t)
	p := startSupervisor(t, server, shortTempDir(t))
	p.start(t, shell("sleeper", "sleep 60"))
	server.await(t, "the start", func() bool { return server.beats["sleeper"] > 0 })
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, server.awaitFinished(t, "sleeper"), interrupted)
	_ = p.cmd.Wait()
}

func expired(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func shortTempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ffr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
