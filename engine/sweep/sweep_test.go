package sweep_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/sweep"
	"github.com/flowforge/flowforge/engine/sweep/space"
)

func TestAGridRunsEachCombinationOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.drive()
	sw := b.create(spec(0, sweep.Grid))
	require.Equal(t, 22, sw.Planned)
	sw = b.ended(sw.ID)
	require.Equal(t, sweep.Succeeded, sw.State)
	require.Equal(t, 22, sw.Counts.Succeeded)
	require.InDelta(t, 0, *sw.Best.Objective, 1e-9)
	require.Equal(t, json.Number("3"), sw.Best.Values["x"])
	seen := map[string]bool{}
	for _, r := range b.once(sw.ID, 22) {
		seen[space.Text(r.Values)] = true
		e, err := b.engine.Get(b.ctx, *r.ExecutionID)
		require.NoError(t, err)
		require.Equal(t, r.Values["mode"], e.Inputs["mode"])
		require.Equal(t, fmt.Sprintf("Sweep of square, run %d", r.Index+1), e.Name)
	}
	require.Len(t, seen, 22)
	runs, _, err := b.sweeps.Runs(b.ctx, sw.ID, sweep.Filter{Sort: "objective", Limit: 3})
	require.NoError(t, err)
	require.Equal(t, []int{1, 2, 3}, []int{runs[0].Rank, runs[1].Rank, runs[2].Rank})
	found, err := b.sweeps.Importance(b.ctx, sw.ID)
	require.NoError(t, err)
	require.Equal(t, "x", found.Parameters[0].Path)
	require.Greater(t, found.Parameters[0].Share, 0.9)
	require.Nil(t, found.Parameters[1].Correlation, "words have no order")

	_, err = b.pool.Exec(b.ctx, "UPDATE input_sweep_runs SET objective = CASE chosen->>'mode' WHEN 'fast' THEN 1 ELSE 0 END WHERE sweep_id = $1", sw.ID)
	require.NoError(t, err)
	found, err = b.sweeps.Importance(b.ctx, sw.ID)
	require.NoError(t, err)
	require.Equal(t, "mode", found.Parameters[0].Path, "values that arrive after the end of the runs count")
}

// TestKillsLoseAndDoubleNothing stops the driver at every point of its work, as a kill does, and
// continues with a new one.
func TestKillsLoseAndDoubleNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	few := spec(24, sweep.Random)
	few.Parallelism = 2 // many groups
	sw := b.create(few)
	kills := 0
	for n := 1; ; n++ {
		var count atomic.Int64
		ctx, kill := context.WithCancel(b.ctx)
		config := b.config
		config.Crash = func(string) {
			if count.Add(1) == int64(1+n%7) {
				kill()
			}
		}
		sweep.New(config).Run(timed(ctx, t))
		if ctx.Err() == nil {
			kill()
		}
		kills++
		if now, err := b.sweeps.Get(b.ctx, sw.ID); err == nil && now.State.Ended() {
			require.Equal(t, sweep.Succeeded, now.State)
			break
		}
		require.Less(t, n, 1000)
	}
	require.Greater(t, kills, 8)
	b.once(sw.ID, 24)
}

