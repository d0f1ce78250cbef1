package trigger_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/trigger"
)

func dataset(name string) trigger.Condition {
	return trigger.Condition{Name: name, Kind: trigger.OnDataset, Sources: []string{name}}
}

// join is a trigger that waits for conditions, after change of its join.
func join(change func(*trigger.Join), conditions ...trigger.Condition) trigger.Spec {
	j := &trigger.Join{All: conditions}
	if change != nil {
		change(j)
	}
	return trigger.Spec{Name: "both", Kind: trigger.OnAll, Join: j}
}

// byDay is a trigger that waits for two datasets of the same day.
func byDay() trigger.Spec {
	sp := join(func(j *trigger.Join) { j.By = "dataset.facts.day" }, dataset("images"), dataset("labels"))
	sp.Inputs = map[string]any{"ref": "{{ images.version }} {{ labels.version }} {{ join.key }}"}
	return sp
}

// registered records a version of a dataset, some time after the clock of the bundle.
func (b *bundle) registered(name, version, day string, after time.Duration) {
	b.t.Helper()
	now := b.now
	defer func() { b.now = now }()
	b.now = now.Add(after)
	b.record("artifact", "dataset.registered", nil, map[string]any{"name": name, "version": version, "facts": map[string]any{"day": day}})
}

func (b *bundle) partials(name string) []trigger.Partial {
	b.t.Helper()
	t, err := b.triggers.Get(b.ctx, name)
	require.NoError(b.t, err)
	list, n, err := b.triggers.Partials(b.ctx, t)
	require.NoError(b.t, err)
	require.Len(b.t, list, n)
	return list
}

func (b *bundle) expire(s *trigger.Service) {
	b.t.Helper()
	_, err := s.ExpireJoins(auth.AsSystem(b.t.Context()))
	require.NoError(b.t, err)
}

func TestAJoinLaunchesOncePerKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.put(byDay())
	b.registered("images", "1", "monday", 0)
	b.registered("labels", "7", "tuesday", time.Hour)
	b.receive(b.triggers)
	require.Empty(t, b.deliveries("both"))
	waiting := b.partials("both")
	require.Len(t, waiting, 2)
	require.Equal(t, "monday", waiting[0].Key)
	require.Equal(t, []string{"images", "labels"}, []string{waiting[0].Conditions[0].Condition, waiting[0].Conditions[1].Condition})
	require.Equal(t, "dataset.registered it", waiting[0].Conditions[0].Subject)
	require.Empty(t, waiting[0].Conditions[1].Subject, "labels are missing")
	require.True(t, b.now.Add(24*time.Hour+time.Minute).Equal(waiting[0].ExpiresAt))

	b.registered("images", "2", "monday", 2*time.Hour)
	b.registered("labels", "8", "monday", 3*time.Hour)
	b.receive(b.triggers)
	require.Equal(t, []string{"2 8 monday"}, b.refs("both"), "the newest event of a condition counts")
	b.registered("labels", "9", "monday", 4*time.Hour)
	b.receive(b.triggers)
	require.Equal(t, []string{"SKIPPED joined", "LAUNCHED "}, outcomes(b.deliveries("both")))
	require.Len(t, b.partials("both"), 1)
	b.registered("images", "3", "tuesday", 5*time.Hour)
	b.receive(b.triggers)
	require.Equal(t, "3 7 tuesday", b.inputsOf(b.deliveries("both")[0])["ref"])
	require.Equal(t, 2, b.executions())
}

func TestAJoinExpires(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.put(byDay())
	b.registered("images", "1", "monday", 0)
	b.receive(b.triggers)
	b.now = b.now.Add(24 * time.Hour)
	b.expire(b.triggers)
	require.Len(t, b.partials("both"), 1, "the window is not over")
	b.now = b.now.Add(time.Hour)
	b.expire(b.triggers)
	require.Empty(t, b.partials("both"))
	last := b.deliveries("both")[0]
	require.Equal(t, "images arrived, and labels did not within 24 h.", last.Message)
	require.Equal(t, []string{"SKIPPED expired"}, outcomes(b.deliveries("both")))

	b.registered("labels", "7", "monday", 0)
	b.registered("images", "2", "monday", 23*time.Hour)
	b.receive(b.triggers)
	require.Equal(t, "2 7 monday", b.inputsOf(b.deliveries("both")[0])["ref"], "later events of the key join again")

	// The events are 25 h apart, although they are received together.
	b.registered("images", "3", "friday", 0)
	b.registered("labels", "9", "friday", 25*time.Hour)
	b.receive(b.triggers)
	require.Equal(t, trigger.ReasonExpired, b.deliveries("both")[0].Reason)
	require.Len(t, b.partials("both"), 1)
	require.Equal(t, 1, b.executions())
}

