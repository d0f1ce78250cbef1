package observability

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"
)

func (m *Metrics) httpMetrics() {
	m.requests = m.counter("http_requests_total", "Requests answered.", "method", "route", "code")
	m.duration = m.histogramVec("http_request_seconds", "Time to answer a request, without streams.", "route")
	m.inFlight = m.gauge("http_in_flight", "Requests and streams in progress.").WithLabelValues()
}

// HTTP measures next by the pattern of the route that answered.
func (m *Metrics) HTTP(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		m.inFlight.Inc()
		defer m.inFlight.Dec()
		ctx, route := withRoute(r)
		seen := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		defer func() {
			pattern := route()
			m.requests.WithLabelValues(methodLabel(r.Method), pattern, strconv.Itoa(seen.status)).Inc()
			if !seen.streamed {
				m.duration.WithLabelValues(pattern).Observe(time.Since(began).Seconds())
			}
		}()
		next.ServeHTTP(seen, r.WithContext(ctx))
	})
}

// withRoute returns the context of r with a slot for the matching route, and a function
// that returns its pattern afterwards. It never returns the requested path, which a
// client can choose freely.
func withRoute(r *http.Request) (context.Context, func() string) {
	ctx := r.Context()
	route, ok := ctx.Value(chi.RouteCtxKey).(*chi.Context)
	if !ok {
		route = chi.NewRouteContext()
		ctx = context.WithValue(ctx, chi.RouteCtxKey, route)
	}
	return ctx, func() string {
		if pattern := route.RoutePattern(); pattern != "" {
			return pattern
		}
		return "none"
	}
}

func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "other"
}

// statusWriter records the status, and whether the response is a stream.
type statusWriter struct {
	http.ResponseWriter

	status   int
	wrote    bool
	streamed bool
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(status int) {
	if !w.wrote && status >= http.StatusOK {
		w.status, w.wrote = status, true
		w.streamed = w.Header().Get("Content-Type") == "text/event-stream"
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *statusWriter) Write(p []byte) (int, error) {
	if !w.wrote {
		w.wrote, w.streamed = true, w.Header().Get("Content-Type") == "text/event-stream"
	}
	return w.ResponseWriter.Write(p) //nolint:wrapcheck // a pass-through
}

// Flush implements http.Flusher.
func (w *statusWriter) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }

// Hijack implements http.Hijacker.
func (w *statusWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return http.NewResponseController(w.ResponseWriter).Hijack() //nolint:wrapcheck // a pass-through
}

// Unwrap serves http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