// timed ends a driver that has nothing to do but wait for its runs.
func timed(ctx context.Context, t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// TestTwoDriversDoNoHarm: a former leader that has not noticed its end yet.
func TestTwoDriversDoNoHarm(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.drive()
	other := sweep.New(b.config)
	ctx, cancel := context.WithCancel(b.ctx)
	var all sync.WaitGroup
	all.Go(func() { other.Run(ctx) })
	sw := b.create(spec(40, sweep.Sobol))
	b.ended(sw.ID)
	cancel()
	all.Wait()
	b.once(sw.ID, 40)
}

func TestPauseResumeStopAndMoreRuns(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.drive()
	s := sweep.Spec{
		Workflow: "gate", Method: sweep.Random, Runs: 6, Parallelism: 2, Priority: query.Declared,
		Space: space.Space{{Path: "x", Kind: space.Uniform, From: new(0.0), To: new(1.0)}},
	}
	sw := b.create(s)
	b.until(sw.ID, "two runs", func(sw sweep.Sweep) bool { return sw.Counts.Running == 2 })
	require.NoError(t, b.sweeps.Pause(b.ctx, sw.ID))
	require.NoError(t, b.sweeps.Pause(b.ctx, sw.ID), "again")
	b.answer(sw.ID)
	paused := b.until(sw.ID, "both to end", func(sw sweep.Sweep) bool { return sw.Counts.Succeeded == 2 })
	require.Equal(t, sweep.Paused, paused.State)
	require.Equal(t, "Paused by admin.", paused.Message)
	require.Equal(t, 2, paused.Counts.Created, "nothing is launched")

	wider := space.Space{{Path: "x", Kind: space.Values, Values: []any{json.Number("7")}}}
	changed, err := b.sweeps.Change(b.ctx, sw.ID, sweep.Edit{Space: wider, Parallelism: new(3)})
	require.NoError(t, err)
	require.Equal(t, 2, changed.SpaceVersion)
	require.NoError(t, b.sweeps.Resume(b.ctx, sw.ID))
	b.until(sw.ID, "three runs", func(sw sweep.Sweep) bool { return sw.Counts.Running == 3 })
	runs, _, err := b.sweeps.Runs(b.ctx, sw.ID, sweep.Filter{})
	require.NoError(t, err)
	require.Equal(t, 1, runs[0].SpaceVersion)
	require.NotEqual(t, json.Number("7"), runs[0].Values["x"])
	require.Equal(t, json.Number("7"), runs[3].Values["x"])

	require.NoError(t, b.sweeps.Stop(b.ctx, sw.ID, true))
	stopped := b.ended(sw.ID)
	require.Equal(t, sweep.Stopped, stopped.State)
	require.Equal(t, 3, stopped.Counts.Cancelled)
	require.Equal(t, apperr.Conflict, apperr.CodeOf(b.sweeps.Pause(b.ctx, sw.ID)))
	require.Equal(t, apperr.Conflict, apperr.CodeOf(b.sweeps.Resume(b.ctx, sw.ID)))
	require.Equal(t, apperr.Conflict, apperr.CodeOf(b.sweeps.Stop(b.ctx, sw.ID, false)))

	more, err := b.sweeps.Change(b.ctx, sw.ID, sweep.Edit{AddRuns: new(1)})
	require.NoError(t, err)
	require.Equal(t, 6, more.Planned)
	b.until(sw.ID, "the added run", func(sw sweep.Sweep) bool { return sw.Counts.Running == 1 })
	b.answer(sw.ID)
	require.Equal(t, sweep.Succeeded, b.ended(sw.ID).State)
	b.once(sw.ID, 6)

	var actions []string
	rows, err := b.pool.Query(b.ctx, "SELECT action FROM audit_log WHERE object_kind = 'sweep' ORDER BY id")
	require.NoError(t, err)
	for rows.Next() {
		var action string
		require.NoError(t, rows.Scan(&action))
		actions = append(actions, action)
	}
	require.Equal(t, []string{"sweep.create", "sweep.pause", "sweep.update", "sweep.resume", "sweep.stop", "sweep.end", "sweep.update", "sweep.end"}, actions)
}

// answer approves what the running executions of a sweep wait for.
func (b *bundle) answer(id uuid.UUID) {
	b.t.Helper()
	runs, _, err := b.sweeps.Runs(b.ctx, id, sweep.Filter{State: sweep.RunRunning})
	require.NoError(b.t, err)
	for _, r := range runs {
		b.approve(r)
	}
}

func (b *bundle) approve(r sweep.Run) {
	b.t.Helper()
	require.Eventually(b.t, func() bool {
		return b.engine.Commands.CommandNode(b.ctx, execution.TaskRef{Execution: *r.ExecutionID, Node: 0}, execution.NodeCommand{Command: execution.CommandApprove}) == nil
	}, time.Minute, 20*time.Millisecond)
}

func TestFaultySpecsNameTheField(t *testing.T) {
	t.Parallel()
	b := setup(t)
	change := func(f func(*sweep.Spec)) sweep.Spec {
		s := spec(4, sweep.Random)
		f(&s)
		return s
	}
	for want, s := range map[string]sweep.Spec{
		"space.0.to":            change(func(s *sweep.Spec) { s.Space[0].To = new(-1.0) }),
		"runs":                  change(func(s *sweep.Spec) { s.Runs = sweep.MaxRuns + 1 }),
		"method":                change(func(s *sweep.Spec) { s.Method = "genetic" }),
		"parallelism":           change(func(s *sweep.Spec) { s.Parallelism = 501 }),
		"space":                 change(func(s *sweep.Spec) { s.Method = sweep.Grid; s.Space[0].Steps = 0 }),
		"objective":             change(func(s *sweep.Spec) { s.Method, s.Objective = sweep.TPE, nil }),
		"objective.output":      change(func(s *sweep.Spec) { s.Objective.Output = "loss" }),
		"early_stopping.rule":   change(func(s *sweep.Spec) { s.EarlyStopping.Rule = sweep.Median }),
		"early_stopping.factor": change(func(s *sweep.Spec) { s.EarlyStopping.Factor = 1 }),
		"inputs.b":              change(func(s *sweep.Spec) { s.Inputs = map[string]any{"b": json.Number("-1")} }),
		"gpu_hours":             change(func(s *sweep.Spec) { s.GPUHours = -1 }),
	} {
		_, _, err := b.sweeps.Create(b.ctx, s)
		require.Equal(t, apperr.Invalid, apperr.CodeOf(err), want)
		require.Equal(t, want, apperr.FieldsOf(err)[0].Path, apperr.FieldsOf(err))
	}
	grid := spec(23, sweep.Grid)
	_, _, err := b.sweeps.Create(b.ctx, grid)
	require.Contains(t, apperr.FieldsOf(err)[0].Message, "22 combinations")
	_, _, err = b.sweeps.Create(b.ctx, change(func(s *sweep.Spec) { s.Runs = 20_000 }))
	require.Contains(t, apperr.FieldsOf(err)[0].Message, "at most 10000 runs")

	sw := b.create(spec(1, sweep.Random))
	_, _, err = b.sweeps.Create(b.ctx, change(func(s *sweep.Spec) { s.Workflow = sw.ID.String() }))
	require.Equal(t, "workflow", apperr.FieldsOf(err)[0].Path)
	require.Contains(t, apperr.MessageOf(err), "cannot launch another sweep")
}

func TestARequestIsRepeatedByItsKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s := spec(2, sweep.Random)
	s.IdempotencyKey = "once"
	first := b.create(s)
	again, created, err := b.sweeps.Create(b.ctx, s)
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, first.ID, again.ID)
	s.Runs = 3
	_, _, err = b.sweeps.Create(b.ctx, s)
	require.Equal(t, apperr.Conflict, apperr.CodeOf(err))
}

