package handlers_test

import (
	"net/http"

	"github.com/flowforge/flowforge/access/auth"
)

// optionRows list the options of an input that has none, which only those who may launch learn.
func optionRows() []row {
	const absent = http.StatusNotFound
	const list = "/workflows/{workflow_id}/options/{input}"
	const pages = "/workflows/{name}/options"
	return []row{
		write("GET", list, "/workflows/{flow}/options/absent", "", auth.ExecutionLaunch, absent).object(),
		write("POST", list, "/workflows/{flow}/options/absent", "{}", auth.ExecutionLaunch, absent).object(),
		form(pages, "/workflows/{flow}/options", "%24input=absent", auth.ExecutionLaunch, absent).object(),
	}
}
