package observability

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/stretchr/testify/require"
)

// everything returns sources with data for all metrics.
func everything() Sources {
	limit := int64(8)
	return Sources{
		Work: func(context.Context) ([]Work, error) {
			return []Work{{Tenant: "acme", State: "RUNNING", Executions: 2, Nodes: map[string]int64{"READY": 3}}}, nil
		},
		Jobs: func(context.Context) ([]Jobs, error) { return []Jobs{{"advance", "running", 1}}, nil },
		Waiting: func(context.Context) ([]Waiting, error) {
			return []Waiting{{"acme", "QUOTA", 1, time.Second}, {"acme", "QUOTA", 1, time.Minute}}, nil
		},
		Quotas: func(context.Context) ([]Quota, error) {
			return []Quota{{AllTenants, "gpu", &limit, 4, 2}, {"acme", "gpu", nil, 4, 2}}, nil
		},
		Leases: func(context.Context) ([]Lease, error) { return []Lease{{"scheduler", 3, true}}, nil },
		Pools: func(context.Context) ([]WorkerPool, error) {
			return []WorkerPool{{Name: "gpu-lab", Queued: 3, Running: 2, Connected: 1, Wait: time.Minute}}, nil
		},
		Alerts: func(context.Context) (Alerts, error) {
			return Alerts{Schedules: map[string]int64{"active": 2, "stopped": 1}, Problems: 1, Overdue: time.Second, Failing: 1, Undelivered: 2, Oldest: time.Minute}, nil
		},
		Cluster: func(context.Context) (*Cluster, error) {
			return &Cluster{true, map[string]int64{"ready": 1}, map[string]int64{"running": 2}, map[string]GPUs{"A100": {8, 3}}}, nil
		},
		Python:   func(context.Context) (WarmPython, error) { return WarmPython{2, 3 << 19}, nil },
		Disk:     func(context.Context) (int64, error) { return 1 << 30, nil },
		Spool:    func() Spool { return Spool{1, 2, 3, 4, true} },
		Pool:     func() Pool { return Pool{1, 2, 3} },
		Sessions: func() Sessions { return Sessions{5, 8} },
		Replica: func() Replica {
			return Replica{Usable: true, Measured: true, Lag: 1500 * time.Millisecond, Reads: 7, Primary: map[string]int64{"lag": 2}}
		},
	}
}

// used returns metrics that have recorded each event once.
func used(t *testing.T) *Metrics {
	t.Helper()
	m := NewMetrics("v1", 2)
	m.Watch(everything())
	for _, what := range []string{Transition, Admission} {
		m.ObserveDuration(what, time.Millisecond)
	}
	for _, what := range []string{NodeState, Refusal, Retry, RetryDelayed, Breaker, Swept, LauncherError, SeriesRefused} {
		m.Count(what, "label", 2)
	}
	m.Finished("SUCCEEDED", "acme")
	apiResult{m}.Increment(t.Context(), "200", "GET", "host")
	apiLatency{m}.Observe(t.Context(), "GET", url.URL{}, time.Second)
	apiWait{m}.Observe(t.Context(), "GET", url.URL{}, time.Second)
	r := chi.NewRouter()
	r.Get("/things/{id}", func(http.ResponseWriter, *http.Request) {})
	r.Get("/stream", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
	})
	for _, path := range []string{"/things/1", "/things/2", "/made-up", "/stream"} {
		m.HTTP(r).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil))
	}
	return m
}

func scrape(t *testing.T, m *Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusOK, w.Code)
	text, err := io.ReadAll(w.Body)
	require.NoError(t, err)
	return string(text)
}

// TestDocumented: docs/metrics.md lists exactly what is served, with types and labels.
func TestDocumented(t *testing.T) {
	t.Parallel()
	families, err := used(t).registry.Gather()
	require.NoError(t, err)
	var served []string
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), namespace+"_") {
			continue
		}
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		slices.Sort(labels)
		served = append(served, fmt.Sprintf("%s %s %s", f.GetName(), strings.ToLower(f.GetType().String()), strings.Join(labels, ",")))
	}
	text, err := os.ReadFile("../../docs/metrics.md")
	require.NoError(t, err)
	var documented []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(flowforge_\\w+)` \\| (\\w+) \\| ([^|]*)\\|").FindAllStringSubmatch(string(text), -1) {
		labels := strings.FieldsFunc(row[3], func(r rune) bool { return r == ' ' || r == ',' || r == '`' })
		slices.Sort(labels)
		documented = append(documented, fmt.Sprintf("%s %s %s", row[1], row[2], strings.Join(labels, ",")))
	}
	slices.Sort(documented)
	slices.Sort(served)
	require.Equal(t, documented, served)
}

func TestRoutesNotPaths(t *testing.T) {
	t.Parallel()
	text := scrape(t, used(t))
	require.Contains(t, text, `flowforge_http_requests_total{code="200",method="GET",route="/things/{id}"} 2`)
	require.Contains(t, text, `flowforge_http_requests_total{code="404",method="GET",route="none"} 1`)
	require.NotContains(t, text, "made-up")
	require.NotContains(t, text, `flowforge_http_request_seconds_count{route="/stream"}`, "a stream has no time of answering")
	require.Contains(t, text, `flowforge_waiting_requests{reason="QUOTA",tenant="acme"} 2`)
	require.Contains(t, text, "flowforge_waiting_oldest_seconds 60")
	require.Contains(t, text, "flowforge_python_warm_memory_mib 1.5")
}

// TestTenantLabels: tenants beyond the limit share a label, and a tenant with a label
// keeps it.
func TestTenantLabels(t *testing.T) {
	t.Parallel()
	m := NewMetrics("v1", 2)
	for _, tenant := range []string{"a", "b", "c", "d", "a"} {
		m.Finished("FAILED", tenant)
	}
	m.Watch(Sources{Work: func(context.Context) ([]Work, error) {
		return []Work{{Tenant: "d", State: "RUNNING", Executions: 1}, {Tenant: "c", State: "RUNNING", Executions: 2}, {Tenant: "b", State: "RUNNING", Executions: 4}}, nil
	}})
	text := scrape(t, m)
	require.Contains(t, text, `flowforge_executions_finished_total{state="FAILED",tenant="a"} 2`)
	require.Contains(t, text, `flowforge_executions_finished_total{state="FAILED",tenant="other"} 2`)
	require.Contains(t, text, `flowforge_executions{state="RUNNING",tenant="other"} 3`)
	require.Contains(t, text, `flowforge_executions{state="RUNNING",tenant="b"} 4`)
	require.NotContains(t, text, `tenant="c"`)
}

// TestSourceDown: a failed source is omitted and counted; the others are served.
func TestSourceDown(t *testing.T) {
	t.Parallel()
	s := everything()
	s.Work = func(context.Context) ([]Work, error) { return nil, errors.New("the database is away") }
	var failed []string
	s.Failed = func(source string, _ error) { failed = append(failed, source) }
	m := NewMetrics("v1", 2)
	m.Watch(s)
	text := scrape(t, m)
	require.Equal(t, []string{"work"}, failed)
	require.NotContains(t, text, "flowforge_executions{")
	require.Contains(t, text, "flowforge_lease_term")
	require.Contains(t, scrape(t, m), `flowforge_scrape_errors_total{source="work"}`)
}
