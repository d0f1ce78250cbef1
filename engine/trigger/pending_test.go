package trigger_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/trigger"
)

// failing returns a service in which launches of triggers whose names begin with "bad" fail while broken is set.
func (b *bundle) failing(broken *atomic.Bool) *trigger.Service {
	config := b.config
	config.Acting = func(id uuid.UUID, name string, project uuid.UUID) (auth.Subject, error) {
		if broken.Load() && name == "bad" {
			return auth.Subject{}, errors.New("the users cannot be read")
		}
		return b.config.Acting(id, name, project)
	}
	return trigger.New(config)
}

// own sets the owner's name of a trigger, by which failing recognizes it.
func (b *bundle) own(name, owner string) {
	b.t.Helper()
	_, err := b.pool.Exec(b.ctx, "UPDATE triggers SET owner_name = $2 WHERE name = $1", name, owner)
	require.NoError(b.t, err)
}

func (b *bundle) pending(name string) []trigger.Pending {
	b.t.Helper()
	t, err := b.triggers.Get(b.ctx, name)
	require.NoError(b.t, err)
	list, _, err := b.triggers.PendingOf(b.ctx, t)
	require.NoError(b.t, err)
	return list
}

func (b *bundle) retry(s *trigger.Service, after time.Duration) {
	b.t.Helper()
	b.now = b.now.Add(after)
	require.NoError(b.t, s.RetryPending(auth.AsSystem(b.t.Context())))
}

// TestAFailingTriggerDelaysNoOther: it repeats its own events in their order, and others go on.
func TestAFailingTriggerDelaysNoOther(t *testing.T) {
	t.Parallel()
	b := setup(t)
	inputs := map[string]any{"ref": "{{ model.name }}"}
	b.put(trigger.Spec{Name: "bad", Kind: trigger.OnModel, Sources: []string{"*"}, Inputs: inputs})
	b.put(trigger.Spec{Name: "good", Kind: trigger.OnModel, Sources: []string{"*"}, Inputs: inputs})
	b.own("bad", "bad")
	var broken atomic.Bool
	broken.Store(true)
	s := b.failing(&broken)
	for n := range 3 {
		b.record("artifact", "model.registered", nil, map[string]any{"name": fmt.Sprintf("m%d", n)})
	}
	b.receive(s)
	require.Equal(t, []string{"m2", "m1", "m0"}, b.refs("good"))
	require.Empty(t, b.deliveries("bad"))
	waiting := b.pending("bad")
	require.Len(t, waiting, 3)
	require.Equal(t, []int{1, 0, 0}, []int{waiting[0].Failures, waiting[1].Failures, waiting[2].Failures})
	require.Equal(t, "Something went wrong on our side.", waiting[0].Error)
	b.retry(s, time.Second)
	require.Equal(t, 1, b.pending("bad")[0].Failures, "it is not due yet")
	b.retry(s, time.Second)
	require.Equal(t, 2, b.pending("bad")[0].Failures)
	broken.Store(false)
	b.retry(s, time.Hour)
	require.Empty(t, b.pending("bad"))
	require.Equal(t, []string{"m2", "m1", "m0"}, b.refs("bad"), "in their order")
	require.Equal(t, 6, b.executions())
}

func TestALaunchThatKeepsFailingFails(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.put(trigger.Spec{Name: "bad", Kind: trigger.OnExecution, Sources: []string{"digits.*"}})
	b.own("bad", "bad")
	var broken atomic.Bool
	broken.Store(true)
	s := b.failing(&broken)
	require.NoError(t, s.ExecutionEnded(auth.AsSystem(t.Context()), b.ended("digits.train", "SUCCEEDED", nil)), "the job that reports the end does not wait")
	for range 9 {
		require.Len(t, b.pending("bad"), 1)
		b.retry(s, time.Hour)
	}
	require.Empty(t, b.pending("bad"))
	require.Equal(t, []string{"FAILED unavailable"}, outcomes(b.deliveries("bad")))

	require.NoError(t, s.ExecutionEnded(auth.AsSystem(t.Context()), b.ended("digits.train", "SUCCEEDED", nil)))
	require.NoError(t, b.triggers.Switch(b.ctx, "bad", false))
	b.retry(s, time.Hour)
	require.Equal(t, []string{"SKIPPED off", "FAILED unavailable"}, outcomes(b.deliveries("bad")))
	require.Zero(t, b.executions())
}

// TestAPollGoesOnWhileALaunchFails: the event waits, and the cursor has moved.
func TestAPollGoesOnWhileALaunchFails(t *testing.T) {
	t.Parallel()
	b := setup(t)
	l := b.lake()
	sp := onS3("bad")
	sp.S3.Existing = true
	b.put(sp)
	b.own("bad", "bad")
	l.write("raw/a", "1")
	var broken atomic.Bool
	s := b.failing(&broken)
	config := b.config
	config.Crash = func(at string) { broken.Store(at == "poll.requested" || broken.Load()) }
	config.Acting = func(id uuid.UUID, name string, project uuid.UUID) (auth.Subject, error) {
		if broken.Load() {
			return auth.Subject{}, errors.New("the users cannot be read")
		}
		return b.config.Acting(id, name, project)
	}
	b.poll(trigger.New(config))
	require.Empty(t, b.deliveries("bad"))
	require.Len(t, b.pending("bad"), 1)
	require.Empty(t, b.polls("bad").Error)
	broken.Store(false)
	b.poll(s)
	require.Len(t, b.pending("bad"), 1, "the object is noted once")
	b.retry(s, time.Hour)
	require.Equal(t, []string{"raw/a new"}, b.refs("bad"))
}

// TestNoWaitingEventIsLostOrDoubled: a server stops at any point of a repeated launch.
func TestNoWaitingEventIsLostOrDoubled(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"launch.begin", "launch.within", "launch.committed"} {
		b := setup(t)
		b.put(trigger.Spec{Name: "bad", Kind: trigger.OnModel, Sources: []string{"*"}})
		b.own("bad", "bad")
		var broken atomic.Bool
		broken.Store(true)
		b.record("artifact", "model.registered", nil, map[string]any{"name": "m"})
		b.receive(b.failing(&broken))
		config := b.config
		config.Crash = func(at string) {
			if at == point {
				panic(point)
			}
		}
		b.now = b.now.Add(time.Hour)
		row, err := b.triggers.Get(b.ctx, "bad")
		require.NoError(t, err)
		b.crashes(point, func() { _ = trigger.New(config).RetryTrigger(auth.AsSystem(t.Context()), row.ID) })
		b.retry(b.triggers, time.Hour)
		require.Equal(t, []string{"LAUNCHED "}, outcomes(b.deliveries("bad")), point)
		require.Equal(t, 1, b.executions(), point)
		require.Empty(t, b.pending("bad"))
	}
}
