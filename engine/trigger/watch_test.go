package trigger_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/flowforge/flowforge/db/dbtest"
	"github.com/flowforge/flowforge/engine/trigger"
)

// TestWatchWakesTheLoops: the loops read events, repeat launches and poll when the watch reports a change.
func TestWatchWakesTheLoops(t *testing.T) {
	t.Parallel()
	b, s, watch := setup(t), serve(t), dbtest.NewWatch(t)
	inputs := map[string]any{"ref": "{{ model.name }}"}
	b.put(trigger.Spec{Name: "bad", Kind: trigger.OnModel, Sources: []string{"m"}, Inputs: inputs})
	b.own("bad", "bad")
	var broken atomic.Bool
	broken.Store(true)
	config := b.config
	config.Watch = watch.Watch
	watch.Run(3, trigger.New(config).Run)
	// Another server could not launch for an event, and the launch is due again.
	other := b.failing(&broken)
	b.record("artifact", "model.registered", nil, map[string]any{"name": "m"})
	b.receive(other)
	b.now = b.now.Add(time.Hour)
	b.put(trigger.Spec{Name: "good", Kind: trigger.OnModel, Sources: []string{"n"}, Inputs: inputs})
	b.record("artifact", "model.registered", nil, map[string]any{"name": "n"})
	b.put(onHTTP("page", s.URL))
	watch.Wakes(func() bool {
		return len(b.deliveries("bad")) == 1 && len(b.deliveries("good")) == 1 && b.polls("page").Last != nil
	})
}
