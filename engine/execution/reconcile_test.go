package execution_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/db/dbtest"
	"github.com/flowforge/flowforge/engine/execution"
)

// TestWatchWakesTheSearch: an execution that no loop drives is found when the watch reports a change.
func TestWatchWakesTheSearch(t *testing.T) {
	t.Parallel()
	watch := dbtest.NewWatch(t)
	b := setup(t, func(c *execution.Config) { c.Watch = watch.Watch })
	id := b.launch(`{name: quick, version: 1.0.0, operators: [{name: one, type: noop}]}`, nil)
	b.finish(id)
	watch.Rests(1)
	// A timer that another server set is due, and the job that drives the execution was lost.
	_, err := b.pool.Exec(b.ctx, "UPDATE executions SET status = 'RUNNING', finished_at = NULL, wake_at = now() WHERE id = $1", id)
	require.NoError(t, err)
	watch.Wakes(func() (found bool) {
		require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT wake_at IS NULL FROM executions WHERE id = $1", id).Scan(&found))
		return found
	})
}
