package execution

import (
	"encoding/json"
	"strings"

	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/stored"
)

// loopOutput returns the value that tags read from an output of the fan-out i: the values of
// the items that succeeded, as Argo aggregates them. Results that are JSON are parsed.
// Parameters are texts, such as "1.10" and "true", unless each of them is a JSON list or
// mapping.
func (vs *nodeValues) loopOutput(i int, port string, list []any) []any {
	values := []any{}
	for k, v := range list {
		if v != nil && vs.itemSucceeded(i, k) {
			values = append(values, v)
		}
	}
	decoded := make([]any, len(values))
	for k, v := range values {
		var composite bool
		if decoded[k], composite = jsonItem(v); !composite && port != ResultPort {
			return values
		}
	}
	return decoded
}

// itemSucceeded reports whether item k of the fan-out i succeeded. Outputs of items in an
// earlier execution are stored without states, and count as succeeded.
func (vs *nodeValues) itemSucceeded(i, k int) bool {
	c := vs.loop.nodes[i].children
	return k >= c.count || vs.loop.progress.State(c.first+k) == dag.Succeeded
}

// jsonItem returns v, or its parsed value if it is JSON text, and whether that is a list or
// a mapping.
func jsonItem(v any) (item any, composite bool) {
	if text, isText := v.(string); isText {
		if decoded, err := stored.Value(text); err == nil && json.Valid([]byte(text)) {
			v = decoded
		}
	}
	switch v.(type) {
	case []any, map[string]any:
		return v, true
	}
	return v, false
}

// loopParameters returns the output parameters of the fan-out i: an object for each item
// that succeeded and has some.
func (vs *nodeValues) loopParameters(i int, outputs map[string]any) []any {
	var size int
	for _, v := range outputs {
		if list, ok := v.([]any); ok {
			size = max(size, len(list))
		}
	}
	items := []any{}
	for k := range size {
		item := map[string]any{}
		for port, v := range outputs {
			if list, ok := v.([]any); ok && !strings.Contains(port, ".") && k < len(list) && list[k] != nil {
				item[port] = list[k]
			}
		}
		if len(item) > 0 && vs.itemSucceeded(i, k) {
			items = append(items, item)
		}
	}
	return items
}

// loopPhase is the Argo phase of the fan-out i: the phase of its last failed item, even if
// continueOn tolerates the failure.
func (vs *nodeValues) loopPhase(i int) string {
	phase := vs.phase(i)
	if vs.loop.progress.State(i) != dag.Succeeded {
		return phase
	}
	c := vs.loop.nodes[i].children
	for k := c.first; k < c.first+c.count; k++ {
		if vs.loop.progress.State(k) == dag.Failed {
			phase = vs.phase(k)
		}
	}
	return phase
}
