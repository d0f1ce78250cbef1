package sweep_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
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

// TestASweepExpiresByItsDefinition: the time counts from its end, and continuing it revokes it.
func TestASweepExpiresByItsDefinition(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, _, err := b.workflows.Register(b.ctx, []byte(strings.Replace(square, "version: 1.0.0", "version: 2.0.0, ttl: {after_success: 7d, after_failure: 90d}", 1)))
	require.NoError(t, err)
	expiry := func(id uuid.UUID) (ended, expires *time.Time) {
		require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT ended_at, expires_at FROM input_sweeps WHERE id = $1", id).Scan(&ended, &expires))
		return ended, expires
	}
	done, stopped := b.create(spec(2, sweep.Random)), b.create(spec(2, sweep.Random))
	require.NoError(t, b.sweeps.Stop(b.ctx, stopped.ID, false))
	b.drive()
	for id, kept := range map[uuid.UUID]time.Duration{done.ID: 7 * 24 * time.Hour, stopped.ID: 90 * 24 * time.Hour} {
		b.ended(id)
		ended, expires := expiry(id)
		require.Equal(t, kept, expires.Sub(*ended))
	}
	_, err = b.sweeps.Change(b.ctx, done.ID, sweep.Edit{AddRuns: new(1)})
	require.NoError(t, err)
	b.ended(done.ID)
	again, expires := expiry(done.ID)
	require.Equal(t, 7*24*time.Hour, expires.Sub(*again))
}
