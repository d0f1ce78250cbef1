package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// training trains epoch by epoch as its quality says, with a checkpoint after each. Before each epoch, it
// waits for the file go-QUALITY-EPOCH in a folder, so that the test decides who reaches a step first.
const training = `name: training
version: 1.0.0
inputs: [{name: quality, type: Float}, {name: gates, type: String}, {name: epochs, type: Integer, default: 4}]
outputs: [{name: report, type: JSON, from: train.report}]
operators:
  - name: train
    type: python
    grace_period: 20s
    inputs: [{name: quality, from: inputs.quality}, {name: gates, from: inputs.gates}, {name: epochs, from: inputs.epochs}]
    outputs: [{name: report, type: JSON}]
    resources: {cpu: 50m, memory: 64Mi}
    code:
      script: |
        import pathlib, time
        from flowforge import client
        quality, gates, epochs = (client.inputs[n] for n in ("quality", "gates", "epochs"))
        before = client.get_checkpoint() or {"epoch": 0, "accuracy": 0.0}
        epoch, accuracy = before["epoch"], before["accuracy"]
        while epoch < epochs:
            while not (pathlib.Path(gates) / f"go-{quality}-{epoch + 1}").exists():
                time.sleep(0.02)
            epoch += 1
            accuracy += quality * 0.1
            client.checkpoint({"epoch": epoch, "accuracy": accuracy})
            client.metric("accuracy", accuracy, step=epoch)
        client.output("report", {"from": before["epoch"], "to": epoch, "accuracy": accuracy})
`

// study is a sweep of five qualities whose processes wait for the test.
type study struct {
	t     *testing.T
	s     *server
	id    string
	gates string
}

func (s *server) study(t *testing.T, rule map[string]any) study {
	t.Helper()
	b := study{t: t, s: s, gates: t.TempDir()}
	var made sweepView
	s.api(t, http.MethodPost, "/sweeps", map[string]any{
		"workflow": "training", "method": "grid", "parallelism": 5, "objective": map[string]any{"metric": "accuracy"}, "early_stopping": rule,
		"inputs": map[string]any{"gates": b.gates},
		"space":  []any{map[string]any{"path": "quality", "kind": "values", "values": []any{0.9, 0.8, 0.7, 0.2, 0.1}}},
	}, &made)
	b.id = made.ID
	return b
}

// open lets a run train until an epoch.
func (b study) open(quality float64, epochs int) {
	for e := 1; e <= epochs; e++ {
		require.NoError(b.t, os.WriteFile(filepath.Join(b.gates, fmt.Sprintf("go-%v-%d", quality, e)), nil, 0o600))
	}
}

// run is the run of a quality.
func (b study) run(quality float64) studied {
	var v struct {
		Runs []studied `json:"run_list"`
	}
	b.s.api(b.t, http.MethodGet, "/sweeps/"+b.id, nil, &v)
	i := slices.IndexFunc(v.Runs, func(r studied) bool { return r.Values["quality"] == quality })
	if i < 0 { // not proposed yet
		return studied{}
	}
	return v.Runs[i]
}

type studied struct {
	ExecutionID string             `json:"execution_id"`
	State       string             `json:"state"`
	Values      map[string]float64 `json:"values"`
	Objective   *float64           `json:"objective"`
	Step        *int               `json:"step"`
	Message     string             `json:"message"`
}

// until waits for a run to reach a step or a state.
func (b study) until(quality float64, what string, ok func(studied) bool) studied {
	b.t.Helper()
	var r studied
	require.Eventually(b.t, func() bool { r = b.run(quality); return ok(r) }, 3*time.Minute, 100*time.Millisecond, "%v: %s", quality, what)
	return r
}

func reached(step int) func(studied) bool {
	return func(r studied) bool { return r.Step != nil && *r.Step >= step }
}

func stoppedEarly(r studied) bool { return r.State == "STOPPED_EARLY" }

