package execution

import (
	"context"

	"github.com/flowforge/flowforge/engine/execution/query"
)

// traceOf returns the trace context of a launch's request.
func (s *LaunchService) traceOf(ctx context.Context) string {
	if s.config.TraceOf == nil {
		return ""
	}
	return s.config.TraceOf(ctx)
}

// traceparent returns the trace context of the current attempt of node i.
func (as *attemptSpecs) traceparent(i int) string {
	if as.loop.row.Traceparent == "" {
		return ""
	}
	return query.Traceparent(as.loop.row.Traceparent, query.TaskID(as.loop.id, i, as.loop.nodes[i].attempt))
}
