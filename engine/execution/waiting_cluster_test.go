package execution_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/quota/fair"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

const threePods = `
name: three
version: 1.0.0
operators:
  - {name: a, type: shell, resources: {cpu: 1, memory: 1Gi}, code: {script: "true"}}
  - {name: b, type: shell, resources: {cpu: 2, memory: 2Gi, pods: 2}, code: {script: "true"}}
  - {name: c, type: shell, resources: {cpu: 1, memory: 1Gi}, code: {script: "true"}}
`

// waitsFor reports that the first attempt of a node has not begun, once it has a pod.
func (b *podBundle) waitsFor(id uuid.UUID, node int, code, message string) launcher.Attempt {
	b.t.Helper()
	task := query.TaskID(id, node, 1)
	a := b.cluster.pod(b.t, task)
	b.observe(launcher.Observation{TaskID: task, Waiting: &launcher.Waiting{Code: code, Message: message}})
	return a
}

// inCluster returns the nodes that wait in the cluster, by name.
func (b *podBundle) inCluster(place uuid.UUID, limit int) (query.ClusterWaits, []string) {
	b.t.Helper()
	waits, err := b.engine.Waits.InCluster(b.ctx, place, limit)
	require.NoError(b.t, err)
	var names []string
	for _, w := range waits.Entries {
		names = append(names, w.Name.Node)
	}
	return waits, names
}

func TestWhatWaitsInTheCluster(t *testing.T) {
	t.Parallel()
	b := setupPods(t)
	id := b.launch(threePods, nil)
	for node := range 3 {
		b.cluster.pod(t, query.TaskID(id, node, 1))
	}
	_, names := b.inCluster(uuid.Nil, 0)
	require.Empty(t, names, "a node without a reason is not waiting")

	b.waitsFor(id, 0, launcher.WaitImage, "The image cannot be pulled.")
	gang := b.waitsFor(id, 1, launcher.WaitUnschedulable, "0/4 nodes are available.")
	b.waitsFor(id, 2, launcher.WaitStarting, "The pod runs.")
	waits, names := b.inCluster(uuid.Nil, 0)
	require.ElementsMatch(t, []string{"a", "b"}, names, "a node that was just submitted is not waiting")
	require.Zero(t, waits.More)
	w := waits.Entries[1]
	if w.Name.Node != "b" {
		w = waits.Entries[0]
	}
	require.Equal(t, fair.Key{Execution: id, Node: 1}, w.Key)
	require.Equal(t, quota.Name{Workflow: "three", Node: "b"}, w.Name)
	require.Equal(t, auth.LocalProject, w.Project.ID)
	require.Equal(t, fair.Amount{CPUMillis: 4000, MemoryMiB: 4096, Pods: 2}, w.Requested, "of both pods")
	require.Equal(t, query.Reason{Code: launcher.WaitUnschedulable, Message: "0/4 nodes are available."}, w.Reason)
	require.WithinDuration(t, time.Now(), w.Since, time.Hour)

	b.setDispatched(id, 2, 29*time.Second)
	_, names = b.inCluster(uuid.Nil, 0)
	require.NotContains(t, names, "c")
	b.setDispatched(id, 2, 31*time.Second)
	_, names = b.inCluster(auth.LocalTenant, 0)
	require.Len(t, names, 3)
	require.Equal(t, "c", names[0], "the longest first")
	waits, names = b.inCluster(auth.LocalTeam, 1)
	require.Equal(t, []string{"c"}, names)
	require.Equal(t, 2, waits.More)

	b.begins(gang)
	b.nodeIs(id, "b", "the begin", func(n query.NodeDetail) bool { return n.State == dag.Running })
	_, names = b.inCluster(uuid.Nil, 0)
	require.Equal(t, []string{"c", "a"}, names, "a running node is no longer waiting")
	b.ends(gang, flowforgev1.Outcome_OUTCOME_SUCCEEDED, "")
	require.NoError(t, b.engine.Commands.Cancel(b.ctx, id, ""))
	require.Eventually(t, func() bool {
		_, names := b.inCluster(uuid.Nil, 0)
		return len(names) == 0
	}, 20*time.Second, 20*time.Millisecond, "a stopping node is not waiting")
	n := b.node(id, "a")
	require.Equal(t, dag.Queued, n.State, "its pod is still there")
	require.Equal(t, execution.ReasonStopping, n.Reason.Code)
}

// setDispatched sets how long ago a node was submitted to the cluster.
func (b *podBundle) setDispatched(id uuid.UUID, node int, ago time.Duration) {
	b.t.Helper()
	tag, err := b.pool.Exec(b.ctx, "UPDATE reservations SET created_at = $3 WHERE execution_id = $1 AND node_index = $2", id, node, time.Now().Add(-ago))
	require.NoError(b.t, err)
	require.EqualValues(b.t, 1, tag.RowsAffected())
}

// TestOthersInTheClusterStayHidden: nodes in projects that the reader may not see are
// neither listed nor counted.
func TestOthersInTheClusterStayHidden(t *testing.T) {
	t.Parallel()
	all := setupPods(t)
	vision := &podBundle{all.as(all.team("vision", nil, nil)), all.cluster}
	other := vision.launch(onePod, nil)
	vision.waitsFor(other, 0, launcher.WaitUnschedulable, "secret words")
	mine := all.launch(threePods, nil)
	all.waitsFor(mine, 0, launcher.WaitCluster, "away")

	_, names := all.inCluster(auth.Installation, 0)
	require.Len(t, names, 2)
	_, names = all.inCluster(uuid.Nil, 0)
	require.Equal(t, []string{"a"}, names, "only of the own project")
	_, names = vision.inCluster(uuid.Nil, 0)
	require.Equal(t, []string{"train"}, names)

	as := func(allowed func(auth.Action, uuid.UUID) bool) *podBundle {
		subject := auth.Subject{ID: uuid.New(), Role: auth.RoleUser, TenantID: auth.LocalTenant, ProjectID: auth.LocalProject, Policy: auth.PolicyFunc(allowed)}
		return &podBundle{all.as(auth.WithSubject(t.Context(), subject)), all.cluster}
	}
	// The caller may read all limits, but only executions of the own project.
	reader := as(func(a auth.Action, place uuid.UUID) bool { return a == auth.QuotaRead || place == auth.LocalProject })
	for _, place := range []uuid.UUID{auth.Installation, auth.LocalTenant, uuid.Nil} {
		waits, names := reader.inCluster(place, 1)
		require.Equal(t, []string{"a"}, names)
		require.Zero(t, waits.More, "others are not counted")
		seen, err := json.Marshal(waits)
		require.NoError(t, err)
		require.NotContains(t, string(seen), "secret")
		require.NotContains(t, string(seen), "vision")
	}
	member := as(func(_ auth.Action, place uuid.UUID) bool { return place == auth.LocalProject })
	for _, place := range []uuid.UUID{auth.Installation, uuid.New()} {
		_, err := member.engine.Waits.InCluster(member.ctx, place, 0)
		require.True(t, apperr.Is(err, apperr.NotFound))
	}
	nobody := as(func(auth.Action, uuid.UUID) bool { return false })
	_, err := nobody.engine.Waits.InCluster(nobody.ctx, uuid.Nil, 0)
	require.Error(t, err)
}
