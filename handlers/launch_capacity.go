package handlers

import (
	"fmt"
	"net/http"

	"github.com/flowforge/flowforge/quota"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/workflow"
)

// capacityVerdict says whether the nodes of the version fit this machine: now, later, or
// never, in which case check is not ready.
func (h *Handlers) capacityVerdict(r *http.Request, d *draft, check *views.LaunchCheck) []views.Verdict {
	capacity, free, err := h.Executions.Capacity(r.Context())
	if err != nil {
		return nil // the launch itself says what is wrong
	}
	var largest *workflow.Operator
	for i := range d.version.Definition.Operators {
		op := &d.version.Definition.Operators[i]
		if op.Type == workflow.TypeNoop {
			continue
		}
		if !fits(op.Resources, capacity) {
			check.Ready, check.Summary = false, "Can never fit this machine"
			return []views.Verdict{{
				Tone: "no", Strong: "Can never fit.",
				Text: fmt.Sprintf("Node %s asks for %s; this machine has %s.", op.Name, asked(op.Resources), offered(capacity)),
			}}
		}
		if largest == nil || op.Resources.CPUMillis > largest.Resources.CPUMillis {
			largest = op
		}
	}
	if largest == nil {
		return nil
	}
	text := fmt.Sprintf("Its largest node asks for %s; %s is free.", asked(largest.Resources), offered(free))
	if fits(largest.Resources, free) && free.Slots > 0 {
		return []views.Verdict{{Tone: "ok", Strong: "Fits now.", Text: text}}
	}
	return []views.Verdict{{Tone: "wait", Strong: "Would wait for room.", Text: text}}
}

func fits(r workflow.Resources, room quota.Amount) bool {
	return r.CPUMillis <= room.CPUMillis && r.MemoryMiB <= room.MemoryMiB && r.GPUs == 0
}

// asked writes what a node needs.
func asked(r workflow.Resources) string {
	text := ui.CPU(r.CPUMillis) + " and " + ui.Memory(r.MemoryMiB)
	if r.GPUs > 0 {
		text = ui.Plural(r.GPUs, "GPU", "GPUs") + ", " + text
	}
	return text
}

// offered writes what there is.
func offered(a quota.Amount) string { return ui.CPU(a.CPUMillis) + " and " + ui.Memory(a.MemoryMiB) }
