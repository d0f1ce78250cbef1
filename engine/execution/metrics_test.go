package execution_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/argo"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
)

const argoHead = "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: %s}\n"

// live returns the realtime series of running nodes, by name, and their begin.
func (b *testBundle) live() map[string]time.Time {
	b.t.Helper()
	rows, err := db.New(b.pool).ListSeries(b.ctx)
	require.NoError(b.t, err)
	found := map[string]time.Time{}
	for _, r := range rows {
		if r.LiveSince != nil {
			found[r.Name] = *r.LiveSince
		}
	}
	return found
}

// TestMetricsInRealTime: a duration gauge has a value from the begin, and at the end the
// total duration of all attempts.
func TestMetricsInRealTime(t *testing.T) {
	t.Parallel()
	b := argoSetup(t)
	folder := t.TempDir()
	id := b.launch(fmt.Sprintf(argoHead, "live")+strings.ReplaceAll(`
spec:
  entrypoint: main
  metrics: {prometheus: [{name: run, help: h, gauge: {realtime: true, value: "{{workflow.duration}}"}}]}
  templates:
  - name: main
    metrics: {prometheus: [{name: graph, help: h, labels: [{key: of, value: main}], gauge: {realtime: true, value: "{{duration}}"}}]}
    steps: [[{name: work, template: work}]]
  - name: work
    retryStrategy: {limit: 1}
    metrics: {prometheus: [{name: work, help: h, gauge: {realtime: true, value: "{{duration}}"}}, {name: once, help: h, counter: {value: "1"}}]}
    container: {image: busybox, command: [sh, -c, "test {{retries}} = 0 && exit 1; touch $DIR/began; while ! test -e $DIR/go; do sleep 0.02; done"]}
`, "$DIR", folder), nil)
	var since map[string]time.Time
	b.until(id, "the second attempt", func(query.Execution) bool {
		_, err := os.Stat(folder + "/began")
		since = b.live()
		return err == nil && len(since) == 3
	})
	e, err := b.engine.Get(b.ctx, id)
	require.NoError(t, err)
	require.Equal(t, e.StartedAt.UTC(), since["argo_workflows_run"].UTC())
	attempts, err := db.New(b.pool).ListAttempts(b.ctx, id, 1)
	require.NoError(t, err)
	require.Len(t, attempts, 2)
	first := *attempts[0].StartedAt
	if attempts[1].StartedAt.Before(first) {
		first = *attempts[1].StartedAt
	}
	require.Equal(t, first.UTC(), since["argo_workflows_work"].UTC(), "a retried node has run since its first attempt")
	require.NotContains(t, b.seriesWith(""), "once{}", "it has not ended")
	touch(t, folder+"/go")
	e = b.finish(id)
	require.Equal(t, query.Succeeded, e.Status, "%+v", e.Error)
	require.Empty(t, b.live())
	n := b.node(id, "main/work")
	want := map[string]string{
		"run{}":            fmt.Sprintf("gauge %v", e.FinishedAt.Sub(*e.StartedAt).Seconds()),
		"work{}":           fmt.Sprintf("gauge %v", n.FinishedAt.Sub(first).Seconds()),
		"once{}":           "counter 1",
		`graph{of="main"}`: "",
	}
	main := b.node(id, "main")
	want[`graph{of="main"}`] = fmt.Sprintf("gauge %v", main.FinishedAt.Sub(*main.StartedAt).Seconds())
	require.Equal(t, want, b.seriesWith(""))
}

