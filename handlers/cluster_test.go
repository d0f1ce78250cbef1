package handlers_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/handlers"
)

// TestClusterPage shows a cluster as its launcher recorded it, and its problems.
func TestMemoryOfWarmPython(t *testing.T) {
	t.Parallel()
	b := setup(t)
	deps := b.deps
	var failure error
	deps.WarmPython = func(context.Context) (int, int64, error) { return 2, 96 << 20, failure }
	server := httptest.NewServer(handlers.New(deps))
	t.Cleanup(server.Close)
	admin := &caller{server: server.URL, header: b.admin.header}
	admin.get(t, "/admin/cluster").says(t, http.StatusOK, "Warm Python", "96 MiB", "in 2 processes")
	failure = errors.New("no answer")
	admin.get(t, "/admin/cluster").says(t, http.StatusOK, "Warm Python", "unknown", "the local task runner is not responding")
	require.NotContains(t, b.admin.get(t, "/admin/cluster").body, "Warm Python", "a server without local tasks")
}

func TestClusterPage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	executions, err := execution.New(execution.Config{
		Secrets: b.secrets, Quotas: b.quotas, Pool: b.pool, Workflows: b.workflows, Artifacts: b.artifacts, Launcher: b.tasks,
		Signer: b.signer, Now: time.Now, Logger: slog.New(slog.DiscardHandler), Instance: "cluster", Cluster: true,
		Catalogue: engineCatalogue{b.catalogue},
	})
	require.NoError(t, err)
	deps := b.deps
	deps.Executions = executions
	server := httptest.NewServer(handlers.New(deps))
	t.Cleanup(server.Close)
	admin := &caller{server: server.URL, header: b.admin.header}
	keep := func(state query.ClusterState) {
		text, err := json.Marshal(state)
		require.NoError(t, err)
		require.NoError(t, executions.Supervisor.KeepCluster(b.ctx, text))
	}

	admin.get(t, "/admin/cluster").says(t, http.StatusOK, "No launcher has read the cluster yet.")

	state := query.ClusterState{
		Cluster: "Frankfurt", Version: "v1.36.3", Answers: true,
		Machines: []query.MachineState{
			{Name: "cpu-1", Ready: true, CPUMillis: 8000, MemoryMiB: 32768, PodLimit: 110},
			{Name: "gpu-1", Ready: true, Cordoned: true, CPUMillis: 64000, CPUUsed: 12000, MemoryMiB: 524288, GPUs: []query.GPUState{{Type: "A100", Total: 8, Used: 3}}},
			{Name: "gpu-2", Message: "The kubelet is silent.", GPUs: []query.GPUState{{Type: "A100", Total: 8}}},
		},
		Pods:       map[string]int{"running": 3, "unschedulable": 2},
		Namespaces: []query.NamespaceState{{ProjectID: auth.LocalProject.String(), Namespace: "ff-digits", Phase: "Active", Pods: 5, Error: "exceeded quota"}},
	}
	keep(state)
	page := admin.get(t, "/admin/cluster")
	page.says(t, http.StatusOK, "Frankfurt", "Kubernetes v1.36.3", "gpu-1", "A100", "The kubelet is silent.", "ff-digits", "exceeded quota")
	require.NotContains(t, page.body, "not responding")

	state.Answers, state.Error, state.Since = false, "connection refused", time.Now().Add(-time.Minute)
	keep(state)
	admin.get(t, "/admin/cluster").says(t, http.StatusOK, "API server has not responded since", "connection refused", "gpu-1")

	_, err = b.pool.Exec(b.ctx, "UPDATE cluster_snapshots SET seen_at = now() - interval '10 minutes'")
	require.NoError(t, err)
	admin.get(t, "/admin/cluster").says(t, http.StatusOK, "This is the state of the cluster at", "No server with the role launcher has updated it since.")
}
