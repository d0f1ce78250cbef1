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