// TestMetricDurations: a retried node has run since its first attempt, even if it is a
// template of steps; a node that a user let run again, since that.
func TestMetricDurations(t *testing.T) {
	t.Parallel()
	b := argoSetup(t)
	folder := t.TempDir()
	id := b.launch(fmt.Sprintf(argoHead, "durations")+strings.ReplaceAll(`
spec:
  entrypoint: main
  templates:
  - name: main
    dag: {failFast: false, tasks: [{name: inner, template: inner}, {name: moody, template: moody}, {name: wait, template: wait}]}
  - name: inner
    retryStrategy: {limit: 1}
    metrics: {prometheus: [{name: inner, help: h, gauge: {value: "{{duration}}"}}]}
    steps: [[{name: work, template: work}]]
  - name: work
    container: {image: busybox, command: [sh, -c, "mkdir $DIR/once || exit 0; sleep 0.2; exit 1"]}
  - name: moody
    metrics: {prometheus: [{name: moody, help: h, labels: [{key: status, value: "{{status}}"}], gauge: {value: "{{duration}}"}}]}
    container: {image: busybox, command: [test, -e, $DIR/mended]}
  - {name: wait, suspend: {}}
`, "$DIR", folder), nil)
	b.until(id, "two ends", func(query.Execution) bool {
		return b.node(id, "inner").State == dag.Succeeded && b.node(id, "moody").State == dag.Failed
	})
	took := func(n query.NodeDetail, since time.Time) string {
		return fmt.Sprintf("gauge %v", n.FinishedAt.Sub(since).Seconds())
	}
	inner, failed := b.node(id, "inner"), b.node(id, "moody")
	begins := map[int]time.Time{}
	rows, err := db.New(b.pool).FirstBegins(b.ctx, id)
	require.NoError(t, err)
	for _, r := range rows {
		begins[int(r.NodeIndex)] = r.At
	}
	require.Greater(t, inner.StartedAt.Sub(begins[0]), 200*time.Millisecond, "the first attempt took longer than that")
	want := map[string]string{"inner{}": took(inner, begins[0]), `moody{status="Failed"}`: took(failed, *failed.StartedAt)}
	require.Equal(t, want, b.seriesWith(""))
	touch(t, folder+"/mended")
	require.NoError(t, b.command(id, "moody", execution.NodeCommand{Command: execution.CommandRetry}))
	require.NoError(t, b.command(id, "wait", execution.NodeCommand{Command: execution.CommandApprove}))
	require.Equal(t, query.Succeeded, b.finish(id).Status)
	retried := b.node(id, "moody")
	want[`moody{status="Succeeded"}`] = took(retried, *retried.StartedAt)
	require.Equal(t, want, b.seriesWith(""))
	rows, err = db.New(b.pool).FirstBegins(b.ctx, id)
	require.NoError(t, err)
	for _, r := range rows {
		begins[int(r.NodeIndex)] = r.At
	}
	require.Equal(t, retried.StartedAt.UTC(), begins[1].UTC(), "another process finds the same")
}

// TestMetricsInRealTimeEnd: no series of an ended execution is reported as running, whatever
// happened to the node.
func TestMetricsInRealTimeEnd(t *testing.T) {
	t.Parallel()
	b := argoSetup(t)
	id := b.launch(fmt.Sprintf(argoHead, "left")+`
spec:
  entrypoint: main
  templates:
  - name: main
    metrics: {prometheus: [{name: main, help: h, gauge: {realtime: true, value: "{{duration}}"}}]}
    steps: [[{name: wait, template: wait}]]
  - {name: wait, suspend: {duration: "1"}}
`, nil)
	b.until(id, "the begin", func(query.Execution) bool { return len(b.live()) == 1 })
	_, err := b.pool.Exec(b.ctx, "UPDATE workflow_series SET live_node = 77") // of a node that will have no end
	require.NoError(t, err)
	require.Equal(t, query.Succeeded, b.finish(id).Status)
	require.Empty(t, b.live())
}

