package telemetry

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestReceivedCountsPoints(t *testing.T) {
	b := setup(t, nil)
	before, ok := b.Received(b.ctx, b.execution)
	require.True(t, ok)
	require.NoError(t, b.AppendMetrics(b.ctx, []Point{b.point(1, 2)}))
	after, ok := b.Received(b.ctx, b.execution)
	require.True(t, ok)
	require.Greater(t, after, before)
	b.append(t, b.line(1, nil))
	same, _ := b.Received(b.ctx, b.execution)
	require.Equal(t, after, same, "lines are not points")
}

// TestReceivedElsewhere: points that another server has stored change the number for the readers of a
// followed execution. Own points that move to ClickHouse do not.
func TestReceivedElsewhere(t *testing.T) {
	t.Parallel()
	b, other := servers(t)
	_, ok := b.Received(b.ctx, b.execution)
	require.False(t, ok, "no tail follows the execution")
	_, stop := b.hub.subscribe(b.execution)
	defer stop()
	none, ok := b.Received(b.ctx, b.execution)
	require.True(t, ok)

	require.NoError(t, b.AppendMetrics(b.ctx, []Point{b.point(1, 2)}))
	own, ok := b.Received(b.ctx, b.execution)
	require.True(t, ok)
	require.NotEqual(t, none, own)
	b.flushed(t)
	b.later()
	same, ok := b.Received(b.ctx, b.execution)
	require.True(t, ok)
	require.Equal(t, own, same)

	require.NoError(t, other.AppendMetrics(b.ctx, []Point{b.point(2, 3)}))
	eventually(t, "the point is stored", func() bool { return other.spool.Stats().PendingRecords == 0 })
	b.later()
	both, ok := b.Received(b.ctx, b.execution)
	require.True(t, ok)
	require.NotEqual(t, own, both)
	series, err := b.Series(b.ctx, MetricQuery{ExecutionID: b.execution})
	require.NoError(t, err)
	require.Equal(t, 2, series[0].Summary.Count, "readers get what the number announces")
	unchanged, ok := b.Received(b.ctx, b.execution)
	require.True(t, ok)
	require.Equal(t, both, unchanged)

	_, ok = b.Received(b.ctx, uuid.Must(uuid.NewV7()))
	require.False(t, ok, "no tail follows this one")
}
