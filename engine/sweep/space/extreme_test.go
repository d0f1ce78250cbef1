package space_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/sweep/space"
	"github.com/flowforge/flowforge/typeregistry"
)

// free returns a space of one parameter of an input without bounds.
func free(t *testing.T, input, parameter string) (space.Checked, []typeregistry.Problem) {
	t.Helper()
	raw, err := typeregistry.DecodeJSON(fmt.Appendf(nil, `[{"name": "x", "type": %q}]`, input))
	require.NoError(t, err)
	s, problems := typeregistry.Builtin().ParseSchema(raw, "inputs")
	require.Empty(t, problems)
	return space.Check(decoded(t, `[{"path": "x", `+parameter+`}]`), s, typeregistry.Env{})
}

// TestNumbersThatOverflowAreRefused: draws of such parameters would be infinite, which JSON does not
// have.
func TestNumbersThatOverflowAreRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`"kind": "normal", "mean": 0, "deviation": 1e308`:                             "0.deviation",
		`"kind": "normal", "mean": -1e300, "deviation": 1`:                            "0.mean",
		`"kind": "uniform", "from": -1.7e308, "to": 1.7e308`:                          "0.from",
		`"kind": "loguniform", "from": 1, "to": 2e100`:                                "0.to",
		`"kind": "range", "from": 0, "to": 1, "step": 1e200`:                          "0.step",
		`"kind": "range", "from": 1, "to": 1.7e308, "steps": 3`:                       "0.to",
		`"kind": "normal", "mean": 0, "deviation": 1, "from": -1e101, "to": 1.7e308`:  "0.from",
		`"kind": "normal", "mean": 0, "deviation": 1e101, "from": -1e100, "to": 1e99`: "0.deviation",
	} {
		_, problems := free(t, "Float", text)
		require.NotEmpty(t, problems, text)
		require.Equal(t, want, problems[0].Path, "%s: %v", text, problems)
		require.Contains(t, problems[0].Message, "between -1e100 and 1e100")
	}
}

func TestDrawsOfExtremeNumbersAreFinite(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`"kind": "normal", "mean": 1e100, "deviation": 1e100`,
		`"kind": "normal", "mean": 0, "deviation": 1e100, "from": -1e-100, "to": 1e-100`,
		`"kind": "normal", "mean": 0, "deviation": 5e-324, "from": -1, "to": 1`,
		`"kind": "uniform", "from": -1e100, "to": 1e100`,
		`"kind": "loguniform", "from": 5e-324, "to": 1e100`,
		`"kind": "range", "from": -1e100, "to": 1e100, "steps": 7`,
	} {
		c, problems := free(t, "Float", text)
		require.Empty(t, problems, text)
		for _, u := range []float64{0, 0.001, 0.3, 0.5, 0.999, math.Nextafter(1, 0)} {
			drawn := c.At([]float64{u})
			_, err := json.Marshal(drawn)
			require.NoError(t, err, text)
			x, ok := c.ToNumbers(drawn)
			require.True(t, ok, "%s: %v", text, drawn)
			require.False(t, math.IsNaN(x[0]) || math.IsInf(x[0], 0), "%s: %v", text, drawn)
			_, err = json.Marshal(c.FromNumbers(x))
			require.NoError(t, err, text)
		}
	}
}

// TestLargeWholeRangesAreDrawnWhole: a range of more than 2³¹ numbers reaches both of its ends.
func TestLargeWholeRangesAreDrawnWhole(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`"kind": "int", "from": 0, "to": 1e12`, `"kind": "range", "from": 0, "to": 1e12`} {
		c, problems := free(t, "Integer", text)
		require.Empty(t, problems)
		size, _ := c.Combinations()
		require.Equal(t, math.MaxInt32, size)
		require.Equal(t, json.Number("0"), c.At([]float64{0})["x"], text)
		require.Equal(t, json.Number("500000000000"), c.At([]float64{0.5})["x"], text)
		require.Equal(t, json.Number("1000000000000"), c.At([]float64{math.Nextafter(1, 0)})["x"], text)
	}
	c, problems := free(t, "Integer", `"kind": "int", "from": -9007199254740992, "to": 9007199254740992`)
	require.Empty(t, problems)
	require.Equal(t, json.Number("-9007199254740992"), c.At([]float64{0})["x"])
	require.Equal(t, json.Number("0"), c.At([]float64{0.5})["x"])
}

