package handlers_test

import (
	"net/http"

	"github.com/flowforge/flowforge/access/auth"
)

// secretRows are about the secrets of the current project, so users with the permission read
// those of their own project.
func secretRows() []row {
	const ok, moved = http.StatusOK, http.StatusSeeOther
	return []row{
		write("PUT", "/secrets/{name}", "/secrets/matrix", `{"value": "a value of the matrix"}`, auth.SecretWrite, ok),
		read("/secrets", "/secrets", auth.SecretRead), read("/secrets/{name}", "/secrets/matrix", auth.SecretRead),
		page("/secrets", "/secrets", auth.SecretRead), page("/secrets/{name}", "/secrets/matrix", auth.SecretRead),
		form("/secrets", "/secrets", "name=&value=", auth.SecretWrite, http.StatusUnprocessableEntity),
		form("/secrets/{name}", "/secrets/matrix", "value=another+value", auth.SecretWrite, moved),
		form("/secrets/{name}/delete", "/secrets/absent/delete", "", auth.SecretWrite, http.StatusNotFound),
		write("DELETE", "/secrets/{name}", "/secrets/absent", "", auth.SecretWrite, http.StatusNotFound),
	}
}
