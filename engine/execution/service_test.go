package execution_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
)

const quick = `
name: quick
version: 1.0.0
inputs: [{name: n, type: "Integer(min=1, max=9)", default: 5}]
operators: [{name: a, type: noop}]
`

func TestLaunchValidates(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(quick)
	_, _, err := b.engine.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: "quick", Inputs: map[string]any{"n": json.Number("10"), "x": "y"}, Priority: 500})
	require.True(t, apperr.Is(err, apperr.Invalid))
	var paths []string
	for _, f := range apperr.FieldsOf(err) {
		paths = append(paths, f.Path)
	}
	require.ElementsMatch(t, []string{"priority", "inputs.n", "inputs.x"}, paths)
	_, _, err = b.engine.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: "nothing"})
	require.True(t, apperr.Is(err, apperr.NotFound))
	_, _, err = b.engine.Launches.Launch(context.Background(), execution.LaunchRequest{Workflow: "quick"})
	require.True(t, apperr.Is(err, apperr.Unauthenticated))
}

// TestLaunchCountsCharacters: the limit of a name is not one of bytes.
func TestLaunchCountsCharacters(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(quick)
	name := strings.Repeat("名", 200)
	launched, _, err := b.engine.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: "quick", Name: name, IdempotencyKey: name})
	require.NoError(t, err, "%v", apperr.FieldsOf(err))
	require.Equal(t, name, launched.Name)
	_, _, err = b.engine.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: "quick", Name: name + "n", IdempotencyKey: name + "n"})
	require.Len(t, apperr.FieldsOf(err), 2)
}

func TestLaunchIsIdempotentByKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(quick)
	request := execution.LaunchRequest{Workflow: "quick", IdempotencyKey: "k", Priority: query.High}
	first, created, err := b.engine.Launches.Launch(b.ctx, request)
	require.NoError(t, err)
	require.True(t, created)
	again, created, err := b.engine.Launches.Launch(b.ctx, request)
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, first.ID, again.ID)
	request.Inputs = map[string]any{"n": json.Number("3")}
	_, _, err = b.engine.Launches.Launch(b.ctx, request)
	require.True(t, apperr.Is(err, apperr.Conflict))
	b.finish(first.ID)
}

func TestListPagesAndFilters(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var ids []uuid.UUID
	for range 5 {
		ids = append(ids, b.launchVersion(quick))
	}
	other := b.launch("name: other\nversion: 1.0.0\noperators: [{name: a, type: noop}]", nil)
	for _, id := range append(ids, other) {
		b.finish(id)
	}
	page, err := b.engine.List(b.ctx, query.Filter{Workflow: "quick", Limit: 3})
	require.NoError(t, err)
	require.Len(t, page.Executions, 3)
	require.Equal(t, ids[4], page.Executions[0].ID, "newest first")
	page, err = b.engine.List(b.ctx, query.Filter{Workflow: "quick", Limit: 3, After: page.Next})
	require.NoError(t, err)
	require.Len(t, page.Executions, 2)
	require.Empty(t, page.Next)
	for name, f := range map[string]query.Filter{
		"status": {Status: []query.State{query.Failed}}, "user": {User: "nobody"}, "text": {Query: "%"},
		"workflow": {Workflow: "unknown"}, "time": {From: time.Now().Add(time.Hour)},
	} {
		page, err = b.engine.List(b.ctx, f)
		require.NoError(t, err)
		require.Empty(t, page.Executions, name)
	}
	page, err = b.engine.List(b.ctx, query.Filter{User: "admin", Query: "othe", Status: []query.State{query.Succeeded}})
	require.NoError(t, err)
	require.Len(t, page.Executions, 1)
	recent, err := b.engine.Recent(b.ctx, []uuid.UUID{page.Executions[0].WorkflowID}, 3)
	require.NoError(t, err)
	require.Len(t, recent[page.Executions[0].WorkflowID], 1)
	live, err := b.engine.Live(b.ctx)
	require.NoError(t, err)
	require.Zero(t, live)
}

func TestEstimateComesFromHistory(t *testing.T) {
	t.Parallel()
	b := setup(t)
	doc := "name: slow\nversion: 1.0.0\noperators: [{name: a, type: shell, code: {script: 'sleep 0.6'}}]"
	b.finish(b.launch(doc, nil))
	id := b.launchVersion(doc)
	e, err := b.engine.Get(b.ctx, id)
	require.NoError(t, err)
	require.NotNil(t, e.EstimatedCompletion)
	require.Greater(t, e.EstimatedCompletion.Sub(e.CreatedAt), 500*time.Millisecond)
	b.finish(id)
}

