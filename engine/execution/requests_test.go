package execution_test

import (
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/quota/fair"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// TestTasksWithoutResourcesRequestTheDefault: a task without a request uses the default of
// the nearest level, which is not a limit of its memory.
func TestTasksWithoutResourcesRequestTheDefault(t *testing.T) {
	t.Parallel()
	b := setup(t)
	subject, _ := auth.SubjectOf(b.ctx)
	set := func(node uuid.UUID, requests fair.Vector) {
		s, err := b.quotas.Editor.Get(b.ctx, node)
		require.NoError(t, err)
		s.Limits.Default = requests
		_, err = b.quotas.Editor.Put(b.ctx, node, quota.Edit{Limits: s.Limits, Version: s.Version})
		require.NoError(t, err)
	}
	set(auth.Installation, fair.Vector{fair.CPU: 100, fair.Memory: 256})
	set(subject.ProjectID, fair.Vector{fair.Memory: 32})
	cpu, memory := b.quotas.Levels.Requests(subject.ProjectID)
	require.Equal(t, []int{100, 32}, []int{cpu, memory}, "the nearest level that sets a resource")

	var limits sync.Map
	b.launcher.placed = func(a launcher.Attempt) []*flowforgev1.PlacedInput {
		limits.Store(a.GetNode(), a.GetMemoryLimitMib())
		return nil
	}
	id := b.launch(`
name: default-requests
version: 1.0.0
operators:
  - {name: none, type: shell, code: {script: 'sleep 30'}}
  - {name: own, type: shell, code: {script: 'sleep 30'}, resources: {cpu: 250m, memory: 512Mi}}
  - {name: nothing, type: noop}
`, nil)
	b.until(id, "both to run", func(e query.Execution) bool { return e.Counts.Running == 2 })
	rows, err := b.pool.Query(b.ctx, "SELECT node_index, cpu_millis, memory_mib FROM reservations WHERE execution_id = $1 AND node_index >= 0", id)
	require.NoError(t, err)
	held := map[int][2]int{}
	for rows.Next() {
		var node, cpu, memory int
		require.NoError(t, rows.Scan(&node, &cpu, &memory))
		held[node] = [2]int{cpu, memory}
	}
	require.NoError(t, rows.Err())
	require.Equal(t, map[int][2]int{0: {100, 32}, 1: {250, 512}}, held)
	require.NoError(t, b.engine.Commands.Cancel(b.ctx, id, ""))
	b.finish(id)
	none, _ := limits.Load("none")
	own, _ := limits.Load("own")
	require.Equal(t, []any{int64(0), int64(512)}, []any{none, own}, "a default request is not a limit")

	for _, wrong := range []fair.Vector{{fair.GPU: 1}, {fair.CPU: 1 << 40}} {
		_, err := b.quotas.Editor.Put(b.ctx, subject.ProjectID, quota.Edit{Limits: fair.Limits{Default: wrong}, Version: 1})
		require.ErrorContains(t, err, "default requests")
	}
}
