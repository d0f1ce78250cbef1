package handlers_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMetaflowRetries: a Metaflow client repeats requests after 503, even if the database does not respond in
// time.
func TestMetaflowRetries(t *testing.T) {
	t.Parallel()
	b, c := metaflowOf(t)
	var name string
	require.NoError(t, b.pool.QueryRow(t.Context(), "SELECT current_database()").Scan(&name))
	_, err := b.pool.Exec(t.Context(), "ALTER DATABASE "+name+" SET lock_timeout = '50ms'")
	require.NoError(t, err)
	b.pool.Reset()
	tx, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, tx.Rollback(t.Context())) }()
	_, err = tx.Exec(t.Context(), "LOCK TABLE metaflow_flows IN ACCESS EXCLUSIVE MODE")
	require.NoError(t, err)
	res := c.get(t, "/metaflow/flows")
	require.Equal(t, http.StatusServiceUnavailable, res.status, res.body)
	require.Equal(t, "5", res.header.Get("Retry-After"))
}
