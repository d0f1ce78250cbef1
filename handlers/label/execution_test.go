package label

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCauseLeavesOutTheExitCode: graphs and lists have room for a few words, which should say what
// went wrong.
func TestCauseLeavesOutTheExitCode(t *testing.T) {
	t.Parallel()
	for message, cause := range map[string]string{
		"The command exited with code 1: ValueError: found 11": "ValueError: found 11",
		"The command exited with code 137.":                    "The command exited with code 137.",
		"The command exited with code 1. Rank 1: killed":       "The command exited with code 1. Rank 1: killed",
		"Out of memory: 83 GiB":                                "Out of memory: 83 GiB",
	} {
		require.Equal(t, cause, Cause(message))
	}
}
