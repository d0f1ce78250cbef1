package handlers_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSweepsByTheAPI: what is sent comes back, numbers as they were written.
func TestSweepsByTheAPI(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, `{name: digits, version: 1.0.0, inputs: [{name: lr, type: Float}, {name: kind, type: "Enum(a, b)"}],
		outputs: [{name: score, type: Float, expression: inputs.lr}], operators: [{name: one, type: noop}]}`)
	const spec = `{"workflow": "digits", "name": "rates", "method": "grid", "objective": {"output": "score", "goal": "min"},
		"space": [{"path": "lr", "kind": "range", "from": 0.001, "to": 0.1, "scale": "log", "steps": 3}, {"path": "kind", "kind": "values", "values": ["a", "b"]}]}`
	preview := b.member.post(t, "/api/v1/sweeps/preview", spec).object(t, http.StatusOK)
	require.Equal(t, true, preview["valid"])
	require.Equal(t, "6", fmt.Sprint(preview["runs"]))
	require.NotContains(t, preview, "run_seconds", "unknown")
	require.Equal(t, "map[kind:b lr:0.001]", fmt.Sprint(preview["first"].([]any)[1]))

	made := b.member.post(t, "/api/v1/sweeps", spec).object(t, http.StatusCreated)
	require.Equal(t, "RUNNING", made["state"])
	require.Equal(t, []any{"a", "b"}, made["space"].([]any)[1].(map[string]any)["values"])
	one := "/api/v1/sweeps/" + made["id"].(string)
	got := b.member.get(t, one+"?sort=-lr").object(t, http.StatusOK)
	require.Equal(t, "rates", got["name"])
	require.Contains(t, got["importance"].(map[string]any)["message"], "needs 8 runs")
	require.Equal(t, []any{}, got["run_list"])
	require.Len(t, b.member.get(t, "/api/v1/sweeps?workflow=digits").object(t, http.StatusOK)["sweeps"], 1)
	require.Equal(t, "PAUSED", b.member.post(t, one+"/pause", "").object(t, http.StatusOK)["state"])
	require.Equal(t, "RUNNING", b.member.post(t, one+"/resume", "").object(t, http.StatusOK)["state"])
	require.Equal(t, "STOPPING", b.member.post(t, one+"/stop", `{"running": "cancel"}`).object(t, http.StatusOK)["state"])

	invalid := b.member.post(t, "/api/v1/sweeps", `{"workflow": "digits", "runs": 3, "space": [{"path": "lr", "kind": "uniform", "from": 1, "to": 0}]}`).object(t, http.StatusUnprocessableEntity)
	require.Equal(t, "space.0.to", invalid["errors"].([]any)[0].(map[string]any)["path"])
}
