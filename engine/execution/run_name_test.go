package execution_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/execution"
)

// TestRunName: long names are shortened to what a launch accepts, at whole letters.
func TestRunName(t *testing.T) {
	t.Parallel()
	require.Equal(t, "nightly, 2026-11-24 02:00", execution.RunName("nightly", "2026-11-24 02:00"))
	for name, which := range map[string]string{strings.Repeat("ä", 150): "run 7", "short": strings.Repeat("ä", 150), strings.Repeat("n", 300): strings.Repeat("w", 300)} {
		got := execution.RunName(name, which)
		require.LessOrEqual(t, len(got), 200)
		require.True(t, utf8.ValidString(got))
	}
	require.True(t, strings.HasSuffix(execution.RunName(strings.Repeat("n", 300), "run 7"), "n, run 7"))
}
