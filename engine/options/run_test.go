package options_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/enginetest"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/options"
)

// quick lists two options at once; review waits for a user, who lists them.
const (
	quick = `{name: quick, version: 1.0.0, inputs: [{name: kind, type: String}], operators: [{name: one, type: noop}],
		outputs: [{name: found, type: "List<String>", expression: '[inputs.kind + "-1", inputs.kind + "-2"]'}]}`
	review = `{name: review, version: 1.0.0, inputs: [{name: kind, type: String, default: x}], outputs: [{name: found, type: "List<String>", from: ask.found}],
		operators: [{name: ask, type: approval, approval: {form: [{name: found, type: "List<String>", required: true}]}}]}`
	train = `{name: train, version: 1.0.0, operators: [{name: one, type: noop}], inputs: [
		{name: kind, type: String, default: svc},
		{name: fast, type: "String?", options: {workflow: quick, inputs: {kind: "{{kind}}"}}},
		{name: slow, type: "String?", options: {workflow: review, inputs: {kind: "of {{kind}}"}, cache: 1m, timeout: 20s}},
		{name: late, type: "String?", options: {workflow: review, inputs: {kind: late}, timeout: 100ms}},
		{name: none, type: "String?", options: {workflow: missing}}]}`
)

// listing is an engine and a service whose clock is ahead by later.
type listing struct {
	*enginetest.Engine
	t       *testing.T
	service *options.Service
	later   atomic.Int64 // seconds
}

func list(t *testing.T) *listing {
	t.Helper()
	l := &listing{Engine: enginetest.New(t), t: t}
	l.service = options.New(options.Config{Now: func() time.Time { return time.Now().UTC().Add(time.Duration(l.later.Load()) * time.Second) }})
	l.service.RunWith(db.New(l.Pool), l.Workflows, l.Service)
	l.Run()
	l.Register(quick, review, train)
	return l
}

func (l *listing) get(ctx context.Context, input string, inputs map[string]any) (options.Page, error) {
	return l.request(ctx, options.Request{Input: input, Inputs: inputs})
}

func (l *listing) request(ctx context.Context, r options.Request) (options.Page, error) {
	v, err := l.Workflows.Version(l.Ctx, "train", "")
	require.NoError(l.t, err)
	return l.service.List(ctx, v, r)
}

// runs are the executions of a workflow, the oldest first.
func (l *listing) runs(workflow string) []uuid.UUID {
	l.t.Helper()
	rows, err := l.Pool.Query(l.Ctx, "SELECT id FROM executions WHERE workflow_name = $1 ORDER BY id", workflow)
	require.NoError(l.t, err)
	defer rows.Close()
	var out []uuid.UUID
	for rows.Next() {
		var id uuid.UUID
		require.NoError(l.t, rows.Scan(&id))
		out = append(out, id)
	}
	require.NoError(l.t, rows.Err())
	return out
}

// command commands the node that waits, once it does.
func (l *listing) command(id uuid.UUID, c execution.NodeCommand) {
	l.t.Helper()
	require.Eventually(l.t, func() bool {
		return l.Service.Commands.CommandNode(l.Ctx, execution.TaskRef{Execution: id}, c) == nil
	}, time.Minute, 10*time.Millisecond)
}

func (l *listing) answer(id uuid.UUID, found ...any) {
	l.t.Helper()
	l.command(id, execution.NodeCommand{Command: execution.CommandApprove, Values: map[string]any{"found": found}})
}

func (l *listing) untilEnded(id uuid.UUID) {
	l.t.Helper()
	require.Eventually(l.t, func() bool {
		e, err := l.Service.Get(l.Ctx, id)
		return err == nil && e.FinishedAt != nil
	}, time.Minute, 10*time.Millisecond)
}

func (l *listing) untilRuns(workflow string, n int) []uuid.UUID {
	l.t.Helper()
	require.Eventually(l.t, func() bool { return len(l.runs(workflow)) >= n }, time.Minute, 10*time.Millisecond)
	found := l.runs(workflow)
	require.Len(l.t, found, n)
	return found
}

func values(p options.Page) (out []any) {
	for _, o := range p.Options {
		out = append(out, o.Value)
	}
	return out
}

