package ha_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/app"
	"github.com/flowforge/flowforge/db/dbtest"
	"github.com/flowforge/flowforge/platform/election"
)

const (
	token    = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	patience = 2 * time.Minute
)

// installation is a database, tasks, and servers.
type installation struct {
	t   *testing.T
	url string
	// pooled is the address of a connection pooler, through which servers connect; "": they connect to url.
	pooled string
	dir    string
	pool   *pgxpool.Pool
	tasks  *tasks

	mu      sync.Mutex
	servers map[string]*server
	count   int
}

// server is one process.
type server struct {
	name string
	cmd  *exec.Cmd
	addr string
	web  bool
	done chan struct{} // closed when the process ends
	err  error
}

func setup(t *testing.T) *installation {
	t.Helper()
	dir, err := os.MkdirTemp("", "ffha") // short, because paths of unix sockets are limited
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	in := &installation{t: t, url: dbtest.NewURL(t), dir: dir, servers: map[string]*server{}}
	in.pool, err = pgxpool.New(t.Context(), in.url)
	require.NoError(t, err)
	t.Cleanup(in.pool.Close)
	_, err = app.InitSecrets(dir + "/keys")
	require.NoError(t, err)
	in.tasks = serveTasks(t, dir+"/runner.sock", in.taskServers)
	t.Cleanup(in.killAll)
	return in
}

// start starts a server with roles and waits until it is ready.
func (in *installation) start(roles string) *server {
	in.t.Helper()
	in.mu.Lock()
	in.count++
	name := fmt.Sprintf("%s-%d", strings.ReplaceAll(roles, ",", "-"), in.count)
	in.mu.Unlock()
	data := filepath.Join(in.dir, name)
	require.NoError(in.t, os.MkdirAll(data, 0o700))
	require.NoError(in.t, os.WriteFile(data+"/admin.token", []byte(token+"\n"), 0o600))
	s := &server{name: name, web: strings.Contains(roles, "web"), done: make(chan struct{})}
	s.cmd = exec.Command(os.Args[0])
	s.cmd.Env = append(os.Environ(), envChild+"="+name, envRoles+"="+roles, envDatabase+"="+cmp.Or(in.pooled, in.url), envDir+"="+in.dir, envTaskURL+"=http://127.0.0.1:1")
	if in.pooled != "" {
		s.cmd.Env = append(s.cmd.Env, envSessions+"="+in.url)
	}
	s.cmd.Stderr = in.t.Output()
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(in.t, s.cmd.Start())
	go func() {
		s.err = s.cmd.Wait()
		close(s.done)
	}()
	ctx, cancel := context.WithTimeout(in.t.Context(), patience)
	defer cancel()
	var err error
	s.addr, err = addrOf(ctx, data+"/addr")
	require.NoError(in.t, err)
	in.until("ready", func() bool {
		answer, err := http.Get("http://" + s.addr + "/readyz")
		if err != nil {
			return false
		}
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
	in.mu.Lock()
	in.servers[name] = s
	in.mu.Unlock()
	return s
}

// taskServers returns the addresses to which attempts may report.
func (in *installation) taskServers() []string {
	in.mu.Lock()
	defer in.mu.Unlock()
	var list []string
	for _, name := range slices.Sorted(maps.Keys(in.servers)) {
		if s := in.servers[name]; s.web {
			list = append(list, s.addr)
		}
	}
	return list
}

func (in *installation) forget(s *server) {
	in.mu.Lock()
	defer in.mu.Unlock()
	delete(in.servers, s.name)
}

func (in *installation) killAll() {
	in.mu.Lock()
	all := slices.Collect(maps.Values(in.servers))
	in.mu.Unlock()
	for _, s := range all {
		_ = s.cmd.Process.Kill()
		<-s.done
	}
}

// until polls, because the condition concerns other processes.
func (in *installation) until(what string, met func() bool) {
	in.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if met() {
			return
		}
	}
	in.dump()
	in.t.Fatalf("timed out after %s: %s", patience, what)
}

func (in *installation) dump() {
	rows, err := in.pool.Query(context.Background(), `SELECT e.id, e.status, e.owner, e.owner_epoch, e.lease_until, e.drive_requested_at, e.wake_at, n.name, n.state, n.attempt
		FROM executions e JOIN nodes n ON n.execution_id = e.id WHERE e.finished_at IS NULL ORDER BY 1, n.node_index LIMIT 20`)
	if err != nil {
		return
	}
	defer rows.Close()
	for rows.Next() {
		values, _ := rows.Values()
		in.t.Log(values...)
	}
}

// leader returns the server that leads the scheduler.
func (in *installation) leader() *server {
	in.t.Helper()
	var found *server
	in.until("a leader", func() bool {
		l, err := election.Find(in.t.Context(), in.pool, election.Scheduler)
		if err != nil {
			return false
		}
		name, _, _ := strings.Cut(l.Holder, "/")
		in.mu.Lock()
		defer in.mu.Unlock()
		found = in.servers[name]
		return found != nil
	})
	return found
}

// call sends a request to a server; body is sent as JSON and the response decoded into
// result.
func (in *installation) call(s *server, method, path string, body, result any) int {
	in.t.Helper()
	status, err := in.try(s, method, path, body, result)
	require.NoError(in.t, err)
	return status
}

func (in *installation) try(s *server, method, path string, body, result any) (int, error) {
	var sent io.Reader = http.NoBody
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return 0, err
		}
		sent = bytes.NewReader(raw)
	}
	ctx, cancel := context.WithTimeout(in.t.Context(), 20*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, "http://"+s.addr+path, sent)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err
	}
	switch to := result.(type) {
	case nil:
	case *string:
		*to = string(raw)
	default:
		if answer.StatusCode < 300 {
			err = json.Unmarshal(raw, to)
		}
	}
	return answer.StatusCode, err
}