// TestMetricsOfCancelled: stopped nodes have ended, nodes that never began emit nothing.
func TestMetricsOfCancelled(t *testing.T) {
	t.Parallel()
	b := argoSetup(t)
	id := b.launch(fmt.Sprintf(argoHead, "cancelled")+`
spec:
  entrypoint: main
  metrics: {prometheus: [{name: runs, help: h, labels: [{key: status, value: "{{workflow.status}}"}], counter: {value: "1"}}]}
  templates:
  - name: main
    steps: [[{name: a, template: work, arguments: {parameters: [{name: "n", value: a}]}}], [{name: b, template: work, arguments: {parameters: [{name: "n", value: b}]}}]]
  - name: work
    inputs: {parameters: [{name: "n"}]}
    metrics: {prometheus: [{name: work, help: h, labels: [{key: "n", value: "{{inputs.parameters.n}}"}, {key: status, value: "{{status}}"}], counter: {value: "1"}}]}
    container: {image: busybox, command: [sleep, "60"]}
`, nil)
	b.until(id, "the begin", func(e query.Execution) bool { return e.Counts.Running == 1 })
	require.NoError(t, b.engine.Commands.Cancel(b.ctx, id, "the test cancels"))
	require.Equal(t, query.Cancelled, b.finish(id).Status)
	require.Equal(t, map[string]string{`runs{status="Failed"}`: "counter 1", `work{n="a",status="Failed"}`: "counter 1"}, b.seriesWith(""))
}

// TestMetricsOfResumed: reused results were counted by the execution that ran them; nodes
// that run again are counted again.
func TestMetricsOfResumed(t *testing.T) {
	t.Parallel()
	b := argoSetup(t)
	folder := t.TempDir()
	first := b.launch(fmt.Sprintf(argoHead, "resumed")+strings.ReplaceAll(`
spec:
  entrypoint: main
  templates:
  - name: main
    steps:
    - - {name: good, template: work, arguments: {parameters: [{name: "n", value: good}]}}
    - - {name: each, template: work, withItems: [one, two], arguments: {parameters: [{name: "n", value: "{{item}}"}]}}
  - name: work
    inputs: {parameters: [{name: "n"}]}
    metrics: {prometheus: [{name: work, help: h, labels: [{key: "n", value: "{{inputs.parameters.n}}"}, {key: status, value: "{{status}}"}], counter: {value: "1"}}]}
    container: {image: busybox, command: [sh, -c, "test {{inputs.parameters.n}} != two || test -e $DIR/mended"]}
`, "$DIR", folder), nil)
	require.Equal(t, query.Failed, b.finish(first).Status)
	touch(t, folder+"/mended")
	e, _, err := b.engine.Resumption.Resume(b.ctx, execution.ResumeRequest{Of: first})
	require.NoError(t, err)
	e = b.finish(e.ID)
	require.Equal(t, query.Succeeded, e.Status, "%+v", e.Error)
	require.Equal(t, map[string]string{
		`work{n="good",status="Succeeded"}`: "counter 1", `work{n="one",status="Succeeded"}`: "counter 1",
		`work{n="two",status="Failed"}`: "counter 1", `work{n="two",status="Succeeded"}`: "counter 1",
	}, b.seriesWith(""))
}

// counting is a workflow that counts its items by value.
func counting(name, metric string) string {
	return fmt.Sprintf(argoHead, name) + `
spec:
  entrypoint: main
  templates:
  - name: main
    steps: [[{name: each, template: count, withItems: [a, b, c, a], arguments: {parameters: [{name: "n", value: "{{item}}"}]}}]]
  - name: count
    inputs: {parameters: [{name: "n"}]}
    metrics: {prometheus: [` + metric + `]}
    steps: [[{name: wait, template: wait}]]
  - {name: wait, suspend: {duration: "1"}}
`
}

const countByItem = `{name: items, help: h, labels: [{key: "n", value: "{{inputs.parameters.n}}"}], counter: {value: "1"}}`

