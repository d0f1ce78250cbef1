package space_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/sweep/space"
	"github.com/flowforge/flowforge/typeregistry"
)

const inputs = `[
	{"name": "lr", "type": "Float(min=0, max=1)"}, {"name": "epochs", "type": "Integer(min=1, max=100)"},
	{"name": "optimizer", "type": "Enum(adam, sgd)", "default": "adam"}, {"name": "key", "type": "Secret", "required": false},
	{"name": "seed", "type": "Optional<Integer>"}, {"name": "day", "type": "Date", "required": false},
	{"name": "model", "type": "Struct{width: Integer(min=8), rate?: Float, layers: List<Struct{units: Integer}> = []}"}]`

func schema(t *testing.T) typeregistry.Schema {
	t.Helper()
	raw, err := typeregistry.DecodeJSON([]byte(inputs))
	require.NoError(t, err)
	s, problems := typeregistry.Builtin().ParseSchema(raw, "inputs")
	require.Empty(t, problems)
	return s
}

func decoded(t *testing.T, text string) space.Space {
	t.Helper()
	var s space.Space
	require.NoError(t, json.Unmarshal([]byte(text), &s))
	return s
}

func checked(t *testing.T, text string) space.Checked {
	t.Helper()
	c, problems := space.Check(decoded(t, text), schema(t), typeregistry.Env{})
	require.Empty(t, problems)
	return c
}

func TestFaultySpacesNameTheField(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`[]`: "",
		`[{"path": "rate", "kind": "values", "values": [1]}]`:                                                                         "0.path",
		`[{"path": "key", "kind": "values", "values": ["a"]}]`:                                                                        "0.path",
		`[{"path": "model.depth", "kind": "int", "from": 1, "to": 2}]`:                                                                "0.path",
		`[{"path": "lr.x", "kind": "values", "values": [1]}]`:                                                                         "0.path",
		`[{"path": "lr", "kind": "values", "values": []}]`:                                                                            "0.values",
		`[{"path": "lr", "kind": "values", "values": [0.1, 2]}]`:                                                                      "0.values.1",
		`[{"path": "lr", "kind": "values", "values": [0.1, 0.10]}]`:                                                                   "0.values.1",
		`[{"path": "lr", "kind": "grid"}]`:                                                                                            "0.kind",
		`[{"path": "optimizer", "kind": "uniform", "from": 0, "to": 1}]`:                                                              "0.kind",
		`[{"path": "day", "kind": "range", "from": 0, "to": 1}]`:                                                                      "0.kind",
		`[{"path": "lr", "kind": "uniform", "to": 1}]`:                                                                                "0.from",
		`[{"path": "lr", "kind": "uniform", "from": 1, "to": 1}]`:                                                                     "0.to",
		`[{"path": "lr", "kind": "uniform", "from": 0.1, "to": 3}]`:                                                                   "0.to",
		`[{"path": "lr", "kind": "loguniform", "from": 0, "to": 1}]`:                                                                  "0.from",
		`[{"path": "lr", "kind": "range", "from": 0, "to": 1, "scale": "log"}]`:                                                       "0.from",
		`[{"path": "lr", "kind": "range", "from": 0, "to": 1, "scale": "cubic"}]`:                                                     "0.scale",
		`[{"path": "lr", "kind": "range", "from": 0.1, "to": 1, "scale": "log", "step": 0.1}]`:                                        "0.step",
		`[{"path": "lr", "kind": "range", "from": 0, "to": 1, "step": 0.1, "steps": 3}]`:                                              "0.steps",
		`[{"path": "lr", "kind": "range", "from": 0, "to": 1, "step": 1e-9}]`:                                                         "0.step",
		`[{"path": "lr", "kind": "range", "from": 0, "to": 1, "steps": 1}]`:                                                           "0.steps",
		`[{"path": "lr", "kind": "uniform", "from": 0, "to": 1, "steps": 4}]`:                                                         "0.steps",
		`[{"path": "lr", "kind": "normal", "mean": 0.1}]`:                                                                             "0.deviation",
		`[{"path": "lr", "kind": "normal", "mean": 0.1, "deviation": 0}]`:                                                             "0.deviation",
		`[{"path": "lr", "kind": "normal", "mean": 0.1, "deviation": 1, "from": 0.5}]`:                                                "0.mean",
		`[{"path": "epochs", "kind": "range", "from": 1.5, "to": 4}]`:                                                                 "0.from",
		`[{"path": "epochs", "kind": "int", "from": 1, "to": 400}]`:                                                                   "0.to",
		`[{"path": "epochs", "kind": "int", "from": 1, "to": 4}, {"path": "epochs", "kind": "values", "values": [1]}]`:                "1.path",
		`[{"path": "model", "kind": "values", "values": [{"width": 8}]}, {"path": "model.width", "kind": "int", "from": 8, "to": 9}]`: "1.path",
	} {
		_, problems := space.Check(decoded(t, text), schema(t), typeregistry.Env{})
		require.NotEmpty(t, problems, text)
		require.Equal(t, want, problems[0].Path, "%s: %v", text, problems)
	}
	many := slices.Repeat(decoded(t, `[{"path": "lr", "kind": "values", "values": [1]}]`), space.MaxParameters+1)
	_, problems := space.Check(many, schema(t), typeregistry.Env{})
	require.Contains(t, problems[0].Message, "at most 20")
}

