package telemetry

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestReceivedCountsPoints(t *testing.T) {
	b := setup(t, nil)
	before, ok := b.Received(b.execution)
	require.True(t, ok)
	require.NoError(t, b.AppendMetrics(b.ctx, []Point{b.point(1, 2)}))
	after, ok := b.Received(b.execution)
	require.True(t, ok)
	require.Greater(t, after, before)
	b.append(t, b.line(1, nil))
	same, _ := b.Received(b.execution)
	require.Equal(t, after, same, "lines are not points")

	shared := setup(t, func(c *Config) { c.PollInterval = time.Second })
	_, ok = shared.Received(shared.execution)
	require.False(t, ok, "another server can receive points")
}
