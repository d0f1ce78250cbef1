package executions

import (
	"testing"
	"time"

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

// TestTheTimelineOfAnApproval has the state that the rest of the page shows.
func TestTheTimelineOfAnApproval(t *testing.T) {
	t.Parallel()
	started := time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)
	n := query.Node{Name: "publish", State: dag.Running, StartedAt: &started, Reason: &query.Reason{Code: execution.ReasonApproval}}
	x := &executionView{snapshot: &snapshot{clock: ui.Clock{Now: started.Add(time.Minute)}}}
	spans := x.timelineRow(n, x.clock.Now).Spans
	require.Len(t, spans, 1)
	require.Equal(t, ui.AwaitingApproval, spans[0].State)
	require.Equal(t, "publish: Awaiting approval, 1 min", spans[0].Title)
}
