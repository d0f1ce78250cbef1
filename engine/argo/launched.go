package argo

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/expression"
	"github.com/flowforge/flowforge/engine/workflow"
)

// A document sets the priority, the labels and the default inputs of its launches.

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
				t.checks.checkReference(r.Path, scope{}, at)
			}
		}
		labels[name] = e
	}
	return labels
}

// checkArguments reports tags in spec.arguments that have no value at launch.
func (t *translator) checkArguments() {
	texts := map[string]string{}
	paths := map[string]string{}
	for i, p := range slices.Clone(t.spec.Arguments.Parameters) { // the check can declare more
		value, field := p.launchValue()
		if value == nil {
			continue
		}
		path := fmt.Sprintf("spec.arguments.parameters[%d].%s", i, field)
		texts[p.Name], paths[p.Name] = string(*value), path
		tags, err := workflow.ReadLaunchTags(string(*value))
		if err != nil {
			t.add(path, "%s", apperr.MessageOf(err))
			continue
		}
		for _, name := range tags.Names {
			label, isLabel := strings.CutPrefix(name, "workflow.labels.")
			_, computed := t.spec.WorkflowMetadata.LabelsFrom[label]
			t.refuse(isLabel && computed, path, "{{%s}} has no value yet: labelsFrom computes this label from the arguments.", name)
		}
		t.checks.checkText(string(*value), scope{}, path)
	}
	if cycle := workflow.InputCycle(texts); cycle != nil {
		t.add(paths[cycle[0]], "The tags of these parameters read each other: %s.", strings.Join(cycle, ", "))
	}
}

// launchValue returns the default of a parameter of the launch form, and its field.
func (p parameter) launchValue() (value *Text, field string) {
	switch {
	case p.Value != nil:
		return p.Value, "value"
	case p.readsConfigMap(): // its default is the value without the ConfigMap
		return nil, ""
	case p.Default != nil:
		return p.Default, "default"
	case p.ValueFrom != nil:
		return p.ValueFrom.Default, "valueFrom.default"
	}
	return nil, ""
}
