package schedule_test

import (
	"testing"
	"time"

	"github.com/flowforge/flowforge/db/dbtest"
	"github.com/flowforge/flowforge/engine/schedule"
)

// TestWatchWakesTheLoop: a schedule that another server created fires when the watch reports a change.
func TestWatchWakesTheLoop(t *testing.T) {
	t.Parallel()
	b, watch := setup(t), dbtest.NewWatch(t)
	config := b.config
	config.Watch = watch.Watch
	watch.Run(1, schedule.New(config).Run)
	sc := b.create(hourly("gate", nil))
	b.clock.set(b.clock.now().Add(time.Hour))
	watch.Wakes(func() bool { return len(b.occurrences(sc.ID)) == 1 })
}
