package inbox_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/inbox"
	"github.com/flowforge/flowforge/engine/notify"
)

// TestAFailingChannel: those who can repair it, and who last changed it, are notified until it works again.
func TestAFailingChannel(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, mei, eve := b.person("ada", auth.TeamAdmin), b.person("mei", auth.ProjectDev), b.person("eve", auth.ProjectDev)
	entry := func(action string) audit.Entry {
		return audit.Entry{Action: action, Kind: "connection", ID: "portal", Name: "portal", New: map[string]any{"error": "The receiver responded with 500."}}
	}
	b.record(eve, entry("connection.create"))
	b.record(mei, entry("connection.change"))
	b.record(b.system, entry("channel.fail"))
	b.receive()
	require.Empty(t, b.items(eve), "a developer cannot change connections")
	for _, person := range []someone{ada, mei} {
		require.Equal(t, []notify.Event{inbox.ChannelFailing}, b.events(person))
		item := b.items(person)[0]
		require.Equal(t, `The channel "portal" does not receive messages`, item.Message.Title)
		require.Equal(t, "The receiver responded with 500. Correct the channel and test it. FlowForge then sends the messages that wait.", item.Message.Text)
		require.Equal(t, "/notifications", item.Path)
		require.False(t, item.Read())
	}
	page, err := b.service.List(ada, inbox.Filter{Group: inbox.Channels, Limit: 1})
	require.NoError(t, err)
	require.Len(t, page.Items, 1)
	b.clock.add(time.Minute)
	b.record(b.system, entry("channel.recover"))
	b.receive()
	item := b.items(ada)[0]
	require.True(t, item.Read())
	require.Equal(t, "The channel works again.", item.Resolution)
}
