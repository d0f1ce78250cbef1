package executions

import (
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/views/ui"
)

func batch(from, to int64) []telemetry.LogLine {
	var lines []telemetry.LogLine
	for i := from; i <= to; i++ {
		lines = append(lines, telemetry.LogLine{Node: "train", Attempt: 1, Stream: "stdout", Seq: i, Message: "line " + strconv.FormatInt(i, 10)})
	}
	return lines
}

func TestLinesAloneAreNoChange(t *testing.T) {
	t.Parallel()
	p := newPush(nil, logFilterOf(url.Values{}))
	changed, ticked := p.takeHints()
	assert.True(t, changed, "the first message has everything")
	assert.False(t, ticked)

	changes, lines := make(chan struct{}), make(chan []telemetry.LogLine)
	hints := p.merge(t.Context(), changes, lines)
	lines <- batch(1, 3)
	<-hints
	changed, _ = p.takeHints()
	assert.False(t, changed, "a batch of lines costs no read of the execution")
	got, skipped := p.lines.take()
	assert.Len(t, got, 3)
	assert.Zero(t, skipped)

	changes <- struct{}{}
	for changed = false; !changed; changed, _ = p.takeHints() {
		<-hints
	}
	close(lines) // the log cannot be followed
	<-hints
	require.True(t, p.lines.complete(), "the stream can end without the log")
}

func TestALogThatGrowsTooFastShowsItsLatestLines(t *testing.T) {
	t.Parallel()
	p := newPush(nil, logFilterOf(url.Values{}))
	const batches, size = 30, 1000
	for i := range int64(batches) {
		p.lines.add(batch(i*size+1, (i+1)*size))
		assert.LessOrEqual(t, len(p.lines.lines), 2*messageLines, "memory stays bounded")
	}
	p.lines.add(nil)
	assert.False(t, p.lines.complete(), "lines are left")
	rows, _ := p.takeLines(&snapshot{clock: ui.Clock{Now: time.Now(), Zone: time.UTC}})
	require.Len(t, rows, messageLines)
	assert.Equal(t, "28,000 lines not shown here. The log page has all lines.", rows[0].Cut)
	assert.Equal(t, "line 30000", rows[messageLines-1].Parts[0].Text)
	assert.True(t, p.lines.complete())

	p.lines.add(batch(30_001, 30_002))
	rows, _ = p.takeLines(&snapshot{clock: ui.Clock{Now: time.Now(), Zone: time.UTC}})
	require.Len(t, rows, 2)
	assert.Empty(t, rows[0].Cut, "the gap is in one message")

	again := batch(30_003, 32_003)
	for i := range again {
		again[i].Attempt = 2
	}
	p.lines.add(again)
	rows, _ = p.takeLines(&snapshot{clock: ui.Clock{Now: time.Now(), Zone: time.UTC}})
	assert.Equal(t, "1 line not shown here. The log page has all lines. Next: attempt 2 of train.", rows[0].Cut)
}
