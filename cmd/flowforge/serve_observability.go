package main

import (
	"os"
	"strings"

	"github.com/flowforge/flowforge/app"
	"github.com/flowforge/flowforge/platform/observability"
)

// observabilityFromEnvironment reads the settings of metrics and traces. Traces are on when the
// standard variables of OpenTelemetry name a collector.
func observabilityFromEnvironment() (app.Observability, error) {
	tenants, err := number("FLOWFORGE_METRICS_TENANTS", 0)
	collector := os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") + os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	off := strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") || os.Getenv("OTEL_TRACES_EXPORTER") == "none"
	return app.Observability{
		MetricsAddr: os.Getenv("FLOWFORGE_METRICS_ADDR"), MetricsTenants: tenants,
		Traces: observability.TraceConfig{On: collector != "" && !off},
	}, err
}
