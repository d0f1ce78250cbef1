package execution_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// team adds a team with limits and one project, and returns a context that acts
// in that project.
func (b *testBundle) team(name string, limit, borrow fair.Vector) context.Context {
	b.t.Helper()
	team, project := uuid.New(), uuid.New()
	exec := func(sql string, args ...any) {
		_, err := b.pool.Exec(b.ctx, sql, args...)
		require.NoError(b.t, err)
	}
	exec(`INSERT INTO tenancy_nodes (id, kind, parent_id, parent_kind, tenant_id, path, name)
		SELECT $1, 'team', id, kind, id, path || $1::uuid, $2 FROM tenancy_nodes WHERE id = $3`, team, name, auth.LocalTenant)
	exec(`INSERT INTO tenancy_nodes (id, kind, parent_id, parent_kind, tenant_id, path, name, namespace)
		SELECT $1, 'project', id, kind, tenant_id, path || $1::uuid, $2, 'ff-' || $2 FROM tenancy_nodes WHERE id = $3`, project, name, team)
	exec("INSERT INTO quotas (node_id, limits, borrow) VALUES ($1, $2, $3)", team, fair.Vector{}.Plus(limit), fair.Vector{}.Plus(borrow))
	subject := auth.Local()
	subject.ProjectID = project
	require.NoError(b.t, b.quotas.Levels.Reload(b.ctx))
	return auth.WithSubject(b.ctx, subject)
}

// as acts in another project from now on.
func (b *testBundle) as(ctx context.Context) *testBundle {
	other := *b
	other.ctx = ctx
	return &other
}

// TestALimitOfExecutionsHoldsTheNextBack: it stays PENDING, has a reason, and begins when
// the first has ended.
func TestALimitOfExecutionsHoldsTheNextBack(t *testing.T) {
	t.Parallel()
	all := setup(t)
	b := all.as(all.team("vision", fair.Vector{fair.Executions: 1}, nil))
	stop := t.TempDir() + "/stop"
	doc := fmt.Sprintf("name: one\nversion: 1.0.0\noperators: [{name: a, type: shell, code: {script: 'while [ ! -e %s ]; do sleep 0.01; done'}}, {name: b, type: noop}]", stop)
	first := b.launch(doc, nil)
	b.until(first, "running", func(e query.Execution) bool { return e.Counts.Running == 1 })
	second := b.launchVersion(doc)
	e := b.until(second, "a reason", func(e query.Execution) bool { return e.Reason != nil })
	require.Equal(t, query.Pending, e.Status)
	require.Equal(t, fair.ExecutionsLimit, e.Reason.Code)
	require.Zero(t, e.Counts.Running+e.Counts.Queued+e.Counts.Succeeded, "no node begins, not even one without requests")
	third := b.launchVersion(doc)
	require.NoError(t, b.engine.Commands.Cancel(b.ctx, third, ""))
	require.Equal(t, query.Cancelled, b.finish(third).Status, "an execution that never began can be cancelled")
	touch(t, stop)
	b.finish(first)
	e = b.finish(second)
	require.Equal(t, query.Succeeded, e.Status)
	require.Nil(t, e.Reason)
	require.Equal(t, []string{"execution.launched", "execution.waiting", "execution.started"}, b.kinds(second)[:3])
}