// TestASweepThatCannotLaunchPauses: launches that are refused, and a creator without permissions.
func TestASweepThatCannotLaunchPauses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.drive()
	_, _, err := b.workflows.Register(b.ctx, []byte(`{name: strict, version: 1.0.0, inputs: [{name: x, type: Integer, max: most}, {name: most, type: Integer}],
		operators: [{name: one, type: noop}]}`))
	if err != nil {
		t.Logf("%v", apperr.FieldsOf(err))
	}
	require.NoError(t, err)
	s := sweep.Spec{Workflow: "strict", Method: sweep.Grid, Parallelism: 1, Priority: query.Declared, Inputs: map[string]any{"most": json.Number("5")},
		Space: space.Space{{Path: "x", Kind: space.Int, From: new(-5.0), To: new(15.0)}}}
	sw := b.create(s)
	sw = b.until(sw.ID, "it to pause", func(sw sweep.Sweep) bool { return sw.State == sweep.Paused })
	require.Equal(t, sweep.ReasonAllRefused, sw.Reason)
	require.Equal(t, 5, sw.Counts.Refused)
	require.Contains(t, sw.Message, "inputs.x")

	b.denied.Store(true)
	sw = b.create(spec(3, sweep.Random))
	sw = b.until(sw.ID, "it to pause", func(sw sweep.Sweep) bool { return sw.State == sweep.Paused })
	require.Equal(t, sweep.ReasonAccess, sw.Reason)
	b.denied.Store(false)
	require.NoError(t, b.sweeps.Resume(b.ctx, sw.ID))
	require.Equal(t, sweep.Succeeded, b.ended(sw.ID).State)
}

func TestOthersSeeWhatTheirRoleAllows(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sw := b.create(spec(2, sweep.Random))
	as := func(role string, at uuid.UUID) context.Context {
		held := auth.Everywhere(role)
		return auth.WithSubject(t.Context(), auth.Subject{
			ID: uuid.New(), Name: role, Role: auth.RoleUser, TenantID: auth.LocalTenant, ProjectID: at,
			Policy: auth.PolicyFunc(func(a auth.Action, place uuid.UUID) bool { return place == at && held.May(a, place) }),
		})
	}
	viewer, stranger, dev, lead := as(auth.Viewer, auth.LocalProject), as(auth.ProjectDev, uuid.New()), as(auth.ProjectDev, auth.LocalProject), as(auth.TeamAdmin, auth.LocalProject)
	_, err := b.sweeps.Get(viewer, sw.ID)
	require.NoError(t, err)
	_, err = b.sweeps.Get(stranger, sw.ID)
	require.Equal(t, apperr.NotFound, apperr.CodeOf(err))
	require.Equal(t, apperr.NotFound, apperr.CodeOf(b.sweeps.Pause(stranger, sw.ID)))
	_, _, err = b.sweeps.Create(viewer, spec(2, sweep.Random))
	require.Equal(t, apperr.Forbidden, apperr.CodeOf(err))
	require.Equal(t, apperr.Forbidden, apperr.CodeOf(b.sweeps.Pause(viewer, sw.ID)))
	require.Equal(t, apperr.Forbidden, apperr.CodeOf(b.sweeps.Pause(dev, sw.ID)), "of another person")
	require.NoError(t, b.sweeps.Pause(lead, sw.ID))
	list, _, err := b.sweeps.List(viewer, sweep.Listed{})
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.False(t, list[0].MayRun)
	list, _, err = b.sweeps.List(stranger, sweep.Listed{})
	require.NoError(t, err)
	require.Empty(t, list)
}