// TestEarlyStoppingOfProcesses: weak trainings are stopped by their metric, the others finish, and a
// stopped one continues from its checkpoint with more epochs.
func TestEarlyStoppingOfProcesses(t *testing.T) {
	t.Parallel()
	s := ownServer(t)
	s.register(t, training)
	median := s.study(t, map[string]any{"rule": "median", "min_step": 2, "min_runs": 3})
	halving := s.study(t, map[string]any{"rule": "halving", "min_step": 1, "factor": 3})

	for _, b := range []study{median, halving} {
		for _, good := range []float64{0.9, 0.8, 0.7} {
			b.open(good, 2)
		}
	}
	for _, good := range []float64{0.9, 0.8, 0.7} {
		median.until(good, "epoch 2", reached(2))
	}
	median.open(0.2, 1)
	require.Equal(t, "RUNNING", median.until(0.2, "epoch 1", reached(1)).State, "not before step 2")
	median.open(0.2, 3) // then it waits
	median.open(0.1, 3)
	weak := median.until(0.2, "to stop", stoppedEarly)
	require.Contains(t, weak.Message, "below the median at step 2")
	require.InDelta(t, 0.02*float64(*weak.Step), *weak.Objective, 1e-9, "what it reached is kept")
	require.Less(t, *weak.Step, 5)
	median.until(0.1, "to stop", stoppedEarly)
	for _, good := range []float64{0.9, 0.8, 0.7} {
		require.Equal(t, "RUNNING", median.run(good).State)
		median.open(good, 4)
	}

	// The best of the three that have reached step 1 continues; the other two came before or lost.
	for _, good := range []float64{0.9, 0.8, 0.7} {
		halving.until(good, "epoch 2, or to stop", func(r studied) bool { return reached(2)(r) || stoppedEarly(r) })
	}
	halving.open(0.1, 1)
	require.Contains(t, halving.until(0.1, "to stop", stoppedEarly).Message, "not among the best 1 of 3 at the rung of step 1")
	halving.open(0.2, 1)
	halving.until(0.2, "to stop", stoppedEarly)
	require.Equal(t, "RUNNING", halving.run(0.9).State, "the best one is never stopped")
	for _, good := range []float64{0.9, 0.8, 0.7} {
		halving.open(good, 4)
	}
	for _, b := range []study{median, halving} {
		best := b.until(0.9, "to finish", func(r studied) bool { return r.State == "SUCCEEDED" })
		require.InDelta(t, 0.36, *best.Objective, 1e-9)
		require.Eventually(t, func() bool {
			var v sweepView
			s.api(t, http.MethodGet, "/sweeps/"+b.id, nil, &v)
			return v.State == "SUCCEEDED"
		}, 2*time.Minute, 100*time.Millisecond)
	}

	stopped := s.wait(t, weak.ExecutionID, ended)
	require.Equal(t, "CANCELLED", stopped.Status)
	median.open(0.2, 7)
	var again executionView
	s.api(t, http.MethodPost, "/executions/"+weak.ExecutionID+"/resume", map[string]any{"override_inputs": map[string]any{"epochs": 7}}, &again)
	require.Equal(t, "SUCCEEDED", s.wait(t, again.ID, ended).Status)
	var detail struct {
		Outputs struct {
			Report struct {
				From     int     `json:"from"`
				To       int     `json:"to"`
				Accuracy float64 `json:"accuracy"`
			} `json:"report"`
		} `json:"outputs"`
	}
	s.api(t, http.MethodGet, "/executions/"+again.ID, nil, &detail)
	require.GreaterOrEqual(t, detail.Outputs.Report.From, *weak.Step, "it continues where it was stopped")
	require.Equal(t, 7, detail.Outputs.Report.To)
	require.InDelta(t, 0.14, detail.Outputs.Report.Accuracy, 1e-9)
}

// TestAStudyOfOptunaSurvivesKills: the server is killed twice while Optuna's values run and are chosen;
// every run is launched once, and the study learns from all of them.
func TestAStudyOfOptunaSurvivesKills(t *testing.T) {
	t.Parallel()
	python := os.Getenv("FLOWFORGE_TEST_OPTUNA")
	require.FileExists(t, python, "run scripts/setup sweeps, and the test with scripts/environment")
	s := ownServer(t, "FLOWFORGE_SWEEP_PYTHON="+python)
	s.register(t, `name: bowl
version: 1.0.0
inputs: [{name: x, type: Float}]
operators:
  - name: train
    type: python
    inputs: [{name: x, from: inputs.x}]
    resources: {cpu: 50m, memory: 64Mi}
    code:
      script: |
        from flowforge import client
        for step in range(1, 4):
            client.metric("loss", (client.inputs["x"] - 3) ** 2 / step, step=step)
`)
	var made sweepView
	s.api(t, http.MethodPost, "/sweeps", map[string]any{
		"workflow": "bowl", "method": "tpe", "runs": 18, "parallelism": 3, "seed": 7, "objective": map[string]any{"metric": "loss", "goal": "min"},
		"space": []any{map[string]any{"path": "x", "kind": "uniform", "from": -50, "to": 50}},
	}, &made)
	sweep := func() (v sweepView) {
		s.api(t, http.MethodGet, "/sweeps/"+made.ID, nil, &v)
		return v
	}
	for _, n := range []int{3, 12} { // of the random ones, and of those that Optuna has chosen from results
		require.Eventually(t, func() bool { return sweep().Counts["succeeded"] >= n }, 4*time.Minute, 100*time.Millisecond)
		require.Less(t, sweep().Counts["succeeded"], 18, "it is not at its end")
		s.kill()
		s.restart(t)
	}
	require.Eventually(t, func() bool { return sweep().State == "SUCCEEDED" }, 4*time.Minute, 200*time.Millisecond)
	v := sweep()
	require.Equal(t, 18, v.Counts["succeeded"])
	require.Equal(t, 18, s.executionCount(t, "bowl"))
	seen := map[string]bool{}
	for _, r := range v.Runs {
		require.NotNil(t, r.Objective, r.ExecutionID)
		seen[r.ExecutionID] = true
	}
	require.Len(t, seen, 18)
}
