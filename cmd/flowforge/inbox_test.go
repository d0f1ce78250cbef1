package main

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// testInbox: the failed execution of before is in the inbox, is marked as read, and settings keep what no
// flag names.
func (s *site) testInbox(t *testing.T) {
	t.Helper()
	var list string
	require.Eventually(t, func() bool {
		list = s.run(t, nil, "inbox", "list", "--unread").out
		return strings.Contains(list, "cli.fails failed")
	}, time.Minute, 100*time.Millisecond)
	line := regexp.MustCompile(`(?m)^([0-9a-f-]{36}) .* unread +cli\.fails failed +http://\S+/executions/[0-9a-f-]{36}$`).FindStringSubmatch(list)
	require.NotNil(t, line, list)
	require.Equal(t, "Marked as read: cli.fails failed.\n", s.ok(t, "inbox", "read", line[1]))
	require.NotContains(t, s.ok(t, "inbox", "list", "--unread"), line[1])
	require.Regexp(t, line[1]+` .* read `, s.ok(t, "inbox", "list"))
	require.NotContains(t, s.ok(t, "inbox", "list", "--kind", "models"), line[1])
	require.Regexp(t, `^Marked as read: \d+\.\n$`, s.ok(t, "inbox", "read", "--all"))
	require.Contains(t, s.fails(t, "inbox", "read"), "set the IDs of notifications, or --all")
	require.Contains(t, s.fails(t, "inbox", "read", "0192aaaa-0000-7000-8000-000000000000"), "There is no item")

	s.ok(t, "inbox", "settings", "set", "--event", "execution.succeeded=off", "--digest", "daily", "--digest-at", "07:30", "--mute", "tour.*", "--address", "ada@example.com")
	s.ok(t, "inbox", "settings", "set", "--quiet", "20:00-08:00", "--timezone", "Europe/Berlin", "--mute", "digits.*", "--unmute", "tour.*")
	settings := s.ok(t, "inbox", "settings")
	for _, text := range []string{"E-mail: none; the installation has no mail server", "Digest: daily at 07:30", "Quiet hours: 20:00 to 08:00", "Time zone: Europe/Berlin", "Muted: digits.*"} {
		require.Contains(t, settings, text)
	}
	require.Regexp(t, `(?m)^execution\.succeeded +off$`, settings)
	require.Regexp(t, `(?m)^approval\.waiting +both$`, settings)
	require.Contains(t, s.ok(t, "inbox", "settings", "--json"), `"address": "ada@example.com"`)
	require.Contains(t, s.fails(t, "inbox", "settings", "set", "--event", "moon.full=both"), "there is no event")
	require.Contains(t, s.fails(t, "inbox", "settings", "set", "--event", "execution.failed=loud"), "events[")
	require.Contains(t, s.fails(t, "inbox", "settings", "set", "--quiet", "25:00-08:00"), "quiet_from")
}
