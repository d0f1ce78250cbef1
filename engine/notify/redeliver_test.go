package notify_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/notify"
)

// TestAWaitingMessageIsSentNow: after a user has repaired a channel, its messages need not wait for hours.
func TestAWaitingMessageIsSentNow(t *testing.T) {
	t.Parallel()
	b, r := setup(t), newReceiver(t)
	b.webhook("portal", r)
	b.rule(notify.Rule{Name: "failures", Events: []notify.Event{notify.Failed}, Channels: []string{"portal"}})
	r.answers(http.StatusInternalServerError)
	b.ended("FAILED", time.Minute)
	n := b.send()[0]
	require.False(t, n.Waits(b.clock.now()))
	_, err := b.service.Redeliver(b.admin, n.ID)
	require.True(t, apperr.Is(err, apperr.Conflict), "the next attempt is imminent: %v", err)
	for _, pause := range []time.Duration{10 * time.Second, 30 * time.Second} {
		b.clock.add(pause)
		n = b.send()[0]
	}
	require.True(t, n.Waits(b.clock.now()), "the next attempt is in two minutes")
	r.answers(http.StatusOK)
	_, err = b.service.Redeliver(b.admin, n.ID)
	require.NoError(t, err)
	require.Equal(t, notify.Delivered, b.send()[0].State)
}

// TestARequestClosesTheCircuit: a message that a user sends again reaches its channel even if that receives nothing
// after failures. The message shows that it waits for the channel.
func TestARequestClosesTheCircuit(t *testing.T) {
	t.Parallel()
	b, r := setup(t), newReceiver(t)
	b.webhook("portal", r)
	b.rule(notify.Rule{Name: "failures", Events: []notify.Event{notify.Failed}, Channels: []string{"portal"}})
	r.answers(http.StatusInternalServerError)
	for range 5 {
		b.ended("FAILED", time.Second)
	}
	b.send()
	b.ended("FAILED", time.Second)
	list := b.send()
	n := list[len(list)-1]
	require.Zero(t, n.Attempts)
	channels, err := b.service.Channels(b.dev)
	require.NoError(t, err)
	require.Equal(t, channels[0].OpenUntil, n.DueAt)
	require.True(t, n.Waits(b.clock.now()))
	_, err = b.service.Redeliver(b.admin, n.ID)
	require.NoError(t, err)
	requests := len(r.requests())
	b.send()
	require.Len(t, r.requests(), requests+1, "the failure opens the circuit again")
	r.answers(http.StatusOK)
	_, err = b.service.Redeliver(b.admin, n.ID)
	require.NoError(t, err)
	list = b.send()
	require.Equal(t, notify.Delivered, list[len(list)-1].State)
}
