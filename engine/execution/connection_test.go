package execution_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/typeregistry"
)

// TestCancelUsesOneConnection: a request that waits for a second connection in its transaction keeps the first
// one from other requests, which do the same.
func TestCancelUsesOneConnection(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.launch(`
name: cleans
version: 1.0.0
on_exit: [{name: clean, type: shell, code: {script: "true"}}]
operators: [{name: a, type: shell, code: {script: "sleep 60"}}]
`, nil)
	b.until(id, "running", func(e query.Execution) bool { return e.Counts.Running == 1 })
	config := b.pool.Config()
	config.MaxConns = 1
	pool, err := pgxpool.NewWithConfig(b.ctx, config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	other, err := execution.New(execution.Config{
		Pool: pool, Workflows: workflow.NewService(pool, builtinTypes{typeregistry.Builtin()}, nil, time.Now), Artifacts: b.artifacts, Launcher: b.launcher, Signer: testSigner(t), Instance: "other",
	})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(b.ctx, 10*time.Second)
	defer cancel()
	require.NoError(t, other.Commands.Cancel(ctx, id, "Enough."))
	require.Equal(t, query.Cancelled, b.finish(id).Status)
}
