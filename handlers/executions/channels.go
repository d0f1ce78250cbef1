package executions

import (
	"context"
	"fmt"

	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
)

// transport is the way of an input; "" for a value of the execution that is passed inline.
func transport(e execution.Edge) string {
	switch {
	case !e.Inline():
		return e.Text(units.Bytes)
	case e.From != "":
		return "from " + e.From
	}
	return ""
}

// inputsWithTransport are the inputs of a node, each with its transport and the reason for it.
func (x *nodeView) inputsWithTransport(ctx context.Context) []views.Value {
	values := x.names.resolve(ctx, operatorInputs(x.node))
	edges, err := x.h.Executions.Channels.Edges(ctx, x.ID, x.node.Name)
	if err != nil {
		x.h.Log.Warn("the transport of inputs is unknown", "execution", x.ID, "node", x.node.Name, "error", err)
		return values
	}
	first, more := map[string]execution.Edge{}, map[string]int{}
	for _, e := range edges {
		if _, known := first[e.Input]; known {
			more[e.Input]++
			continue
		}
		first[e.Input] = e
	}
	for i := range values {
		e, ok := first[values[i].Name]
		if !ok {
			continue
		}
		values[i].Via = transport(e)
		if n := more[e.Input]; n > 0 {
			values[i].Via += fmt.Sprintf("; and %s more", units.Plural(n, "file", "files"))
		}
		if e.Artifact != "" {
			values[i].Note = "" // its size
		}
	}
	return values
}
