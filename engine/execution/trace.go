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
func (l *loop) traceparent(i int) string {
	if l.row.Traceparent == "" {
		return ""
	}
	return query.Traceparent(l.row.Traceparent, query.TaskID(l.id, i, l.nodes[i].attempt))
}