// TestMetricsOfManyExecutions: executions that count into the same series, and add series at
// the same time, lose nothing and do not block each other.
func TestMetricsOfManyExecutions(t *testing.T) {
	t.Parallel()
	b := argoSetup(t)
	v := b.register(counting("many", countByItem))
	const executions = 12
	ids := make([]uuid.UUID, executions)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			e, _, err := b.engine.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: v.Name})
			if err == nil {
				ids[i] = e.ID
			}
		})
	}
	wg.Wait()
	for _, id := range ids {
		require.Equal(t, query.Succeeded, b.finish(id).Status)
	}
	require.Equal(t, map[string]string{`items{n="a"}`: "counter 24", `items{n="b"}`: "counter 12", `items{n="c"}`: "counter 12"}, b.seriesWith(""))
}

// refusals counts the refused series that a meter receives.
type refusals struct {
	mu sync.Mutex
	n  int
}

func (r *refusals) ObserveDuration(string, time.Duration) {}

func (r *refusals) Count(what, _ string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if what == execution.MeterSeriesRefused {
		r.n += n
	}
}

// TestMetricsAreBounded: a project has a maximum number of series; existing ones are still
// updated, and another project has its own.
func TestMetricsAreBounded(t *testing.T) {
	t.Parallel()
	meter := &refusals{}
	b := argoSetup(t, func(c *execution.Config) { c.Meter = meter })
	id := b.launch(counting("first", strings.Replace(countByItem, "name: items", "name: other", 1)), nil)
	b.finish(id)
	_, err := b.pool.Exec(b.ctx, `INSERT INTO workflow_series (project_id, key, name, labels, kind, help, created_at, updated_at)
		SELECT e.project_id, i::text, 'filler', '{}', 'gauge', 'h', now(), now() FROM executions e, generate_series(1, 995) i`)
	require.NoError(t, err)
	id = b.launch(counting("second", countByItem), nil)
	require.Equal(t, query.Succeeded, b.finish(id).Status)
	require.Len(t, b.seriesWith("items"), 2, "three of before, 995 more, and two")
	refused := 0
	events, err := b.engine.Events.After(b.ctx, id, 0, 0)
	require.NoError(t, err)
	for _, e := range events {
		if e.Kind == "metric.failed" {
			require.Contains(t, e.Message, "maximum of 1000 metric series")
			refused++
		}
	}
	require.Positive(t, refused)
	meter.mu.Lock()
	require.Positive(t, meter.n)
	meter.mu.Unlock()
	id = b.launch(counting("first", strings.Replace(countByItem, "name: items", "name: other", 1)), nil)
	b.finish(id)
	require.Equal(t, map[string]string{`other{n="a"}`: "counter 4", `other{n="b"}`: "counter 2", `other{n="c"}`: "counter 2"}, b.seriesWith("other"))
}

// TestMetricsThatDiffer: another workflow cannot redefine a name; the latest help text is
// used.
func TestMetricsThatDiffer(t *testing.T) {
	t.Parallel()
	b := argoSetup(t)
	problem := func(name, metric string) string {
		t.Helper()
		id := b.launch(counting(name, metric), nil)
		require.Equal(t, query.Succeeded, b.finish(id).Status)
		events, err := b.engine.Events.After(b.ctx, id, 0, 0)
		require.NoError(t, err)
		for _, e := range events {
			if e.Kind == "metric.failed" {
				require.Contains(t, e.Node, "each[")
				return e.Message
			}
		}
		return ""
	}
	require.Empty(t, problem("a", `{name: x, help: first, counter: {value: "1"}}`))
	require.Contains(t, problem("b", `{name: x, help: h, gauge: {value: "1"}}`), "The project has a counter with this name, but this metric is a gauge")
	require.Contains(t, problem("c", `{name: x, help: h, labels: [{key: k, value: v}], gauge: {value: "1"}}`), "The project has a counter with this name")
	require.Empty(t, problem("d", `{name: x, help: second, labels: [{key: k, value: v}], counter: {value: "1"}}`))
	require.Empty(t, problem("e", `{name: "y", help: h, histogram: {buckets: [1], value: "1"}}`))
	require.Contains(t, problem("f", `{name: "y", help: h, histogram: {buckets: [1, 2], value: "1"}}`), "different buckets")
	require.Equal(t, map[string]string{"x{}": "counter 4", `x{k="v"}`: "counter 4", "y{}": "histogram 4 {4,0}"}, b.seriesWith(""))
	rows, err := db.New(b.pool).ListSeries(b.ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"first", "second", "h"}, []string{rows[0].Help, rows[1].Help, rows[2].Help})
	require.Equal(t, [2]string{"local", "local/default"}, [2]string{rows[0].Tenant, rows[0].Project})
	_, err = b.pool.Exec(b.ctx, "UPDATE tenancy_nodes SET archived_at = now() WHERE kind = 'team'")
	require.NoError(t, err)
	rows, err = db.New(b.pool).ListSeries(b.ctx)
	require.NoError(t, err)
	require.Empty(t, rows, "the metrics of an archived team are not exported")
}

