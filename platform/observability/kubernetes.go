package observability

import (
	"context"
	"net/url"
	"time"

	clientmetrics "k8s.io/client-go/tools/metrics"
)

func (m *Metrics) apiMetrics() {
	m.apiRequests = m.counter("kubernetes_requests_total", "Requests to the Kubernetes API.", "method", "code")
	m.apiDuration = m.histogramVec("kubernetes_request_seconds", "Time until the cluster's API answered.", "verb")
	m.apiThrottle = m.histogram("kubernetes_throttle_seconds", "Time that requests to the Kubernetes API waited for the client's own rate limit.")
}

// WatchClients counts the requests of all clients of this process to the cluster's API.
// Only the first Metrics of a process that calls it receives them.
func (m *Metrics) WatchClients() {
	clientmetrics.Register(clientmetrics.RegisterOpts{
		RequestResult: apiResult{m}, RequestLatency: apiLatency{m}, RateLimiterLatency: apiWait{m},
	})
}

type apiResult struct{ m *Metrics }

// Increment implements metrics.ResultMetric.
func (a apiResult) Increment(_ context.Context, code, method, _ string) {
	a.m.apiRequests.WithLabelValues(method, code).Inc()
}

type apiLatency struct{ m *Metrics }

// Observe implements metrics.LatencyMetric.
func (a apiLatency) Observe(_ context.Context, verb string, _ url.URL, latency time.Duration) {
	a.m.apiDuration.WithLabelValues(verb).Observe(latency.Seconds())
}

type apiWait struct{ m *Metrics }

// Observe implements metrics.LatencyMetric.
func (a apiWait) Observe(_ context.Context, _ string, _ url.URL, latency time.Duration) {
	a.m.apiThrottle.Observe(latency.Seconds())
}
