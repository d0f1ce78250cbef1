package handlers_test

import (
	"net/http"

	"github.com/flowforge/flowforge/access/auth"
)

// presetRows are about a preset that another person shares with the project.
func presetRows() []row {
	const ok, moved, absent, invalid = http.StatusOK, http.StatusSeeOther, http.StatusNotFound, http.StatusUnprocessableEntity
	const list, one = "/workflows/{workflow_id}/presets", "/workflows/{workflow_id}/presets/{preset}"
	const pages, presets = "/workflows/{name}/presets", "/workflows/{flow}/presets"
	return []row{
		read(list, presets, auth.WorkflowRead).object(), read(one, presets+"/{preset}", auth.WorkflowRead).object(),
		write("POST", list, presets, `{"name": " "}`, auth.ExecutionLaunch, invalid).object(),
		write("PATCH", one, presets+"/{preset}", `{"description": "of the matrix"}`, auth.WorkflowArchive, ok).object(),
		write("PUT", one+"/default", presets+"/{preset}/default?for=project", "", auth.WorkflowWrite, ok).object(),
		write("PUT", one+"/default", presets+"/{preset}/default", "", auth.ExecutionLaunch, ok).object(),
		write("DELETE", one+"/default", presets+"/{preset}/default", "", auth.ExecutionLaunch, ok).object(),
		write("DELETE", one, presets+"/absent", "", auth.ExecutionLaunch, absent).object(),
		page(pages, presets, auth.WorkflowRead).object(), page(pages+"/{preset}", presets+"/{preset}", auth.WorkflowRead).object(),
		form(pages+"/{preset}", presets+"/{preset}", "name=matrix&sharing=project", auth.WorkflowArchive, moved).object(),
		form(pages+"/{preset}/default", presets+"/{preset}/default", "begin=me", auth.ExecutionLaunch, moved).object(),
		form(pages+"/{preset}/delete", presets+"/absent/delete", "", auth.ExecutionLaunch, absent).object(),
	}
}
