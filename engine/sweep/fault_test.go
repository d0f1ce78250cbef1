package sweep_test

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/sweep"
)

// TestAPanicPausesOneSweep: the others continue, and so does the sweep when a person resumes it.
func TestAPanicPausesOneSweep(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var panicked atomic.Bool
	b.config.Crash = func(point string) {
		if point == "propose.begin" && panicked.CompareAndSwap(false, true) {
			panic("a fault of the test")
		}
	}
	b.sweeps = sweep.New(b.config)
	sw := b.create(spec(3, sweep.Random))
	b.drive()
	paused := b.until(sw.ID, "it to pause", func(sw sweep.Sweep) bool { return sw.State == sweep.Paused })
	require.Equal(t, sweep.ReasonFault, paused.Reason)
	require.Contains(t, paused.Message, "Resume it to try again")
	require.Equal(t, sweep.Succeeded, b.ended(b.create(spec(2, sweep.Random)).ID).State)
	require.NoError(t, b.sweeps.Resume(b.ctx, sw.ID))
	require.Equal(t, sweep.Succeeded, b.ended(sw.ID).State)
}
