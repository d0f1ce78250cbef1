package notify_test

import (
	"testing"
	"time"

	"github.com/flowforge/flowforge/db/dbtest"
	"github.com/flowforge/flowforge/engine/notify"
)

// TestWatchWakesTheSender: a message that another server stored is sent when the watch reports a change.
func TestWatchWakesTheSender(t *testing.T) {
	t.Parallel()
	b, r, watch := setup(t), newReceiver(t), dbtest.NewWatch(t)
	b.webhook("portal", r)
	b.rule(notify.Rule{Name: "failures", Events: []notify.Event{notify.Failed}, Channels: []string{"portal"}})
	config := b.config
	config.Watch = watch.Watch
	watch.Run(1, notify.New(config).Run)
	b.ended("FAILED", time.Minute)
	watch.Wakes(func() bool { return len(r.requests()) == 1 })
}
