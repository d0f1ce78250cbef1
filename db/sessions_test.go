package db_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/db/dbtest"
)

// TestSessionsAreCounted: sessions that leave the pool count until they are closed, and the pool opens no
// more than the documented number.
func TestSessionsAreCounted(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	sessions, err := db.OpenSessions(ctx, dbtest.NewURL(t)+"&pool_max_conns=50", "flowforge test")
	require.NoError(t, err, "PostgreSQL itself keeps the state of sessions")
	defer sessions.Close()
	require.Equal(t, int64(1), sessions.Count())
	require.Equal(t, int32(db.SharedSessions), sessions.Pool.Stat().MaxConns())

	pooled, err := sessions.Pool.Acquire(ctx)
	require.NoError(t, err)
	listener := pooled.Hijack()
	require.NoError(t, sessions.Pool.Ping(ctx))
	require.Equal(t, int64(2), sessions.Count(), "the session in the pool, and the other one")
	require.NoError(t, listener.Close(ctx))
	require.Equal(t, int64(1), sessions.Count())
	sessions.Close()
	require.Zero(t, sessions.Count())
}