// TestAJoinWithoutKey launches each time all conditions have an event.
func TestAJoinWithoutKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	trained := trigger.Condition{Name: "trained", Kind: trigger.OnExecution, Sources: []string{"digits.*"}, Filter: "execution.outputs.accuracy > 0.9"}
	model := trigger.Condition{Name: "staged", Kind: trigger.OnModel, Sources: []string{"digits"}, Stages: []string{"staging"}}
	sp := join(nil, trained, model)
	sp.Inputs = map[string]any{"accuracy": "{{ trained.outputs.accuracy }}", "ref": "{{ staged.version }}"}
	b.put(sp)
	round := func(accuracy float64, stage string) {
		require.NoError(t, b.triggers.ExecutionEnded(auth.AsSystem(t.Context()), b.ended("digits.train", "SUCCEEDED", map[string]any{"accuracy": accuracy})))
		b.record("artifact", "model.stage_changed", nil, map[string]any{"name": "digits", "version": "2", "stage": stage})
		b.receive(b.triggers)
	}
	round(0.95, "staging")
	round(0.97, "staging")
	round(0.5, "production")
	require.Equal(t, []string{"SKIPPED filter", "LAUNCHED ", "LAUNCHED "}, outcomes(b.deliveries("both")))
	require.Equal(t, "0.97", fmt.Sprint(b.inputsOf(b.deliveries("both")[1])["accuracy"]))
	require.Equal(t, 2, b.executions())
}

// TestNoJoinIsLostOrDoubled: a server stops at any point of the event that completes a join.
func TestNoJoinIsLostOrDoubled(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"join.begin", "join.added", "launch.begin", "launch.within", "launch.committed", "feed.received"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.put(byDay())
			b.registered("images", "1", "monday", 0)
			b.receive(b.triggers)
			b.registered("labels", "1", "monday", 0)
			config := b.config
			config.Crash = func(at string) {
				if at == point {
					panic(point)
				}
			}
			require.PanicsWithValue(t, point, func() { b.receive(trigger.New(config)) })
			b.receive(b.triggers)
			b.retry(b.triggers, time.Hour)
			require.Equal(t, []string{"1 1 monday"}, b.refs("both"))
			require.Equal(t, 1, b.executions())
			require.Empty(t, b.partials("both"))
		})
	}
	t.Run("join.expired", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.put(byDay())
		b.registered("images", "1", "monday", 0)
		b.receive(b.triggers)
		b.now = b.now.Add(25 * time.Hour)
		config := b.config
		config.Crash = func(at string) { panic(at) }
		require.PanicsWithValue(t, "join.expired", func() { b.expire(trigger.New(config)) })
		require.Empty(t, b.deliveries("both"))
		b.expire(b.triggers)
		b.expire(b.triggers)
		require.Equal(t, []string{"SKIPPED expired"}, outcomes(b.deliveries("both")))
	})
}

// TestAJoinWhoseLaunchFails is complete, and launches when it can.
func TestAJoinWhoseLaunchFails(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.put(byDay())
	b.own("both", "bad")
	var broken atomic.Bool
	broken.Store(true)
	s := b.failing(&broken)
	for n := range 2 {
		b.registered("images", "1", fmt.Sprint("day ", n), 0)
		b.registered("labels", "1", fmt.Sprint("day ", n), 0)
	}
	b.receive(s)
	require.Len(t, b.pending("both"), 2)
	require.Empty(t, b.partials("both"))
	broken.Store(false)
	b.retry(s, time.Hour)
	require.Equal(t, []string{"1 1 day 1", "1 1 day 0"}, b.refs("both"))
}

func TestAJoinSaysWhatItCannotRead(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.put(byDay())
	b.record("artifact", "dataset.registered", nil, map[string]any{"name": "images", "version": "1", "facts": map[string]any{}})
	b.record("artifact", "dataset.registered", nil, map[string]any{"name": "labels", "version": "1", "facts": map[string]any{"day": []any{}}})
	b.receive(b.triggers)
	require.Equal(t, []string{"FAILED key", "FAILED key"}, outcomes(b.deliveries("both")))

	// Another join begins with nothing.
	b.registered("images", "1", "monday", 0)
	b.receive(b.triggers)
	require.Len(t, b.partials("both"), 1)
	sp := byDay()
	sp.Workflow, sp.Enabled, sp.Join.Within = "retrain", true, "2h"
	_, err := b.triggers.Put(b.ctx, "both", sp)
	require.NoError(t, err)
	require.Empty(t, b.partials("both"))
}
