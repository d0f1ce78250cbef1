package execution_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

// TestAwaitedBeginReachesTheNextLoop: a loop loses its lease while the begin of a writer arrives, and the next
// loop is idle before the begin is written. It is woken, because a reader waits for that begin.
func TestAwaitedBeginReachesTheNextLoop(t *testing.T) {
	t.Parallel()
	var bundle atomic.Pointer[podBundle]
	var held atomic.Bool
	reached, end := make(chan struct{}), make(chan struct{})
	b := setupPods(t, func(c *execution.Config) {
		c.Cluster = false
		c.Crash = func(at string) {
			b := bundle.Load()
			if at != "flush.effects" || b == nil {
				return
			}
			var claimed bool
			if err := b.pool.QueryRow(b.ctx, `SELECT EXISTS (SELECT FROM attempts)`).Scan(&claimed); err == nil && claimed && !held.Swap(true) {
				close(reached)
				<-end
			}
		}
	})
	bundle.Store(b)
	id := b.launch(streams, nil)
	<-reached
	writer := b.pod(t, query.TaskID(id, 0, 1))
	tx, err := b.pool.Begin(b.ctx)
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(b.ctx) }()
	_, err = tx.Exec(b.ctx, `SELECT 1 FROM attempts WHERE execution_id = $1 FOR NO KEY UPDATE`, id)
	require.NoError(t, err)

	delivered := make(chan error, 1)
	go func() {
		_, err := b.engine.Supervisor.Deliver(auth.AsSystem(b.ctx), []*flowforgev1.AttemptReport{{
			TaskId: writer.GetTaskId(), Token: writer.GetToken(),
			Report: &flowforgev1.AttemptReport_Started{Started: &flowforgev1.Started{Timestamp: time.Now().UnixMilli(), Host: "node-1", Awaited: true}},
		}})
		delivered <- err
	}()
	b.eventually("the begin waits for the row", `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')`)
	_, err = b.pool.Exec(b.ctx, `UPDATE executions SET owner = 'another', owner_epoch = owner_epoch + 1, lease_until = now() + interval '1 hour'`)
	require.NoError(t, err)
	close(end)
	require.Eventually(t, func() bool {
		require.NoError(t, b.engine.RenewLeases(b.ctx))
		return !b.engine.Drives(id)
	}, 20*time.Second, 5*time.Millisecond, "the loop ends without its lease")
	_, err = b.pool.Exec(b.ctx, `UPDATE executions SET lease_until = now() - interval '1 second'`)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		b.cluster.mu.Lock()
		defer b.cluster.mu.Unlock()
		return b.cluster.starts[writer.GetTaskId()] == 2
	}, 20*time.Second, 5*time.Millisecond, "the next loop starts the attempt again")
	b.eventually("the next loop is idle", `SELECT lease_until IS NULL FROM executions`)
	require.NoError(t, tx.Commit(b.ctx))
	require.NoError(t, <-delivered)

	reader := b.pod(t, query.TaskID(id, 1, 1))
	b.begins(reader)
	b.leaves(writer, "rows", b.upload("rows"))
	b.leaves(reader, "sum", b.upload("sum"))
	require.Equal(t, query.Succeeded, b.finish(id).Status)
}

// eventually waits until a query returns true.
func (b *testBundle) eventually(what, sql string) {
	b.t.Helper()
	require.Eventually(b.t, func() bool {
		var is bool
		return b.pool.QueryRow(b.ctx, sql).Scan(&is) == nil && is
	}, 20*time.Second, 5*time.Millisecond, what)
}