func TestAPreviewSaysWhatWouldHappen(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s := spec(20, sweep.Random)
	s.Seed = 9
	p, err := b.sweeps.Preview(b.ctx, s)
	require.NoError(t, err)
	require.Empty(t, p.Problems)
	require.Equal(t, []int{20, 22, 4}, []int{p.Runs, p.Combinations, p.Parallelism})
	require.Nil(t, p.PerRun, "unknown before the first execution")
	require.Equal(t, sweep.FitsNow, p.Fits)
	require.Equal(t, 4, p.FitsNow)
	require.Len(t, p.First, 5)
	b.drive()
	sw := b.create(s)
	b.ended(sw.ID)
	for i, r := range b.once(sw.ID, 20)[:5] {
		require.Equal(t, p.First[i], r.Values)
	}
	p, err = b.sweeps.Preview(b.ctx, s)
	require.NoError(t, err)
	require.Equal(t, 20, p.Basis)
	require.NotNil(t, p.PerRun)
	require.Equal(t, *p.PerRun*5, *p.Total)
	s.Space[0].To = new(-1.0)
	p, err = b.sweeps.Preview(b.ctx, s)
	require.NoError(t, err)
	require.Equal(t, "space.0.to", p.Problems[0].Path)
	require.False(t, slices.ContainsFunc(p.Problems, func(f apperr.Field) bool { return f.Message == "" }))
}

// TestRunsThatWaitForQuotaCount: no run is launched past those that wait, and the counts tell them
// apart.
func TestRunsThatWaitForQuotaCount(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, _, err := b.workflows.Register(b.ctx, []byte(`{name: large, version: 1.0.0, inputs: [{name: x, type: Float}],
		operators: [{name: train, type: shell, resources: {cpu: 3}, code: {script: "true"}}]}`))
	require.NoError(t, err, "%v", apperr.FieldsOf(err))
	b.drive()
	sw := b.create(sweep.Spec{
		Workflow: "large", Method: sweep.Random, Runs: 6, Parallelism: 3, Priority: query.Declared,
		Space: space.Space{{Path: "x", Kind: space.Uniform, From: new(0.0), To: new(1.0)}},
	})
	now := b.until(sw.ID, "one to be admitted and two to wait", func(sw sweep.Sweep) bool { return sw.Counts.Running == 3 && sw.Counts.Queued == 2 })
	require.Equal(t, 3, now.Counts.Created, "the others are not chosen yet")
	runs, _, err := b.sweeps.Runs(b.ctx, sw.ID, sweep.Filter{})
	require.NoError(t, err)
	require.Len(t, slices.DeleteFunc(runs, func(r sweep.Run) bool { return !r.Waiting }), 2)
	require.NoError(t, b.sweeps.Stop(b.ctx, sw.ID, true))
	b.until(sw.ID, "those that wait to end", func(sw sweep.Sweep) bool { return sw.Counts.Cancelled >= 2 && sw.Counts.Queued == 0 })
}

// TestRunsHaveTheLabelsOfTheirSweep: each launch writes the tags and the note of the sweep.
func TestRunsHaveTheLabelsOfTheirSweep(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, _, err := b.sweeps.Create(b.ctx, sweep.Spec{Workflow: "square", Space: space.Space{{Path: "x", Kind: space.Values, Values: []any{1.0}}}, Method: sweep.Grid, Tags: []string{strings.Repeat("x", 65)}})
	require.True(t, apperr.Is(err, apperr.Invalid))
	require.Equal(t, "tags", apperr.FieldsOf(err)[0].Path)
	sw, _, err := b.sweeps.Create(b.ctx, sweep.Spec{Workflow: "square", Space: space.Space{{Path: "x", Kind: space.Values, Values: []any{1.0, 2.0}}}, Method: sweep.Grid, Tags: []string{"study", "baseline"}, Note: "The first try"})
	require.NoError(t, err)
	b.drive()
	b.ended(sw.ID)
	runs, _, err := b.sweeps.Runs(b.ctx, sw.ID, sweep.Filter{})
	require.NoError(t, err)
	require.Len(t, runs, 2)
	for _, run := range runs {
		labels, err := b.config.Index.Labels(b.ctx, []uuid.UUID{*run.ExecutionID})
		require.NoError(t, err)
		require.Equal(t, index.Labels{Tags: []string{"baseline", "study"}, Note: "The first try"}, labels[*run.ExecutionID])
	}
	recent, err := b.config.Executions.RecentInputs(b.ctx, sw.WorkflowID, auth.LocalProject, 10)
	require.NoError(t, err)
	require.Empty(t, recent, "users did not enter the inputs of runs")
}
