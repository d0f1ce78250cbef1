package argo

import (
	"maps"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/engine/expression"
)

// A document sets the priority and the labels of its launches.

// normalPriority is the priority of launches in FlowForge that corresponds to 0, the default
// in Argo.
const normalPriority = 50

// priority places Argo's priority, which has no limits, on FlowForge's scale from 0 to 100.
func (s *spec) priority() *int {
	if s.Priority == nil {
		return nil
	}
	return new(normalPriority + int(min(max(*s.Priority, -normalPriority), normalPriority)))
}

// computedLabels reads labelsFrom. A label without an expression that can be read is a problem.
func (t *translator) computedLabels() map[string]*expression.Expression {
	labels := map[string]*expression.Expression{}
	for _, name := range slices.Sorted(maps.Keys(t.spec.WorkflowMetadata.LabelsFrom)) {
		at := "spec.workflowMetadata.labelsFrom." + name + ".expression"
		e, err := expression.ParseArgo(t.spec.WorkflowMetadata.LabelsFrom[name].Expression)
		if err != nil {
			t.add(at, "%s", err)
			continue
		}
		for _, r := range e.References() {
			t.refuse(r.Path[0] != "workflow", at, "A label is computed at launch, so its expression can read only workflow, not %s.", strings.Join(r.Path, "."))
			if r.Path[0] == "workflow" {
				t.refuse(len(r.Path) > 1 && slices.Contains([]string{"status", "duration", "failures", "outputs"}, r.Path[1]), at,
					"A label is computed at launch, when %s has no value yet.", strings.Join(r.Path, "."))
				t.checkReference(r.Path, scope{}, at)
			}
		}
		labels[name] = e
	}
	return labels
}
