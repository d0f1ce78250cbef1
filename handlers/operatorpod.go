package handlers

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/views/ui"
)

// podText says in a line where an operator runs in a cluster, as far as it is more
// than the default: its image, its gang, what of the pod it sets.
func podText(op *workflow.Operator) string {
	var parts []string
	if op.Code.Image != "" {
		parts = append(parts, op.Code.Image)
	}
	if n := op.Resources.Pods; n > 1 {
		parts = append(parts, fmt.Sprintf("%d pods that begin together", n))
	}
	if op.Resident {
		parts = append(parts, "in warm pods")
	}
	if fields := podFields(op); len(fields) > 0 {
		parts = append(parts, "sets "+strings.Join(sortedKeys(fields), ", "))
	}
	return strings.Join(parts, " · ")
}

// podSettingFacts are the same for the page of a node, with the values.
func podSettingFacts(op *workflow.Operator) []ui.Fact {
	var facts []ui.Fact
	if op.Code.Image != "" {
		facts = append(facts, ui.Fact{Name: "Image", Value: op.Code.Image, Mono: true})
	}
	if n := op.Resources.Pods; n > 1 {
		facts = append(facts, ui.Fact{Name: "Pods", Value: fmt.Sprint(n), Note: "that begin together; each has these amounts"})
	}
	if m := op.Resources.ShmMiB; m > 0 {
		facts = append(facts, ui.Fact{Name: "Shared memory", Value: ui.Memory(m)})
	}
	if g := op.Retry.Memory; g.Factor > 1 {
		facts = append(facts, ui.Fact{Name: "After out of memory", Value: fmt.Sprintf("× %g", g.Factor), Note: "up to " + ui.Memory(g.LimitMiB)})
	}
	if op.Resident {
		facts = append(facts, ui.Fact{Name: "Starts in", Value: "a warm pod", Note: "when one of its project is free"})
	}
	fields := podFields(op)
	for _, name := range sortedKeys(fields) {
		facts = append(facts, ui.Fact{Name: name, Value: fields[name], Mono: true})
	}
	return facts
}

// podFieldLength bounds the value of a pod field on a page.
const podFieldLength = 200

// podFields are the pod's own fields that an operator sets, by Kubernetes' names.
func podFields(op *workflow.Operator) map[string]string {
	if len(op.Pod) == 0 {
		return nil
	}
	var raw map[string]json.RawMessage
	if json.Unmarshal(op.Pod, &raw) != nil {
		return nil // it was checked when it was registered
	}
	fields := make(map[string]string, len(raw))
	for name, value := range raw {
		text := string(value)
		var plain string
		if json.Unmarshal(value, &plain) == nil {
			text = plain
		}
		var labels map[string]string
		if json.Unmarshal(value, &labels) == nil {
			pairs := make([]string, 0, len(labels))
			for _, k := range sortedKeys(labels) {
				pairs = append(pairs, k+"="+labels[k])
			}
			text = strings.Join(pairs, ", ")
		}
		fields[name] = ui.Short(text, podFieldLength)
	}
	return fields
}