// register registers a workflow through s.
func (in *installation) register(s *server, doc string) {
	in.t.Helper()
	request, err := http.NewRequestWithContext(in.t.Context(), http.MethodPost, "http://"+s.addr+"/api/v1/workflows", strings.NewReader(doc))
	require.NoError(in.t, err)
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/yaml")
	answer, err := http.DefaultClient.Do(request)
	require.NoError(in.t, err)
	defer answer.Body.Close()
	raw, _ := io.ReadAll(answer.Body)
	require.Less(in.t, answer.StatusCode, 300, "%s", raw)
}

// launch launches a workflow through s.
func (in *installation) launch(s *server, name string) uuid.UUID {
	in.t.Helper()
	var launched struct {
		ID uuid.UUID `json:"execution_id"`
	}
	status := in.call(s, http.MethodPost, "/api/v1/executions", map[string]any{"workflow": name}, &launched)
	require.Equal(in.t, http.StatusCreated, status)
	return launched.ID
}

func (in *installation) number(query string) (n int) {
	in.t.Helper()
	require.NoError(in.t, in.pool.QueryRow(in.t.Context(), query).Scan(&n))
	return n
}

// checkAll checks that every execution has ended once with status, nothing remains, and
// each attempt ran once.
func (in *installation) checkAll(executions int, status string) {
	in.t.Helper()
	in.until("every execution has ended", func() bool {
		return in.number("SELECT count(*) FROM executions WHERE finished_at IS NOT NULL") == executions
	})
	for what, query := range map[string]string{
		"other states":    "SELECT count(*) FROM executions WHERE status <> '" + status + "'",
		"reservations":    "SELECT count(*) FROM reservations",
		"reports":         "SELECT count(*) FROM reports",
		"second attempts": "SELECT count(*) FROM attempts WHERE attempt > 1",
		"open attempts":   "SELECT count(*) FROM attempts WHERE finished_at IS NULL",
		"executions that ended more or less than once": `SELECT count(*) FROM executions e WHERE (SELECT count(*) FROM events v
			WHERE v.execution_id = e.id AND v.kind IN ('execution.succeeded', 'execution.failed', 'execution.cancelled')) <> 1`,
		"nodes that ended more or less than once": `SELECT count(*) FROM nodes n WHERE (SELECT count(*) FROM events v
			WHERE v.execution_id = n.execution_id AND v.node_index = n.node_index AND v.kind IN ('node.succeeded', 'node.failed', 'node.cancelled', 'node.skipped')) <> 1`,
		"gaps in the events": `SELECT count(*) FROM executions e WHERE e.event_seq <> (SELECT count(*) FROM events v WHERE v.execution_id = e.id)`,
		"counters of use": `SELECT count(*) FROM quota_usage u, jsonb_each_text(u.used) AS x(resource, amount)
			WHERE x.resource <> 'storage' AND x.amount::numeric <> 0`,
	} {
		require.Zero(in.t, in.number(query), what)
	}
	require.Empty(in.t, in.zombies(), "writes of former leaders")
	in.tasks.mu.Lock()
	defer in.tasks.mu.Unlock()
	require.Len(in.t, in.tasks.ran, in.number("SELECT count(*) FROM attempts"))
}
