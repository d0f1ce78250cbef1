package executions

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/views/ui"
)

// Events of the items of a fan-out share one line per kind, at the position of the latest.
func TestItemsOfAFanOutShareALine(t *testing.T) {
	t.Parallel()
	event := func(kind, node string) query.Event {
		return query.Event{Kind: kind, Node: node, Attempt: 1, At: time.Unix(0, 0)}
	}
	rows := eventLines(ui.Clock{Now: time.Unix(0, 0)}, "x", []query.Event{
		event("execution.succeeded", ""), event("node.succeeded", "train"), event("node.succeeded", "train[2]"), event("node.queued", "train[2]"),
		event("node.succeeded", "train[0]"), event("node.queued", "train[0]"), event("node.failed", "train[1]"),
	})
	var texts []string
	for _, r := range rows {
		texts = append(texts, r.Text)
	}
	require.Equal(t, []string{
		"The execution succeeded", "train succeeded", "train: 2 items succeeded", "train: 2 items were queued", "train[1] failed",
	}, texts)
}