// TestGPUsAreAllocatedByIndex: no two attempts see the same GPU, and attempts without a
// request see none.
func TestGPUsAreAllocatedByIndex(t *testing.T) {
	t.Parallel()
	devices, err := quota.ParseGPUs("A100:2,H100:1")
	require.NoError(t, err)
	b := setup(t, func(c *execution.Config) { c.Capacity.GPUs = devices })
	dir := t.TempDir()
	script := fmt.Sprintf(`echo "[$CUDA_VISIBLE_DEVICES] $NVIDIA_VISIBLE_DEVICES" > %s/$NODE; while [ ! -e %s/stop ]; do sleep 0.01; done`, dir, dir)
	var doc strings.Builder
	doc.WriteString("name: gpus\nversion: 1.0.0\noperators:\n")
	for node, resources := range map[string]string{"a": "gpu: 1, gpu_type: A100", "b": "gpu: 1, gpu_type: A100", "h": "gpu: 1, gpu_type: H100", "none": "cpu: 100m"} {
		fmt.Fprintf(&doc, "  - {name: %s, type: shell, resources: {%s}, code: {script: '%s'}}\n", node, resources, script)
	}
	id := b.launch(doc.String(), nil)
	b.until(id, "all running", func(e query.Execution) bool { return e.Counts.Running == 4 })
	late := b.launch("name: late\nversion: 1.0.0\noperators: [{name: a, type: shell, resources: {gpu: 1}, code: {script: 'true'}}]", nil)
	b.until(late, "waiting", func(e query.Execution) bool { return e.Counts.Ready == 1 && b.node(late, "a").Reason != nil })
	require.Equal(t, fair.GPUUnavailable, b.node(late, "a").Reason.Code)
	touch(t, dir+"/stop")
	b.finish(id)
	require.Equal(t, query.Succeeded, b.finish(late).Status)
	require.ElementsMatch(t, []string{"[0] 0", "[1] 1"}, []string{readLines(t, dir+"/a")[0], readLines(t, dir+"/b")[0]})
	require.Equal(t, "[2] 2", readLines(t, dir+"/h")[0])
	require.Equal(t, "[] void", readLines(t, dir+"/none")[0])
}

func TestWhatNeverFitsNamesTheLevel(t *testing.T) {
	t.Parallel()
	devices, err := quota.ParseGPUs("A100:4")
	require.NoError(t, err)
	all := setup(t, func(c *execution.Config) { c.Capacity.GPUs = devices })
	b := all.as(all.team("vision", fair.Vector{fair.GPU: 2}, nil))
	b.register("name: big\nversion: 1.0.0\noperators: [{name: a, type: shell, resources: {gpu: 3}, code: {script: 'true'}}]")
	_, _, err = b.engine.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: "big"})
	require.True(t, apperr.Is(err, apperr.Invalid))
	field := apperr.FieldsOf(err)[0]
	require.Equal(t, "operators.a.resources.gpu", field.Path)
	for _, part := range []string{"3 GPUs", "is 2", "team vision"} {
		require.Contains(t, field.Message, part)
	}
}

// TestPreemption: a borrower is preempted for a guaranteed request, saves a checkpoint,
// spends no retry and runs again.
func TestPreemption(t *testing.T) {
	t.Parallel()
	all := setup(t)
	limit := fair.Vector{fair.CPU: 2000}
	borrower := all.as(all.team("borrower", limit, limit))
	owner := all.as(all.team("owner", limit, limit))
	dir := t.TempDir()
	id := borrower.launch(fmt.Sprintf(`
name: borrows
version: 1.0.0
operators:
  - {name: own, type: shell, resources: {cpu: 2}, code: {script: 'echo "${TASK##*.} $RETRY" >> %[1]s/own; while [ ! -e %[1]s/stop ]; do sleep 0.01; done'}}
  - {name: lent, type: shell, depends_on: [], resources: {cpu: 2}, grace_period: 20s,
     code: {script: 'trap "echo saved >> %[1]s/saved; exit 3" TERM; echo "${TASK##*.} $RETRY" >> %[1]s/lent; while [ ! -e %[1]s/stop ]; do sleep 0.01; done'}}
`, dir), nil)
	borrower.until(id, "both running", func(e query.Execution) bool { return e.Counts.Running == 2 })
	blocked := owner.launch("name: wants\nversion: 1.0.0\noperators: [{name: a, type: shell, resources: {cpu: 2}, code: {script: 'true'}}]", nil)
	require.Equal(t, query.Succeeded, owner.finish(blocked).Status, "it did not wait for the end of the borrower")
	borrower.until(id, "running again", func(e query.Execution) bool { return e.Counts.Running == 2 })
	touch(t, dir+"/stop")
	require.Equal(t, query.Succeeded, borrower.finish(id).Status)

	preempted := map[string]query.NodeDetail{}
	for _, name := range []string{"own", "lent"} {
		if n := borrower.node(id, name); n.Attempt == 2 {
			preempted[name] = n
		}
	}
	require.Len(t, preempted, 1, "no more than necessary")
	for name, n := range preempted {
		require.Equal(t, "PREEMPTED", n.Attempts[0].Outcome)
		require.Zero(t, n.Retries)
		recorded, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, "1 0\n2 0\n", string(recorded), "attempts and spent retries")
		require.Nil(t, n.Reason)
	}
	kinds := strings.Join(borrower.kinds(id), " ")
	require.Contains(t, kinds, "node.preempting")
	require.Contains(t, kinds, "node.preempted")
	all.checkCounters()
}

