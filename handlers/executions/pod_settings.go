package executions

import (
	"fmt"

	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/planview"
	"github.com/flowforge/flowforge/views/ui"
)

// podSettingFacts are the pod settings of an operator for the page of a node.
func podSettingFacts(op *workflow.Operator) []ui.Fact {
	var facts []ui.Fact
	if op.Code.Image != "" {
		facts = append(facts, ui.Fact{Name: "Image", Value: op.Code.Image, Mono: true})
	}
	if n := op.Resources.Pods; n > 1 {
		facts = append(facts, ui.Fact{Name: "Pods", Value: fmt.Sprint(n), Note: "gang-scheduled; each has these amounts"})
	}
	if m := op.Resources.ShmMiB; m > 0 {
		facts = append(facts, ui.Fact{Name: "Shared memory", Value: ui.Memory(m)})
	}
	if g := op.Retry.Memory; g.Factor > 1 {
		facts = append(facts, ui.Fact{Name: "After out of memory", Value: fmt.Sprintf("× %g", g.Factor), Note: "up to " + ui.Memory(g.LimitMiB)})
	}
	if op.Resident {
		facts = append(facts, ui.Fact{Name: "Starts in", Value: "a warm pod", Note: "if its project has a free one"})
	}
	fields := planview.PodFields(op)
	for _, name := range label.SortedKeys(fields) {
		facts = append(facts, ui.Fact{Name: name, Value: fields[name], Mono: true})
	}
	return facts
}
