package observability

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// TraceConfig configures the export of traces. The SDK reads everything else from the
// standard OTEL_* variables: headers, certificates, the sampler, resource attributes.
type TraceConfig struct {
	On       bool
	Endpoint string // of OTLP over HTTP, as a URL; "" is OTEL_EXPORTER_OTLP_ENDPOINT's
	Version  string
	Instance string
	Log      *slog.Logger
}

// Traces creates and exports spans. A nil Traces creates none and has no cost.
type Traces struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

const (
	// spanBacklog is the maximum number of spans that wait for a collector; further
	// ones are dropped.
	spanBacklog  = 4096
	exportWithin = 10 * time.Second
	complainOnce = time.Minute
)

// StartTraces returns nil when c is off. An unreachable collector is not an error:
// spans wait for it, and are dropped when there are too many.
func StartTraces(ctx context.Context, c TraceConfig) (*Traces, error) {
	if !c.On {
		return nil, nil //nolint:nilnil // a nil Traces is one that is off
	}
	options := []otlptracehttp.Option{otlptracehttp.WithTimeout(exportWithin)}
	if c.Endpoint != "" {
		options = append(options, otlptracehttp.WithEndpointURL(c.Endpoint))
	}
	exporter, err := otlptracehttp.New(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_ENDPOINT: %w", err)
	}
	attributes, err := resource.New(ctx, resource.WithAttributes(
		attribute.String("service.name", "flowforge"), attribute.String("service.version", c.Version), attribute.String("service.instance.id", c.Instance),
	), resource.WithFromEnv(), resource.WithTelemetrySDK())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	if c.Log != nil {
		otel.SetErrorHandler(&complaints{log: c.Log})
	}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter, sdktrace.WithMaxQueueSize(spanBacklog), sdktrace.WithExportTimeout(exportWithin)),
		sdktrace.WithResource(attributes), sdktrace.WithIDGenerator(ids{}),
	)
	return &Traces{provider: provider, tracer: provider.Tracer("github.com/flowforge/flowforge")}, nil
}

// Close sends waiting spans until ctx ends.
func (t *Traces) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.provider.Shutdown(ctx) //nolint:wrapcheck // logged as it is
}

// complaints logs errors of the exporter, but not for each batch.
type complaints struct {
	log  *slog.Logger
	last atomic.Int64 // Unix nanoseconds
}

// Handle implements otel.ErrorHandler.
func (c *complaints) Handle(err error) {
	now := time.Now().UnixNano()
	if last := c.last.Load(); now-last > int64(complainOnce) && c.last.CompareAndSwap(last, now) {
		c.log.Warn("the collector does not accept traces", "error", err)
	}
}

// HTTP creates a span for every request to next, named by its route, below the span of
// the request. Probes, static files and streams have none.
func (t *Traces) HTTP(next http.Handler) http.Handler {
	if t == nil {
		return next
	}
	named := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, route := withRoute(r)
		next.ServeHTTP(w, r.WithContext(ctx))
		span := trace.SpanFromContext(ctx)
		pattern := route()
		span.SetName(methodLabel(r.Method) + " " + pattern)
		span.SetAttributes(attribute.String("http.route", pattern))
	})
	return otelhttp.NewHandler(named, "http", otelhttp.WithTracerProvider(t.provider),
		otelhttp.WithPropagators(propagation.TraceContext{}), otelhttp.WithFilter(traced))
}

func traced(r *http.Request) bool {
	path := r.URL.Path
	return path != "/healthz" && path != "/readyz" && !strings.HasPrefix(path, "/static/") && !strings.HasSuffix(path, "/stream")
}

// Traceparent returns the W3C trace context of ctx, or "" when it is not traced.
func (t *Traces) Traceparent(ctx context.Context) string {
	if t == nil || !trace.SpanContextFromContext(ctx).IsSampled() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier["traceparent"]
}

// Span is a completed operation that is reported afterwards: it may have begun in
// another process, and its children know its id.
type Span struct {
	ID         [8]byte
	Parent     [8]byte // zero is the span of the trace context
	Name       string
	Start, End time.Time
	Failed     string // why; "" when it did not fail
	Attributes map[string]string
}

// SendSpans sends spans of the trace that traceparent names; without one it does nothing.
func (t *Traces) SendSpans(traceparent string, spans []Span) {
	if t == nil || traceparent == "" {
		return
	}
	root := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": traceparent})
	if !trace.SpanContextFromContext(root).IsSampled() {
		return
	}
	for _, s := range spans {
		ctx := root
		if s.Parent != [8]byte{} {
			ctx = trace.ContextWithRemoteSpanContext(ctx, trace.SpanContextFromContext(root).WithSpanID(s.Parent).WithRemote(true))
		}
		_, span := t.tracer.Start(context.WithValue(ctx, spanIDKey{}, trace.SpanID(s.ID)), s.Name, trace.WithTimestamp(s.Start))
		for k, v := range s.Attributes {
			span.SetAttributes(attribute.String(k, v))
		}
		if s.Failed != "" {
			span.SetStatus(codes.Error, s.Failed)
		}
		span.End(trace.WithTimestamp(s.End))
	}
}

// ids creates random ids, but uses the id in the context of a span if there is one.
type ids struct{}

type spanIDKey struct{}

// NewIDs implements sdktrace.IDGenerator.
func (g ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	var id trace.TraceID
	_, _ = rand.Read(id[:]) // never fails
	return id, g.NewSpanID(ctx, id)
}

// NewSpanID implements sdktrace.IDGenerator.
func (ids) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	if id, ok := ctx.Value(spanIDKey{}).(trace.SpanID); ok {
		return id
	}
	var id trace.SpanID
	_, _ = rand.Read(id[:]) // never fails
	binary.BigEndian.PutUint64(id[:], binary.BigEndian.Uint64(id[:])|1)
	return id
}
