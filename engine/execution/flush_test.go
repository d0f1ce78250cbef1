package execution_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
)

// TestAFlushOfAnotherStateWritesNothing: the loop finds that a row is not as it remembers, writes
// no part of the flush, and continues from the rows.
func TestAFlushOfAnotherStateWritesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	released := filepath.Join(t.TempDir(), "released")
	id := b.launch(`
name: changed
version: 1.0.0
operators:
  - name: first
    type: shell
    code: {script: 'until [ -e `+released+` ]; do sleep 0.01; done'}
  - name: second
    type: shell
    depends_on: [first]
    code: {script: 'true'}
`, nil)
	b.until(id, "first to run", func(query.Execution) bool { return b.node(id, "first").State == dag.Running })
	_, err := b.pool.Exec(b.ctx, `UPDATE nodes SET attempt = 5 WHERE execution_id = $1 AND name = 'second'`, id)
	require.NoError(t, err)
	touch(t, released)
	require.Equal(t, query.Succeeded, b.finish(id).Status)
	var attempt int
	require.NoError(t, b.pool.QueryRow(b.ctx, `SELECT attempt FROM nodes WHERE execution_id = $1 AND name = 'second'`, id).Scan(&attempt))
	require.Equal(t, 6, attempt, "the loop read the rows again")
}
