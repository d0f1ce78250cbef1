package stopping_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/sweep/stopping"
)

func TestStepsGrow(t *testing.T) {
	t.Parallel()
	median := stopping.Rule{Kind: stopping.Median, MinStep: 3}.Steps()
	require.Equal(t, []int64{3, 4, 5, 7, 9, 12, 15}, median[:7])
	require.Less(t, len(median), 200)
	require.Equal(t, []int64{2, 6, 18, 54}, stopping.Rule{Kind: stopping.Halving, MinStep: 2, Factor: 3}.Steps()[:4])
}

func TestMedianStopsTheWorseHalf(t *testing.T) {
	t.Parallel()
	r := stopping.Rule{Kind: stopping.Median, MinStep: 1, MinRuns: 3}
	_, stop := r.Decide(10, 0.1, []float64{0.5, 0.6})
	require.False(t, stop, "too few other runs")
	d, stop := r.Decide(10, 0.71, []float64{0.9, 0.74, 0.1})
	require.True(t, stop)
	require.Equal(t, "Stopped early: below the median at step 10 (0.71, median of 3 other runs 0.74).", d.Message())
	_, stop = r.Decide(10, 0.74, []float64{0.9, 0.74, 0.1})
	require.False(t, stop, "as good as the median")
	r.Lower = true
	_, stop = r.Decide(10, 0.71, []float64{0.9, 0.74, 0.1})
	require.False(t, stop)
	d, stop = r.Decide(10, 0.8, []float64{0.9, 0.7, 0.1, 0.6})
	require.True(t, stop)
	require.InDelta(t, 0.65, d.Limit, 1e-9)
	require.Contains(t, d.Message(), "above the median")
}

func TestHalvingKeepsTheBestShare(t *testing.T) {
	t.Parallel()
	r := stopping.Rule{Kind: stopping.Halving, MinStep: 1, Factor: 3}
	_, stop := r.Decide(3, 0.1, []float64{0.5})
	require.False(t, stop, "one of two cannot be a third")
	d, stop := r.Decide(3, 0.1, []float64{0.5, 0.2})
	require.True(t, stop)
	require.Equal(t, "Stopped early: not among the best 1 of 3 at the rung of step 3 (0.1, limit 0.5 of 3 runs).", d.Message())
	_, stop = r.Decide(3, 0.6, []float64{0.5, 0.2})
	require.False(t, stop)
}

// TestTheBestRunIsNeverStopped: neither rule stops a run that no other beats, in any order of
// arrival.
func TestTheBestRunIsNeverStopped(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		values := make([]float64, 1+random.IntN(20))
		best := 0
		for i := range values {
			values[i] = random.Float64()
			if values[i] > values[best] {
				best = i
			}
		}
		for _, kind := range []stopping.Kind{stopping.Median, stopping.Halving} {
			r := stopping.Rule{Kind: kind, MinStep: 1, MinRuns: 1 + random.IntN(4), Factor: 2 + random.IntN(3)}
			_, stop := r.Decide(1, values[best], append(values[:best:best], values[best+1:]...)[:random.IntN(len(values))])
			require.False(t, stop)
		}
	}
}
