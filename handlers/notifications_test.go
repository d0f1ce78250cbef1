package handlers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
)

// TestTheNavigationCountsFailingChannels: every page shows that messages of the project do not arrive.
func TestTheNavigationCountsFailingChannels(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.Contains(t, b.member.get(t, "/executions").body, `id="nav-notifications" hidden`)
	for _, name := range []string{"portal", "deleted"} {
		_, err := b.pool.Exec(t.Context(), "INSERT INTO notification_channels (project_id, name, failures, failed_at, error) VALUES ($1, $2, 1, now(), 'The receiver responded with 500.')", auth.LocalProject, name)
		require.NoError(t, err)
	}
	_, err := b.pool.Exec(t.Context(), `INSERT INTO connections (project_id, tenant_id, name, kind, settings, created_at, created_by, updated_at, updated_by)
		VALUES ($1, $2, 'portal', 'webhook', '{}', now(), 'ada', now(), 'ada')`, auth.LocalProject, auth.LocalTenant)
	require.NoError(t, err)
	require.Contains(t, b.member.get(t, "/executions").body, `id="nav-notifications"><span class="vh">Failing channels: </span> 1</span>`)
}
