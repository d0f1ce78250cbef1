package handlers_test

import (
	"net/http"

	"github.com/flowforge/flowforge/access/auth"
)

// viewRows are about a view that another person shares with the project.
func viewRows() []row {
	const ok, moved, absent, invalid = http.StatusOK, http.StatusSeeOther, http.StatusNotFound, http.StatusUnprocessableEntity
	const pages, one = "/executions/views", "/executions/views/{view}"
	return []row{
		read("/views", "/views", auth.ExecutionRead), read("/views/{view}", "/views/{view}", auth.ExecutionRead).object(),
		write("POST", "/views", "/views", `{"name": " "}`, auth.ExecutionLaunch, invalid),
		write("PATCH", "/views/{view}", "/views/{view}", `{"name": "of the matrix"}`, auth.WorkflowArchive, ok).object(),
		form(pages, pages, "name=+&sharing=private", auth.ExecutionLaunch, invalid),
		form(one, one, "name=matrix&sharing=project", auth.WorkflowArchive, moved).object(),
		form(one+"/default", one+"/default", "on=1", auth.WorkflowWrite, moved).object(),
		write("PUT", "/views/{view}/default", "/views/{view}/default", "", auth.WorkflowWrite, ok).object(),
		write("DELETE", "/views/{view}/default", "/views/{view}/default", "", auth.WorkflowWrite, ok).object(),
		write("DELETE", "/views/{view}", "/views/absent", "", auth.ExecutionLaunch, absent),
		form(one+"/delete", pages+"/absent/delete", "", auth.ExecutionLaunch, absent),
	}
}
