package planview

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views/ui"
)

// GroupSummary describes the expansion of an operator, or of one item of its fan-out.
func GroupSummary(op *workflow.Operator, item bool) string {
	if op.Foreach != nil && !item {
		return "for each of " + SourceSummary(op.Foreach.Items)
	}
	if op.Workflow != "" {
		return "runs " + op.Workflow
	}
	return "runs the graph " + op.Graph
}

// SourceSummary names a source in a few words.
func SourceSummary(s workflow.Source) string {
	switch s.Kind {
	case workflow.SourceInput:
		return "inputs." + s.Input
	case workflow.SourceFuture:
		return s.Future.String()
	case workflow.SourceItem:
		if s.Field != "" {
			return "item." + s.Field
		}
		return "item"
	case workflow.SourceIndex:
		return "index"
	case workflow.SourceFormula:
		return s.Formula.String()
	case workflow.SourceLiteral:
		if list, ok := s.Value.([]any); ok {
			return units.Plural(len(list), "value", "values")
		}
		return ui.Short(fmt.Sprint(s.Value), 40)
	}
	return "its items"
}

// TimeoutText is the maximum duration of an attempt of an operator.
func TimeoutText(op *workflow.Operator) string {
	switch {
	case op.Tags != nil && op.Tags.Timeout != "":
		return op.Tags.Timeout
	case op.Timeout > 0:
		return units.Duration(op.Timeout)
	}
	return "none"
}

// RetriesText is the maximum number of retries of an operator.
func RetriesText(op *workflow.Operator) string {
	switch {
	case op.Tags != nil && op.Tags.Retries != "":
		return op.Tags.Retries
	case op.Retry.Limit == math.MaxInt32:
		return "unlimited"
	case op.Retry.Limit > 0:
		return units.Plural(op.Retry.Limit, "time", "times")
	}
	return "none"
}

// PodText describes on one line the pod settings of an operator that differ from the
// default: its image, its gang and its pod fields.
func PodText(op *workflow.Operator) string {
	var parts []string
	if op.Code.Image != "" {
		parts = append(parts, op.Code.Image)
	}
	if n := op.Resources.Pods; n > 1 {
		parts = append(parts, fmt.Sprintf("%d pods, gang-scheduled", n))
	}
	if op.Resident {
		parts = append(parts, "in warm pods")
	}
	if fields := PodFields(op); len(fields) > 0 {
		parts = append(parts, "sets "+strings.Join(label.SortedKeys(fields), ", "))
	}
	return strings.Join(parts, " · ")
}

// podFieldLength is the maximum length of the value of a pod field on a page.
const podFieldLength = 200

// PodFields are the pod fields that an operator sets, by their Kubernetes names.
func PodFields(op *workflow.Operator) map[string]string {
	if len(op.Pod) == 0 {
		return nil
	}
	var raw map[string]json.RawMessage
	if json.Unmarshal(op.Pod, &raw) != nil {
		return nil // registration has checked it
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
			for _, k := range label.SortedKeys(labels) {
				pairs = append(pairs, k+"="+labels[k])
			}
			text = strings.Join(pairs, ", ")
		}
		fields[name] = ui.Short(text, podFieldLength)
	}
	return fields
}

// OperatorSummary is the most useful fact about an operator in the plan.
func OperatorSummary(o *workflow.Operator) string {
	var outputs []string
	for _, out := range o.Outputs {
		outputs = append(outputs, out.Type.Name())
	}
	if len(outputs) > 0 {
		return string(o.Type) + " → " + strings.Join(outputs, ", ")
	}
	return string(o.Type)
}

// ResourceText is the request of an operator: "1 CPU · 512 MiB".
func ResourceText(r workflow.Resources) string {
	var parts []string
	if r.CPUMillis > 0 {
		parts = append(parts, ui.CPU(r.CPUMillis))
	}
	if r.MemoryMiB > 0 {
		parts = append(parts, ui.Memory(r.MemoryMiB))
	}
	if r.GPUs > 0 {
		parts = append(parts, fair.OfType(r.GPUType).Format(int64(r.GPUs)))
	}
	if r.StorageMiB > 0 {
		parts = append(parts, ui.Memory(r.StorageMiB)+" storage")
	}
	if len(parts) == 0 {
		return "default"
	}
	return strings.Join(parts, " · ")
}
