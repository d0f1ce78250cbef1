package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/platform/embedded/postgres/replicatest"
)

// replicated is a server whose database has a replica.
type replicated struct {
	*server

	t       *testing.T
	servers replicatest.Pair
}

// get requests a page.
func (r *replicated) get(path string) (int, []byte) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.base+path, nil)
	require.NoError(r.t, err)
	req.Header.Set("Authorization", "Bearer "+r.token)
	res, err := r.client.Do(req)
	require.NoError(r.t, err)
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	require.NoError(r.t, err)
	return res.StatusCode, body
}

// ready waits until /readyz reports a state of the replica.
func (r *replicated) ready(want string) {
	r.t.Helper()
	eventually(r.t, "the state of the replica", func() (string, bool) {
		status, body := r.get("/readyz")
		var answer struct{ Checks map[string]string }
		require.NoError(r.t, json.Unmarshal(body, &answer), "%s", body)
		return string(body), status == http.StatusOK && answer.Checks["replica"] == want
	})
}

// on runs a statement on the replica, again if the replay of the primary's changes cancels it.
func (r *replicated) on(sql string) {
	r.t.Helper()
	eventually(r.t, sql, func() (string, bool) {
		conn, err := pgx.Connect(r.t.Context(), r.servers.Replica.URL())
		require.NoError(r.t, err)
		_, err = conn.Exec(r.t.Context(), sql)
		_ = conn.Close(r.t.Context())
		return fmt.Sprint(err), err == nil
	})
}

// listed returns the state of an execution in the list of executions, "" if the list lacks it.
func (r *replicated) listed(id string) string {
	r.t.Helper()
	var list struct{ Executions []executionView }
	r.api(r.t, http.MethodGet, "/executions", nil, &list)
	for _, e := range list.Executions {
		if e.ID == id {
			return e.Status
		}
	}
	return ""
}

// pages requests every page and call that may be read from the replica.
func (r *replicated) pages(executions string) {
	r.t.Helper()
	for _, path := range []string{
		"/", "/executions", "/executions/facets", "/workflows", "/workflows/digits.train/grid", "/admin/audit", "/events", "/compare?executions=" + executions,
		"/api/v1/executions", "/api/v1/audit", "/api/v1/events", "/api/v1/compare?executions=" + executions,
	} {
		status, body := r.get(path)
		require.Equal(r.t, http.StatusOK, status, "%s: %s", path, body)
	}
}

// TestReadReplica: lists are read from a replica. An author sees the own launch at once while the
// replica does not replay, lists are current again beyond the bound, and pages work while the replica
// is killed and when it is gone, in the middle of a run.
func TestReadReplica(t *testing.T) {
	t.Parallel()
	servers := replicatest.Start(t)
	r := &replicated{t: t, servers: servers, server: ownServer(t,
		"FLOWFORGE_DATABASE_URL="+servers.Primary.URL(), "FLOWFORGE_DATABASE_READ_URL="+servers.Replica.URL(), "FLOWFORGE_DATABASE_READ_MAX_LAG=2s")}
	r.ready("ok")
	first := r.launch(t, "digits.train", map[string]any{"epochs": 1})
	require.NotEmpty(t, r.listed(first), "the author's own launch")
	r.wait(t, first, ended)
	_, page := r.get("/admin/cluster")
	require.Contains(t, string(page), "Read replica of the database")

	r.on("SELECT pg_wal_replay_pause()")
	second := r.launch(t, "digits.train", map[string]any{"epochs": 1})
	require.NotEmpty(t, r.listed(second), "the replica is paused, and the author sees the launch")
	require.Equal(t, "SUCCEEDED", r.wait(t, second, ended).Status)
	r.ready("down")
	require.Equal(t, "SUCCEEDED", r.listed(second), "the list is read from the primary")
	r.on("SELECT pg_wal_replay_resume()")
	r.ready("ok")
	r.pages(first + "," + second)

	third := r.launch(t, "digits.train", map[string]any{"epochs": 3})
	require.NoError(t, syscall.Kill(servers.Replica.PID(), syscall.SIGKILL))
	r.pages(second + "," + third)
	r.ready("ok") // its supervisor started it again
	require.NoError(t, servers.Replica.Close())
	r.pages(second + "," + third)
	r.ready("down")
	r.pages(second + "," + third)
	require.Equal(t, "SUCCEEDED", r.wait(t, third, ended).Status)
	require.Equal(t, "SUCCEEDED", r.listed(third))
}
