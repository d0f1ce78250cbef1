package pool_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/compute/pool"
	"github.com/flowforge/flowforge/db/dbtest"
)

// TestShortagesAreReportedOnce: while tasks wait for a pool without workers, from the fifth minute until a worker
// connects.
func TestShortagesAreReportedOnce(t *testing.T) {
	t.Parallel()
	database, ctx := dbtest.New(t), auth.AsSystem(t.Context())
	var later atomic.Int64
	pools := pool.New(pool.Config{Pool: database, Now: func() time.Time { return time.Now().Add(time.Duration(later.Load())) }})
	execution := uuid.New()
	_, err := database.Exec(ctx, `WITH p AS (INSERT INTO pools (name, created_at, created_by) VALUES ('lab', now(), 'ada'))
		INSERT INTO pool_work (task_id, pool, execution_id, node_index, attempt, tenant_id, project_id, labels, cpu_millis, memory_mib, gpus, gpu_type, priority, spec, queued_at)
		VALUES ($1, 'lab', $2, 0, 1, $3, $4, '{}', 0, 0, 0, '', 50, '', now())`, execution.String()+".0.1", execution, auth.LocalTenant, auth.LocalProject)
	require.NoError(t, err)
	recorded := func() (actions []string) {
		require.NoError(t, pools.ReportShortages(ctx))
		require.NoError(t, database.QueryRow(ctx, "SELECT coalesce(array_agg(action ORDER BY id), '{}') FROM audit_log WHERE object_kind = 'pool' AND project_id = $1", auth.LocalProject).Scan(&actions))
		return actions
	}
	require.Empty(t, recorded())
	later.Store(int64(6 * time.Minute))
	require.Equal(t, []string{"pool.stall"}, recorded())
	require.Equal(t, []string{"pool.stall"}, recorded())
	_, err = database.Exec(ctx, `INSERT INTO pool_workers (id, pool, name, session, labels, slots, cpu_millis, memory_mib, gpus, gpu_type, version, joined_at, seen_at)
		VALUES ($1, 'lab', 'w1', $1, '{}', 1, 0, 0, 0, '', '1', now(), now() + interval '6 minutes')`, uuid.New())
	require.NoError(t, err)
	require.Equal(t, []string{"pool.stall", "pool.recover"}, recorded())
	_, err = database.Exec(ctx, "DELETE FROM pool_workers")
	require.NoError(t, err)
	require.Equal(t, []string{"pool.stall", "pool.recover", "pool.stall"}, recorded())
	_, err = database.Exec(ctx, "DELETE FROM pool_work")
	require.NoError(t, err)
	require.Equal(t, []string{"pool.stall", "pool.recover", "pool.stall", "pool.recover"}, recorded())
}
