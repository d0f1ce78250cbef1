package handlers_test

import (
	"net/http"

	"github.com/flowforge/flowforge/access/auth"
)

// connectionRows are about the connections of the current project, so users with the permission
// read those of their own project.
func connectionRows() []row {
	const ok, moved = http.StatusOK, http.StatusSeeOther
	const fields = `{"kind": "http", "values": {"base_url": "http://127.0.0.1:1"}}`
	return []row{
		write("PUT", "/connections/{name}", "/connections/matrix", fields, auth.SecretWrite, ok),
		read("/connections", "/connections", auth.SecretRead), read("/connections/{name}", "/connections/matrix", auth.SecretRead),
		write("POST", "/connections/{name}/test", "/connections/matrix/test", "", auth.SecretWrite, ok),
		page("/connections", "/connections", auth.SecretRead), page("/connections/{name}", "/connections/matrix", auth.SecretRead),
		page("/connections/new", "/connections/new?kind=s3", auth.SecretWrite),
		form("/connections", "/connections", "kind=http&name=&values.base_url=", auth.SecretWrite, http.StatusUnprocessableEntity),
		form("/connections/{name}", "/connections/matrix", "values.base_url=http%3A%2F%2F127.0.0.1%3A1", auth.SecretWrite, moved),
		form("/connections/{name}/test", "/connections/matrix/test", "", auth.SecretWrite, ok),
		form("/connections/{name}/delete", "/connections/absent/delete", "", auth.SecretWrite, http.StatusNotFound),
		write("DELETE", "/connections/{name}", "/connections/absent", "", auth.SecretWrite, http.StatusNotFound),
	}
}
