package workflow

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Metric is a number for Prometheus that an operator, or a whole execution, reports
// when it has ended. Name, Help, When, Value and the values of labels may have tags,
// which are replaced then. The native form has none.
type Metric struct {
	Name   string // as reported
	Help   string
	Labels []MetricLabel
	When   string // a condition in the language of Tags.When; "": always
	Kind   MetricKind
	Value  string
	Change GaugeChange // of a gauge
	// Live means that the gauge is the running time of the operator or the execution,
	// reported while it grows. Then only Value has tags that are unknown at the start.
	Live   bool
	Bounds []float64 // of a histogram: the upper bounds of its buckets, without the infinite one
	At     string    // its path in a document that is not native
}

// MetricLabel is a label of a metric.
type MetricLabel struct{ Key, Value string }

// MetricKind is what Prometheus calls the type of a metric.
type MetricKind string

// The kinds.
const (
	MetricCounter   MetricKind = "counter"
	MetricGauge     MetricKind = "gauge"
	MetricHistogram MetricKind = "histogram"
)

// GaugeChange is what a value does to a gauge.
type GaugeChange string

// The changes.
const (
	GaugeSet GaugeChange = "set"
	GaugeAdd GaugeChange = "add"
	GaugeSub GaugeChange = "sub"
)

// Limits on a metric, so that one scrape stays readable.
const (
	MaxMetrics      = 100 // of one operator, or of the workflow
	MaxMetricLabels = 20
	MaxBuckets      = 100
	maxMetricName   = 200
	maxMetricText   = 1000 // bytes of a help text or of the value of a label
	// maxMetricValue keeps sums of any realistic number of values finite.
	maxMetricValue = 1e200
)

var (
	metricName = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*$`)
	labelName  = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
)

// MetricNameProblem explains why a metric cannot have the name; "" when it can.
func MetricNameProblem(name string) string {
	if !metricName.MatchString(name) || len(name) > maxMetricName {
		return fmt.Sprintf("A metric name can have up to %d letters, digits, _ and :; this is %q.", maxMetricName, shorten(name, 60))
	}
	return ""
}

// MetricTextProblem explains why text is not valid as a help text or the value of a label.
func MetricTextProblem(text string) string {
	if len(text) > maxMetricText {
		return fmt.Sprintf("It is longer than %d bytes.", maxMetricText)
	}
	return ""
}

// MetricLabelProblem explains why a metric of a kind cannot have a label of that name.
func MetricLabelProblem(key string, kind MetricKind) string {
	switch {
	case !labelName.MatchString(key) || strings.HasPrefix(key, "__") || len(key) > maxMetricName:
		return fmt.Sprintf("A label name can have letters, digits and _, and must not begin with a digit or __; this is %q.", shorten(key, 60))
	case key == "tenant" || key == "project":
		return fmt.Sprintf("FlowForge adds the label %s; rename this label.", key)
	case key == "le" && kind == MetricHistogram:
		return "The label le is reserved for histogram buckets; rename this label."
	}
	return ""
}

// MetricValue parses the value of a metric of a kind; problem is a sentence when text
// is not valid.
func MetricValue(text string, kind MetricKind) (value float64, problem string) {
	value, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	switch {
	case err != nil || math.IsNaN(value) || math.Abs(value) > maxMetricValue:
		return 0, fmt.Sprintf("The value must be a number, but is %q.", shorten(text, 60))
	case kind == MetricCounter && value < 0:
		return 0, fmt.Sprintf("A counter can only increase; the value is %s.", strings.TrimSpace(text))
	}
	return value, ""
}

// Agrees describes how a metric of the same name conflicts with m; "" when both can be
// reported. Labels may differ: they make another series.
func (m *Metric) Agrees(other *Metric) string {
	switch {
	case m.Kind != other.Kind:
		return fmt.Sprintf("it is a %s", other.Kind)
	case !slices.Equal(m.Bounds, other.Bounds):
		return "it has other buckets"
	case m.Help != other.Help:
		return "it has another help text"
	}
	return ""
}

// HasLiveMetrics reports whether d has metrics that are reported while it runs.
func (d *Definition) HasLiveMetrics() bool {
	live := func(m Metric) bool { return m.Live }
	if slices.ContainsFunc(d.Metrics, live) {
		return true
	}
	for _, op := range d.EveryOperator() {
		if slices.ContainsFunc(op.Metrics, live) {
			return true
		}
	}
	return false
}
