package observability

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// receiver is a collector that stores received spans.
type receiver struct {
	*httptest.Server

	mu    sync.Mutex
	spans []*tracepb.Span
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		var message collector.ExportTraceServiceRequest
		if err != nil || proto.Unmarshal(body, &message) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, rs := range message.GetResourceSpans() {
			for _, ss := range rs.GetScopeSpans() {
				r.spans = append(r.spans, ss.GetSpans()...)
			}
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) find(t *testing.T, name string) *tracepb.Span {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.spans {
		if s.GetName() == name {
			return s
		}
	}
	t.Fatalf("no span %q came", name)
	return nil
}

func startTraces(t *testing.T, endpoint string) *Traces {
	t.Helper()
	traces, err := StartTraces(t.Context(), TraceConfig{On: true, Endpoint: endpoint, Version: "v1", Instance: "one"})
	require.NoError(t, err)
	return traces
}

// TestTraceOfAnExecution: request, execution and attempt are one trace, although they
// end in different processes.
func TestTraceOfAnExecution(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	web, worker := startTraces(t, r.URL), startTraces(t, r.URL)
	var traceparent string
	site := chi.NewRouter()
	site.Post("/launch/{name}", func(w http.ResponseWriter, req *http.Request) {
		traceparent = web.Traceparent(req.Context())
		w.WriteHeader(http.StatusCreated)
	})
	web.HTTP(site).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/launch/digits", nil))
	require.Regexp(t, "^00-[0-9a-f]{32}-[0-9a-f]{16}-01$", traceparent)

	begin := time.Now().Add(-time.Hour)
	execution, attempt := [8]byte{1}, [8]byte{2}
	worker.SendSpans(traceparent, []Span{
		{ID: execution, Name: "execution digits", Start: begin, End: begin.Add(time.Minute), Attributes: map[string]string{"k": "v"}},
		{ID: attempt, Parent: execution, Name: "node train", Start: begin, End: begin.Add(time.Second), Failed: "FAILED: exit code 1"},
	})
	task := httptest.NewRequest(http.MethodPost, "/launch/report", nil)
	task.Header.Set("Traceparent", strings.Replace(traceparent, traceparent[36:52], "0200000000000000", 1))
	worker.HTTP(site).ServeHTTP(httptest.NewRecorder(), task)
	require.NoError(t, web.Close(t.Context()))
	require.NoError(t, worker.Close(t.Context()))

	request, whole, node := r.find(t, "POST /launch/{name}"), r.find(t, "execution digits"), r.find(t, "node train")
	require.Equal(t, request.GetTraceId(), whole.GetTraceId())
	require.Equal(t, request.GetSpanId(), whole.GetParentSpanId())
	require.Equal(t, execution[:], whole.GetSpanId())
	require.Equal(t, execution[:], node.GetParentSpanId())
	require.Equal(t, attempt[:], node.GetSpanId())
	require.EqualValues(t, begin.UnixNano(), whole.GetStartTimeUnixNano())
	require.Equal(t, tracepb.Status_STATUS_CODE_ERROR, node.GetStatus().GetCode())
	r.mu.Lock()
	defer r.mu.Unlock()
	var back bool
	for _, s := range r.spans {
		back = back || string(s.GetParentSpanId()) == string(attempt[:])
	}
	require.True(t, back, "a call of the task is below its attempt")
}

// TestNoCollector: a collector that answers nothing slows nothing down, whatever comes.
func TestNoCollector(t *testing.T) {
	t.Parallel()
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0") // takes connections and never answers
	require.NoError(t, err)
	defer silent.Close()
	for _, endpoint := range []string{"http://127.0.0.1:1", "http://" + silent.Addr().String()} {
		traces := startTraces(t, endpoint)
		answered := 0
		handler := traces.HTTP(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { answered++ }))
		for range 3 * spanBacklog {
			handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
		}
		require.Equal(t, 3*spanBacklog, answered)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_ = traces.Close(ctx) // gives up when its time is over
		cancel()
	}
}

func TestTracesOff(t *testing.T) {
	t.Parallel()
	traces, err := StartTraces(t.Context(), TraceConfig{})
	require.NoError(t, err)
	require.Nil(t, traces)
	var handler http.Handler = chi.NewRouter()
	require.Same(t, handler, traces.HTTP(handler))
	require.Empty(t, traces.Traceparent(t.Context()))
	traces.SendSpans("00-x", nil)
	require.NoError(t, traces.Close(t.Context()))
}
