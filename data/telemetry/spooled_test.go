package telemetry

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSearchesInTheSpoolAreBounded: the newest lines are searched first, and the answer specifies when
// earlier ones were not.
func TestSearchesInTheSpoolAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config) { c.ClickHouseURL = "http+unix://" + filepath.Join(t.TempDir(), "none.sock") })
	for i := range int64(10) {
		b.append(t, b.lines(100*i+1, 100*i+100)...)
	}
	text := []string{b.lines(1, 1)[0].Message[:3]}
	search := func(ctx context.Context, bound spooledBound) ([]int64, bool) {
		lines, cut, err := b.spooledLines(ctx, text, 2000, bound)
		require.NoError(t, err)
		return seqs(lines), cut
	}
	all, cut, err := b.SpooledLines(b.ctx, text, 2000)
	require.NoError(t, err)
	require.False(t, cut)
	require.Len(t, all, 1000)

	refs := b.spool.AllPending()
	require.Greater(t, len(refs), 3)
	newest, cut := search(b.ctx, spooledBound{refs[len(refs)-1].Size(), time.Minute})
	require.True(t, cut)
	require.NotEmpty(t, newest)
	require.Less(t, len(newest), 1000)
	require.EqualValues(t, 1000, newest[0], "newest first")
	none, cut := search(b.ctx, spooledBound{1 << 30, -time.Second})
	require.True(t, cut)
	require.Empty(t, none)

	ctx, cancel := context.WithCancel(b.ctx)
	b.searching <- struct{}{}
	wait, stop := context.WithTimeout(b.ctx, 20*time.Millisecond)
	defer stop()
	_, _, err = b.SpooledLines(wait, text, 1)
	require.ErrorIs(t, err, context.DeadlineExceeded, "one search at a time")
	<-b.searching
	cancel()
	_, _, err = b.SpooledLines(ctx, text, 1)
	require.ErrorIs(t, err, context.Canceled)
	all, _, err = b.SpooledLines(b.ctx, text, 1)
	require.NoError(t, err)
	require.Len(t, all, 1)
}
