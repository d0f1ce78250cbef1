package execution_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
)

// refusedReads fails a number of statements with a name.
type refusedReads struct {
	name string
	left atomic.Int32
}

func (f *refusedReads) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if strings.HasPrefix(data.SQL, "-- name: "+f.name+" ") && f.left.Add(-1) >= 0 {
		failed, cancel := context.WithCancel(ctx)
		cancel()
		return failed
	}
	return ctx
}

func (*refusedReads) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TestTheTimeLimitOfRetriesIsRead: while the database does not return the earlier attempts, FlowForge does not
// start another one after the time limit.
func TestTheTimeLimitOfRetriesIsRead(t *testing.T) {
	t.Parallel()
	reads := &refusedReads{name: "ListAttempts"}
	reads.left.Store(2)
	b := argoSetup(t, func(c *execution.Config) {
		config := c.Pool.Config()
		config.ConnConfig.Tracer = reads
		pool, err := pgxpool.NewWithConfig(t.Context(), config)
		require.NoError(t, err)
		t.Cleanup(pool.Close)
		c.Pool = pool
	})
	id := b.launch(`
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: limited}
spec:
  entrypoint: main
  templates:
  - name: main
    retryStrategy: {limit: 3, backoff: {duration: "1", maxDuration: "1"}}
    container: {image: busybox, command: [sh, -c], args: ["sleep 1; exit 1"]}
`, nil)
	e := b.finish(id)
	require.Equal(t, query.Failed, e.Status)
	require.Negative(t, reads.left.Load(), "the read is repeated")
	require.Len(t, b.node(id, "main").Attempts, 1)
}
