package executions

import (
	"testing"

	"github.com/stretchr/testify/require"
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
