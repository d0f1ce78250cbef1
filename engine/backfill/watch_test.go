package backfill_test

import (
	"testing"

	"github.com/flowforge/flowforge/db/dbtest"
	"github.com/flowforge/flowforge/engine/backfill"
)

// TestWatchWakesTheLoop: a backfill that another server created is launched when the watch reports a
// change.
func TestWatchWakesTheLoop(t *testing.T) {
	t.Parallel()
	b, watch := setup(t), dbtest.NewWatch(t)
	config := b.config
	config.Watch = watch.Watch
	watch.Run(1, backfill.New(config).Run)
	created := b.create(b.spec(b.daily("gate", nil), 1))
	watch.Wakes(func() bool { return len(b.launched(created.ID)) == 1 })
}
