package handlers_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
)

const twoPods = "name: two\nversion: 1.0.0\noperators:\n" +
	"  - {name: train, type: shell, resources: {cpu: 2, memory: 64Mi, gpu: 1, gpu_type: A100}, code: {script: 'true'}}\n" +
	"  - {name: report, type: shell, resources: {cpu: 1, memory: 64Mi}, code: {script: 'true'}}"

// launchUnscheduled launches two nodes that a cluster does not begin.
func (b *testBundle) launchUnscheduled(t *testing.T) uuid.UUID {
	t.Helper()
	b.tasks.frozenRow = true
	b.start(t)
	b.register(t, twoPods)
	e, _, err := b.executions.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: "two", Name: "nightly", Priority: query.High})
	require.NoError(t, err)
	b.until(t, e.ID, func(e query.Execution) bool { return e.Counts.Queued == 2 })
	return e.ID
}

func (b *testBundle) podWaits(t *testing.T, id uuid.UUID, node int, code, message string) {
	t.Helper()
	see := launcher.Observation{TaskID: query.TaskID(id, node, 1), Waiting: &launcher.Waiting{Code: code, Message: message}}
	require.NoError(t, b.executions.Supervisor.Observe(b.ctx, []launcher.Observation{see}))
}

func TestWaitingPageShowsTheCluster(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.launchUnscheduled(t)
	page := b.member.get(t, "/waiting")
	page.says(t, http.StatusOK, "No node is waiting for a limit or for capacity")
	require.NotContains(t, page.body, "Waiting for a machine")
	queue := b.member.get(t, "/api/v1/queue").object(t, http.StatusOK)
	require.NotContains(t, queue, "in_cluster")

	reported := false
	readEvents(t, b.member, "/waiting/stream", "", func(_, _, data string) bool {
		if strings.Contains(data, "0/4 nodes are available: 4 Insufficient nvidia.com/gpu.") {
			return true
		}
		if !reported && strings.Contains(data, "No node is waiting for a limit or for capacity") {
			reported = true
			b.podWaits(t, id, 0, launcher.WaitUnschedulable, "0/4 nodes are available: 4 Insufficient nvidia.com/gpu.")
		}
		return false
	})
	b.podWaits(t, id, 1, launcher.WaitCluster, `Post "https://10.0.0.1:6443/api": connection refused`)
	for _, path := range []string{"/waiting", "/waiting?place=team"} {
		page = b.member.get(t, path)
		page.says(t, http.StatusOK, "Waiting for a machine", "4 Insufficient nvidia.com/gpu", "UNSCHEDULABLE", "/executions/"+id.String()+"/nodes/train",
			"two · nightly · project", "priority HIGH", "1 A100 GPU", "1 pod", "The cluster&#39;s API server is not responding.", "No node is waiting for a limit. The nodes below")
		require.NotContains(t, page.body, "10.0.0.1")
		require.NotContains(t, page.body, `aria-label="Queue"`, "no empty queue above it")
	}

	queue = b.member.get(t, "/api/v1/queue?limit=1").object(t, http.StatusOK)
	require.Empty(t, queue["entries"])
	require.EqualValues(t, json.Number("1"), queue["in_cluster_more"])
	entry := queue["in_cluster"].([]any)[0].(map[string]any)
	require.Equal(t, id.String(), entry["execution_id"])
	require.Equal(t, auth.LocalProject.String(), entry["project_id"])
	queue = b.member.get(t, "/api/v1/queue?place="+auth.LocalTeam.String()).object(t, http.StatusOK)
	require.NotContains(t, queue, "in_cluster_more")
	for _, e := range queue["in_cluster"].([]any) {
		entry := e.(map[string]any)
		if entry["node"] != "train" {
			continue
		}
		require.Equal(t, "UNSCHEDULABLE", entry["reason"].(map[string]any)["code"])
		require.EqualValues(t, json.Number("1"), entry["asked"].(map[string]any)["gpus"])
		require.Equal(t, "two nightly", entry["workflow_name"].(string)+" "+entry["execution_name"].(string))
	}
	require.Len(t, queue["in_cluster"], 2)
	require.Equal(t, http.StatusNotFound, b.member.get(t, "/api/v1/queue?place="+uuid.NewString()).status)
}
