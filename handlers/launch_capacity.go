package handlers

import (
	"fmt"
	"net/http"

	quota "github.com/flowforge/flowforge/quota/local"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/workflow"
)

// capacityVerdict says whether the nodes of the version fit this machine: now, later, or
// never, in which case check is not ready.
func (h *Handlers) capacityVerdict(r *http.Request, d *draft, check *views.LaunchCheck) []views.Verdict {
	fit, err := h.Executions.Fits(r.Context(), d.version.ID)
	if err != nil {
		return nil // the launch itself says what is wrong
	}
	if !fit.OK {
		check.Ready, check.Summary = false, "Can never fit this machine"
		return []views.Verdict{{Tone: "no", Strong: "Can never fit.", Text: fit.Message}}
	}
	_, free, err := h.Executions.Capacity(r.Context())
	largest := largestNode(d.version.Definition)
	if err != nil || largest == nil {
		return nil
	}
	text := fmt.Sprintf("The largest node asks for %s; %s is free.", nodeAsks(largest.Resources), offered(free))
	if fits(largest.Resources, free) && free.Slots > 0 {
		return []views.Verdict{{Tone: "ok", Strong: "Fits now.", Text: text}}
	}
	return []views.Verdict{{Tone: "wait", Strong: "Would wait for room.", Text: text}}
}

// largestNode is the node that asks for most CPU, nil when none runs a process.
func largestNode(d *workflow.Definition) *workflow.Operator {
	var largest *workflow.Operator
	for i := range d.Operators {
		op := &d.Operators[i]
		if op.Type != workflow.TypeNoop && (largest == nil || op.Resources.CPUMillis > largest.Resources.CPUMillis) {
			largest = op
		}
	}
	return largest
}

func fits(r workflow.Resources, room quota.Amount) bool {
	return r.CPUMillis <= room.CPUMillis && r.MemoryMiB <= room.MemoryMiB
}

// nodeAsks writes what a node needs.
func nodeAsks(r workflow.Resources) string {
	text := ui.CPU(r.CPUMillis) + " and " + ui.Memory(r.MemoryMiB)
	if r.GPUs > 0 {
		text = ui.Plural(r.GPUs, "GPU", "GPUs") + ", " + text
	}
	return text
}

// offered writes what there is.
func offered(a quota.Amount) string { return ui.CPU(a.CPUMillis) + " and " + ui.Memory(a.MemoryMiB) }
