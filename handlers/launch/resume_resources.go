package launch

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers/amount"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

// typedResources contains the submitted resources of an operator.
type typedResources struct{ cpu, memory, gpus string }

func (t typedResources) empty() bool { return t == typedResources{} }

// offeredOperators is the maximum number of operators with resource fields on the page.
const offeredOperators = 50

// takeResources reads the submitted resources by the names of operators.
func takeResources(sent url.Values) map[string]typedResources {
	overrides := map[string]typedResources{}
	for name := range sent {
		rest, ok := strings.CutPrefix(name, views.ResourceOverridePrefix)
		operator, _, known := cutLast(rest, ".")
		if !ok || !known {
			continue
		}
		read := func(what string) string {
			return strings.TrimSpace(sent.Get(views.ResourceOverridePrefix + operator + "." + what))
		}
		if t := (typedResources{read("cpu"), read("memory"), read("gpus")}); !t.empty() {
			overrides[operator] = t
		}
	}
	return overrides
}

// cutLast cuts text at the last of several separators.
func cutLast(text, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(text, sep); i >= 0 {
		return text[:i], text[i+len(sep):], true
	}
	return text, "", false
}

// resources decodes the resources. Errors are faults of the options.
func (d *resumeDraft) resources() map[string]execution.ResourceOverride {
	out := map[string]execution.ResourceOverride{}
	for operator, typed := range d.typed {
		var override execution.ResourceOverride
		var faults []string
		read := func(r fair.Resource, text string) *int {
			if text == "" {
				return nil
			}
			n, message := amount.Parse(r, text)
			if message != "" {
				faults = append(faults, message)
				return nil
			}
			return new(int(n))
		}
		override.CPUMillis, override.MemoryMiB, override.GPUs = read(fair.CPU, typed.cpu), read(fair.Memory, typed.memory), read(fair.GPU, typed.gpus)
		if len(faults) > 0 {
			d.options.faults["resources."+operator] = strings.Join(faults, " ")
		}
		out[operator] = override
	}
	return out
}

// resourceRows are the rows of the page: one for all, then one for each operator that runs
// tasks, up to the maximum. more counts the others.
func (d *resumeDraft) resourceRows() (rows []views.ResourceOverride, more int) {
	row := func(operator, label string, r *workflow.Resources) views.ResourceOverride {
		typed := d.typed[operator]
		out := views.ResourceOverride{
			Operator: operator, Label: label, CPU: typed.cpu, Memory: typed.memory, GPUs: typed.gpus, Error: d.options.faults["resources."+operator],
			DefinedCPU: "as defined", DefinedMemory: "as defined", DefinedGPUs: "as defined",
		}
		if r != nil {
			out.DefinedCPU, out.DefinedMemory = units.Number(int64(r.CPUMillis)/1000), ui.Memory(r.MemoryMiB)
			if r.CPUMillis%1000 != 0 {
				out.DefinedCPU = fmt.Sprintf("%g", float64(r.CPUMillis)/1000)
			}
			out.DefinedGPUs = fmt.Sprint(r.GPUs)
		}
		return out
	}
	rows = append(rows, row(execution.EveryOperator, "All that run", nil))
	var seen []string
	for _, op := range d.version.Definition.EveryOperator() {
		if !op.Runs() || slices.Contains(seen, op.Name) {
			continue
		}
		seen = append(seen, op.Name)
		if len(rows) > offeredOperators && d.typed[op.Name].empty() {
			more++
			continue
		}
		rows = append(rows, row(op.Name, op.Name, &op.Resources))
	}
	if len(rows) == 1 {
		return nil, 0 // nothing runs tasks
	}
	return rows, more
}

// resourceChanges are the changed resources in the preview. runs reports which operators of the
// plan run.
func (d *resumeDraft) resourceChanges(overrides map[string]execution.ResourceOverride, runs map[string]bool) []views.ResumeChange {
	var changes []views.ResumeChange
	rows, _ := d.resourceRows()
	for _, row := range rows {
		override, ok := overrides[row.Operator]
		if !ok {
			continue
		}
		label := row.Label
		if again, planned := runs[row.Operator]; planned && !again {
			label += ", whose result is reused,"
		}
		add := func(what, before string, n *int, text func(int) string) {
			if n != nil {
				changes = append(changes, views.ResumeChange{Name: label + " " + what, Target: views.ResourceOverrideID(row.Operator), Before: before, After: text(*n)})
			}
		}
		add("CPU", row.DefinedCPU, override.CPUMillis, func(n int) string { return fmt.Sprintf("%g", float64(n)/1000) })
		add("memory", row.DefinedMemory, override.MemoryMiB, ui.Memory)
		add("GPUs", row.DefinedGPUs, override.GPUs, func(n int) string { return fmt.Sprint(n) })
	}
	return changes
}
