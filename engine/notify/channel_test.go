package notify_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/notify"
)

// recorded returns the entries of the audit log about failures of channels, oldest first.
func (b *bundle) recorded() (list []string) {
	b.t.Helper()
	rows, err := b.pool.Query(b.system, "SELECT action || ' ' || object_name FROM audit_log WHERE action LIKE 'channel.%' ORDER BY id")
	require.NoError(b.t, err)
	defer rows.Close()
	for rows.Next() {
		var text string
		require.NoError(b.t, rows.Scan(&text))
		list = append(list, text)
	}
	require.NoError(b.t, rows.Err())
	return list
}

func (b *bundle) failing() int {
	b.t.Helper()
	n, err := b.service.Failing(b.dev)
	require.NoError(b.t, err)
	return n
}

// TestAFailingChannelIsReportedOnce: after five failures in a row, until a delivery or a test succeeds.
func TestAFailingChannelIsReportedOnce(t *testing.T) {
	t.Parallel()
	b, r := setup(t), newReceiver(t)
	b.webhook("portal", r)
	b.webhook("unused", r)
	b.rule(notify.Rule{Name: "failures", Events: []notify.Event{notify.Failed}, Channels: []string{"portal"}})
	fail := func(times int) {
		t.Helper()
		for range times {
			b.clock.add(10 * time.Minute)
			b.ended("FAILED", time.Second)
			b.send()
		}
	}
	r.answers(http.StatusInternalServerError)
	fail(1)
	require.Equal(t, 1, b.failing())
	require.Empty(t, b.recorded(), "FlowForge tries again")
	fail(3)
	require.Equal(t, []string{"channel.fail portal"}, b.recorded())

	result, err := b.links.Test(b.admin, "portal")
	require.NoError(t, err)
	require.False(t, result.OK)
	require.Equal(t, 1, b.failing())
	r.answers(http.StatusNoContent)
	result, err = b.links.Test(b.admin, "portal")
	require.NoError(t, err)
	require.True(t, result.OK)
	require.Zero(t, b.failing(), "a test message was accepted")
	channels, err := b.service.Channels(b.dev)
	require.NoError(t, err)
	require.Zero(t, channels[0].Failures)
	require.Nil(t, channels[0].OpenUntil, "messages that wait are sent")
	require.Equal(t, []string{"channel.fail portal", "channel.recover portal"}, b.recorded())

	r.answers(http.StatusNotFound)
	fail(1)
	require.Equal(t, []string{"channel.fail portal", "channel.recover portal", "channel.fail portal"}, b.recorded(), "a refused message is not sent again")
	r.answers(http.StatusOK)
	fail(1)
	require.Zero(t, b.failing(), "a message was accepted")
	require.Len(t, b.recorded(), 4)
	fail(1)
	require.Len(t, b.recorded(), 4, "the channel had already recovered")
}
