package telemetry

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPagesOfALargeLog reads a log over a day in pages of windows, in both directions, and compares
// them with the lines.
func TestPagesOfALargeLog(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	const n = largeLog + 2500
	begin := time.Unix(1_790_000_000, 0).UTC()
	lines := make([]LogLine, 0, n)
	for i := range int64(n) {
		after := time.Duration(i) * time.Millisecond // dense, then sparse, then a line a day later
		switch {
		case i == n-1:
			after = 24 * time.Hour
		case i >= largeLog:
			after = largeLog*time.Millisecond + time.Duration(i-largeLog)*10*time.Second
		}
		lines = append(lines, b.line(i+1, func(l *LogLine) {
			l.NodeIndex, l.Node = int(i%3), "n"
			l.Time = begin.Add(after)
			if i%1000 == 0 {
				l.Level = "WARN"
			}
		}))
	}
	for some := range slices.Chunk(lines, 5000) {
		b.append(t, some...)
	}
	b.flushed(t)
	want := seqs(lines)

	for _, size := range []int{400, 1500} {
		var got []int64
		for at := Cursor(""); ; {
			page, err := b.Logs(b.ctx, LogQuery{ExecutionID: b.execution, After: at, Limit: 10 * size})
			require.NoError(t, err)
			got = append(got, seqs(page.Lines)...)
			if page.Next == "" {
				break
			}
			at = page.Next
		}
		require.Equal(t, want, got, "forward")

		page, err := b.Logs(b.ctx, LogQuery{ExecutionID: b.execution, Last: true, Limit: size})
		require.NoError(t, err)
		got = seqs(page.Lines)
		for len(got) < 6*size {
			page, err = b.Logs(b.ctx, LogQuery{ExecutionID: b.execution, Before: page.Prev, Limit: size})
			require.NoError(t, err)
			got = append(seqs(page.Lines), got...)
		}
		require.Equal(t, want[n-len(got):], got, "backward")
	}
	assert.True(t, b.large.has(b.execution))

	b.large = newLargeLogs()
	at, large, err := b.origin(b.ctx, &filter{LogQuery: LogQuery{ExecutionID: b.execution}}, keySpan{desc: true})
	require.NoError(t, err)
	require.True(t, large)
	require.Equal(t, lines[n-1].Time.UnixMicro(), at)
	hour := lines[n-1].Time.Truncate(time.Hour)

	var plan string
	rows, err := b.store.conn.Query(b.ctx, "EXPLAIN indexes = 1 "+edgeQuery("max"), b.execution, hour.UnixMicro(), hour.Add(time.Hour).UnixMicro())
	require.NoError(t, err)
	for rows.Next() {
		var line string
		require.NoError(t, rows.Scan(&line))
		plan += line + "\n"
	}
	require.NoError(t, errors.Join(rows.Err(), rows.Close()))
	assert.Contains(t, plan, "times", "the index of times excludes granules")

	found, err := b.Logs(b.ctx, LogQuery{ExecutionID: b.execution, Text: "line 7", Limit: maxLines})
	require.NoError(t, err)
	assert.Equal(t, "line 7", found.Lines[0].Message)
	assert.Equal(t, "line 7999", found.Lines[len(found.Lines)-1].Message, "the search goes through all windows")

	counts, err := b.LogCounts(b.ctx, LogQuery{ExecutionID: b.execution})
	require.NoError(t, err)
	assert.Equal(t, map[string]int{"INFO": n - 53, "WARN": 53}, counts)
	counts, err = b.LogCounts(b.ctx, LogQuery{ExecutionID: b.execution, Text: "line 52500"})
	require.NoError(t, err)
	assert.Equal(t, map[string]int{"INFO": 1}, counts)
}

func TestWindowsCoverALogOnce(t *testing.T) {
	t.Parallel()
	for _, desc := range []bool{false, true} {
		list := windows(1_000_000_000, desc)
		for i := range list[1:] {
			if desc {
				assert.Equal(t, *list[i].from, *list[i+1].to)
			} else {
				assert.Equal(t, *list[i].to, *list[i+1].from)
			}
		}
		last := list[len(list)-1]
		assert.True(t, last.from == nil || last.to == nil, "the last window has no end")
	}
}
