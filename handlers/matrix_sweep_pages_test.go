package handlers_test

import (
	"net/http"

	"github.com/flowforge/flowforge/access/auth"
)

// sweepPageRows are about the pages of sweeps that another person created.
func sweepPageRows() []row {
	const moved, invalid = http.StatusSeeOther, http.StatusUnprocessableEntity
	return []row{
		page("/sweeps", "/sweeps", auth.ExecutionRead), page("/sweeps/stream", "/sweeps/stream", auth.ExecutionRead),
		page("/sweeps/{sweep}", "/sweeps/{sweep}", auth.ExecutionRead).object(),
		page("/sweeps/{sweep}/stream", "/sweeps/{sweep}/stream", auth.ExecutionRead).object(),
		page("/sweeps/{sweep}/runs.json", "/sweeps/{sweep}/runs.json", auth.ExecutionRead).object(),
		page("/sweeps/{sweep}/stop", "/sweeps/{sweep}/stop", auth.ExecutionRead).object(),
		page("/sweeps/{sweep}/change", "/sweeps/{sweep}/change", auth.ExecutionRead).object(),
		form("/sweeps/{sweep}/pause", "/sweeps/{sweep}/pause", "", auth.ExecutionCancelAny, moved).object(),
		form("/sweeps/{sweep}/resume", "/sweeps/{sweep}/resume", "", auth.ExecutionCancelAny, moved).object(),
		form("/sweeps/{sweep}/change", "/sweeps/{sweep}/change", "name=changed&runs=2&parallelism=4&gpu_hours=0&sweep.on.x=1&sweep.kind.x=distribution&sweep.distribution.x=uniform&sweep.from.x=0&sweep.to.x=1", auth.ExecutionCancelAny, moved).object(),
		form("/sweeps/{sweep}/stop", "/sweeps/{halted}/stop", "", auth.ExecutionCancelAny, moved).object(),
		page("/workflows/{name}/sweep", "/workflows/{flow}/sweep", auth.WorkflowRead).object(),
		form("/workflows/{name}/sweep", "/workflows/{flow}/sweep", "version=1.0.0", auth.ExecutionLaunch, invalid).object(),
	}
}
