package execution_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
)

// TestLocks runs nodes that take turns: at most one at a time with a mutex, at most two with
// a semaphore of two, across executions.
func TestLocks(t *testing.T) {
	t.Parallel()
	for permits, lock := range map[int]string{1: "one", 2: "{name: two, permits: 2}"} {
		t.Run(lock, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			dir := t.TempDir()
			doc := fmt.Sprintf(`
name: turns
version: 1.0.0
operators:
  - name: each
    type: shell
    foreach: [1, 2, 3]
    locks: [%s]
    code: {script: 'mkdir -p %[2]s/in; touch %[2]s/in/$$; ls %[2]s/in | wc -l >> %[2]s/seen; sleep 0.05; rm %[2]s/in/$$'}
`, lock, dir)
			first := b.launch(doc, nil)
			second := b.launchVersion(doc)
			require.Equal(t, query.Succeeded, b.finish(first).Status)
			require.Equal(t, query.Succeeded, b.finish(second).Status)
			lines := readLines(t, dir+"/seen")
			require.Len(t, lines, 6)
			for _, line := range lines {
				require.Contains(t, []string{"1", "2"}[:permits], strings.TrimSpace(line))
			}
			var left int
			require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT (SELECT count(*) FROM locks) + (SELECT count(*) FROM lock_waits)").Scan(&left))
			require.Zero(t, left)
		})
	}
}

func TestMaxRunningKeepsExecutionsBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	dir := t.TempDir()
	doc := fmt.Sprintf(`
name: alone
version: 1.0.0
max_running: 1
operators:
  - {name: wait, type: shell, code: {script: 'while [ ! -e %s/go ]; do sleep 0.02; done'}}
`, dir)
	first := b.launch(doc, nil)
	b.untilNode(first, "wait", dag.Running)
	second := b.launchVersion(doc)
	e := b.until(second, "a reason", func(e query.Execution) bool { return e.Reason != nil })
	require.Equal(t, query.Pending, e.Status)
	require.Equal(t, execution.ReasonLock, e.Reason.Code)
	require.Contains(t, e.Reason.Message, "has reached its limit of concurrent executions (1)")
	touch(t, dir+"/go")
	require.Equal(t, query.Succeeded, b.finish(first).Status)
	require.Equal(t, query.Succeeded, b.finish(second).Status)
}

// TestLocksAreHeldInOrder: a flush that takes the locks of several nodes does not wait for one while it
// holds another, because a flush that takes them in another order could wait for it.
func TestLocksAreHeldInOrder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := func(name string) string { return auth.LocalProject.String() + "/" + name }
	other, err := b.pool.Begin(b.ctx)
	require.NoError(t, err)
	defer func() { _ = other.Rollback(b.ctx) }()
	require.NoError(t, db.New(other).HoldLockName(b.ctx, key("a")))
	id := b.launch(`
name: both
version: 1.0.0
operators:
  - {name: first, type: noop, locks: [b]}
  - {name: second, type: noop, locks: [a]}
`, nil)
	b.eventually("wait for a lock", `SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database
		WHERE d.datname = current_database() AND l.locktype = 'advisory' AND NOT l.granted)`)
	var free bool
	require.NoError(t, other.QueryRow(b.ctx, "SELECT pg_try_advisory_xact_lock(hashtextextended($1, 7166661002))", key("b")).Scan(&free))
	require.True(t, free, "the flush holds b while it waits for a")
	require.NoError(t, other.Commit(b.ctx))
	require.Equal(t, query.Succeeded, b.finish(id).Status)
}
