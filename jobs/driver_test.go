package jobs

import (
	"testing"

	"github.com/riverqueue/river/riverdriver"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/db/dbtest"
)

// TestNotificationsUseSessions: a listener takes its session from Sessions, and from Pool if there are
// none.
func TestNotificationsUseSessions(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), dbtest.NewURL(t)
	pool, err := db.OpenNamed(ctx, url, "pool")
	require.NoError(t, err)
	defer pool.Close()
	sessions, err := db.OpenNamed(ctx, url, "sessions")
	require.NoError(t, err)
	defer sessions.Close()
	for name, config := range map[string]Config{"sessions": {Pool: pool, Sessions: sessions}, "pool": {Pool: pool}} {
		listener := driverOf(config).GetListener(&riverdriver.GetListenenerParams{})
		require.NoError(t, listener.Connect(ctx))
		require.NoError(t, listener.Listen(ctx, "test"))
		var found string
		require.NoError(t, pool.QueryRow(ctx, `SELECT application_name FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN %' ORDER BY backend_start DESC LIMIT 1`).Scan(&found))
		require.Equal(t, name, found)
		require.NoError(t, listener.Close(ctx))
	}
}