// TestWorkflowsListOptions: a run lists the options for the inputs that it reads, once for equal
// inputs, and a launch accepts only these.
func TestWorkflowsListOptions(t *testing.T) {
	t.Parallel()
	l := list(t)
	for range 3 {
		page, err := l.get(l.Ctx, "fast", nil)
		require.NoError(t, err)
		require.Equal(t, []any{"svc-1", "svc-2"}, values(page))
		require.False(t, page.Stale)
	}
	runs := l.runs("quick")
	require.Len(t, runs, 1)
	e, err := l.Service.Get(l.Ctx, runs[0])
	require.NoError(t, err)
	require.Equal(t, "Options, fast", e.Name)
	for _, c := range []struct {
		filter query.Filter
		want   int
	}{
		{query.Filter{}, 0}, {query.Filter{Workflow: "quick"}, 1}, {query.Filter{Query: "options"}, 1},
		{query.Filter{Purpose: query.ListOptions}, 1}, {query.Filter{Purpose: query.AnyPurpose}, 1},
	} {
		found, err := l.Service.List(l.Ctx, c.filter)
		require.NoError(t, err)
		require.Len(t, found.Executions, c.want, "%+v", c.filter)
	}
	require.NotNil(t, e.ExpiresAt)
	require.Equal(t, time.Hour, e.ExpiresAt.Sub(*e.FinishedAt))

	page, err := l.get(l.Ctx, "fast", map[string]any{"kind": "forest"})
	require.NoError(t, err)
	require.Equal(t, []any{"forest-1", "forest-2"}, values(page))
	require.Len(t, l.runs("quick"), 2)

	v, err := l.Workflows.Version(l.Ctx, "train", "")
	require.NoError(t, err)
	env := l.Service.Launches.Env(l.Ctx)
	env.Offers = l.service.Offers(l.Ctx)
	_, problems := v.Definition.Inputs.CheckAll(map[string]any{"fast": "svc-1"}, env)
	require.Empty(t, problems)
	_, problems = v.Definition.Inputs.CheckAll(map[string]any{"fast": "svc-3"}, env)
	require.Equal(t, "“svc-3” is not an option. Choose svc-1 or svc-2.", problems[0].Message)
	require.Len(t, l.runs("quick"), 2)

	_, err = l.get(l.Ctx, "none", nil)
	require.True(t, apperr.Is(err, apperr.Unavailable))
	require.ErrorContains(t, err, `no workflow "missing"`)
	stranger := auth.WithSubject(t.Context(), auth.Subject{ID: uuid.New(), Name: "stranger", Role: auth.RoleUser})
	_, err = l.get(stranger, "fast", nil)
	require.True(t, apperr.Is(err, apperr.NotFound), "%v", err)

	l.Register(`{name: quick, version: 1.1.0, operators: [{name: one, type: noop}], inputs: [{name: kind, type: String}], outputs: [{name: found, type: "List<String>", expression: '["new"]'}]}`)
	page, err = l.get(l.Ctx, "fast", nil)
	require.NoError(t, err)
	require.Equal(t, []any{"new"}, values(page), "a new version lists again")
}

// TestOneRunAnswersEveryone: requests at the same time share a run; old options are shown as stale
// while one run refreshes them.
func TestOneRunAnswersEveryone(t *testing.T) {
	t.Parallel()
	l := list(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			page, err := l.get(l.Ctx, "slow", nil)
			assert.Equal(t, []any{"a", "b"}, values(page), "%v", err)
		})
	}
	run := l.untilRuns("review", 1)[0]
	e, err := l.Service.Get(l.Ctx, run)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"kind": "of svc"}, e.Inputs)
	l.answer(run, "a", "b")
	all.Wait()
	require.Len(t, l.runs("review"), 1)

	l.later.Store(120)
	for range 3 {
		page, err := l.get(l.Ctx, "slow", nil)
		require.NoError(t, err)
		require.True(t, page.Stale)
		require.Equal(t, []any{"a", "b"}, values(page))
	}
	second := l.untilRuns("review", 2)[1]
	l.command(second, execution.NodeCommand{Command: execution.CommandReject, Reason: "no disk"})
	l.untilEnded(second)
	page, err := l.get(l.Ctx, "slow", nil)
	require.NoError(t, err)
	require.True(t, page.Stale && page.Unrefreshed)
	require.Contains(t, page.Note, "The last refresh failed. The run of review that lists the options failed.")
	require.Equal(t, second, page.FailedRun)
	require.Len(t, l.runs("review"), 2, "the next run waits after a failure")

	l.later.Store(240)
	_, err = l.get(l.Ctx, "slow", nil)
	require.NoError(t, err)
	third := l.untilRuns("review", 3)[2]
	l.answer(third, "c")
	l.untilEnded(third)
	l.later.Store(0)
	page, err = l.get(l.Ctx, "slow", nil)
	require.NoError(t, err)
	require.False(t, page.Stale)
	require.Equal(t, []any{"c"}, values(page))
}

