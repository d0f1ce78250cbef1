package argo_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/workflow"
)

const measured = `
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: measured}
spec:
  entrypoint: main
  metrics:
    prometheus:
    - name: runs
      help: Runs of the pipeline
      labels: [{key: status, value: "{{workflow.status}}"}]
      counter: {value: 1}
  templates:
  - name: main
    metrics:
      prometheus:
      - {name: running, help: How long it runs, gauge: {realtime: true, value: "{{duration}}"}}
    steps:
    - - {name: one, template: work}
      - {name: two, template: work}
  - name: work
    metrics:
      prometheus:
      - name: score
        help: The score
        labels: [{key: part, value: work}]
        when: "{{status}} == Succeeded"
        histogram: {buckets: [0.5, 1, 2.5], value: "{{outputs.parameters.score}}"}
      - {name: sum, help: All scores, gauge: {operation: Add, value: "{{=asFloat(outputs.parameters.score) * 2}}"}}
    outputs: {parameters: [{name: score, valueFrom: {path: /tmp/score}}]}
    container: {image: busybox, command: [sh]}
`

func TestMetrics(t *testing.T) {
	t.Parallel()
	d, problems := parse(t, measured)
	require.Empty(t, problems)
	require.Equal(t, []workflow.Metric{{
		Name: "argo_workflows_runs", Help: "Runs of the pipeline", Labels: []workflow.MetricLabel{{Key: "status", Value: "{{workflow.status}}"}},
		Kind: workflow.MetricCounter, Value: "1", At: "spec.metrics.prometheus[0]",
	}}, d.Metrics)
	require.Len(t, d.Operators, 1, "a template with metrics is a node, also at the entry point")
	require.Equal(t, []workflow.Metric{{
		Name: "argo_workflows_running", Help: "How long it runs", Kind: workflow.MetricGauge, Value: "{{duration}}",
		Change: workflow.GaugeSet, Live: true, At: "spec.templates[0].metrics.prometheus[0]",
	}}, d.Operators[0].Metrics)
	inner := d.Graphs[0].Operators
	require.Equal(t, inner[0].Metrics, inner[1].Metrics)
	require.Equal(t, []float64{0.5, 1, 2.5}, inner[0].Metrics[0].Bounds)
	require.Equal(t, workflow.GaugeAdd, inner[0].Metrics[1].Change)
}

// TestMetricsOfDefaults: templateDefaults give every template their metrics, unless it
// has some of its own.
func TestMetricsOfDefaults(t *testing.T) {
	t.Parallel()
	d, problems := parse(t, `
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: x}
spec:
  entrypoint: main
  templateDefaults: {metrics: {prometheus: [{name: ends, help: h, counter: {value: "1"}}]}}
  templates:
  - {name: main, steps: [[{name: a, template: a}, {name: b, template: b}]]}
  - {name: a, container: {image: i, command: [c]}}
  - {name: b, suspend: {duration: 1}, metrics: {prometheus: [{name: other, help: h, counter: {value: "1"}}]}}
`)
	require.Empty(t, problems)
	names := map[string]string{}
	for _, op := range d.EveryOperator() {
		names[op.Name] = op.Metrics[0].Name
	}
	require.Equal(t, map[string]string{"main": "argo_workflows_ends", "a": "argo_workflows_ends", "b": "argo_workflows_other"}, names)
}