// TestALostMachineCostsNoRetry: the machine loses running attempts. Three of them are
// repeated without spending a retry, the fourth spends one.
func TestALostMachineCostsNoRetry(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.launch(`
name: fragile
version: 1.0.0
operators:
  - {name: a, type: shell, code: {script: 'case $TASK in *.5) true;; *) sleep 60;; esac'}, retry: {limit: 1, initial_delay: 10ms}}
`, nil)
	for attempt := 1; attempt <= 4; attempt++ {
		b.until(id, "running", func(e query.Execution) bool {
			return e.Counts.Running == 1 && b.node(id, "a").Attempt == attempt
		})
		require.Zero(t, b.node(id, "a").Retries)
		b.launcher.forget(query.TaskID(id, 0, attempt))
	}
	e := b.finish(id)
	require.Equal(t, query.Succeeded, e.Status)
	n := b.node(id, "a")
	require.Len(t, n.Attempts, 5)
	require.Equal(t, "LOST", n.Attempts[3].Outcome)
	require.Equal(t, 1, n.Retries)
}

// deliver reports the end of a task on behalf of a runner.
func (b *testBundle) deliver(task string, scope auth.TaskScope, o flowforgev1.Outcome) *flowforgev1.ReportResult {
	b.t.Helper()
	token := testSigner(b.t).Sign(scope, time.Now().Add(time.Hour))
	results, err := b.engine.Supervisor.Deliver(auth.AsSystem(b.ctx), []*flowforgev1.AttemptReport{{
		TaskId: task, Token: token, Report: &flowforgev1.AttemptReport_Finished{Finished: &flowforgev1.Finished{Outcome: o}},
	}})
	require.NoError(b.t, err)
	return results[0]
}

func TestInterruptedRunsAgainWithoutARetry(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.launch(`
name: restarted
version: 1.0.0
operators: [{name: a, type: shell, code: {script: 'case $TASK in *.1) sleep 60;; esac'}}]
`, nil)
	b.until(id, "running", func(e query.Execution) bool { return e.Counts.Running == 1 })
	scope := auth.TaskScope{ExecutionID: id, NodeIndex: 0, Attempt: 1}
	task := query.TaskID(id, 0, 1)
	require.True(t, b.deliver(task, scope, flowforgev1.Outcome_OUTCOME_INTERRUPTED).Accepted)
	require.False(t, b.deliver(task, scope, flowforgev1.Outcome_OUTCOME_SUCCEEDED).Accepted, "a late report changes nothing")
	foreign := b.deliver(query.TaskID(id, 0, 2), scope, flowforgev1.Outcome_OUTCOME_SUCCEEDED)
	require.False(t, foreign.Accepted, "the token is only valid for its own attempt")
	e := b.finish(id)
	require.Equal(t, query.Succeeded, e.Status)
	n := b.node(id, "a")
	require.Equal(t, 2, n.Attempt)
	require.Zero(t, n.Retries)
}

// asTask acts as the task of an attempt.
func (b *testBundle) asTask(id uuid.UUID, node, attempt int) context.Context {
	return auth.WithSubject(b.ctx, auth.ForTask(auth.TaskScope{ExecutionID: id, NodeIndex: node, Attempt: attempt}))
}

func TestTaskReportsItself(t *testing.T) {
	t.Parallel()
	b := setup(t)
	stop := t.TempDir() + "/stop"
	id := b.launch(fmt.Sprintf(`
name: talkative
version: 1.0.0
outputs: [{name: score, type: Float, from: a.score}]
operators:
  - {name: a, type: shell, code: {script: 'while [ ! -e %s ]; do sleep 0.02; done'}, outputs: [{name: score, type: "Float(max=1)"}]}
`, stop), nil)
	b.until(id, "running", func(e query.Execution) bool { return e.Counts.Running == 1 })
	task := b.asTask(id, 0, 1)
	nodes, mark, err := b.engine.Nodes.ChangedSince(b.ctx, id, 0)
	require.NoError(t, err)
	require.Len(t, nodes, 1)
	require.NoError(t, b.engine.Tasks.UpdateStatus(task, query.Progress{Percent: 40, Message: "epoch 2"}))
	nodes, _, err = b.engine.Nodes.ChangedSince(b.ctx, id, mark)
	require.NoError(t, err)
	require.Equal(t, &query.Progress{Percent: 40, Message: "epoch 2"}, nodes[0].Progress)

	require.True(t, apperr.Is(b.engine.Tasks.SetOutput(task, "other", "1"), apperr.Invalid))
	require.True(t, apperr.Is(b.engine.Tasks.SetOutput(task, "score", "2"), apperr.Invalid))
	require.NoError(t, b.engine.Tasks.SetOutput(task, "score", "0.25"))
	_, found, err := b.engine.Tasks.GetCheckpoint(task)
	require.NoError(t, err)
	require.False(t, found)
	require.NoError(t, b.engine.Tasks.SaveCheckpoint(task, `{"epoch": 2}`))
	saved, found, err := b.engine.Tasks.GetCheckpoint(task)
	require.NoError(t, err)
	require.True(t, found)
	require.JSONEq(t, `{"epoch": 2}`, string(saved.Data))
	require.True(t, apperr.Is(b.engine.Tasks.SaveCheckpoint(b.asTask(id, 0, 2), `1`), apperr.Unauthenticated))
	require.True(t, apperr.Is(b.engine.Tasks.UpdateStatus(b.ctx, query.Progress{}), apperr.Forbidden))

	touch(t, stop)
	e := b.finish(id)
	require.Equal(t, query.Succeeded, e.Status, "%+v", e.Error)
	require.Equal(t, map[string]any{"score": json.Number("0.25")}, e.Outputs)
	require.True(t, apperr.Is(b.engine.Tasks.UpdateStatus(task, query.Progress{}), apperr.Unauthenticated))
}

