package pool_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/compute/pool"
	"github.com/flowforge/flowforge/db/dbtest"
)

// TestWatchWakesTheLoop: the wait of an attempt that another server queued is explained when the watch
// reports a change.
func TestWatchWakesTheLoop(t *testing.T) {
	t.Parallel()
	database, watch := dbtest.New(t), dbtest.NewWatch(t)
	var explained atomic.Int64
	pools := pool.New(pool.Config{Pool: database, Watch: watch.Watch, Now: time.Now})
	watch.Run(1, func(ctx context.Context) {
		pools.Run(ctx, func(_ context.Context, seen []launcher.Observation) error {
			explained.Add(int64(len(seen)))
			return nil
		})
	})
	execution := uuid.New()
	_, err := database.Exec(t.Context(), `WITH p AS (INSERT INTO pools (name, created_at, created_by) VALUES ('lab', now(), 'ada'))
		INSERT INTO pool_work (task_id, pool, execution_id, node_index, attempt, tenant_id, project_id, labels, cpu_millis, memory_mib, gpus, gpu_type, priority, spec, queued_at)
		VALUES ($1, 'lab', $2, 0, 1, $3, $4, '{}', 0, 0, 0, '', 50, '', now())`, execution.String()+".0.1", execution, auth.LocalTenant, auth.LocalProject)
	require.NoError(t, err)
	watch.Wakes(func() bool { return explained.Load() > 0 })
}
