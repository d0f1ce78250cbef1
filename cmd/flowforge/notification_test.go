package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTimesOfNotificationRules: a time that is not in whole seconds is refused, and not replaced by the default.
func TestTimesOfNotificationRules(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"500ms": "--waiting 500ms: enter whole seconds, at least one, such as 10m", "0s": "--waiting 0s: enter", "-5m": "--waiting -5m0s: enter", "90.5s": "--waiting 1m30.5s: enter", "5m": "",
	} {
		set, _, err := newNotificationCommand().Find([]string{"set"})
		require.NoError(t, err)
		require.NoError(t, set.ParseFlags([]string{"--waiting", text}))
		n, err := secondsOf(set, "waiting")
		if want == "" {
			require.NoError(t, err)
			require.Equal(t, 300, n)
			continue
		}
		require.ErrorContains(t, err, want)
	}
	set, _, err := newNotificationCommand().Find([]string{"set"})
	require.NoError(t, err)
	n, err := secondsOf(set, "waiting")
	require.NoError(t, err)
	require.Zero(t, n, "the default applies")
}

// testNotifications adds a channel and a rule, and lists both.
func (s *site) testNotifications(t *testing.T) {
	s.ok(t, "connection", "set", "oncall", "--kind", "webhook", "-f", "url=https://hooks.example.com/night", "-f", "signing_secret=abcdefgh12345678")
	set := []string{"notification", "set", "nights", "--event", "execution.waiting", "--channel", "oncall"}
	require.Contains(t, s.fails(t, append(set, "--waiting", "500ms")...), "--waiting 500ms: enter whole seconds")
	require.Contains(t, s.fails(t, append(set, "--waiting", "59s")...), "waiting_seconds")
	require.Contains(t, s.ok(t, append(set, "--waiting", "5m")...), "Saved the notification rule nights.")
	require.Contains(t, s.ok(t, "notification", "rules"), "execution.waiting")
	require.Regexp(t, `oncall +webhook +unused`, s.ok(t, "notification", "channels"))
	require.Contains(t, s.ok(t, "notification", "list"), "NEXT ATTEMPT")
}
