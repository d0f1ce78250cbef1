package execution_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// requesting is a workflow of one node that requests cpu and runs script.
func requesting(name, cpu, script string) string {
	return fmt.Sprintf("name: %s\nversion: 1.0.0\noperators: [{name: a, type: shell, resources: {cpu: %s, memory: 64Mi}, code: {script: '%s'}}]", name, cpu, script)
}

// waits launches doc and returns once its node waits.
func (b *testBundle) waits(doc string) uuid.UUID {
	b.t.Helper()
	id := b.launchVersion(doc)
	b.until(id, "waiting", func(query.Execution) bool { n := b.node(id, "a"); return n.State == dag.Ready && n.Reason != nil })
	return id
}

func TestWhyANodeWaits(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *execution.Config) { c.Capacity.CPUMillis = 2000 })
	stop := t.TempDir() + "/stop"
	known := b.launch(requesting("holder", "2", "[ -e "+stop+" ] || sleep 0.05"), nil)
	b.estimates(b.finish(known).WorkflowID, "a")
	holder := b.launch(requesting("waited-for", "2", "while [ ! -e "+stop+" ]; do sleep 0.01; done"), nil)
	b.until(holder, "running", func(e query.Execution) bool { return e.Counts.Running == 1 })
	first := b.waits(requesting("first", "1", "true"))
	second := b.waits(requesting("second", "1", "true"))

	w, err := b.engine.Waits.Why(b.ctx, second, "a")
	require.NoError(t, err)
	require.True(t, w.Waits)
	require.Equal(t, fair.CPUUnavailable, w.Reason.Code)
	require.Equal(t, 2, w.Reason.Position)
	require.Equal(t, int64(1000), w.Reason.Requested)
	require.Len(t, w.Holders, 1)
	require.Equal(t, holder, w.Holders[0].Execution)
	require.Equal(t, quota.Name{Workflow: "waited-for", Node: "a"}, w.Holders[0].Name)
	require.Nil(t, w.Reason.StartsFrom, "the duration of a workflow without ended executions is unknown")
	var order []uuid.UUID
	for _, q := range w.Nearby {
		order = append(order, q.Execution)
	}
	require.Equal(t, []uuid.UUID{first, second}, order)
	require.Equal(t, "node.waiting", w.Decisions[0].Kind)
	all, err := b.engine.Waits.Why(b.ctx, second, "")
	require.NoError(t, err)
	require.Equal(t, "a", all.Node, "an execution's answer is its waiting node")

	b.queueIsFair(first, second)
	waiting, err := b.engine.Waits.Count(b.ctx)
	require.NoError(t, err)
	require.Equal(t, 2, waiting)

	_, err = b.engine.Waits.Why(b.ctx, second, "nobody")
	require.True(t, apperr.Is(err, apperr.NotFound))
	_, err = b.engine.Waits.Queue(b.ctx, uuid.New(), "", 0)
	require.True(t, apperr.Is(err, apperr.NotFound))
	touch(t, stop)
	b.finish(first)
	w, err = b.engine.Waits.Why(b.ctx, first, "a")
	require.NoError(t, err)
	require.Empty(t, w.Reason.Code, "an ended execution is not waiting")
	b.finish(second)
}

// queueIsFair reads the queue a page at a time.
func (b *testBundle) queueIsFair(first, second uuid.UUID) {
	b.t.Helper()
	page, err := b.engine.Waits.Queue(b.ctx, uuid.Nil, "", 1)
	require.NoError(b.t, err)
	require.Len(b.t, page.Entries, 1)
	require.Equal(b.t, first, page.Entries[0].Execution)
	require.Equal(b.t, 1, page.Entries[0].Position)
	require.Equal(b.t, query.Normal, page.Entries[0].Priority)
	page, err = b.engine.Waits.Queue(b.ctx, auth.LocalTeam, page.Next, 5)
	require.NoError(b.t, err)
	require.Len(b.t, page.Entries, 1)
	require.Equal(b.t, second, page.Entries[0].Execution)
	require.Empty(b.t, page.Next)
	_, err = b.engine.Waits.Queue(b.ctx, uuid.Nil, "nonsense", 5)
	require.True(b.t, apperr.Is(err, apperr.Invalid))
}

