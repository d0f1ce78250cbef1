package execution_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
)

// argoMetrics are cases whose metrics have distinct prefixes: all cases share one project.
func argoMetrics() []argoCase { return slices.Concat(argoTemplateMetrics(), argoOtherMetrics()) }

func argoTemplateMetrics() []argoCase {
	return []argoCase{
		{group: "M4", feature: "metrics of a template: a counter with a condition and labels, once per node, regardless of its attempts", spec: `
entrypoint: main
templates:
- name: main
  dag:
    failFast: false
    tasks: [{name: bad, template: flaky, arguments: {parameters: [{name: code, value: "3"}]}}, {name: good, template: flaky, arguments: {parameters: [{name: code, value: "0"}]}}]
- name: flaky
  inputs: {parameters: [{name: code}]}
  retryStrategy: {limit: 1}
  metrics:
    prometheus:
    - {name: m1_ends, help: ends by status, labels: [{key: status, value: "{{status}}"}, {key: code, value: "{{exitCode}}"}, {key: tried, value: "{{=retries + 1}}"}], counter: {value: "1"}}
    - {name: m1_failed, help: failures, when: "{{status}} == Failed", counter: {value: "2"}}
    - {name: m1_never, help: none, when: "{{status}} == Omitted", counter: {value: "1"}}
  container: {image: busybox, command: [sh, -c, "exit {{inputs.parameters.code}}"]}`,
			status: query.Failed, series: map[string]string{
				`m1_ends{code="3",status="Failed",tried="2"}`:    "counter 1",
				`m1_ends{code="0",status="Succeeded",tried="1"}`: "counter 1",
				`m1_failed{}`: "counter 2",
			}},
		{group: "M4", feature: "metrics of a template: histograms and gauges of outputs, of each item of a loop; Set, Add and Sub", spec: `
entrypoint: main
templates:
- name: main
  steps: [[{name: each, template: give, withItems: ["1.5", "3", "3.5", "9"], arguments: {parameters: [{name: "n", value: "{{item}}"}]}}]]
- name: give
  inputs: {parameters: [{name: "n"}]}
  outputs: {parameters: [{name: made, valueFrom: {path: "$DIR/{{pod.name}}"}}]}
  metrics:
    prometheus:
    - {name: m2_made, help: what was made, histogram: {buckets: [2, 3, 4], value: "{{outputs.parameters.made}}"}}
    - {name: m2_sum, help: all together, gauge: {operation: Add, value: "{{=asFloat(outputs.parameters.made)}}"}}
    - {name: m2_left, help: what is left, gauge: {operation: Sub, value: "{{inputs.parameters.n}}"}}
    - {name: m2_result, help: what was said, labels: [{key: said, value: "{{outputs.result}}"}], gauge: {value: "7"}}
  script: {image: busybox, command: [sh], source: "printf %s {{inputs.parameters.n}} >{{outputs.parameters.made.path}}; echo done"}`,
			status: query.Succeeded, series: map[string]string{
				`m2_made{}`: "histogram 17 {1,1,1,1}", `m2_sum{}`: "gauge 17", `m2_left{}`: "gauge -17", `m2_result{said="done"}`: "gauge 7",
			}},
		{group: "M4", feature: "metrics of templates of steps and tasks, also of the entry point, and of suspend; none for omitted nodes", spec: `
entrypoint: main
templates:
- name: main
  metrics: {prometheus: [{name: m3_main, help: main, labels: [{key: status, value: "{{status}}"}], counter: {value: "1"}}]}
  dag:
    tasks: [{name: wait, template: wait}, {name: inner, template: inner, depends: wait, arguments: {parameters: [{name: who, value: me}]}}, {name: not, template: inner, when: "1 == 2", arguments: {parameters: [{name: who, value: none}]}}]
- name: wait
  metrics: {prometheus: [{name: m3_wait, help: waits, counter: {value: "1"}}]}
  suspend: {duration: 1}
- name: inner
  inputs: {parameters: [{name: who}]}
  outputs: {parameters: [{name: "n", valueFrom: {parameter: "4"}}]}
  metrics: {prometheus: [{name: m3_inner, help: inner, labels: [{key: who, value: "{{inputs.parameters.who}}"}], counter: {value: "{{outputs.parameters.n}}"}}]}
  steps: [[{name: a, template: "true"}]]`,
			status: query.Succeeded, series: map[string]string{
				`m3_main{status="Succeeded"}`: "counter 1", `m3_wait{}`: "counter 1", `m3_inner{who="me"}`: "counter 4",
			}},
	}
}

