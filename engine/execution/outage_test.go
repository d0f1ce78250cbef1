package execution_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/platform/freeport"
)

// TestAnOutageFailsNoAttempt: the database of artifacts does not respond when a task has succeeded. Its
// attempt stays successful, because its outputs are read again after the outage.
func TestAnOutageFailsNoAttempt(t *testing.T) {
	t.Parallel()
	var outage, refused atomic.Bool
	outage.Store(true)
	b := setup(t, func(c *execution.Config) {
		config := c.Pool.Config()
		dial := config.ConnConfig.DialFunc
		config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			if !outage.Load() {
				return dial(ctx, network, address)
			}
			refused.Store(true)
			return (&net.Dialer{}).DialContext(ctx, "tcp", freeport.Address(t))
		}
		pool, err := pgxpool.NewWithConfig(t.Context(), config)
		require.NoError(t, err)
		t.Cleanup(pool.Close)
		store, err := artifact.OpenStore(t.TempDir())
		require.NoError(t, err)
		c.Artifacts = artifact.NewService(pool, store, time.Now)
	})
	b.keepFiles()
	id := b.launch(`
name: outage
version: 1.0.0
operators:
  - {name: train, type: shell, code: {script: "echo weights"}, outputs: [{name: model, type: File}]}
`, nil)
	require.Eventually(t, refused.Load, 20*time.Second, 5*time.Millisecond, "the engine looks for the bytes of the output")
	outage.Store(false)
	e := b.finish(id)
	require.Equal(t, query.Succeeded, e.Status, "%v", e.Error)
}
