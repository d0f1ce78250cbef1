package execution_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// TestExecutionIsIdleWhileItsAttemptIsPreempted: after the preemption request the loop becomes
// idle until the attempt ends.
func TestExecutionIsIdleWhileItsAttemptIsPreempted(t *testing.T) {
	t.Parallel()
	all := setup(t, func(c *execution.Config) { c.Timing.StopGrace = time.Minute })
	b := all.as(all.team("vision", fair.Vector{fair.CPU: 2000}, nil))
	dir := t.TempDir()
	id := b.launch(fmt.Sprintf(`
name: slow
version: 1.0.0
operators:
  - {name: a, type: shell, resources: {cpu: 2}, code: {script: 'trap "" TERM; while [ ! -e %[1]s/stop ]; do sleep 0.01; done; exit 3'}}
`, dir), nil)
	b.until(id, "running", func(e query.Execution) bool { return e.Counts.Running == 1 })
	b.limitTeam("vision", 1000)
	b.until(id, "the wish", func(query.Execution) bool {
		r := b.node(id, "a").Reason
		return r != nil && r.Code == fair.Preempted
	})
	require.Eventually(t, func() bool {
		var resting bool
		err := b.pool.QueryRow(b.ctx, `SELECT e.lease_until IS NULL AND e.drive_requested_at IS NULL FROM executions e
			JOIN reservations r ON r.execution_id = e.id WHERE e.id = $1 AND r.preempt_taken_at IS NOT NULL`, id).Scan(&resting)
		return err == nil && resting
	}, 10*time.Second, 10*time.Millisecond)
	touch(t, dir+"/stop")
	b.until(id, "the end of the attempt", func(query.Execution) bool { return b.node(id, "a").Attempts[0].FinishedAt != nil })
	require.Equal(t, "PREEMPTED", b.node(id, "a").Attempts[0].Outcome)
	b.limitTeam("vision", 2000)
	b.until(id, "the second attempt", func(e query.Execution) bool { return e.Status.Ended() })
	preempting := 0
	for _, kind := range b.kinds(id) {
		if kind == "node.preempting" {
			preempting++
		}
	}
	require.Equal(t, 1, preempting, "it was asked once")
}

// limitTeam sets how much CPU a team of a test may use.
func (b *testBundle) limitTeam(name string, millis int) {
	b.t.Helper()
	_, err := b.pool.Exec(b.ctx, "UPDATE quotas q SET limits = jsonb_build_object('cpu', $1::int) FROM tenancy_nodes n WHERE n.id = q.node_id AND n.name = $2", millis, name)
	require.NoError(b.t, err)
	require.NoError(b.t, b.quotas.Levels.Reload(b.ctx))
}

// TestOfferOfAFullLevelDoesNotBegin: capacity that was reserved before the storage was full
// is released, and reserved again when storage is available.
func TestOfferOfAFullLevelDoesNotBegin(t *testing.T) {
	t.Parallel()
	all := setup(t)
	b := all.as(all.team("vision", fair.Vector{fair.CPU: 1000, fair.Storage: 1}, nil))
	dir := t.TempDir()
	first := b.launch(fmt.Sprintf("name: first\nversion: 1.0.0\noperators: [{name: a, type: shell, resources: {cpu: 1}, code: {script: 'while [ ! -e %s/stop ]; do sleep 0.01; done'}}]", dir), nil)
	b.until(first, "running", func(e query.Execution) bool { return e.Counts.Running == 1 })
	second := b.launch("name: second\nversion: 1.0.0\noperators: [{name: a, type: shell, resources: {cpu: 1}, code: {script: 'true'}}]", nil)
	b.until(second, "the reason", func(query.Execution) bool { return b.node(second, "a").Reason != nil })
	subject, _ := auth.SubjectOf(b.ctx)
	b.addStorage(subject.ProjectID, 3<<20)
	touch(t, dir+"/stop")
	require.Equal(t, query.Succeeded, b.finish(first).Status)
	b.until(second, "the reason that storage is full", func(query.Execution) bool {
		r := b.node(second, "a").Reason
		return r != nil && r.Code == fair.StorageLimit
	})
	require.Zero(t, b.node(second, "a").Attempt)
	_, err := b.pool.Exec(b.ctx, "UPDATE quotas SET limits = jsonb_build_object('cpu', 1000, 'storage', 10)")
	require.NoError(t, err)
	require.NoError(t, b.quotas.Levels.Reload(b.ctx))
	require.Equal(t, query.Succeeded, b.finish(second).Status)
}

func (b *testBundle) addStorage(project uuid.UUID, bytes int64) {
	b.t.Helper()
	require.NoError(b.t, db.Tx(b.ctx, b.pool, func(_ pgx.Tx, q *db.Queries) error {
		return b.quotas.Storage.Add(b.ctx, q, project, bytes, false)
	}))
}
