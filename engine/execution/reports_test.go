package execution_test

import (
	"bytes"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/db"
)

// TestReportsAreLoadedInParts: a flush cannot write the outputs of any number of attempts. A single report
// is loaded regardless of its size.
func TestReportsAreLoadedInParts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := uuid.New()
	for attempt := range 5 {
		_, err := b.pool.Exec(b.ctx, `INSERT INTO reports (execution_id, node_index, attempt, report, received_at)
			VALUES ($1, 0, $2, $3, now() + make_interval(secs => $2::int))`, id, attempt+1, bytes.Repeat([]byte("x"), 1000))
		require.NoError(t, err)
	}
	queries := db.New(b.pool)
	for most, want := range map[int64]int{1: 1, 1000: 1, 1500: 2, 1 << 20: 5} {
		rows, err := queries.LoadReports(b.ctx, id, most)
		require.NoError(t, err)
		require.Len(t, rows, want, most)
		require.EqualValues(t, 5, rows[0].Total)
		for k, r := range rows {
			require.EqualValues(t, k+1, r.Attempt, "the oldest come first")
		}
	}
}
