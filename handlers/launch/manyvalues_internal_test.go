package launch

import (
	"encoding/json"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/sweep"
	"github.com/flowforge/flowforge/engine/sweep/space"
	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views"
)

func sweepSchema(t *testing.T) typeregistry.Schema {
	t.Helper()
	schema, problems := typeregistry.Builtin().ParseSchema([]any{
		map[string]any{"name": "rate", "type": "Float(min=1e-5, max=1, log=true)", "default": 0.01},
		map[string]any{"name": "layers", "type": "Integer(min=1, max=8)", "default": 2},
		map[string]any{"name": "optimizer", "type": "Enum(adam, sgd)", "default": "adam"},
		map[string]any{"name": "augment", "type": "Boolean", "default": false},
		map[string]any{"name": "data", "type": "Dataset"},
		map[string]any{"name": "widths", "type": "List<Integer>", "default": []any{json.Number("8")}},
		map[string]any{"name": "params", "type": "HyperparameterSet{momentum: Float = 0.9}"},
		map[string]any{"name": "mask", "type": "File?"},
	}, "test")
	require.Empty(t, problems)
	return schema
}

// TestFilesTakeOneValue: everything but files and structures can take many values; the members of
// structures can.
func TestFilesTakeOneValue(t *testing.T) {
	t.Parallel()
	var paths []string
	for _, v := range variable(sweepSchema(t), typeregistry.Env{}) {
		paths = append(paths, v.path)
	}
	require.Equal(t, []string{"rate", "layers", "optimizer", "augment", "data", "widths", "params.momentum"}, paths)
}

// TestControlsOfParameters: the controls that describe a parameter are read as the same parameter.
func TestControlsOfParameters(t *testing.T) {
	t.Parallel()
	byPath := map[string]varied{}
	for _, v := range variable(sweepSchema(t), typeregistry.Env{}) {
		byPath[v.path] = v
	}
	for name, p := range map[string]space.Parameter{
		"range":        {Path: "rate", Kind: space.Range, From: new(1e-4), To: new(0.1), Scale: space.Log, Steps: 5},
		"steps":        {Path: "layers", Kind: space.Range, From: new(1.0), To: new(7.0), Scale: space.Linear, Step: new(2.0)},
		"numbers":      {Path: "rate", Kind: space.Values, Values: []any{json.Number("0.1"), json.Number("1e-3")}},
		"normal":       {Path: "params.momentum", Kind: space.Normal, Mean: new(0.9), Deviation: new(0.05), To: new(1.0)},
		"log-uniform":  {Path: "rate", Kind: space.LogUniform, From: new(1e-4), To: new(0.1)},
		"whole":        {Path: "layers", Kind: space.Int, From: new(1.0), To: new(4.0)},
		"enum":         {Path: "optimizer", Kind: space.Values, Values: []any{"sgd"}},
		"boolean":      {Path: "augment", Kind: space.Values, Values: []any{true, false}},
		"references":   {Path: "data", Kind: space.Values, Values: []any{"digits@1", "digits, small@2"}},
		"lists":        {Path: "widths", Kind: space.Values, Values: []any{[]any{json.Number("8")}, []any{json.Number("8"), json.Number("16")}}},
		"whole values": {Path: "layers", Kind: space.Values, Values: []any{json.Number("1"), json.Number("8")}},
	} {
		v := byPath[p.Path]
		f := manyField(v, controls(p, v.lined()))
		require.True(t, f.On, name)
		read, faults := parameter(v, f)
		require.Empty(t, faults, name)
		require.Equal(t, p, read, name)
	}
}

