package executions

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/data/index"
)

// TestAConditionHoldsForTheWholeQuery: a query with alternatives gets parentheses, and a condition of
// one alternative is no condition of the query.
func TestAConditionHoldsForTheWholeQuery(t *testing.T) {
	t.Parallel()
	const condition = "state:failed"
	for where, want := range map[string]string{
		"":                                condition,
		"lr > 1":                          "lr > 1 and state:failed",
		"a = 1 or b = 2":                  "(a = 1 or b = 2) and state:failed",
		"(a = 1) or (b = 2)":              "((a = 1) or (b = 2)) and state:failed",
		"(a = 1 or b = 2)":                "(a = 1 or b = 2) and state:failed",
		"(a = 1\tOR\tb = 2)":              "(a = 1\tOR\tb = 2) and state:failed",
		"a = 1 or b = 2 and " + condition: "(a = 1 or b = 2 and state:failed) and state:failed",
		condition + " and a = 1 or b = 2": "(state:failed and a = 1 or b = 2) and state:failed",
		`name = "this or that"`:           `name = "this or that" and state:failed`,
	} {
		got, on := toggled(where, condition)
		require.Equal(t, want, got)
		require.False(t, on, where)
		require.Equal(t, want, joined(where, condition))
	}
	for where, want := range map[string]string{
		condition: "", "a = 1 and " + condition: "a = 1", condition + " and a = 1": "a = 1", "(a = 1 or b = 2) and " + condition: "(a = 1 or b = 2)",
	} {
		got, on := toggled(where, condition)
		require.Equal(t, want, got)
		require.True(t, on, where)
		require.Equal(t, where, joined(where, condition))
	}
}

// TestEdgesOfLargeNumbers: bounds of intervals are numbers even if their difference is not.
func TestEdgesOfLargeNumbers(t *testing.T) {
	t.Parallel()
	buckets := make([]int, 4)
	wide := index.ColumnFacet{Least: -1e308, Most: 1e308, Buckets: buckets}
	require.Equal(t, []float64{-1e308, 0, 1e308}, []float64{edge(wide, 0), edge(wide, 2), edge(wide, 4)})
	steep := index.ColumnFacet{Least: 1e-300, Most: 1e300, Logarithmic: true, Buckets: buckets}
	require.InEpsilon(t, 1e-300, edge(steep, 0), 1e-9)
	require.InEpsilon(t, 1, edge(steep, 2), 1e-9)
	require.InEpsilon(t, 1e300, edge(steep, 4), 1e-9)
}
