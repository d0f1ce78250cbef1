package schedule_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/schedule"
)

// TestAnUnreadableScheduleIsPaused: a schedule whose time zone no longer exists launches nothing, in whatever
// way it comes to fire. It does not end the server.
func TestAnUnreadableScheduleIsPaused(t *testing.T) {
	t.Parallel()
	for name, fire := range map[string]func(*bundle, schedule.Schedule) error{
		"when it is due": func(b *bundle, sc schedule.Schedule) error {
			b.clock.set(noon.Add(2 * time.Hour))
			return b.schedules.FireOne(auth.AsSystem(b.ctx), sc.ID)
		},
		"from its queue": func(b *bundle, sc schedule.Schedule) error {
			_, err := b.pool.Exec(b.ctx, "UPDATE schedules SET max_running = 2 WHERE id = $1", sc.ID)
			require.NoError(b.t, err)
			return b.schedules.LaunchQueued(auth.AsSystem(b.ctx), sc.ID)
		},
		"after a change of the clock": func(b *bundle, _ schedule.Schedule) error {
			b.clock.set(noon.Add(-48 * time.Hour))
			return b.schedules.FollowClock(auth.AsSystem(b.ctx))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			sc := b.create(hourly("gate", func(sp *schedule.Spec) { sp.Overlap = schedule.OverlapQueueAll }))
			b.fire(noon)
			b.fire(noon.Add(time.Hour))
			require.Equal(t, []schedule.State{schedule.Launched, schedule.Queued}, b.states(sc.ID))
			_, err := b.pool.Exec(b.ctx, "UPDATE schedules SET timezone = 'Mars/Base' WHERE id = $1", sc.ID)
			require.NoError(t, err)

			_, err = b.schedules.RunNow(b.ctx, sc.ID)
			require.True(t, apperr.Is(err, apperr.Conflict), "%v", err)
			fires, _, err := b.schedules.Fires(b.ctx, sc.ID, 5)
			require.NoError(t, err)
			require.Empty(t, fires)

			require.NoError(t, fire(b, sc))
			paused, err := b.schedules.Get(b.ctx, sc.ID)
			require.NoError(t, err)
			require.True(t, paused.Paused)
			require.Contains(t, paused.Message, "Mars/Base")
			require.Equal(t, 1, b.executions())
			_, err = b.schedules.Resume(b.ctx, sc.ID, false)
			require.True(t, apperr.Is(err, apperr.Conflict), "%v", err)
		})
	}
}
