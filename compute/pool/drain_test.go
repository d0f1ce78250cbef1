package pool_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/compute/pool"
)

// TestDrainOutlastsRestart: a worker that an administrator drains is still drained when its machine has
// restarted; others leave the list when they end.
func TestDrainOutlastsRestart(t *testing.T) {
	l := newLab(t)
	lost := func(context.Context, string, []string) error { return nil }
	join := func(worker uuid.UUID) (joined pool.Joined, session uuid.UUID) {
		session = uuid.New()
		joined, err := l.pools.Join(t.Context(), l.token, pool.Joining{Worker: worker, Session: session, Name: "rack", Capacity: pool.Amount{Slots: 1}}, lost)
		require.NoError(t, err)
		return joined, session
	}
	first, session := join(uuid.Nil)
	require.NoError(t, l.pools.DrainWorker(l.ctx, "lab", first.Worker, true))
	require.NoError(t, l.pools.Leave(t.Context(), l.token, first.Worker, session, nil))
	_, session = join(first.Worker)
	workers, err := l.pools.Workers(l.ctx, "lab")
	require.NoError(t, err)
	require.Len(t, workers, 1)
	require.True(t, workers[0].Draining)

	require.NoError(t, l.pools.DrainWorker(l.ctx, "lab", first.Worker, false))
	require.NoError(t, l.pools.Leave(t.Context(), l.token, first.Worker, session, nil))
	workers, err = l.pools.Workers(l.ctx, "lab")
	require.NoError(t, err)
	require.Empty(t, workers)
}