// TestTextsThatAreNoNumbers: they are problems of their input, which keeps what was typed.
func TestTextsThatAreNoNumbers(t *testing.T) {
	t.Parallel()
	d := &draft{schema: sweepSchema(t), values: url.Values{"inputs.optimizer": {"sgd"}, "inputs.rate": {"nothing"}}, mode: views.LaunchForm, kept: url.Values{
		"sweep.on.rate": {"1"}, "sweep.kind.rate": {"range"}, "sweep.from.rate": {"tiny"}, "sweep.to.rate": {"1"}, "sweep.scale.rate": {"log"},
		"sweep.on.layers": {"1"}, "sweep.kind.layers": {"values"}, "sweep.values.layers": {"1, two"}, "sweep.runs": {"many"}, "sweep.gpu_hours": {"0.5"},
	}}
	s := d.newSweepDraft(typeregistry.Env{})
	spec, _ := d.spec(s, typeregistry.Env{})
	require.True(t, s.failed())
	require.Contains(t, s.fields[0].Errors[0], `From: "tiny" is not a number`)
	require.Equal(t, "tiny", s.fields[0].From)
	require.Equal(t, []string{`"two" is not a number.`}, s.fields[1].Errors)
	require.Contains(t, s.errors["runs"], `"many" is not a whole number`)
	require.InDelta(t, 0.5, spec.GPUHours, 0)
	require.NotContains(t, spec.Inputs, "rate", "a varied input has no other value")
	require.Contains(t, spec.Inputs, "optimizer")
}

// TestErrorsOfASweepReachTheirControls: the paths of the API name the controls of the form.
func TestErrorsOfASweepReachTheirControls(t *testing.T) {
	t.Parallel()
	d := &draft{schema: sweepSchema(t), values: url.Values{}, mode: views.LaunchForm, kept: url.Values{
		"sweep.on.layers": {"1"}, "sweep.kind.layers": {"range"}, "sweep.from.layers": {"1"}, "sweep.to.layers": {"90"},
	}}
	s := d.newSweepDraft(typeregistry.Env{})
	_, _ = d.spec(s, typeregistry.Env{})
	problems := s.blame([]apperr.Field{
		{Path: "space.0.to", Message: "90 is more than 8."}, {Path: "objective.output", Message: "There is no output."}, {Path: "early_stopping.factor", Message: "Enter 2 to 100."},
		{Path: "inputs.data", Message: "Enter a value."}, {Path: "inputs.layers", Message: "Not this one."},
	})
	require.Equal(t, []string{"To: 90 is more than 8."}, s.fields[1].Errors)
	require.Equal(t, "There is no output.", s.errors["objective"])
	require.Equal(t, "Enter 2 to 100.", s.errors["factor"])
	require.Equal(t, "Not this one.", s.errors["space"])
	require.Len(t, problems, 1)
	require.Equal(t, "data", problems[0].Path)
	var lines []string
	for _, l := range s.errorLines() {
		lines = append(lines, l.Target)
	}
	require.Equal(t, []string{"many-on-layers", "", "sweep-objective", "sweep-factor"}, lines)
}

// TestAFormLikeASweep: the form of a sweep like another one requests the same.
func TestAFormLikeASweep(t *testing.T) {
	t.Parallel()
	d := &draft{schema: sweepSchema(t), values: url.Values{}, mode: views.LaunchForm}
	sw := sweep.Sweep{
		Space: []space.Parameter{{Path: "rate", Kind: space.LogUniform, From: new(1e-4), To: new(0.1)}}, Method: sweep.TPE, Planned: 40, Parallelism: 8, GPUHours: 2.5,
		Objective: &sweep.Objective{Metric: "loss", Goal: sweep.Minimize, Value: sweep.LastValue}, EarlyStopping: sweep.EarlyStopping{Rule: sweep.Halving, MinStep: 3, Factor: 2},
	}
	d.kept = d.newSweepDraft(typeregistry.Env{}).fill(sw)
	s := d.newSweepDraft(typeregistry.Env{})
	spec, _ := d.spec(s, typeregistry.Env{})
	require.False(t, s.failed())
	require.Equal(t, space.Space(sw.Space), spec.Space)
	require.Equal(t, sw.Objective, spec.Objective)
	require.Equal(t, sw.EarlyStopping, spec.EarlyStopping)
	require.Equal(t, []any{sw.Method, sw.Planned, sw.Parallelism, sw.GPUHours}, []any{spec.Method, spec.Runs, spec.Parallelism, spec.GPUHours})
}
