package executions

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/views/ui"
)

// TestASkippedNodeHasOneName: in the timeline, in its state and in the counts, whatever the reason.
func TestASkippedNodeHasOneName(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"UPSTREAM_FAILED", execution.ReasonCondition, execution.ReasonSkipped} {
		n := query.Node{Name: "train", State: dag.Skipped, Reason: &query.Reason{Code: code}}
		require.Equal(t, "skipped", groupNote(n.State))
		require.Equal(t, "Skipped", ui.Word(shownState(n)))
		require.Equal(t, "SKIPPED", stateCounts(query.ChildCounts{n.State: 1}, nil)[0].State)
	}
}
