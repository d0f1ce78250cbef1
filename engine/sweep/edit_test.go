package sweep_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/sweep"
)

// TestAnEndedSweepStaysEnded: a change without runs launches none.
func TestAnEndedSweepStaysEnded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sw := b.create(spec(5, sweep.Random))
	require.NoError(t, b.sweeps.Stop(b.ctx, sw.ID, false))
	b.drive()
	require.Equal(t, sweep.Stopped, b.ended(sw.ID).State)
	for what, e := range map[string]sweep.Edit{
		"name": {Name: new("Another name")}, "parallelism": {Parallelism: new(2)}, "gpu_hours": {GPUHours: new(5.0)},
		"early_stopping": {EarlyStopping: &sweep.EarlyStopping{Rule: sweep.NoRule}}, "space": {Space: spec(1, sweep.Random).Space[:1]},
	} {
		changed, err := b.sweeps.Change(b.ctx, sw.ID, e)
		require.NoError(t, err, what)
		require.Equal(t, sweep.Stopped, changed.State, what)
		require.Equal(t, sweep.ReasonPerson, changed.Reason, what)
	}
	more, err := b.sweeps.Change(b.ctx, sw.ID, sweep.Edit{AddRuns: new(1)})
	require.NoError(t, err)
	require.Equal(t, sweep.Running, more.State)
	require.Equal(t, 1, b.ended(sw.ID).Counts.Succeeded)
}
