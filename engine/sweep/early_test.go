package sweep_test

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/sweep"
	"github.com/flowforge/flowforge/engine/sweep/optuna"
	"github.com/flowforge/flowforge/engine/sweep/space"
)

// report reports a metric of an execution at steps 1, 2, ….
func (b *bundle) report(execution uuid.UUID, values ...float64) {
	b.t.Helper()
	var points []telemetry.Point
	for i, v := range values {
		points = append(points, telemetry.Point{
			ExecutionID: execution, TenantID: auth.LocalTenant, ProjectID: auth.LocalProject, Node: "wait", Attempt: 1, Name: "accuracy", Seq: int64(i + 1),
			Step: new(int64(i + 1)), Value: v, Time: time.Now(),
		})
	}
	require.NoError(b.t, b.telemetry.AppendMetrics(b.ctx, points))
}

// hours lets each run use a GPU-hour.
func (b *bundle) hours(runs ...sweep.Run) {
	b.t.Helper()
	for _, r := range runs {
		_, err := b.pool.Exec(b.ctx, `INSERT INTO resource_hours (execution_id, node_index, attempt, project_id, user_id, workflow_name, ended_at, seconds, cpu_millis, memory_mib, gpus, gpu_type)
			SELECT id, 0, 1, project_id, submitted_by, workflow_name, now(), 3600, 0, 0, 1, 'A100' FROM executions WHERE id = $1`, r.ExecutionID)
		require.NoError(b.t, err)
	}
}

// waiting creates a sweep whose runs wait for users, and returns its runs once all of them wait.
func (b *bundle) waiting(n int, change func(*sweep.Spec)) (sweep.Sweep, []sweep.Run) {
	b.t.Helper()
	s := sweep.Spec{
		Workflow: "gate", Method: sweep.Random, Runs: n, Parallelism: n, Priority: query.Declared, Objective: &sweep.Objective{Metric: "accuracy"},
		Space: space.Space{{Path: "x", Kind: space.Uniform, From: new(0.0), To: new(1.0)}},
	}
	change(&s)
	sw := b.create(s)
	b.until(sw.ID, "all runs to wait", func(sw sweep.Sweep) bool { return sw.Counts.Running == min(n, s.Parallelism) })
	runs, _, err := b.sweeps.Runs(b.ctx, sw.ID, sweep.Filter{})
	require.NoError(b.t, err)
	return sw, runs
}

func TestTheMedianRuleStopsTheWeakest(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.drive()
	sw, runs := b.waiting(4, func(s *sweep.Spec) {
		s.EarlyStopping = sweep.EarlyStopping{Rule: sweep.Median, MinStep: 2, MinRuns: 3}
	})
	for i, r := range runs[:3] {
		b.report(*r.ExecutionID, 0.5, 0.6+0.1*float64(i), 0.55)
	}
	b.until(sw.ID, "three objectives", func(sw sweep.Sweep) bool { return sw.Best != nil && *sw.Best.Objective > 0.79 })
	b.report(*runs[3].ExecutionID, 0.9) // step 2 is not reached
	b.until(sw.ID, "the fourth objective", func(sw sweep.Sweep) bool { return sw.Best.Index == 3 })
	now, _, err := b.sweeps.Runs(b.ctx, sw.ID, sweep.Filter{})
	require.NoError(t, err)
	require.Equal(t, sweep.RunRunning, now[3].State)

	other, late := b.waiting(4, func(s *sweep.Spec) {
		s.EarlyStopping = sweep.EarlyStopping{Rule: sweep.Median, MinStep: 2, MinRuns: 3}
	})
	for i, r := range late[:3] {
		b.report(*r.ExecutionID, 0.5, 0.6+0.1*float64(i))
	}
	b.until(other.ID, "three objectives", func(sw sweep.Sweep) bool { return sw.Best != nil && *sw.Best.Objective > 0.79 })
	b.report(*late[3].ExecutionID, 0.3, 0.4)
	stopped := b.until(other.ID, "the fourth to stop", func(sw sweep.Sweep) bool { return sw.Counts.StoppedEarly == 1 })
	require.Equal(t, 3, stopped.Counts.Running)
	now, _, err = b.sweeps.Runs(b.ctx, other.ID, sweep.Filter{})
	require.NoError(t, err)
	require.Equal(t, "Stopped early: below the median at step 2 (0.4, median of 3 other runs 0.7).", now[3].Message)
	require.InDelta(t, 0.4, *now[3].Objective, 1e-9, "what it reached is kept")
	require.Equal(t, 4, now[3].Rank)
	e, err := b.engine.Get(b.ctx, *late[3].ExecutionID)
	require.NoError(t, err)
	require.Equal(t, query.Cancelled, e.Status)
	b.answer(sw.ID)
	b.answer(other.ID)
	require.Equal(t, 3, b.ended(other.ID).Counts.Succeeded)
}

