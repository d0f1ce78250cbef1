package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// sweepView is what the stories read of a sweep.
type sweepView struct {
	ID     string         `json:"id"`
	State  string         `json:"state"`
	Counts map[string]int `json:"counts"`
	Best   *struct {
		Objective float64        `json:"objective"`
		Values    map[string]any `json:"values"`
	} `json:"best"`
	Runs []struct {
		ExecutionID string   `json:"execution_id"`
		State       string   `json:"state"`
		Objective   *float64 `json:"objective"`
		Step        *int     `json:"step"`
	} `json:"run_list"`
	Importance struct {
		Parameters []struct {
			Path  string  `json:"path"`
			Share float64 `json:"share"`
		} `json:"parameters"`
	} `json:"importance"`
}

// TestASweepOfTwentyRuns: local processes report a metric, the best run is the one nearest to 0.1, and
// a kill of the server in between loses and repeats nothing.
func TestASweepOfTwentyRuns(t *testing.T) {
	t.Parallel()
	s := ownServer(t)
	definition := filepath.Join(t.TempDir(), "curve.yaml")
	require.NoError(t, os.WriteFile(definition, []byte(`name: curve
version: 1.0.0
inputs: [{name: lr, type: Float}, {name: noise, type: Integer, default: 0}]
operators:
  - name: train
    type: python
    code:
      script: |
        from flowforge import client
        import math
        for step in range(1, 4):
            client.metric("accuracy", 1 - abs(math.log10(client.inputs["lr"]) + 1) / 4 - 0.1 / step, step=step)
    inputs: [{name: lr, from: inputs.lr}]
`), 0o600))
	s.flowforge(t, "apply", "-f", definition)
	var made sweepView
	s.api(t, http.MethodPost, "/sweeps", map[string]any{
		"workflow": "curve", "method": "sobol", "runs": 20, "parallelism": 4, "objective": map[string]any{"metric": "accuracy"},
		"space": []any{
			map[string]any{"path": "lr", "kind": "loguniform", "from": 0.0001, "to": 1}, map[string]any{"path": "noise", "kind": "int", "from": 0, "to": 9},
		},
	}, &made)
	sweep := func() (v sweepView) {
		s.api(t, http.MethodGet, "/sweeps/"+made.ID, nil, &v)
		return v
	}
	require.Eventually(t, func() bool { return sweep().Counts["succeeded"] >= 4 }, 2*time.Minute, 100*time.Millisecond)
	s.kill()
	s.restart(t)
	require.Eventually(t, func() bool { return sweep().State == "SUCCEEDED" }, 4*time.Minute, 200*time.Millisecond)

	v := sweep()
	require.Equal(t, 20, v.Counts["succeeded"])
	require.Len(t, v.Runs, 20)
	seen := map[string]bool{}
	for _, r := range v.Runs {
		require.NotNil(t, r.Objective, r.ExecutionID)
		require.Equal(t, 3, *r.Step)
		require.False(t, seen[r.ExecutionID])
		seen[r.ExecutionID] = true
	}
	require.Equal(t, 20, s.executionCount(t, "curve"))
	require.Greater(t, v.Best.Objective, 0.9)
	require.Equal(t, "lr", v.Importance.Parameters[0].Path)
	require.Greater(t, v.Importance.Parameters[0].Share, 0.8)
}