// TestSlowAndFailedRunsSaySo: a request stops waiting after the timeout, and the run continues; the
// failure of a run is the error.
func TestSlowAndFailedRunsSaySo(t *testing.T) {
	t.Parallel()
	l := list(t)
	_, err := l.get(l.Ctx, "late", nil)
	require.True(t, apperr.Is(err, apperr.Unavailable), "%v", err)
	require.ErrorContains(t, err, "did not end within")
	run := l.untilRuns("review", 1)[0]
	require.ErrorContains(t, err, run.String())
	l.command(run, execution.NodeCommand{Command: execution.CommandReject, Reason: "no disk"})
	l.untilEnded(run)
	_, err = l.get(l.Ctx, "late", nil)
	require.ErrorContains(t, err, "no disk")
	require.Len(t, l.runs("review"), 1)
	failed, ok := errors.AsType[*options.RunError](err)
	require.True(t, ok)
	require.Equal(t, run, failed.Execution)
	require.Contains(t, failed.Text, "no disk")
	require.NotContains(t, failed.Text, run.String())
	require.Contains(t, apperr.MessageOf(err), run.String(), "the API and the command line name the execution")
}

// TestRequestsRefreshOptions: a request to refresh starts a run although the outputs are fresh or the
// last run has just failed; a failed refresh keeps the outputs.
func TestRequestsRefreshOptions(t *testing.T) {
	t.Parallel()
	l := list(t)
	again := func(input string) <-chan options.Page {
		out := make(chan options.Page, 1)
		go func() {
			page, err := l.request(l.Ctx, options.Request{Input: input, Refresh: true})
			assert.NoError(t, err)
			out <- page
		}()
		return out
	}
	first := again("slow")
	l.answer(l.untilRuns("review", 1)[0], "a")
	require.Equal(t, []any{"a"}, values(<-first))

	second := again("slow")
	run := l.untilRuns("review", 2)[1]
	page, err := l.get(l.Ctx, "slow", nil)
	require.NoError(t, err)
	require.Equal(t, []any{"a"}, values(page), "others do not wait")
	require.True(t, page.Stale)
	l.command(run, execution.NodeCommand{Command: execution.CommandReject, Reason: "no disk"})
	page = <-second
	require.Equal(t, []any{"a"}, values(page))
	require.True(t, page.Unrefreshed)
	require.Equal(t, run, page.FailedRun)

	third := again("slow")
	l.answer(l.untilRuns("review", 3)[2], "b")
	page = <-third
	require.Equal(t, []any{"b"}, values(page))
	require.False(t, page.Stale || page.Unrefreshed)
	require.Empty(t, page.Note)
}

// TestRunsOfOptionsAreLimited: a project runs at most five at once, whatever the inputs; others wait
// for one of them to end.
func TestRunsOfOptionsAreLimited(t *testing.T) {
	t.Parallel()
	l := list(t)
	l.Register(`{name: many, version: 1.0.0, operators: [{name: one, type: noop}], inputs: [{name: n, type: Integer},
		{name: x, type: "String?", options: {workflow: review, inputs: {kind: "run {{n}}"}, timeout: 1m}},
		{name: hurry, type: "String?", options: {workflow: review, inputs: {kind: "run {{n}}"}, timeout: 100ms}}]}`)
	v, err := l.Workflows.Version(l.Ctx, "many", "")
	require.NoError(t, err)
	request := func(input string, n int) (options.Page, error) {
		return l.service.List(l.Ctx, v, options.Request{Input: input, Inputs: map[string]any{"n": json.Number(fmt.Sprint(n))}})
	}
	var all sync.WaitGroup
	for n := range options.MaxRunning {
		all.Go(func() {
			_, err := request("x", n)
			assert.NoError(t, err)
		})
	}
	first := l.untilRuns("review", options.MaxRunning)
	_, err = request("hurry", 100)
	require.True(t, apperr.Is(err, apperr.Unavailable), "%v", err)
	require.Len(t, l.runs("review"), options.MaxRunning)

	all.Go(func() {
		page, err := request("x", 101)
		require.NoError(t, err)
		require.Equal(t, []any{"last"}, values(page))
	})
	for _, id := range first {
		l.answer(id, "a")
	}
	l.answer(l.untilRuns("review", options.MaxRunning+1)[options.MaxRunning], "last")
	all.Wait()
}
