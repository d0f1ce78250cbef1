package handlers

import (
	"net/http"

	"github.com/flowforge/flowforge/views"
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
	if fit.Now {
		return []views.Verdict{{Tone: "ok", Strong: "Fits now.", Text: fit.Message}}
	}
	return []views.Verdict{{Tone: "wait", Strong: "Would wait for room.", Text: fit.Message}}
}