// TestNothingStartsWhileStorageIsFull: running attempts keep their outputs; the next one
// waits.
func TestNothingStartsWhileStorageIsFull(t *testing.T) {
	t.Parallel()
	all := setup(t)
	b := all.as(all.team("vision", fair.Vector{fair.Storage: 1}, nil))
	project, _ := auth.SubjectOf(b.ctx)
	require.NoError(t, db.Tx(b.ctx, b.pool, func(_ pgx.Tx, q *db.Queries) error {
		return b.quotas.Storage.Add(b.ctx, q, project.ProjectID, 3<<20, false)
	}))
	id := b.launch("name: writes\nversion: 1.0.0\noperators: [{name: a, type: shell, code: {script: 'true'}}]", nil)
	e := b.until(id, "a reason", func(e query.Execution) bool {
		return e.Reason != nil || e.Counts.Ready == 1 && b.node(id, "a").Reason != nil
	})
	reason := e.Reason
	if reason == nil {
		reason = b.node(id, "a").Reason
	}
	require.Equal(t, fair.StorageLimit, reason.Code)
	_, err := b.pool.Exec(b.ctx, "UPDATE quotas SET limits = jsonb_build_object('storage', 10)")
	require.NoError(t, err)
	require.NoError(t, b.quotas.Levels.Reload(b.ctx))
	require.Equal(t, query.Succeeded, b.finish(id).Status)
}

// TestABlobCountsOncePerProject: a blob counts on every level above the project, and an
// upload beyond a limit is refused with the numbers.
func TestABlobCountsOncePerProject(t *testing.T) {
	t.Parallel()
	all := setup(t)
	b := all.as(all.team("vision", fair.Vector{fair.Storage: 1}, nil))
	for range 2 {
		_, err := b.artifacts.Upload(b.ctx, strings.NewReader(strings.Repeat("x", 1<<19)))
		require.NoError(t, err)
	}
	_, err := b.artifacts.Upload(b.ctx, strings.NewReader(strings.Repeat("y", 1<<20)))
	require.True(t, apperr.Is(err, apperr.Quota))
	require.ErrorContains(t, err, "team vision uses 1 MiB of 1 MiB")
	_, err = all.artifacts.Upload(all.ctx, strings.NewReader(strings.Repeat("x", 1<<19)))
	require.NoError(t, err, "another project has it, too")
	var bytes int64
	require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT storage_bytes FROM quota_usage WHERE node_id = $1", auth.LocalTenant).Scan(&bytes))
	require.Equal(t, int64(1<<20), bytes)
}

// TestCountersSurviveManyExecutions: however executions end, the counters of every level
// return to zero.
func TestCountersSurviveManyExecutions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	doc := `
name: mixed
version: 1.0.0
operators:
  - {name: a, type: shell, code: {script: 'true'}}
  - {name: bad, type: shell, code: {script: 'exit 1'}, retry: {limit: 1, initial_delay: 1ms, fail_fast: false}}
  - {name: c, type: shell, depends_on: [a], resources: {cpu: 700m}, code: {script: 'true'}}
`
	var ids []uuid.UUID
	for i := range 12 {
		ids = append(ids, b.launchVersion(doc))
		if i%4 == 0 {
			require.NoError(t, b.engine.Commands.Cancel(b.ctx, ids[i], "not this one"))
		}
	}
	for _, id := range ids {
		b.finish(id)
	}
	var used map[string]json.Number
	require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT used FROM quota_usage WHERE node_id = $1", auth.Installation).Scan(&used))
	require.Empty(t, used)
	require.NoError(t, b.quotas.Reconciler.Reconcile(b.ctx))
	d, err := b.quotas.Reconciler.Drift(b.ctx)
	require.NoError(t, err)
	require.True(t, d.FoundAt.IsZero(), "%+v", d.Levels)
}
