package telemetry

import (
	"math"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// TestProgress: the best value until each step that a metric has reached, wherever its points are.
func TestProgress(t *testing.T) {
	t.Parallel()
	several(t, func(b *testBundle, other uuid.UUID) []Point {
		var points []Point
		for i, v := range []float64{0.1, 0.4, 0.3, math.NaN(), 0.6, math.Inf(1), 0.5} {
			p := b.point(int64(i+1), v)
			step := int64(2 * (i + 1)) // 2, 4, … 14
			p.Step = &step
			points = append(points, p)
		}
		bare := b.point(20, 0.7)
		bare.ExecutionID, bare.Step = other, nil
		unlike := b.point(21, 9)
		unlike.Name = "unlike"
		return append(points, bare, unlike)
	}, func(t *testing.T, b *testBundle, places []Place) {
		found, partial, err := b.Progress(b.ctx, ProgressQuery{Places: places, Name: "loss", Steps: []int64{1, 3, 4, 9, 14, 15}})
		require.NoError(t, err)
		require.False(t, partial)
		p := found[places[0].ExecutionID]
		require.InDelta(t, 0.6, p.Best, 1e-12)
		require.Equal(t, int64(10), *p.BestStep)
		require.Equal(t, int64(14), *p.LastStep)
		require.InDelta(t, 0.5, p.Last, 1e-12)
		require.Len(t, p.At, 5, "step 15 is not reached")
		require.True(t, math.IsNaN(p.At[0]), "no value until step 1")
		require.Equal(t, []float64{0.1, 0.4, 0.4, 0.6}, p.At[1:])
		bare := found[places[1].ExecutionID]
		require.InDelta(t, 0.7, bare.Best, 1e-12)
		require.Nil(t, bare.LastStep)
		require.Empty(t, bare.At)

		found, _, err = b.Progress(b.ctx, ProgressQuery{Places: places[:1], Name: "loss", Lower: true, Steps: []int64{4}})
		require.NoError(t, err)
		require.InDelta(t, 0.1, found[places[0].ExecutionID].At[0], 1e-12)
		require.Equal(t, int64(2), *found[places[0].ExecutionID].BestStep)
		found, _, err = b.Progress(b.ctx, ProgressQuery{Places: places, Name: "absent"})
		require.NoError(t, err)
		require.Empty(t, found)
	})
}
