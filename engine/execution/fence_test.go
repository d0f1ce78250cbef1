package execution_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/quota"
)

// waits has a task that ends when the file FILE exists, and a second one after it.
const waits = `
name: waits
version: 1.0.0
operators:
  - {name: a, type: shell, code: {script: "while [ ! -e FILE ]; do sleep 0.02; done"}}
  - {name: b, type: shell, code: {script: "true"}, depends_on: [a]}
`

// term makes number the latest term of the scheduler.
func (b *testBundle) term(number int64) {
	_, err := b.pool.Exec(context.Background(), `INSERT INTO leases (name, holder, term, address, expires_at)
		VALUES ('scheduler', 'other', $1, '', now() + interval '1 hour') ON CONFLICT ON CONSTRAINT leases_pkey DO UPDATE SET term = EXCLUDED.term`, number)
	if err != nil {
		b.t.Error(err)
	}
}

// lead makes the engine of b drive under term 1.
func (b *testBundle) lead() {
	b.t.Helper()
	b.term(1)
	require.NoError(b.t, b.engine.Driver.TakeOver(b.ctx, 1))
}

// other is a second server on the same database, which drives nothing by itself.
func (b *testBundle) other() *execution.Service {
	b.t.Helper()
	s, err := execution.New(execution.Config{
		Pool: b.pool, Workflows: b.workflows, Artifacts: b.artifacts, Launcher: b.launcher, LauncherName: "shared", Signer: testSigner(b.t), Instance: "other",
		Capacity: quota.Capacity{CPUMillis: 4000, MemoryMiB: 4096, Pods: 8}, Logger: testLogger(b.t),
	})
	require.NoError(b.t, err)
	require.NoError(b.t, s.Prepare(b.ctx))
	return s
}

func shared(c *execution.Config) { c.LauncherName = "shared" }

// A leader that does not yet know its successor can neither renew the leases of its
// executions nor write anything.
func TestAFormerLeaderIsFenced(t *testing.T) {
	t.Parallel()
	b := setup(t, shared, func(c *execution.Config) { c.Timing.Linger = time.Minute })
	b.lead()
	file := t.TempDir() + "/go"
	id := b.launch(strings.ReplaceAll(waits, "FILE", file), nil)
	b.until(id, "it runs", func(e query.Execution) bool { return e.Counts.Running == 1 })

	other := b.other()
	b.term(2)
	require.NoError(t, other.Driver.TakeOver(b.ctx, 2))
	require.NoError(t, b.engine.RenewLeases(b.ctx))
	require.False(t, b.leased(id), "the former leader renewed a lease that it no longer owns")

	// Its loop receives the end first, and cannot write it; the new leader can.
	touch(t, file)
	require.Eventually(t, func() bool {
		require.NoError(t, other.Driver.Drive(b.ctx, id))
		e, err := b.engine.Get(b.ctx, id)
		return err == nil && e.Status.Ended()
	}, 20*time.Second, 20*time.Millisecond)
	require.Equal(t, query.Succeeded, b.finish(id).Status)
	var owner string
	require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT owner FROM executions WHERE id = $1", id).Scan(&owner))
	require.True(t, strings.HasPrefix(owner, "other/"), owner)
	b.launcher.mu.Lock()
	defer b.launcher.mu.Unlock()
	require.Equal(t, 1, b.launcher.starts[query.TaskID(id, 1, 1)])
}

func (b *testBundle) leased(id uuid.UUID) (leased bool) {
	b.t.Helper()
	require.NoError(b.t, b.pool.QueryRow(b.ctx, "SELECT coalesce(lease_until > now(), false) FROM executions WHERE id = $1", id).Scan(&leased))
	return leased
}

// The term ends while an execution is being acquired, after its loop was admitted: the loop
// checks again before it does anything.
func TestATermEndsWhileAnExecutionIsAcquired(t *testing.T) {
	t.Parallel()
	var bundle atomic.Pointer[testBundle]
	var over atomic.Bool
	b := setup(t, shared, func(c *execution.Config) {
		c.Crash = func(point string) {
			if point == "drive.acquired" && !over.Swap(true) {
				bundle.Load().term(2)
			}
		}
	})
	bundle.Store(b)
	b.lead()
	id := b.launch(strings.ReplaceAll(waits, "FILE", "/"), nil)
	require.Eventually(t, func() bool {
		var free bool
		err := b.pool.QueryRow(b.ctx, "SELECT owner_epoch > 0 AND lease_until IS NULL FROM executions WHERE id = $1", id).Scan(&free)
		return err == nil && free && over.Load()
	}, 20*time.Second, 20*time.Millisecond)
	b.untouched(id)

	require.NoError(t, b.engine.Driver.TakeOver(b.ctx, 2))
	require.Equal(t, query.Succeeded, b.finish(id).Status)
}

// untouched checks that no attempt of the execution was created or started.
func (b *testBundle) untouched(id uuid.UUID) {
	b.t.Helper()
	var attempts int
	require.NoError(b.t, b.pool.QueryRow(b.ctx, "SELECT count(*) FROM attempts WHERE execution_id = $1", id).Scan(&attempts))
	require.Zero(b.t, attempts)
	b.launcher.mu.Lock()
	defer b.launcher.mu.Unlock()
	require.Empty(b.t, b.launcher.starts)
}

// A leader is frozen between the commit of a claim and its start. When it continues, the
// attempt may have run and ended under another leader: it is not started again.
func TestAFormerLeaderStartsNothing(t *testing.T) {
	t.Parallel()
	var bundle atomic.Pointer[testBundle]
	var tried atomic.Int32
	b := setup(t, shared, func(c *execution.Config) {
		c.Crash = func(point string) {
			switch point {
			case "start.begin":
				bundle.Load().term(2)
				tried.Add(1)
			case "start.again":
				tried.Add(1)
			}
		}
	})
	bundle.Store(b)
	b.lead()
	id := b.launch(strings.ReplaceAll(waits, "FILE", "/"), nil)
	require.Eventually(t, func() bool { return tried.Load() >= 3 }, 20*time.Second, 5*time.Millisecond)
	b.launcher.mu.Lock()
	require.Empty(t, b.launcher.starts)
	b.launcher.mu.Unlock()

	require.NoError(t, b.engine.Driver.TakeOver(b.ctx, 2))
	require.Equal(t, query.Succeeded, b.finish(id).Status)
}