func TestGridHasEveryCombinationOnce(t *testing.T) {
	t.Parallel()
	c := checked(t, `[{"path": "lr", "kind": "range", "from": 0.001, "to": 0.1, "scale": "log", "steps": 3},
		{"path": "optimizer", "kind": "values", "values": ["adam", "sgd"]}, {"path": "epochs", "kind": "int", "from": 1, "to": 4}]`)
	n, continuous := c.Combinations()
	require.Equal(t, 24, n)
	require.Empty(t, continuous)
	seen := map[string]bool{}
	for i := range n {
		seen[space.Text(c.Grid(i))] = true
	}
	require.Len(t, seen, n)
	require.Equal(t, space.Combination{"lr": json.Number("0.001"), "optimizer": "adam", "epochs": json.Number("2")}, c.Grid(1), "the last parameter changes first")
	require.Equal(t, json.Number("0.01"), c.Grid(8)["lr"])

	_, continuous = checked(t, `[{"path": "lr", "kind": "uniform", "from": 0, "to": 1}, {"path": "epochs", "kind": "range", "from": 1, "to": 9}]`).Combinations()
	require.Equal(t, []string{"lr"}, continuous)
}

func TestRangesHaveTheirValues(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"path": "lr", "kind": "range", "from": 0.1, "to": 0.5, "step": 0.1}`:                 "0.1 0.2 0.3 0.4 0.5",
		`{"path": "lr", "kind": "range", "from": 0, "to": 1, "steps": 5}`:                      "0 0.25 0.5 0.75 1",
		`{"path": "epochs", "kind": "range", "from": 1, "to": 10, "step": 4}`:                  "1 5 9",
		`{"path": "epochs", "kind": "range", "from": 1, "to": 64, "scale": "log", "steps": 7}`: "1 2 4 8 16 32 64",
		`{"path": "epochs", "kind": "range", "from": 1, "to": 3, "steps": 7}`:                  "1 2 3",
		`{"path": "epochs", "kind": "range", "from": 3, "to": 6}`:                              "3 4 5 6",
		`{"path": "seed", "kind": "values", "values": [3, null]}`:                              "3 null",
		`{"path": "model.layers.1.units", "kind": "values", "values": [16, 32]}`:               "16 32",
		`{"path": "lr", "kind": "range", "from": 0.123456789, "to": 0.223456789, "steps": 2}`:  "0.123456789 0.223456789",
	} {
		c := checked(t, "["+text+"]")
		n, _ := c.Combinations()
		var got []string
		for i := range n {
			got = append(got, space.Text(c.Grid(i)[c.Paths()[0]]))
		}
		require.Equal(t, want, strings.ReplaceAll(strings.Join(got, " "), `"`, ""), text)
	}
}

// TestDrawsFollowTheirDistributions compares the share of draws below the middle, by value, with
// what the distribution says, and checks that every draw is a value that the input accepts.
func TestDrawsFollowTheirDistributions(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for text, share := range map[string]float64{
		`{"path": "lr", "kind": "uniform", "from": 0, "to": 1}`:                               0.5,
		`{"path": "lr", "kind": "loguniform", "from": 0.0025, "to": 1}`:                       0.885, // ln 200 / ln 400
		`{"path": "lr", "kind": "range", "from": 0.0025, "to": 1, "scale": "log"}`:            0.885,
		`{"path": "lr", "kind": "normal", "mean": 0.4, "deviation": 0.1, "from": 0, "to": 1}`: 0.841,
		`{"path": "lr", "kind": "values", "values": [0.1, 0.2, 0.9]}`:                         0.667,
		`{"path": "epochs", "kind": "int", "from": 1, "to": 4}`:                               1,
		`{"path": "epochs", "kind": "range", "from": 1, "to": 100, "scale": "log"}`:           0,
	} {
		c := checked(t, "["+text+"]")
		below, field := 0, c.Paths()[0]
		f, _ := schema(t).Field(field)
		const draws = 20_000
		for range draws {
			v := c.At([]float64{random.Float64()})[field]
			require.Empty(t, f.Type.Check(v, typeregistry.Env{}), "%s: %v", text, v)
			if x, err := v.(json.Number).Float64(); err == nil && x < 0.5 {
				below++
			}
		}
		if field == "lr" {
			require.InDelta(t, share, float64(below)/draws, 0.02, text)
		}
	}
}

