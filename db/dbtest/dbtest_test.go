package dbtest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/db"
)

func TestNew(t *testing.T) {
	t.Parallel()
	pool := New(t)
	var zone string
	require.NoError(t, pool.QueryRow(t.Context(), "SHOW timezone").Scan(&zone))
	require.Equal(t, timezone, zone)
	var jobs int
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM river_job").Scan(&jobs))
	require.NoError(t, db.Migrate(t.Context(), pool), "migrating twice changes nothing")
}
