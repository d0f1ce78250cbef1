package sweeps

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/sweep"
	"github.com/flowforge/flowforge/engine/sweep/space"
)

// TestAxesShowTheWholeSpace: an axis does not depend on which values the runs have so far.
func TestAxesShowTheWholeSpace(t *testing.T) {
	t.Parallel()
	rows := []sweep.Run{{Values: space.Combination{"x": json.Number("16")}}}
	c := parameterColumn(space.Parameter{Path: "x", Kind: space.Values, Values: []any{json.Number("32"), json.Number("8"), json.Number("16")}}, rows)
	require.Equal(t, []float64{8, 32}, c.Range)
	require.Equal(t, []float64{8, 16, 32}, c.Ticks)
	c = parameterColumn(space.Parameter{Path: "x", Kind: space.LogUniform, From: new(0.001), To: new(0.5)}, rows)
	require.Equal(t, []float64{0.001, 0.5}, c.Range)
	require.Empty(t, c.Ticks)
	c = parameterColumn(space.Parameter{Path: "x", Kind: space.Normal, Mean: new(1.0), Deviation: new(1.0)}, rows)
	require.Empty(t, c.Range)
	c = parameterColumn(space.Parameter{Path: "x", Kind: space.Values, Values: []any{"mlp", "softmax"}}, []sweep.Run{{Values: space.Combination{"x": "softmax"}}})
	require.Empty(t, c.Range)
	require.Equal(t, []string{"mlp", "softmax"}, c.Categories)
	require.Equal(t, []float64{1}, []float64(c.Values))
}