// TestWholeNumbersAreEquallyLikely: the ends are as likely as the others.
func TestWholeNumbersAreEquallyLikely(t *testing.T) {
	t.Parallel()
	c := checked(t, `[{"path": "epochs", "kind": "int", "from": 1, "to": 4}]`)
	counts := map[any]int{}
	for i := range 400 {
		counts[c.At([]float64{float64(i) / 400})["epochs"]]++
	}
	require.Equal(t, map[any]int{json.Number("1"): 100, json.Number("2"): 100, json.Number("3"): 100, json.Number("4"): 100}, counts)
	c = checked(t, `[{"path": "lr", "kind": "normal", "mean": 0.4, "deviation": 0.1}]`)
	for _, u := range []float64{0, math.Nextafter(1, 0)} {
		x, err := c.At([]float64{u})["lr"].(json.Number).Float64()
		require.NoError(t, err)
		require.False(t, math.IsInf(x, 0))
	}
}

func TestApplyReplacesPartsOfInputs(t *testing.T) {
	t.Parallel()
	base := map[string]any{"lr": json.Number("0.1"), "model": map[string]any{"width": json.Number("8"), "layers": []any{map[string]any{"units": json.Number("1")}}}}
	before := space.Text(base)
	out, problems := space.Apply(base, space.Combination{"epochs": json.Number("3"), "model.rate": json.Number("0.5"), "model.layers.0.units": json.Number("2")})
	require.Empty(t, problems)
	require.JSONEq(t, `{"lr": 0.1, "epochs": 3, "model": {"width": 8, "rate": 0.5, "layers": [{"units": 2}]}}`, space.Text(out))
	require.Equal(t, before, space.Text(base))
	_, problems = space.Apply(base, space.Combination{"model.layers.1.units": json.Number("2")})
	require.Equal(t, "model.layers.1.units", problems[0].Path)
	out, problems = space.Apply(nil, space.Combination{"model.width": json.Number("9")})
	require.Empty(t, problems)
	require.JSONEq(t, `{"model": {"width": 9}}`, space.Text(out))
	dotted := map[string]any{"model.width": json.Number("8"), "model.rate.min": json.Number("1"), "model.depth": json.Number("2"), "net.head": map[string]any{"size": json.Number("3"), "bias": true}}
	out, problems = space.Apply(dotted, space.Combination{"model.width": json.Number("9"), "model.rate": json.Number("0.5"), "net.head.size": json.Number("4")})
	require.Empty(t, problems)
	require.JSONEq(t, `{"model": {"width": 9, "rate": 0.5}, "model.depth": 2, "net": {"head": {"size": 4, "bias": true}}}`, space.Text(out), "a launch would let dotted names win")
}

// TestNumbersAndBack: a combination that was drawn becomes the same numbers again.
func TestNumbersAndBack(t *testing.T) {
	t.Parallel()
	c := checked(t, `[{"path": "lr", "kind": "normal", "mean": 0.4, "deviation": 0.1, "from": 0, "to": 1},
		{"path": "model.rate", "kind": "range", "from": 0.001, "to": 10, "scale": "log"},
		{"path": "epochs", "kind": "range", "from": 1, "to": 64, "scale": "log", "steps": 7},
		{"path": "optimizer", "kind": "values", "values": ["adam", "sgd"]}, {"path": "seed", "kind": "int", "from": 3, "to": 9}]`)
	require.Equal(t, []space.Dimension{
		{Kind: space.Real, High: 1}, {Kind: space.Real, Low: 0.001, High: 10, Log: true}, {Kind: space.Whole, High: 6},
		{Kind: space.Category, Count: 2}, {Kind: space.Whole, Low: 3, High: 9},
	}, c.Dimensions())
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		drawn := c.At([]float64{random.Float64(), random.Float64(), random.Float64(), random.Float64(), random.Float64()})
		x, ok := c.ToNumbers(drawn)
		require.True(t, ok)
		again := c.FromNumbers(x)
		for _, path := range c.Paths() {
			if path == "lr" { // 1e-12 of the distribution is lost
				continue
			}
			require.Equal(t, drawn[path], again[path])
		}
		a, err := drawn["lr"].(json.Number).Float64()
		require.NoError(t, err)
		b, err := again["lr"].(json.Number).Float64()
		require.NoError(t, err)
		require.InDelta(t, a, b, 1e-5)
	}
	for _, other := range []space.Combination{{}, {"lr": json.Number("2")}} {
		_, ok := c.ToNumbers(other)
		require.False(t, ok)
	}
}
