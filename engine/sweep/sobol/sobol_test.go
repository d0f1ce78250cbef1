package sobol_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/sweep/sobol"
)

// TestPointsAreThePublishedOnes compares with the points of scipy.stats.qmc.Sobol(d=21,
// scramble=False, bits=32) of SciPy 1.17, which has the same direction numbers.
func TestPointsAreThePublishedOnes(t *testing.T) {
	t.Parallel()
	s := sobol.New(sobol.MaxDimensions, 0)
	for i, want := range map[uint32][]float64{
		0:    {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		1:    {0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5},
		2:    {0.75, 0.25, 0.25, 0.25, 0.75, 0.75, 0.25, 0.75, 0.75, 0.75, 0.75, 0.75, 0.25, 0.25, 0.75, 0.25, 0.75, 0.25, 0.75, 0.25, 0.25},
		100:  {0.4140625, 0.2578125, 0.7734375, 0.7265625, 0.8828125, 0.7421875, 0.0234375, 0.4765625, 0.6328125, 0.6953125, 0.4609375, 0.6796875, 0.4765625, 0.8515625, 0.3203125, 0.4921875, 0.6796875, 0.7421875, 0.8359375, 0.3359375, 0.7578125},
		513:  {0.5029296875, 0.7509765625, 0.4541015625, 0.4912109375, 0.9580078125, 0.0654296875, 0.1142578125, 0.4091796875, 0.8779296875, 0.4150390625, 0.4775390625, 0.3662109375, 0.6826171875, 0.8583984375, 0.7587890625, 0.3251953125, 0.3740234375, 0.1318359375, 0.9462890625, 0.9384765625, 0.9541015625},
		1023: {0.0009765625, 0.7529296875, 0.6123046875, 0.1455078125, 0.1865234375, 0.4384765625, 0.1396484375, 0.6181640625, 0.3447265625, 0.8505859375, 0.6787109375, 0.0361328125, 0.1298828125, 0.6650390625, 0.3623046875, 0.4638671875, 0.3134765625, 0.8759765625, 0.5849609375, 0.3193359375, 0.8662109375},
	} {
		require.Equal(t, want, s.Point(i), i)
	}
}

// TestEachHalfHasItsShare: of the first 2^k points, each interval of length 2^-k has one in every
// dimension, also with a seed.
func TestEachHalfHasItsShare(t *testing.T) {
	t.Parallel()
	for _, seed := range []int64{0, 1, -7} {
		s := sobol.New(sobol.MaxDimensions, seed)
		for _, n := range []int{16, 256} {
			for d := range sobol.MaxDimensions {
				seen := make([]bool, n)
				for i := range n {
					x := s.Point(uint32(i))[d]
					require.False(t, seen[int(x*float64(n))])
					seen[int(x*float64(n))] = true
				}
			}
		}
	}
	require.NotEqual(t, sobol.New(2, 1).Point(5), sobol.New(2, 2).Point(5))
}