// TestThePointsAfterTheEndCount: points of a metric arrive after the execution has ended.
func TestThePointsAfterTheEndCount(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.config.Settle = 2 * time.Second
	b.sweeps = sweep.New(b.config)
	b.drive()
	sw, runs := b.waiting(1, func(s *sweep.Spec) { s.Objective.Value = sweep.LastValue })
	b.report(*runs[0].ExecutionID, 0.5)
	b.answer(sw.ID)
	b.until(sw.ID, "the run to end", func(sw sweep.Sweep) bool { return sw.Counts.Succeeded == 1 })
	b.report(*runs[0].ExecutionID, 0.5, 0.9, 0.7)
	ended := b.ended(sw.ID)
	require.InDelta(t, 0.7, *ended.Best.Objective, 1e-9)
	require.Equal(t, int64(3), *ended.Best.Step)
}

// TestTheBudgetStopsLaunches: GPU-hours of runs so far count, and runs that have begun finish.
func TestTheBudgetStopsLaunches(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.drive()
	sw, runs := b.waiting(5, func(s *sweep.Spec) { s.Parallelism, s.GPUHours = 2, 1.5 })
	require.Len(t, runs, 2)
	b.hours(runs...)
	stopping := b.until(sw.ID, "the budget to be spent", func(sw sweep.Sweep) bool { return sw.State == sweep.Stopping })
	require.Equal(t, sweep.ReasonBudget, stopping.Reason)
	require.InDelta(t, 2, stopping.UsedGPUHours, 1e-6)
	b.answer(sw.ID)
	ended := b.ended(sw.ID)
	require.Equal(t, sweep.Stopped, ended.State)
	require.Equal(t, 2, ended.Counts.Created)
	_, err := b.sweeps.Change(b.ctx, sw.ID, sweep.Edit{Name: new("Renamed")})
	require.NoError(t, err, "no runs, no budget")
	_, err = b.sweeps.Change(b.ctx, sw.ID, sweep.Edit{AddRuns: new(1)})
	require.ErrorContains(t, err, "has invalid values")
	_, err = b.sweeps.Change(b.ctx, sw.ID, sweep.Edit{AddRuns: new(1), GPUHours: new(9.0)})
	require.NoError(t, err)
	b.until(sw.ID, "one more run", func(sw sweep.Sweep) bool { return sw.Counts.Running == 1 })
}

// TestTPELearns: a sweep with Optuna, stopped and continued by another driver in between.
func TestTPELearns(t *testing.T) {
	t.Parallel()
	python := os.Getenv("FLOWFORGE_TEST_OPTUNA")
	if python == "" {
		python = filepath.Join(os.Getenv("FLOWFORGE_CACHE_DIR"), "optuna", "bin", "python3")
	}
	require.FileExists(t, python, "run scripts/setup sweeps, and the test with scripts/environment")
	b := setup(t)
	b.config.Optuna = optuna.New(optuna.Config{Python: "/does/not/exist"})
	b.sweeps = sweep.New(b.config)
	stop := b.drive()
	s := spec(40, sweep.TPE)
	s.Space = space.Space{{Path: "x", Kind: space.Uniform, From: new(-50.0), To: new(50.0)}}
	s.Seed = 5
	sw := b.create(s)
	sw = b.until(sw.ID, "it to pause", func(sw sweep.Sweep) bool { return sw.State == sweep.Paused })
	require.Equal(t, sweep.ReasonSuggestions, sw.Reason)
	require.Contains(t, sw.Message, "Check that /does/not/exist has optuna")
	stop()

	b.config.Optuna = optuna.New(optuna.Config{Python: python})
	b.sweeps = sweep.New(b.config)
	stop = b.drive()
	require.NoError(t, b.sweeps.Resume(b.ctx, sw.ID))
	b.until(sw.ID, "some runs", func(sw sweep.Sweep) bool { return sw.Counts.Succeeded >= 12 })
	stop()
	b.sweeps = sweep.New(b.config) // all it knows is in the database
	b.drive()
	sw = b.ended(sw.ID)
	require.Equal(t, sweep.Succeeded, sw.State)
	runs := b.once(sw.ID, 40)
	far := func(runs []sweep.Run) (sum float64) {
		for _, r := range runs {
			sum += math.Sqrt(-*r.Objective) / float64(len(runs))
		}
		return sum
	}
	// Random values are 25 away on average.
	require.Less(t, far(runs[26:]), 20.0, "the last runs are nearer to the best value than the first ones: "+strconv.FormatFloat(far(runs[:10]), 'g', 3, 64))
}
