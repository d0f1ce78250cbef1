package quota_test

import (
	"encoding/json"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// TestLimitsInTheOutbox: a change of limits and its event are one transaction.
func TestLimitsInTheOutbox(t *testing.T) {
	t.Parallel()
	b := setup(t)
	edit := quota.Edit{Limits: fair.Limits{Limit: fair.Vector{fair.CPU: 4000}, Weight: 1}}
	saved, err := b.Editor.Put(b.ctx, auth.LocalProject, edit)
	require.NoError(t, err)
	_, err = b.Editor.Put(b.ctx, auth.LocalProject, edit) // of a version that is not the current one
	require.Error(t, err)

	rows, err := b.pool.Query(b.ctx, "SELECT channel, kind, tenant_id, project_id, data FROM outbox WHERE channel = 'quota'")
	require.NoError(t, err)
	defer rows.Close()
	n := 0
	for ; rows.Next(); n++ {
		var channel, kind string
		var tenant, project uuid.UUID
		var raw []byte
		require.NoError(t, rows.Scan(&channel, &kind, &tenant, &project, &raw))
		require.Equal(t, []any{"quota", quota.EventUpdated, auth.LocalTenant, auth.LocalProject}, []any{channel, kind, tenant, project})
		var data map[string]any
		require.NoError(t, json.Unmarshal(raw, &data))
		require.Equal(t, "project", data["entity_type"])
		require.InDelta(t, saved.Version, data["version"], 0)
		require.Contains(t, data, "old")
		require.Contains(t, data["new"], "limit")
	}
	require.NoError(t, rows.Err())
	require.Equal(t, 1, n, "the refused change has no event")

	_, err = b.pool.Exec(b.ctx, "DROP TABLE quota_events CASCADE")
	require.NoError(t, err)
	edit.Version, edit.Limits.Limit = saved.Version, fair.Vector{fair.CPU: 5000}
	_, err = b.Editor.Put(b.ctx, auth.LocalProject, edit)
	require.ErrorContains(t, err, "record event")
	now, err := b.Editor.Get(b.ctx, auth.LocalProject)
	require.NoError(t, err)
	require.Equal(t, saved.Version, now.Version, "without its event the change is not saved")
}