// TestNarrowRangesKeepTheirValuesApart: values are rounded by how much they differ, not by their size.
func TestNarrowRangesKeepTheirValuesApart(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]any{
		`"kind": "range", "from": 1700000000, "to": 1700000300, "step": 100`: {"1.7e+09", "1.7000001e+09", "1.7000002e+09", "1.7000003e+09"},
		`"kind": "range", "from": 1000000, "to": 1000001, "steps": 3`:        {"1e+06", "1.0000005e+06", "1.000001e+06"},
		`"kind": "range", "from": -0.3, "to": 0.3, "step": 0.1`:              {"-0.3", "-0.2", "-0.1", "0", "0.1", "0.2", "0.3"},
		`"kind": "range", "from": 0.00001, "to": 1, "steps": 3`:              {"1e-05", "0.500005", "1"},
	} {
		c, problems := free(t, "Float", text)
		require.Empty(t, problems, text)
		n, _ := c.Combinations()
		require.Equal(t, len(want), n, text)
		for i := range n {
			require.Equal(t, json.Number(want[i].(string)), c.Grid(i)["x"], text)
		}
	}
	for _, text := range []string{
		`"kind": "uniform", "from": 1700000000, "to": 1700000900`, `"kind": "normal", "mean": 1700000000, "deviation": 100`,
		`"kind": "loguniform", "from": 1700000000, "to": 1700000900`,
	} {
		c, problems := free(t, "Float", text)
		require.Empty(t, problems, text)
		seen := map[any]bool{}
		for i := range 100 {
			seen[c.At([]float64{(float64(i) + 0.5) / 100})["x"]] = true
		}
		require.Len(t, seen, 100, text)
	}
}

// TestTheDatabaseWritesNumbersInItsOwnWay: 1e-05 comes back as 0.00001.
func TestTheDatabaseWritesNumbersInItsOwnWay(t *testing.T) {
	t.Parallel()
	c, problems := free(t, "Float", `"kind": "values", "values": [1e-05, 1, 100000]`)
	require.Empty(t, problems)
	for i, text := range []json.Number{"0.00001", "1.0", "1e5"} {
		x, ok := c.ToNumbers(space.Combination{"x": text})
		require.True(t, ok, text)
		require.InDelta(t, float64(i), x[0], 0)
	}
	_, ok := c.ToNumbers(space.Combination{"x": json.Number("2")})
	require.False(t, ok)
	c, problems = free(t, "Integer", `"kind": "range", "from": 1, "to": 1000000, "scale": "log", "steps": 1000`)
	require.Empty(t, problems)
	n, _ := c.Combinations()
	for i := range n {
		x, ok := c.ToNumbers(c.Grid(i))
		require.True(t, ok)
		require.InDelta(t, float64(i), x[0], 0)
	}
}

// TestCanonicalNumbers: spellings of a number are equal, and different numbers are not.
func TestCanonicalNumbers(t *testing.T) {
	t.Parallel()
	for _, equal := range [][]json.Number{
		{"1", "1.0", "1e0"}, {"0", "-0", "0e5"}, {"0.00001", "1e-05"}, {"100000", "1e5"}, {"9007199254740993", "9007199254740993.0"}, {"9007199254740992"}, {"1e308"}, {"-9007199254740993"},
	} {
		for _, n := range equal {
			require.Equal(t, space.Canonical(equal[0]), space.Canonical(n))
		}
	}
	require.NotEqual(t, space.Canonical("9007199254740992"), space.Canonical("9007199254740993"))
	require.NotEqual(t, space.Canonical("9007199254740993"), space.Canonical("-9007199254740993"))
}
