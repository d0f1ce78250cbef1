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

// TestSilentRunsAreNamed: a sweep whose runs end without the objective says so, and promises no result
// after its end.
func TestSilentRunsAreNamed(t *testing.T) {
	t.Parallel()
	s := sweep.Sweep{State: sweep.Running, Objective: &sweep.Objective{Metric: "acuracy"}}
	require.Equal(t, "No run has a result yet.", figures(s)[0].Note)
	s.Counts.Succeeded = 3
	require.Equal(t, "3 runs ended without reporting “acuracy”.", figures(s)[0].Note)
	s.State, s.Counts.Succeeded = sweep.Succeeded, 1
	require.Equal(t, "1 run ended without reporting “acuracy”.", figures(s)[0].Note)
	s.Counts.Succeeded = 0
	require.Equal(t, "No run has a result.", figures(s)[0].Note)
}