// TestMetricRefusals: what can be known to be wrong is said with its place.
func TestMetricRefusals(t *testing.T) {
	t.Parallel()
	const ofOther = "spec.templates[0].metrics.prometheus[0]"
	const ofTemplate, ofWorkflow = "spec.templates[1].metrics.prometheus[0]", "spec.metrics.prometheus[0]"
	for _, c := range []struct{ of, metric, path, says string }{
		{ofTemplate, `{help: h, counter: {value: "1"}}`, ".name", "must have a name"},
		{ofTemplate, `{name: a-b, help: h, counter: {value: "1"}}`, ".name", "letters, digits, _ and :"},
		{ofTemplate, `{name: a, counter: {value: "1"}}`, ".help", "Set help"},
		{ofTemplate, `{name: a, help: h}`, "", "this is none"},
		{ofTemplate, `{name: a, help: h, counter: {value: "1"}, gauge: {value: "1"}}`, "", "this is several"},
		{ofTemplate, `{name: a, help: h, counter: {value: many}}`, ".counter.value", `must be a number, but is "many"`},
		{ofTemplate, `{name: a, help: h, counter: {value: "-1"}}`, ".counter.value", "can only increase"},
		{ofTemplate, `{name: a, help: h, gauge: {value: Inf}}`, ".gauge.value", "must be a number"},
		{ofTemplate, `{name: a, help: h, gauge: {value: "1e300"}}`, ".gauge.value", "must be a number"},
		{ofTemplate, `{name: a, help: h, gauge: {value: "1", operation: Ad}}`, ".gauge.operation", `Did you mean "Add"?`},
		{ofTemplate, `{name: a, help: h, gauge: {value: "1", realtime: true}}`, ".gauge.value", "{{duration}}"},
		{ofWorkflow, `{name: a, help: h, gauge: {value: "{{duration}}", realtime: true}}`, ".gauge.value", "{{workflow.duration}}"},
		{ofTemplate, `{name: a, help: h, gauge: {value: "{{duration}}", realtime: true, operation: Add}}`, ".gauge.operation", "omit operation"},
		{ofTemplate, `{name: a, help: h, when: "{{status}} == Failed", gauge: {value: "{{duration}}", realtime: true}}`, ".when", "not known when a realtime gauge starts"},
		{ofWorkflow, `{name: a, help: h, labels: [{key: s, value: "{{workflow.status}}"}], gauge: {value: "{{workflow.duration}}", realtime: true}}`, ".labels[0].value", "not known when a realtime gauge"},
		{ofTemplate, `{name: a, help: h, histogram: {value: "1"}}`, ".histogram.buckets", "1 to 100 buckets"},
		{ofTemplate, `{name: a, help: h, histogram: {value: "1", buckets: [1, 1]}}`, ".histogram.buckets[1]", "Buckets must increase"},
		{ofTemplate, `{name: a, help: h, histogram: {value: "1", buckets: [x]}}`, ".histogram.buckets[0]", "A bucket must be a number"},
		{ofTemplate, `{name: a, help: h, labels: [{key: a-b, value: x}], counter: {value: "1"}}`, ".labels[0].key", "label name"},
		{ofTemplate, `{name: a, help: h, labels: [{key: __a, value: x}], counter: {value: "1"}}`, ".labels[0].key", "label name"},
		{ofTemplate, `{name: a, help: h, labels: [{key: project, value: x}], counter: {value: "1"}}`, ".labels[0].key", "FlowForge adds the label project; rename"},
		{ofTemplate, `{name: a, help: h, labels: [{key: tenant, value: x}], counter: {value: "1"}}`, ".labels[0].key", "FlowForge adds the label tenant; rename"},
		{ofTemplate, `{name: a, help: h, labels: [{key: le, value: x}], histogram: {value: "1", buckets: [1]}}`, ".labels[0].key", "buckets"},
		{ofTemplate, `{name: a, help: h, labels: [{key: k, value: x}, {key: k, value: y}], counter: {value: "1"}}`, ".labels[1].key", "appears twice"},
		{ofTemplate, `{name: a, help: h, labels: [{key: k, value: ` + strings.Repeat("x", 1001) + `}], counter: {value: "1"}}`, ".labels[0].value", "longer than 1000 bytes"},
		{ofTemplate, `{name: a, help: h, when: a b c, counter: {value: "1"}}`, ".when", "quotes"},
		{ofTemplate, `{name: a, help: h, counter: {value: "{{resourcesDuration.cpu}}"}}`, ".counter.value", "does not record the resource duration"},
		{ofTemplate, `{name: a, help: h, counter: {value: "{{=resourcesDuration.memory}}"}}`, ".counter.value", "does not record the resource duration"},
		{ofWorkflow, `{name: a, help: h, counter: {value: "{{workflow.resourcesDuration.cpu}}"}}`, ".counter.value", "does not record the resource duration"},
		{ofWorkflow, `{name: a, help: h, counter: {value: "{{duration}}"}}`, ".counter.value", "workflow.duration"},
		{ofWorkflow, `{name: a, help: h, counter: {value: "{{inputs.parameters.x}}"}}`, ".counter.value", "workflow.parameters"},
		{ofWorkflow, `{name: a, help: h, counter: {value: "{{pod.name}}"}}`, ".counter.value", "has no pod.name"},
		{ofTemplate, `{name: a, help: h, counter: {value: "{{outputs.parameters.y}}"}}`, ".counter.value", `no output parameter "y"`},
		{ofTemplate, `{name: a, help: h, counter: {value: "{{outputs.artifacts.y}}"}}`, ".counter.value", "outputs.result and outputs.parameters"},
		{ofTemplate, `{name: a, help: h, counter: {value: "{{inputs.parameters.y}}"}}`, ".counter.value", "no input parameters.y"},
		{ofTemplate, `{name: a, help: h, counter: {value: "{{stats}}"}}`, ".counter.value", "not an Argo tag"},
		{ofTemplate, `{name: a, help: h, counter: {value: "{{=steps.x.status}}"}}`, ".counter.value", "only its own inputs"},
		{ofOther, `{name: same, help: other, counter: {value: "1"}}`, "", "is at spec.templates[1].metrics.prometheus[0] too, where it has another help text"},
		{ofOther, `{name: same, help: h, gauge: {value: "1"}}`, "", "where it is a gauge"},
		{ofTemplate, `{name: whole, help: h, counter: {value: "{{exitCode}}"}}, {name: hist, help: h, histogram: {value: "1", buckets: [1]}}, {name: hist, help: h, histogram: {value: "1", buckets: [2]}}`, "+2", "it has other buckets"},
	} {
		section := "\nmetrics: {prometheus: [" + c.metric + "]}"
		spec, own := "", strings.ReplaceAll(section, "\n", "\n  ")
		if c.of == ofWorkflow {
			spec, own = section, ""
		}
		path := c.of + c.path
		if c.path == "+2" {
			path = "spec.templates[1].metrics.prometheus[2]"
		}
		found := refusedFields(t, spec+"\nentrypoint: main\ntemplates:\n- {name: first, suspend: {}, metrics: {prometheus: [{name: same, help: h, counter: {value: \"1\"}}]}}\n- name: main"+own+"\n  container: {image: a, command: [b]}")
		require.Contains(t, found[path], c.says, "%s\n%v", c.metric, found)
	}
	found := refusedFields(t, `
entrypoint: main
templates:
- name: main
  metrics: {prometheus: [{name: a, help: h, counter: {value: "{{exitCode}}"}}, {name: b, help: h, counter: {value: "{{outputs.result}}"}}]}
  suspend: {}`)
	require.Contains(t, found["spec.templates[0].metrics.prometheus[0].counter.value"], "exit code")
	require.Contains(t, found["spec.templates[0].metrics.prometheus[1].counter.value"], "has a result")
}
