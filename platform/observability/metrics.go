// Package observability exports metrics for Prometheus and traces for OpenTelemetry. It
// does not depend on our services; app connects them. Nothing here waits for a
// collector.
package observability

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const namespace = "flowforge"

// Metrics is the registry of one process and its event counters.
type Metrics struct {
	registry *prometheus.Registry

	took         map[string]prometheus.Observer // by the measured operation
	transitions  *prometheus.CounterVec
	refusals     *prometheus.CounterVec
	retries      prometheus.Counter
	launchErrors *prometheus.CounterVec
	delayed      prometheus.Counter
	breakers     *prometheus.CounterVec
	swept        *prometheus.CounterVec
	finished     *prometheus.CounterVec
	refused      prometheus.Counter // series of workflows
	tenants      *tenants

	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	inFlight prometheus.Gauge

	apiRequests *prometheus.CounterVec
	apiDuration *prometheus.HistogramVec
	apiThrottle prometheus.Histogram
}

// NewMetrics returns the metrics of a process of that version. At most maxTenants
// tenants get their own label; all others share the label "other".
func NewMetrics(version string, maxTenants int) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), took: map[string]prometheus.Observer{}, tenants: newTenants(maxTenants)}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	build := m.gauge("build_info", "The running version; always 1.", "version")
	build.WithLabelValues(version).Set(1)
	m.took[Transition] = m.histogram("transition_seconds", "Time from the decision about a transition until it is durable.")
	m.took[Admission] = m.histogram("admission_seconds", "Duration of one cycle of the fair scheduler, which admits requests and reserves their quotas.")
	m.transitions = m.counter("node_transitions_total", "Transitions of nodes into a state.", "to")
	m.refusals = m.counter("admission_refusals_total", "Requests that were not admitted immediately.", "reason")
	m.retries = m.counter("node_retries_total", "Attempts that are retried.").WithLabelValues()
	m.delayed = m.counter("retries_delayed_total", "Retries that were delayed because a retry budget was exhausted.").WithLabelValues()
	m.swept = m.counter("swept_total", "Executions, artifacts, blobs, bytes, versions and sweeps of inputs that cleanups removed.", "what")
	m.breakers = m.counter("breaker_changes_total", "Circuit breakers that opened or closed.", "to")
	m.refused = m.counter("workflow_series_refused_total", "Series of workflow metrics that were rejected because their project has reached its limit.").WithLabelValues()
	m.launchErrors = m.counter("launcher_errors_total", "Calls to the launcher that failed and are retried.", "call")
	m.finished = m.counter("executions_finished_total", "Executions that have ended, counted by the server that delivered their completion event.", "state", "tenant")
	m.httpMetrics()
	m.apiMetrics()
	return m
}

// The names for ObserveDuration and Count.
const (
	Transition    = "transition"
	Admission     = "admission"
	NodeState     = "node_state"
	Refusal       = "refusal"
	Retry         = "retry"
	RetryDelayed  = "retry_delayed"
	Breaker       = "breaker"
	Swept         = "swept"
	LauncherError = "launcher_error"
	SeriesRefused = "series_refused"
)

// ObserveDuration records the duration of an operation.
func (m *Metrics) ObserveDuration(what string, d time.Duration) {
	if o, ok := m.took[what]; ok {
		o.Observe(d.Seconds())
	}
}

// Count records that an event happened n times; label is its kind.
func (m *Metrics) Count(what, label string, n int) {
	switch what {
	case NodeState:
		m.transitions.WithLabelValues(label).Add(float64(n))
	case Refusal:
		m.refusals.WithLabelValues(label).Add(float64(n))
	case Retry:
		m.retries.Add(float64(n))
	case Swept:
		m.swept.WithLabelValues(label).Add(float64(n))
	case RetryDelayed:
		m.delayed.Add(float64(n))
	case Breaker:
		m.breakers.WithLabelValues(label).Add(float64(n))
	case LauncherError:
		m.launchErrors.WithLabelValues(label).Add(float64(n))
	case SeriesRefused:
		m.refused.Add(float64(n))
	}
}

// Finished records that an execution has ended.
func (m *Metrics) Finished(state, tenant string) {
	m.finished.WithLabelValues(state, m.tenants.label(tenant)).Inc()
}

// Handler answers a scrape. It does not authenticate: serve it only to collectors.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: 4, Timeout: 30 * time.Second})
}

func (m *Metrics) counter(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	m.registry.MustRegister(c)
	return c
}

func (m *Metrics) gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, labels)
	m.registry.MustRegister(g)
	return g
}

// buckets are seconds from half a millisecond to half a minute.
func buckets() []float64 {
	return []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
}

func (m *Metrics) histogram(name, help string) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets()})
	m.registry.MustRegister(h)
	return h
}

func (m *Metrics) histogramVec(name, help string, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets()}, labels)
	m.registry.MustRegister(h)
	return h
}
