package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

// worker is a `flowforge worker` process.
type worker struct {
	name  string
	cmd   *exec.Cmd
	ended chan struct{}
	mu    sync.Mutex
	log   bytes.Buffer
}

// Write records the output of the worker.
func (k *worker) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.log.Write(p)
}

func (k *worker) output() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.log.String()
}

// startWorker starts a worker of a pool in its own folder.
func startWorker(t *testing.T, s *server, name, token string, args ...string) *worker {
	t.Helper()
	return startWorkerIn(t, s, t.TempDir(), name, token, args...)
}

func startWorkerIn(t *testing.T, s *server, dir, name, token string, args ...string) *worker {
	t.Helper()
	k := &worker{name: name, ended: make(chan struct{})}
	args = append([]string{"worker", "--server", s.base, "--name", name, "--dir", filepath.Join(dir, "state"), "--gpus", "none"}, args...)
	k.cmd = exec.Command(setting("FLOWFORGE_BINARY", "bin/flowforge"), args...)
	k.cmd.Env = append(os.Environ(), "FLOWFORGE_WORKER_TOKEN="+token)
	k.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	k.cmd.Stderr, k.cmd.Stdout = k, k
	require.NoError(t, k.cmd.Start())
	go func() {
		defer close(k.ended)
		_ = k.cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = k.cmd.Process.Kill()
		<-k.ended
		if t.Failed() {
			t.Logf("worker %s:\n%s", k.name, k.output())
		}
	})
	return k
}

func (k *worker) signal(t *testing.T, sig os.Signal) {
	t.Helper()
	require.NoError(t, k.cmd.Process.Signal(sig))
}

// awaitEnd returns the exit status of the worker.
func (k *worker) awaitEnd(t *testing.T) int {
	t.Helper()
	select {
	case <-k.ended:
	case <-time.After(time.Minute):
		t.Fatalf("the worker %s has not ended:\n%s", k.name, k.output())
	}
	return k.cmd.ProcessState.ExitCode()
}

// poolView is the part of a pool that the tests read.
type poolView struct {
	Queued, Running, Connected int
	WorkerList                 []struct {
		ID, Name, State string
		Tasks           []string
	} `json:"worker_list"`
	Tokens []struct{ ID string }
}

func (s *server) pool(t *testing.T, name string) (p poolView) {
	t.Helper()
	s.api(t, http.MethodGet, "/pools/"+name, nil, &p)
	return p
}

// awaitPool polls a pool until ok returns true.
func (s *server) awaitPool(t *testing.T, name string, ok func(poolView) bool) poolView {
	t.Helper()
	var last poolView
	eventually(t, "the pool "+name, func() (string, bool) {
		last = s.pool(t, name)
		return fmt.Sprintf("%+v", last), ok(last)
	})
	return last
}

// createPool creates a pool and returns the secret of a token of it.
func (s *server) createPool(t *testing.T, name string) (token string) {
	t.Helper()
	s.api(t, http.MethodPost, "/pools", map[string]any{"name": name, "description": "machines in the lab"}, nil)
	var created struct{ Token string }
	s.api(t, http.MethodPost, "/pools/"+name+"/tokens", nil, &created)
	return created.Token
}

// gated registers a workflow with one operator of a pool, which writes who runs it and waits for a
// file; it returns the file.
func (s *server) gated(t *testing.T, workflow, pool, more string) (gate string) {
	t.Helper()
	gate = filepath.Join(t.TempDir(), "gate")
	document := fmt.Sprintf(`{"name": %q, "version": "1.0.0", "outputs": [{"name": "by", "type": "String", "from": "work.by"}], "operators": [{
		"name": "work", "type": "shell", "pool": %q, %s "outputs": [{"name": "by", "type": "String"}],
		"code": {"script": "echo started $FLOWFORGE_ATTEMPT; until test -e %s; do sleep 0.05; done; printf '\"%%s\"' $FLOWFORGE_ATTEMPT > $FLOWFORGE_OUTPUTS/by"}}]}`, workflow, pool, more, gate)
	s.api(t, http.MethodPost, "/workflows", rawJSON(document), nil)
	return gate
}

func openGate(t *testing.T, gate string) {
	t.Helper()
	require.NoError(t, os.WriteFile(gate, nil, 0o600))
}

func running(name string) func(poolView) bool {
	return func(p poolView) bool {
		for _, k := range p.WorkerList {
			if k.Name == name && len(k.Tasks) > 0 {
				return true
			}
		}
		return false
	}
}

func connected(n int) func(poolView) bool {
	return func(p poolView) bool { return p.Connected == n }
}