// TestKillPointsOfMetrics crashes the server while counted nodes end: each is counted once,
// and realtime metrics end.
func TestKillPointsOfMetrics(t *testing.T) {
	t.Parallel()
	for _, point := range []string{
		"flush.begin:3", "flush.written:2", "flush.written:3", "flush.written:4", "flush.committed:2", "flush.committed:3", "flush.committed:4",
		"flush.effects:3", "deliver.posted:1", "deliver.posted:3", "deliver.answer:2", "rest.released:1",
	} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			b := setupKill(t)
			b.registerAs(fmt.Sprintf(argoHead, "kill")+strings.NewReplacer("$UNTIL_RESTED", untilIdle(b.dir), "$DIR", b.dir).Replace(`
spec:
  entrypoint: main
  metrics: {prometheus: [{name: runs, help: h, gauge: {operation: Add, value: "1"}}, {name: run, help: h, gauge: {realtime: true, value: "{{workflow.duration}}"}}]}
  templates:
  - name: main
    metrics: {prometheus: [{name: mains, help: h, counter: {value: "1"}}]}
    dag:
      tasks: [{name: left, template: work}, {name: right, template: work}, {name: slow, template: slow}, {name: last, template: work, depends: "left && right && slow"}]
  - name: work
    retryStrategy: {limit: 1}
    metrics:
      prometheus:
      - {name: ends, help: h, counter: {value: "1"}}
      - {name: tries, help: h, histogram: {buckets: [0, 1], value: "{{retries}}"}}
      - {name: running, help: h, gauge: {realtime: true, value: "{{duration}}"}}
    container: {image: busybox, command: [sh, -c, "echo $TASK $NODE >>$DIR/runs; test {{retries}} = 1"]}
  - name: slow
    metrics: {prometheus: [{name: ends, help: h, counter: {value: "1"}}]}
    container: {image: busybox, command: [sh, -c, "echo $TASK $NODE >>$DIR/runs; $UNTIL_RESTED"]}
`), argo.Format{})
			b.crashAt(point)
			b.waitAll(1, time.Minute)
			b.checkAll("SUCCEEDED", map[string]int{"main/left": 2, "main/right": 2, "main/slow": 1, "main/last": 2})
			var got string
			require.NoError(t, b.pool.QueryRow(b.ctx, `SELECT string_agg(name || ' ' || value || ' ' || counts::text, ', ' ORDER BY name) FROM workflow_series
				WHERE name NOT IN ('argo_workflows_run', 'argo_workflows_running')`).Scan(&got))
			require.Equal(t, "argo_workflows_ends 4 {}, argo_workflows_mains 1 {}, argo_workflows_runs 1 {}, argo_workflows_tries 3 {0,3,0}", got)
			require.NoError(t, b.pool.QueryRow(b.ctx, `SELECT count(*) || ' ' || count(live_since) FROM workflow_series WHERE kind = 'gauge' AND value > 0`).Scan(&got))
			require.Equal(t, "3 0", got)
		})
	}
}
