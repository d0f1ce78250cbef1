package argo

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/engine/expression"
	"github.com/flowforge/flowforge/engine/workflow"
)

// metricPrefix begins the names of metrics, as in Argo, so that dashboards keep working.
const metricPrefix = "argo_workflows_"

// Tags with the duration of a template and of the workflow.
const (
	ownDuration = "duration"
	runDuration = "workflow.duration"
)

// metricsOf returns the metrics of a template. It reads and checks them once.
func (ms *metricSet) metricsOf(s *source) []workflow.Metric {
	if s.Metrics == nil {
		return nil
	}
	key := s.library + "\n" + s.path
	if _, known := ms.lists[key]; !known {
		ms.lists[key] = ms.metricList(s.Metrics, s, s.path+".metrics.prometheus")
	}
	return ms.lists[key]
}

// metricList reads metrics of a template, or of the workflow when s is nil.
func (ms *metricSet) metricList(m *metrics, s *source, path string) []workflow.Metric {
	if m == nil {
		return nil
	}
	ms.refuse(len(m.Prometheus) > workflow.MaxMetrics, path, "There are %d metrics; at most %d are allowed in one place.", len(m.Prometheus), workflow.MaxMetrics)
	list := make([]workflow.Metric, len(m.Prometheus))
	for i := range m.Prometheus {
		list[i] = ms.metric(&m.Prometheus[i], s, fmt.Sprintf("%s[%d]", path, i))
	}
	return list
}

// metric reads one metric.
func (ms *metricSet) metric(p *prometheus, s *source, at string) workflow.Metric {
	m := workflow.Metric{Name: metricPrefix + p.Name, Help: p.Help, When: p.When, At: at}
	value := ms.metricKind(&m, p, at)
	c := metricCheck{checks: ms.checks, own: s}
	if m.Live {
		ms.refuse(m.Value != "{{"+c.durationTag()+"}}", value, "A realtime gauge cannot have the value {{%s}}: only durations are known while a node runs.", c.durationTag())
		c.live = true
	} else {
		c.text(m.Value, value)
		if !strings.Contains(m.Value, "{{") {
			_, problem := workflow.MetricValue(m.Value, m.Kind)
			ms.refuse(problem != "" && m.Kind != "", value, "%s", problem)
		}
	}
	ms.refuse(p.Name == "", at+".name", "A metric must have a name.")
	c.name(p.Name, m.Name, at+".name")
	ms.refuse(m.Help == "", at+".help", "Set help; Prometheus requires it for every metric.")
	c.checked(m.Help, at+".help", workflow.MetricTextProblem)
	c.condition(m.When, at+".when")
	m.Labels = c.labels(p.Labels, m.Kind, at+".labels")
	ms.checkSameMetric(&m)
	return m
}

// metricKind reads the counter, gauge or histogram, and returns the
// path of its value.
func (ms *metricSet) metricKind(m *workflow.Metric, p *prometheus, at string) string {
	given := 0
	for _, is := range []bool{p.Counter != nil, p.Gauge != nil, p.Histogram != nil} {
		if is {
			given++
		}
	}
	ms.refuse(given != 1, at, "A metric is one of counter, gauge and histogram; this is %s.", numberOf(given))
	switch {
	case p.Counter != nil:
		m.Kind, m.Value = workflow.MetricCounter, string(p.Counter.Value)
	case p.Gauge != nil:
		m.Kind, m.Value, m.Live = workflow.MetricGauge, string(p.Gauge.Value), p.Gauge.Realtime
		m.Change = workflow.GaugeChange(strings.ToLower(cmp.Or(p.Gauge.Operation, "Set")))
		known := []string{"", "Set", "Add", "Sub"}
		ms.refuse(!slices.Contains(known, p.Gauge.Operation), at+".gauge.operation", "The operations are Set, Add and Sub, not %q.%s", shorten(p.Gauge.Operation), suggestion(p.Gauge.Operation, known[1:]))
		ms.refuse(m.Live && m.Change != workflow.GaugeSet, at+".gauge.operation", "A realtime gauge is always set; omit operation.")
	case p.Histogram != nil:
		m.Kind, m.Value = workflow.MetricHistogram, string(p.Histogram.Value)
		m.Bounds = ms.buckets(p.Histogram.Buckets, at+".histogram.buckets")
	}
	return at + "." + string(m.Kind) + ".value"
}

// buckets returns the upper bounds of the buckets of a histogram.
func (ms *metricSet) buckets(list []Text, at string) []float64 {
	ms.refuse(len(list) == 0 || len(list) > workflow.MaxBuckets, at, "A histogram has 1 to %d buckets.", workflow.MaxBuckets)
	var bounds []float64
	for i, text := range list {
		n, problem := workflow.MetricValue(string(text), workflow.MetricHistogram)
		where := fmt.Sprintf("%s[%d]", at, i)
		switch {
		case problem != "":
			ms.add(where, "A bucket must be a number without tags, not %q.", shorten(string(text)))
		case len(bounds) > 0 && n <= bounds[len(bounds)-1]:
			ms.add(where, "Buckets must increase; %s is not greater than the one before.", strconv.FormatFloat(n, 'g', -1, 64))
		}
		bounds = append(bounds, n)
	}
	return bounds
}