// TestWorkerIsKilled: a task of a pool waits with a reason until a worker joins. The worker is
// killed in mid-run; the other one runs the task again, without using a retry.
func TestWorkerIsKilled(t *testing.T) {
	t.Parallel()
	s := ownServer(t, "FLOWFORGE_WORKER_LOST_AFTER=3s")
	token := s.createPool(t, "lab")
	gate := s.gated(t, "killed", "lab", "")
	id := s.launch(t, "killed", nil)
	eventually(t, "the reason", func() (string, bool) {
		_, body := s.call(t, http.MethodGet, "/executions/"+id+"/nodes/work/why", nil)
		return string(body), strings.Contains(string(body), "No worker of the pool lab is connected.")
	})

	first := startWorker(t, s, "first", token, "--pool", "lab", "--slots", "2")
	s.awaitPool(t, "lab", running("first"))
	startWorker(t, s, "second", token, "--pool", "lab", "--slots", "2")
	s.awaitPool(t, "lab", connected(2))
	first.signal(t, syscall.SIGKILL)
	s.awaitPool(t, "lab", running("second"))
	openGate(t, gate)

	e := s.wait(t, id, ended)
	require.Equal(t, "SUCCEEDED", e.Status)
	require.Equal(t, 2, e.Nodes[0].Attempt)
	require.Equal(t, "2", e.Outputs["by"])
	s.awaitPool(t, "lab", func(p poolView) bool { return p.Running == 0 && p.Queued == 0 })
}

// TestWorkerOutlivesTheServer: the server is killed while a worker runs a task. The task ends
// meanwhile, and the restarted server receives its result once.
func TestWorkerOutlivesTheServer(t *testing.T) {
	t.Parallel()
	s := ownServer(t)
	token := s.createPool(t, "lab")
	gate := s.gated(t, "outlives", "lab", "")
	startWorker(t, s, "only", token)
	id := s.launch(t, "outlives", nil)
	s.awaitPool(t, "lab", running("only"))

	s.kill()
	openGate(t, gate)
	s.restart(t)
	e := s.wait(t, id, ended)
	require.Equal(t, "SUCCEEDED", e.Status)
	require.Equal(t, 1, e.Nodes[0].Attempt, "the task was repeated")
}

// TestWorkerDrains: the first signal lets a worker finish its task and take no other; the second
// one interrupts. A worker with a wrong or a revoked token ends.
func TestWorkerDrains(t *testing.T) {
	t.Parallel()
	s := ownServer(t)
	token := s.createPool(t, "lab")
	require.Equal(t, 1, startWorker(t, s, "wrong", "ffw_wrong").awaitEnd(t))
	require.Equal(t, 1, startWorker(t, s, "elsewhere", token, "--pool", "other").awaitEnd(t))

	gate := s.gated(t, "drained", "lab", "")
	k := startWorker(t, s, "draining", token)
	id := s.launch(t, "drained", nil)
	s.awaitPool(t, "lab", running("draining"))
	k.signal(t, syscall.SIGTERM)
	s.awaitPool(t, "lab", func(p poolView) bool { return p.WorkerList[0].State == "leaving" })
	later := s.launch(t, "drained", nil)
	openGate(t, gate)
	require.Equal(t, "SUCCEEDED", s.wait(t, id, ended).Status)
	require.Equal(t, 0, k.awaitEnd(t), k.output())
	require.Empty(t, s.pool(t, "lab").WorkerList)

	// The queued task goes to the next worker.
	require.NoError(t, os.Remove(gate))
	next := startWorker(t, s, "next", token)
	s.awaitPool(t, "lab", running("next"))
	s.api(t, http.MethodDelete, "/pools/lab/tokens/"+s.pool(t, "lab").Tokens[0].ID, nil, nil)
	require.Equal(t, 1, next.awaitEnd(t))
	require.Contains(t, next.output(), "revoked")

	var created struct{ Token string }
	s.api(t, http.MethodPost, "/pools/lab/tokens", nil, &created)
	last := startWorker(t, s, "last", created.Token)
	s.awaitPool(t, "lab", running("last"))
	last.signal(t, syscall.SIGTERM)
	last.signal(t, syscall.SIGINT)
	last.awaitEnd(t)
	startWorker(t, s, "final", created.Token)
	s.awaitPool(t, "lab", running("final"))
	openGate(t, gate)
	require.Equal(t, "SUCCEEDED", s.wait(t, later, ended).Status)
}

