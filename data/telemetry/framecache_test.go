package telemetry

import (
	"context"
	"strings"
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
			lines, err := b.live(t.Context(), refs, newFilter(LogQuery{ExecutionID: b.execution}, nil))
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

	some, err := b.live(t.Context(), refs, newFilter(LogQuery{ExecutionID: b.execution, Text: "no line has this"}, nil))
	require.NoError(t, err)
	assert.Empty(t, some)
}

func TestATailEndsWhileAnotherDecodes(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	b.append(t, b.lines(1, 3)...)
	refs := b.spool.Since(b.execution, 0)
	_, missing := b.cache.claim(refs)
	require.Len(t, missing, 1, "this tail decodes the frame")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := b.live(ctx, refs, newFilter(LogQuery{ExecutionID: b.execution}, nil))
	require.ErrorIs(t, err, context.Canceled)
}

func TestCachedFramesAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	line := b.lines(1, 1)[0]
	line.Message = strings.Repeat("x", 128<<10)
	b.append(t, line)
	refs := b.spool.Since(b.execution, 0)
	require.Len(t, refs, 1)
	ref, c := refs[0], newFrameCache()
	kept := int(cachedBytes / ref.Size())
	require.Less(t, kept, cachedBytes/(128<<10), "messages count")
	end := c.begin()
	other := c.begin()
	for i := range kept + 20 {
		ref.First = uint64(i + 1)
		_, missing := c.claim([]spool.Ref{ref})
		require.Len(t, missing, 1)
	}
	assert.LessOrEqual(t, c.bytes, int64(cachedBytes))
	assert.Len(t, c.frames, kept)
	assert.Len(t, c.order, kept)

	frames, missing := c.claim([]spool.Ref{ref})
	assert.Empty(t, missing)
	c.forget(frames)
	_, missing = c.claim([]spool.Ref{ref})
	assert.Len(t, missing, 1, "a frame that could not be read is read again")

	other()
	assert.NotEmpty(t, c.frames)
	end()
	assert.Empty(t, c.frames, "nothing is kept without a tail")
	assert.Empty(t, c.order)
	assert.Zero(t, c.bytes)
}