func argoOtherMetrics() []argoCase {
	return []argoCase{
		{group: "M4", feature: "metrics of the workflow: its status, failures, outputs and parameters", spec: `
entrypoint: main
arguments: {parameters: [{name: model, value: small}]}
metrics:
  prometheus:
  - {name: m4_runs, help: runs, labels: [{key: status, value: "{{workflow.status}}"}, {key: model, value: "{{workflow.parameters.model}}"}], counter: {value: "1"}}
  - {name: m4_failures, help: failures, gauge: {value: "{{=len(fromJSON(workflow.failures))}}"}}
  - {name: m4_score, help: the score, gauge: {value: "{{workflow.outputs.parameters.score}}"}}
  - {name: m4_quick, help: it was quick, when: "{{=asFloat(workflow.duration) < 3600}}", counter: {value: "1"}}
templates:
- name: main
  dag:
    failFast: false
    tasks: [{name: score, template: score}, {name: bad, template: fail}]
- name: score
  outputs: {parameters: [{name: score, globalName: score, valueFrom: {path: $DIR/score}}]}
  container: {image: busybox, command: [sh, -c, "echo -n 0.25 >$DIR/score"]}`,
			status: query.Failed, series: map[string]string{
				`m4_runs{model="small",status="Failed"}`: "counter 1", `m4_failures{}`: "gauge 1", `m4_score{}`: "gauge 0.25", `m4_quick{}`: "counter 1",
			}},
		{group: "M4", feature: "metrics: a value that is not a number adds an event to the node, which does not fail", spec: `
entrypoint: main
templates:
- name: main
  metrics: {prometheus: [{name: m5_after, help: the other metrics work, counter: {value: "1"}}]}
  dag: {tasks: [{name: odd, template: odd}]}
- name: odd
  metrics:
    prometheus:
    - {name: m5_odd, help: odd, gauge: {value: "{{outputs.result}}"}}
    - {name: "m5 {{status}}", help: no name, gauge: {value: "1"}}
    - {name: m5_ok, help: fine, gauge: {value: "1"}}
  container: {image: busybox, command: [echo, twelve]}`,
			status: query.Succeeded, states: map[string]dag.State{"main/odd": dag.Succeeded},
			series: map[string]string{`m5_after{}`: "counter 1", `m5_ok{}`: "gauge 1"},
			events: []string{
				`The metric argo_workflows_m5_odd (spec.templates[1].metrics.prometheus[0]) was not reported: The value must be a number, but is "twelve".`,
				`The metric argo_workflows_m5 {{status}} (spec.templates[1].metrics.prometheus[1]) was not reported: A metric name can have`,
			}},
		{group: "M4", feature: "realtime metrics: the running time of a node and of the workflow", spec: `
entrypoint: main
metrics: {prometheus: [{name: m7_run, help: h, gauge: {realtime: true, value: "{{workflow.duration}}"}}]}
templates:
- name: main
  steps: [[{name: a, template: work}]]
- name: work
  metrics: {prometheus: [{name: m7_work, help: h, labels: [{key: of, value: work}], gauge: {realtime: true, value: "{{duration}}"}}]}
  container: {image: busybox, command: [sleep, "0.1"]}`,
			status: query.Succeeded, series: map[string]string{`m7_run{}`: "gauge more", `m7_work{of="work"}`: "gauge more"}},
		{group: "M3", feature: "templateDefaults: metrics", spec: `
entrypoint: main
templateDefaults:
  metrics: {prometheus: [{name: m6_ends, help: ends, labels: [{key: status, value: "{{status}}"}], counter: {value: "1"}}]}
templates:
- name: main
  steps: [[{name: a, template: "true"}, {name: b, template: "true"}]]`,
			status: query.Succeeded, series: map[string]string{`m6_ends{status="Succeeded"}`: "counter 3"}},
	}
}

// seriesWith returns the series with a prefix, without Argo's own prefix.
func (b *testBundle) seriesWith(prefix string) map[string]string {
	b.t.Helper()
	rows, err := b.pool.Query(b.ctx, `SELECT name, labels::text, kind, value, counts::text FROM workflow_series WHERE name LIKE $1`, "argo_workflows_"+prefix+"%")
	require.NoError(b.t, err)
	defer rows.Close()
	found := map[string]string{}
	for rows.Next() {
		var name, labels, kind, counts string
		var value float64
		require.NoError(b.t, rows.Scan(&name, &labels, &kind, &value, &counts))
		var byName map[string]string
		require.NoError(b.t, json.Unmarshal([]byte(labels), &byName))
		var list []string
		for _, key := range slices.Sorted(maps.Keys(byName)) {
			list = append(list, fmt.Sprintf("%s=%q", key, byName[key]))
		}
		found[fmt.Sprintf("%s{%s}", strings.TrimPrefix(name, "argo_workflows_"), strings.Join(list, ","))] = strings.TrimSuffix(fmt.Sprintf("%s %v %s", kind, value, counts), " {}")
	}
	require.NoError(b.t, rows.Err())
	return found
}

// checkMetrics compares the metrics of a case with the expected ones.
func (b *testBundle) checkMetrics(c argoCase, events []query.Event) {
	b.t.Helper()
	var failed []string
	for _, e := range events {
		if e.Kind == "metric.failed" {
			require.True(b.t, json.Valid(e.Data))
			failed = append(failed, e.Message)
		}
	}
	require.Len(b.t, failed, len(c.events), "%v", failed)
	for i, says := range c.events {
		require.Contains(b.t, failed[i], says)
	}
	for name := range c.series {
		prefix, _, _ := strings.Cut(name, "_")
		series := b.seriesWith(prefix + "_")
		for name, want := range c.series {
			if seconds, isGauge := strings.CutPrefix(series[name], "gauge "); isGauge && want == "gauge more" { // than the 0.1 s of a case
				value, err := strconv.ParseFloat(seconds, 64)
				require.NoError(b.t, err)
				require.Greater(b.t, value, 0.1)
				series[name] = want
			}
		}
		require.Equal(b.t, c.series, series)
		return
	}
}
