package inbox_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/inbox"
	"github.com/flowforge/flowforge/engine/notify"
)

// TestAPoolWithoutWorkers: those whose tasks wait are notified until a worker connects.
func TestAPoolWithoutWorkers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, mei := b.person("ada", auth.ProjectDev), b.person("mei", auth.ProjectDev)
	id := b.launched(ada)
	b.launched(mei)
	b.exec("INSERT INTO pools (name, created_at, created_by) VALUES ('lab', now(), 'eve')")
	b.exec(`INSERT INTO pool_work (task_id, pool, execution_id, node_index, attempt, tenant_id, project_id, labels, cpu_millis, memory_mib, gpus, gpu_type, priority, spec, queued_at)
		VALUES ('task', 'lab', $1, 0, 1, $2, $3, '{}', 0, 0, 0, '', 50, '', now())`, id, auth.LocalTenant, auth.LocalProject)
	entry := func(action string) audit.Entry {
		return audit.Entry{Action: action, Kind: "pool", ID: "lab", Name: "lab", New: map[string]any{"tasks": 1, "since": time.Date(2026, 11, 24, 2, 10, 0, 0, time.UTC)}}
	}
	b.record(b.system, entry("pool.stall"))
	b.receive()
	require.Empty(t, b.items(mei))
	require.Equal(t, []notify.Event{inbox.PoolStalled}, b.events(ada))
	item := b.items(ada)[0]
	require.Equal(t, `The pool "lab" has no workers, and your tasks wait`, item.Message.Title)
	require.Equal(t, "Tasks have waited since 2026-11-24 02:10 UTC, and no worker of this pool is connected. Start a worker of this pool, or ask an administrator to start one.", item.Message.Text)
	b.clock.add(time.Minute)
	b.record(b.system, entry("pool.recover"))
	b.receive()
	item = b.items(ada)[0]
	require.True(t, item.Read())
	require.Equal(t, "A worker is connected again, or no task waits.", item.Resolution)
}
