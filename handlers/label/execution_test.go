package label

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/execution/query"
)

// TestSummaryOfAnExecutionThatDidNotSucceed: it says how far the execution got.
func TestSummaryOfAnExecutionThatDidNotSucceed(t *testing.T) {
	t.Parallel()
	counts := query.Counts{Total: 5, Succeeded: 2, Cancelled: 3}
	require.Equal(t, "2 of 5 nodes succeeded", ExecutionSummary(query.Execution{Status: query.Cancelled, Counts: counts}))
	require.Equal(t, "2 of 5 nodes succeeded", SucceededOf(counts), "the head of the page says it too")
	require.Equal(t, "2 of 5 nodes ended", ExecutionSummary(query.Execution{Status: query.Running, Counts: query.Counts{Total: 5, Succeeded: 2, Running: 1}}))
	require.Equal(t, "5 nodes", ExecutionSummary(query.Execution{Status: query.Succeeded, Counts: counts}))
}

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
