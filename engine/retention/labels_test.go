package retention

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
)

// TestLabelsStayUntilTheExecutionIsRemoved: an interrupted removal leaves an execution with its tags
// and its note, and the next one removes them.
func TestLabelsStayUntilTheExecutionIsRemoved(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, nil)
	id := b.execution(auth.LocalProject, "SUCCEEDED", `{}`)
	b.exec(`INSERT INTO execution_tags (execution_id, tag, added_by, added_at) VALUES ($1, 'baseline', 'Mei', now())`, id)
	b.exec(`INSERT INTO execution_notes (execution_id, note, edited_by, edited_at) VALUES ($1, 'keep', 'Mei', now())`, id)
	b.expire(id)
	labels := func() int64 {
		return b.count(`SELECT (SELECT count(*) FROM execution_tags WHERE execution_id = $1) + (SELECT count(*) FROM execution_notes WHERE execution_id = $1)`, id)
	}
	b.crash = func(point string) {
		if point == "executions.written" {
			panic("interrupted")
		}
	}
	require.PanicsWithValue(t, "interrupted", func() { b.sweep() })
	require.EqualValues(t, 1, b.count(`SELECT count(*) FROM executions WHERE id = $1`, id))
	require.EqualValues(t, 2, labels())
	b.crash = func(string) {}
	b.sweep()
	require.Zero(t, b.count(`SELECT count(*) FROM executions WHERE id = $1`, id))
	require.Zero(t, labels())
}
