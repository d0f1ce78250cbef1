package importance_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/sweep/importance"
)

// sample draws rows whose objective depends on the first column most, on the second less, on the
// third, whose values have no order, a little, and on the fourth not at all.
func sample(n int, seed uint64) (rows [][]float64, objective []float64) {
	random := rand.New(rand.NewPCG(seed, 1))
	for range n {
		r := []float64{random.Float64(), random.Float64(), float64(random.IntN(3)), random.Float64()}
		rows = append(rows, r)
		bonus := []float64{0, 0.8, 0.2}[int(r[2])]
		objective = append(objective, -4*(r[0]-0.4)*(r[0]-0.4)+0.8*r[1]+bonus+0.02*random.NormFloat64())
	}
	return rows, objective
}

func TestParametersThatMatterComeFirst(t *testing.T) {
	t.Parallel()
	for seed := range uint64(10) {
		rows, objective := sample(150, seed)
		got := importance.Of(rows, objective)
		require.Greater(t, got[0].Share, got[1].Share)
		require.Greater(t, got[1].Share, got[3].Share)
		require.Greater(t, got[2].Share, got[3].Share)
		require.Less(t, got[3].Share, 0.05)
		sum := 0.0
		for _, r := range got {
			sum += r.Share
			require.GreaterOrEqual(t, r.Deviation, 0.0)
		}
		require.InDelta(t, 1, sum, 1e-9)
		require.Greater(t, got[1].Correlation, 0.1)
		require.Equal(t, got, importance.Of(rows, objective), "the same arguments, the same result")
	}
}

func TestMoreRunsThanTheMaximumCount(t *testing.T) {
	t.Parallel()
	rows, objective := sample(3*importance.MaxRuns, 1)
	got := importance.Of(rows, objective)
	require.Greater(t, got[0].Share, 0.4)
}

func TestAConstantObjectiveHasNoImportance(t *testing.T) {
	t.Parallel()
	rows, _ := sample(20, 1)
	for _, r := range importance.Of(rows, make([]float64, 20)) {
		require.Zero(t, r.Share)
		require.True(t, math.IsNaN(r.Correlation))
	}
	require.Nil(t, importance.Of(nil, nil))
}

// TestSpearman compares with scipy.stats.spearmanr.
func TestSpearman(t *testing.T) {
	t.Parallel()
	require.InDelta(t, 0.8207826816681233, importance.Spearman([]float64{1, 2, 3, 4, 5}, []float64{5, 6, 7, 8, 7}), 1e-12)
	require.InDelta(t, -1, importance.Spearman([]float64{1, 2, 30}, []float64{3, 2, 1}), 1e-12)
}

// TestTheSizeOfTheObjectiveChangesNothing: shares of huge and tiny objectives are those of others.
func TestTheSizeOfTheObjectiveChangesNothing(t *testing.T) {
	t.Parallel()
	rows, objective := sample(60, 1)
	want := importance.Of(rows, objective)
	for _, factor := range []float64{0x1p1020, 0x1p-600} {
		other := make([]float64, len(objective))
		for i, v := range objective {
			other[i] = v * factor
		}
		for j, r := range importance.Of(rows, other) {
			require.InDelta(t, want[j].Share, r.Share, 1e-6, "%g", factor)
			require.InDelta(t, want[j].Deviation, r.Deviation, 1e-6, "%g", factor)
		}
	}
	for _, r := range importance.Of(rows, make([]float64, len(rows))) {
		require.Zero(t, r.Share)
	}
}

// TestNeighboursAmongNumbersAreSplit: no number is between the values of the column.
func TestNeighboursAmongNumbersAreSplit(t *testing.T) {
	t.Parallel()
	odd := math.Nextafter(1, 2)
	even := math.Nextafter(odd, 2) // the middle of both is rounded to it
	var rows [][]float64
	var objective []float64
	for i := range 20 {
		rows, objective = append(rows, []float64{[]float64{odd, even}[i%2]}), append(objective, float64(i%2))
	}
	require.InDelta(t, 1, importance.Of(rows, objective)[0].Share, 1e-9)
	for i := range rows {
		rows[i][0] = []float64{-math.MaxFloat64, math.MaxFloat64}[i%2]
	}
	require.InDelta(t, 1, importance.Of(rows, objective)[0].Share, 1e-9)
}