// TestOthersStayHidden: a user who may not see the work of another team learns only that
// other work exists.
func TestOthersStayHidden(t *testing.T) {
	t.Parallel()
	all := setup(t, func(c *execution.Config) { c.Capacity.CPUMillis = 2000 })
	vision := all.as(all.team("vision", nil, nil))
	holder := vision.launch(requesting("secret", "2", "sleep 60"), nil)
	vision.until(holder, "running", func(e query.Execution) bool { return e.Counts.Running == 1 })
	vision.waits(requesting("hidden", "2", "true"))
	id := all.waits(requesting("mine", "2", "true"))

	mine := auth.PolicyFunc(func(_ auth.Action, place uuid.UUID) bool { return place == auth.LocalProject })
	ctx := auth.WithSubject(t.Context(), auth.Subject{ID: uuid.New(), Role: auth.RoleUser, TenantID: auth.LocalTenant, ProjectID: auth.LocalProject, Policy: mine})
	w, err := all.engine.Waits.Why(ctx, id, "a")
	require.NoError(t, err)
	require.NotEmpty(t, w.Holders)
	seen, err := json.Marshal(w)
	require.NoError(t, err)
	require.NotContains(t, string(seen), holder.String())
	require.NotContains(t, string(seen), "secret")
	node, err := all.engine.Nodes.Get(ctx, id, "a")
	require.NoError(t, err)
	seen, err = json.Marshal(node.Reason)
	require.NoError(t, err)
	require.NotContains(t, string(seen), holder.String())
	page, err := all.engine.Waits.Queue(ctx, uuid.Nil, "", 0)
	require.NoError(t, err)
	require.Len(t, page.Entries, 1, "only the queue of the project")
}

func TestForecasts(t *testing.T) {
	t.Parallel()
	devices, err := quota.ParseGPUs("A100:2,H100:4")
	require.NoError(t, err)
	b := setup(t, func(c *execution.Config) { c.Capacity.CPUMillis, c.Capacity.GPUs = 2000, devices })
	small := b.register(requesting("small", "1", "true"))
	f, err := b.engine.Forecasts.Forecast(b.ctx, small.ID, query.Normal)
	require.NoError(t, err)
	require.Equal(t, fair.FitsNow, f.Verdict)

	id := b.launchVersion(requesting("small", "1", "true"))
	b.estimates(b.finish(id).WorkflowID, "a")
	holder := b.launch(requesting("all", "2", "sleep 60"), nil)
	b.until(holder, "running", func(e query.Execution) bool { return e.Counts.Running == 1 })
	check, err := b.engine.Launches.Check(b.ctx, execution.LaunchRequest{Workflow: "small", Priority: 500})
	require.NoError(t, err)
	require.Equal(t, "priority", check.Problems[0].Path)
	require.Equal(t, fair.WouldWait, check.Forecast.Verdict)
	require.Equal(t, "a", check.Forecast.Node)
	require.Equal(t, 1, check.Forecast.Basis)
	require.Positive(t, check.Forecast.Duration)

	typed := b.register("name: typed\nversion: 1.0.0\noperators: [{name: a, type: shell, resources: {cpu: 100m, gpu: 4, gpu_type: A100}, code: {script: 'true'}}]")
	f, err = b.engine.Forecasts.Forecast(b.ctx, typed.ID, query.Normal)
	require.NoError(t, err)
	require.Equal(t, fair.NeverFits, f.Verdict)
	require.Contains(t, f.Message, "Cannot run here: requests 4 A100 GPUs")
	require.Equal(t, []string{"H100"}, []string{f.Choices[0].GPUType})

	page, err := b.engine.List(b.ctx, query.Filter{})
	require.NoError(t, err)
	require.Len(t, page.Executions, 2, "a forecast launches nothing")
	require.NoError(t, b.engine.Commands.Cancel(b.ctx, holder, ""))
	b.finish(holder)
}