// checkSameMetric compares a metric with others of the same name in the document.
func (ms *metricSet) checkSameMetric(m *workflow.Metric) {
	if strings.Contains(m.Name, "{{") || strings.Contains(m.Help, "{{") || m.Kind == "" {
		return // known when it is reported
	}
	first, known := ms.first[m.Name]
	if !known {
		ms.first[m.Name] = *m
		return
	}
	if why := m.Agrees(&first); why != "" {
		ms.add(m.At, "The metric %s is at %s too, where %s; metrics of one name have the same type, help and buckets.", strings.TrimPrefix(m.Name, metricPrefix), first.At, why)
	}
}

// metricCheck checks the texts of one metric.
type metricCheck struct {
	*checks
	own  *source // nil: a metric of the workflow
	live bool    // it is reported from the start
}

func (c metricCheck) durationTag() string {
	if c.own == nil {
		return runDuration
	}
	return ownDuration
}

func (c metricCheck) name(written, full, at string) {
	c.text(written, at)
	if problem := workflow.MetricNameProblem(full); problem != "" && written != "" && !strings.Contains(written, "{{") {
		c.add(at, "%s", problem)
	}
}

// checked checks the tags of a text, and one without tags by problem.
func (c metricCheck) checked(text, at string, problem func(string) string) {
	c.text(text, at)
	if p := problem(text); p != "" && !strings.Contains(text, "{{") {
		c.add(at, "%s", p)
	}
}

func (c metricCheck) condition(text, at string) {
	c.text(text, at)
	if text == "" || strings.Contains(text, "{{") {
		return
	}
	if _, err := expression.When(text); err != nil {
		c.add(at, "%s", err)
	}
}

func (c metricCheck) labels(list []metricLabel, kind workflow.MetricKind, at string) []workflow.MetricLabel {
	c.refuse(len(list) > workflow.MaxMetricLabels, at, "There are %d labels; at most %d are allowed.", len(list), workflow.MaxMetricLabels)
	var labels []workflow.MetricLabel
	for i, l := range list {
		where := fmt.Sprintf("%s[%d]", at, i)
		if problem := workflow.MetricLabelProblem(l.Key, kind); problem != "" {
			c.add(where+".key", "%s", problem)
		}
		c.refuse(slices.ContainsFunc(labels, func(o workflow.MetricLabel) bool { return o.Key == l.Key }), where+".key", "The label %q appears twice.", shorten(l.Key))
		c.checked(string(l.Value), where+".value", workflow.MetricTextProblem)
		labels = append(labels, workflow.MetricLabel{Key: l.Key, Value: string(l.Value)})
	}
	return labels
}

// text checks the tags of a text.
func (c metricCheck) text(text, at string) {
	if !strings.Contains(text, "{{") {
		return
	}
	parsed, err := expression.ParseTemplate(text)
	if err != nil {
		c.add(at, "%s", err)
		return
	}
	for _, tag := range parsed.Tags() {
		switch {
		case tag.Err != nil:
			c.add(at, "%s", tag.Err)
		case tag.Expression != nil:
			for _, r := range tag.Expression.References() {
				if !c.checkEndName(r.Path, at) {
					c.checkReference(r.Path, scope{own: c.own, leaf: true, number: true}, at)
				}
			}
		case strings.Contains(tag.Name, "{{"):
			// the name is known only when the inner tag is replaced
		case !c.checkEndName(strings.Split(tag.Name, "."), at):
			c.checkName(tag.Name, scope{own: c.own, leaf: true, number: true}, at)
		}
	}
}

// checkEndName checks a name that only metrics can read, because it has a value only at the end;
// false for any other name.
func (c metricCheck) checkEndName(path []string, at string) bool {
	name := strings.Join(path, ".")
	switch path[0] {
	case "workflow":
		if name == "workflow.status" || name == "workflow.failures" || name == runDuration || len(path) > 1 && path[1] == "outputs" {
			c.refuse(c.live, at, "%s is not known when a realtime gauge starts.", name)
			return false
		}
		c.refuse(len(path) > 1 && path[1] == "resourcesDuration", at, unknownUse)
		return len(path) > 1 && path[1] == "resourcesDuration"
	case "resourcesDuration":
		c.add(at, unknownUse)
		return true
	case "status", ownDuration, "exitCode", "outputs", "retries":
	default:
		if c.own == nil && (path[0] == "pod" || path[0] == "node" || path[0] == "lastRetry") {
			c.add(at, "The workflow itself has no %s.", name)
			return true
		}
		return false
	}
	switch {
	case c.own == nil:
		c.add(at, "%s belongs to a template; a workflow has workflow.status, workflow.duration, workflow.failures and workflow.outputs.parameters.<name>.", name)
	case c.live:
		c.add(at, "%s is not known when a realtime gauge starts.", name)
	case path[0] == "exitCode":
		c.refuse(c.own.isGraph() || c.own.Suspend != nil, at, "Only a container or a script has an exit code.")
	case path[0] == "outputs" && len(path) > 1:
		c.output(path[1:], at)
	}
	return true
}

// unknownUse is the message for resourcesDuration.
const unknownUse = "FlowForge does not record the resource duration of a node; use flowforge_quota_used in /metrics, or the hours on the execution's page."

// output checks outputs.result and outputs.parameters.<name>.
func (c metricCheck) output(path []string, at string) {
	name := strings.Join(path, ".")
	switch {
	case name == "result":
		c.refuse(c.own.isGraph() || c.own.Suspend != nil, at, "Only a container or a script has a result.")
	case path[0] != "parameters":
		c.add(at, "A metric can read only outputs.result and outputs.parameters.<name>, not outputs.%s.", name)
	case len(path) > 1:
		c.checkOutput(c.own, "outputs."+name, at)
	}
}
