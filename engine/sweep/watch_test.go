package sweep_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/db/dbtest"
	"github.com/flowforge/flowforge/engine/sweep"
)

// TestWatchWakesTheDriver: a sweep that another server created is driven when the watch reports a change.
func TestWatchWakesTheDriver(t *testing.T) {
	t.Parallel()
	b, watch := setup(t), dbtest.NewWatch(t)
	config := b.config
	config.Watch = watch.Watch
	watch.Run(1, sweep.New(config).Run)
	sw := b.create(spec(1, sweep.Random))
	watch.Wakes(func() bool {
		now, err := b.sweeps.Get(b.ctx, sw.ID)
		require.NoError(t, err)
		return now.Counts.Created > 0
	})
}
