package sweep_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/sweep"
	"github.com/flowforge/flowforge/engine/sweep/space"
)

// kinds has inputs that apply to one of its kinds.
const kinds = `{name: kinds, version: 1.0.0,
	inputs: [{name: kind, type: "Enum(svc, forest)", default: svc}, {name: kernel, type: "Enum(rbf, linear)", show_if: 'kind == "svc"'},
		{name: depth, type: "Integer?", required_if: 'kind == "forest"'}, {name: rate, type: Float, default: 0.5, max: 'kind == "svc" ? 1 : 0.2'}],
	operators: [{name: one, type: noop}]}`

// TestRulesDecideForEachRun: a rule that reads a varied input hides and requires others for the runs
// whose values say so. What one run does not have is no error of the others.
func TestRulesDecideForEachRun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, _, err := b.workflows.Register(b.ctx, []byte(kinds))
	require.NoError(t, err, "%v", apperr.FieldsOf(err))
	b.drive()
	both := space.Space{{Path: "kind", Kind: space.Values, Values: []any{"svc", "forest"}}}
	sw := b.create(sweep.Spec{Workflow: "kinds", Method: sweep.Grid, Parallelism: 2, Space: both, Inputs: map[string]any{"kernel": "rbf", "depth": 3, "rate": 0.1}})
	sw = b.ended(sw.ID)
	require.Equal(t, 2, sw.Counts.Succeeded)
	for _, r := range b.once(sw.ID, 2) {
		e, err := b.engine.Get(b.ctx, *r.ExecutionID)
		require.NoError(t, err)
		kernel := map[any]any{"svc": "rbf", "forest": nil}[r.Values["kind"]]
		require.Equal(t, kernel, e.Inputs["kernel"], r.Values)
	}

	// One of two values is refused by its run alone.
	sw = b.create(sweep.Spec{Workflow: "kinds", Method: sweep.Grid, Parallelism: 2, Space: both, Inputs: map[string]any{"kernel": "rbf", "depth": 3, "rate": 0.7}})
	sw = b.ended(sw.ID)
	require.Equal(t, 1, sw.Counts.Succeeded)

	_, _, err = b.sweeps.Create(b.ctx, sweep.Spec{Workflow: "kinds", Method: sweep.Grid, Space: both, Inputs: map[string]any{"kernel": "rbf", "depth": 3, "rate": 7}})
	require.NotEmpty(t, apperr.FieldsOf(err), "no value of the sweep can run")
	require.Equal(t, "inputs.rate", apperr.FieldsOf(err)[0].Path)
}
