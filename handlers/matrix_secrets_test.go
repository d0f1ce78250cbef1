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
		read("/offered-secret-stores", "/offered-secret-stores", auth.SecretRead),
	}
}

// secretStoreRows are about secret stores, which administrators of the installation manage.
func secretStoreRows() []row {
	const ok, moved, gone = http.StatusOK, http.StatusSeeOther, http.StatusNotFound
	rows := []row{
		read("/secret-stores", "/secret-stores", auth.Administer), read("/secret-stores/{name}", "/secret-stores/matrix", auth.Administer),
		write("PUT", "/secret-stores/{name}", "/secret-stores/matrix", `{"kind": "env", "values": {"variables": "TEAM_", "projects": "*"}}`, auth.Administer, ok),
		write("POST", "/secret-stores/{name}/test", "/secret-stores/matrix/test", `{}`, auth.Administer, ok),
		write("DELETE", "/secret-stores/{name}", "/secret-stores/absent", "", auth.Administer, gone),
		page("/admin/secret-stores", "/admin/secret-stores", auth.Administer), page("/admin/secret-stores/new", "/admin/secret-stores/new?kind=vault", auth.Administer),
		page("/admin/secret-stores/{name}", "/admin/secret-stores/matrix", auth.Administer),
		form("/admin/secret-stores", "/admin/secret-stores", "kind=env&name=", auth.Administer, http.StatusUnprocessableEntity),
		form("/admin/secret-stores/{name}", "/admin/secret-stores/matrix", "values.variables=TEAM_&values.projects=*", auth.Administer, moved),
		form("/admin/secret-stores/{name}/test", "/admin/secret-stores/matrix/test", "path=TRACKER", auth.Administer, ok),
		form("/admin/secret-stores/{name}/delete", "/admin/secret-stores/absent/delete", "", auth.Administer, gone),
	}
	for i := range rows {
		if rows[i].guard == signIn {
			rows[i] = rows[i].at(installation)
		}
	}
	return rows
}