// TestWorkersTakeWhatFits: labels, capacity and priorities decide which worker takes a task, and a
// cancelled task stops on its worker.
func TestWorkersTakeWhatFits(t *testing.T) {
	t.Parallel()
	s := ownServer(t)
	token := s.createPool(t, "lab")
	gate := s.gated(t, "fits", "lab", `"labels": {"zone": "b"}, "resources": {"cpu": 2},`)
	startWorker(t, s, "zone-a", token, "--label", "zone=a", "--cpu", "8")
	startWorker(t, s, "small", token, "--label", "zone=b", "--cpu", "1")
	s.awaitPool(t, "lab", connected(2))
	id := s.launch(t, "fits", nil)
	eventually(t, "the reason", func() (string, bool) {
		_, body := s.call(t, http.MethodGet, "/executions/"+id+"/nodes/work/why", nil)
		return string(body), strings.Contains(string(body), "is large enough")
	})
	startWorker(t, s, "large", token, "--label", "zone=b", "--cpu", "2", "--memory", "4Gi")
	s.awaitPool(t, "lab", running("large"))
	second := s.launch(t, "fits", nil)
	s.awaitPool(t, "lab", func(p poolView) bool { return p.Queued == 1 && p.Running == 1 })
	s.api(t, http.MethodPost, "/executions/"+second+"/cancel", map[string]any{}, nil)
	require.Equal(t, "CANCELLED", s.wait(t, second, ended).Status)
	s.api(t, http.MethodPost, "/executions/"+id+"/cancel", map[string]any{}, nil)
	require.Equal(t, "CANCELLED", s.wait(t, id, ended).Status)
	s.awaitPool(t, "lab", func(p poolView) bool { return p.Queued == 0 && p.Running == 0 })
	openGate(t, gate)
}

// TestPoolPage: an administrator creates a pool, copies a token, watches a worker, drains it, and
// deletes the pool.
func TestPoolPage(t *testing.T) {
	t.Parallel()
	s := ownServer(t)
	page := openOn(t, s, options{tolerates: []string{"status of 422"}})
	visit(t, page, "/admin/pools")
	holds(t, page.Locator("main"), "No pools yet")
	audit(t, page)
	require.NoError(t, page.GetByText("New pool").Click())
	require.NoError(t, page.Locator("#pool-name").Fill("GPU lab"))
	require.NoError(t, page.GetByRole("button", playwright.PageGetByRoleOptions{Name: "Create the pool"}).Click())
	holds(t, page.Locator("#problems"), "lower-case letters")
	require.NoError(t, page.Locator("#pool-name").Fill("gpu-lab"))
	require.NoError(t, page.GetByRole("button", playwright.PageGetByRoleOptions{Name: "Create the pool"}).Click())
	holds(t, page.Locator("main"), "The pool was created.")
	require.NoError(t, page.GetByRole("button", playwright.PageGetByRoleOptions{Name: "New token"}).Click())
	token, err := page.Locator("#fresh-token").TextContent()
	require.NoError(t, err)
	audit(t, page)

	gate := s.gated(t, "watched", "gpu-lab", "")
	visit(t, page, "/admin/pools/gpu-lab")
	require.NoError(t, page.GetByRole("button", playwright.PageGetByRoleOptions{Name: "Restrict the pool"}).Click())
	holds(t, page.Locator("#problems"), "Select a tenant")
	_, err = page.Locator("#access-nodes").SelectOption(playwright.SelectOptionValues{Indexes: &[]int{1}})
	require.NoError(t, err)
	require.NoError(t, page.GetByRole("button", playwright.PageGetByRoleOptions{Name: "Restrict the pool"}).Click())
	holds(t, page.Locator("main"), "Access to the pool was changed.")
	audit(t, page)
	id := s.launch(t, "watched", nil)
	visit(t, page, "/admin/pools/gpu-lab")
	holds(t, page.Locator("#pool"), "No worker of the pool gpu-lab is connected.")
	k := startWorker(t, s, "rack-1", token, "--label", "zone=a")
	holds(t, page.Locator("#pool"), "rack-1")
	holds(t, page.Locator("#pool"), "Working")
	audit(t, page)
	require.NoError(t, page.GetByRole("button", playwright.PageGetByRoleOptions{Name: "Drain rack-1"}).Click())
	holds(t, page.Locator("main"), "The workers are draining.")
	holds(t, page.Locator("#pool"), "Draining")
	openGate(t, gate)
	require.Equal(t, "SUCCEEDED", s.wait(t, id, ended).Status)
	k.signal(t, os.Interrupt)
	require.Equal(t, 0, k.awaitEnd(t))
	visit(t, page, "/admin/pools/gpu-lab")
	require.NoError(t, page.GetByRole("link", playwright.PageGetByRoleOptions{Name: "Delete pool…"}).Click())
	require.NoError(t, page.GetByRole("button", playwright.PageGetByRoleOptions{Name: "Delete pool"}).Click())
	holds(t, page.Locator("main"), "The pool was deleted.")
	status, body := s.call(t, http.MethodPost, "/executions", map[string]any{"workflow": "watched"})
	require.Equal(t, http.StatusUnprocessableEntity, status)
	var problem map[string]any
	require.NoError(t, json.Unmarshal(body, &problem))
	require.Contains(t, string(body), `there is no pool`)
}
