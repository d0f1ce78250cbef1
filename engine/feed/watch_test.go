package feed_test

import (
	"testing"
	"time"

	"github.com/flowforge/flowforge/db/dbtest"
	"github.com/flowforge/flowforge/engine/feed"
)

// TestWatchWakesTheCopy: new events are copied when the watch reports a change.
func TestWatchWakesTheCopy(t *testing.T) {
	t.Parallel()
	b, watch := setup(t), dbtest.NewWatch(t)
	service := feed.New(feed.Config{Pool: b.pool, Every: time.Millisecond, Watch: watch.Watch})
	watch.Run(1, service.Run)
	id := b.launch()
	watch.Wakes(func() bool { return len(b.list(feed.Filter{ExecutionID: &id}).Events) > 0 })
}
