package telemetry

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/data/telemetry/spool"
)

func TestTailsDecodeAFrameOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	b.append(t, b.lines(1, 3)...)
	b.append(t, b.lines(4, 5)...)
	refs := b.spool.Since(b.execution, 0)
	require.Len(t, refs, 2)

	frames, missing := b.cache.claim(refs[:1])
	require.Equal(t, frames, missing, "the first tail decodes the frame")
	got := make([][]LogLine, 8)
	var tails sync.WaitGroup
	for i := range got {
		tails.Go(func() {
			lines, err := b.live(refs, newFilter(LogQuery{ExecutionID: b.execution}, nil))
			assert.NoError(t, err)
			got[i] = lines
		})
	}
	b.decodeCached(missing)
	tails.Wait()
	for _, lines := range got {
		assert.Equal(t, sequence(1, 5), seqs(lines))
	}
	_, missing = b.cache.claim(refs)
	assert.Empty(t, missing, "all tails share the lines")

	some, err := b.live(refs, newFilter(LogQuery{ExecutionID: b.execution, Text: "no line has this"}, nil))
	require.NoError(t, err)
	assert.Empty(t, some)
}

func TestCachedFramesAreBounded(t *testing.T) {
	t.Parallel()
	c := newFrameCache()
	for i := range uint64(100) {
		_, missing := c.claim([]spool.Ref{{First: i*1000 + 1, Count: 1000}})
		require.Len(t, missing, 1)
	}
	assert.LessOrEqual(t, c.records, cachedRecords)
	assert.Len(t, c.frames, cachedRecords/1000)
	assert.Len(t, c.order, cachedRecords/1000)

	frames, missing := c.claim([]spool.Ref{{First: 99_001, Count: 1000}})
	assert.Empty(t, missing)
	c.forget(frames)
	_, missing = c.claim([]spool.Ref{{First: 99_001, Count: 1000}})
	assert.Len(t, missing, 1, "a frame that could not be read is read again")
}