// TestFilesBecomeArtifacts: an uploaded blob is published with the completion and passed to
// the next node as a file.
func TestFilesBecomeArtifacts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	stop := t.TempDir() + "/stop"
	id := b.launch(fmt.Sprintf(`
name: files
version: 1.0.0
outputs: [{name: model, type: Model, from: train.model}]
operators:
  - {name: train, type: shell, code: {script: 'sleep 60'}, outputs: [{name: model, type: Model}]}
  - {name: use, type: shell, inputs: [{name: m, type: Model, from: train.model}], code: {script: 'echo "$INPUTS" > %s'}}
`, stop), nil)
	b.until(id, "running", func(e query.Execution) bool { return e.Counts.Running == 1 })
	blob, err := b.artifacts.Upload(b.ctx, strings.NewReader("weights"))
	require.NoError(t, err)
	token := testSigner(t).Sign(auth.TaskScope{ExecutionID: id, Attempt: 1}, time.Now().Add(time.Hour))
	results, err := b.engine.Supervisor.Deliver(auth.AsSystem(b.ctx), []*flowforgev1.AttemptReport{{
		TaskId: query.TaskID(id, 0, 1), Token: token, Report: &flowforgev1.AttemptReport_Finished{Finished: &flowforgev1.Finished{
			Outcome: flowforgev1.Outcome_OUTCOME_SUCCEEDED,
			Outputs: []*flowforgev1.Output{{Name: "model", Filename: "model.bin", Content: &flowforgev1.Output_Blob{Blob: &flowforgev1.Blob{Sha256: blob.SHA256, Size: blob.Size}}}},
		}},
	}})
	require.NoError(t, err)
	require.True(t, results[0].Accepted)
	e := b.finish(id)
	require.Equal(t, query.Succeeded, e.Status, "%+v", e.Error)
	ref, err := uuid.Parse(e.Outputs["model"].(map[string]any)["$artifact"].(string))
	require.NoError(t, err)
	a, err := b.artifacts.Get(b.ctx, ref)
	require.NoError(t, err)
	require.Equal(t, blob.SHA256, a.SHA256)
	require.Equal(t, "Model", a.Kind)
	require.Contains(t, readLines(t, stop)[0], `"m":{"$blob":"`+blob.SHA256)
}

func TestWatchHintsAcrossProcesses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.launch("name: w\nversion: 1.0.0\noperators: [{name: a, type: shell, code: {script: 'sleep 0.2'}}]", nil)
	// Another replica, which drives nothing, receives the change.
	other, err := execution.New(execution.Config{Pool: b.pool, Workflows: b.workflows, Artifacts: b.artifacts, Launcher: b.launcher, Signer: testSigner(t), Instance: "other"})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(b.ctx)
	done := make(chan error, 1)
	go func() { done <- other.Run(ctx) }()
	hints, err := other.Watches.Watch(ctx, id)
	require.NoError(t, err)
	for e := (query.Execution{}); !e.Status.Ended(); {
		if e, err = other.Get(b.ctx, id); err != nil || e.Status.Ended() {
			break
		}
		<-hints
	}
	require.NoError(t, err)
	cancel()
	require.NoError(t, <-done)
	b.finish(id)
}

func TestNodeQueries(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var doc strings.Builder
	doc.WriteString("name: wide\nversion: 1.0.0\noperators:\n")
	for i := range 30 {
		fmt.Fprintf(&doc, "  - {name: n%02d, type: noop}\n", i)
	}
	doc.WriteString("  - {name: last, type: noop, depends_on: [n00]}\n")
	id := b.launch(doc.String(), nil)
	b.finish(id)
	nodes, next, err := b.engine.Nodes.List(b.ctx, id, query.NodeFilter{Limit: 10})
	require.NoError(t, err)
	require.Len(t, nodes, 10)
	nodes, next, err = b.engine.Nodes.List(b.ctx, id, query.NodeFilter{Limit: 25, After: next})
	require.NoError(t, err)
	require.Len(t, nodes, 21)
	require.Empty(t, next)
	one := 1
	nodes, _, err = b.engine.Nodes.List(b.ctx, id, query.NodeFilter{FromLevel: &one, Query: "AS", State: "SUCCEEDED", States: []dag.State{dag.Failed}})
	require.NoError(t, err)
	require.Len(t, nodes, 1)
	states, err := b.engine.Nodes.States(b.ctx, id)
	require.NoError(t, err)
	require.Len(t, states, 31)
	_, err = b.engine.Nodes.Get(b.ctx, id, "nobody")
	require.True(t, apperr.Is(err, apperr.NotFound))
	events, err := b.engine.Events.Latest(b.ctx, id, query.EventFilter{Limit: 2})
	require.NoError(t, err)
	require.Equal(t, "execution.succeeded", events[0].Kind)
	require.Equal(t, -1, events[0].NodeIndex)
	require.Equal(t, "last", events[1].Node)
}
