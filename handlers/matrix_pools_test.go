package handlers_test

import (
	"net/http"

	"github.com/flowforge/flowforge/access/auth"
)

// poolRows are about the pools of workers, which administrators of the installation manage.
func poolRows() []row {
	const ok, moved, gone, absent = http.StatusOK, http.StatusSeeOther, http.StatusNotFound, "/workers/00000000-0000-0000-0000-000000000001/drain"
	worker := forTasks("POST /flowforge.v1.WorkerService/*", "/flowforge.v1.WorkerService/Poll", `{"workerId": "01900000-0000-7000-8000-00000000000a", "session": "01900000-0000-7000-8000-00000000000b"}`, http.StatusUnauthorized)
	worker.guard = none // the token of a pool is checked by the service
	rows := []row{
		worker,
		read("/pools", "/pools", auth.Administer), read("/pools/{pool}", "/pools/matrix", auth.Administer),
		write("POST", "/pools", "/pools", `{"name": "matrix"}`, auth.Administer, http.StatusConflict),
		read("/pools/{pool}/access", "/pools/matrix/access", auth.Administer),
		write("PUT", "/pools/{pool}/access", "/pools/matrix/access", `{"restricted": false}`, auth.Administer, ok),
		read("/pools/{pool}/shares", "/pools/matrix/shares", auth.Administer),
		write("PUT", "/pools/{pool}/limits/{node_id}", "/pools/matrix/limits/00000000-0000-0000-0000-00000000dead", `{"tasks": 1}`, auth.Administer, http.StatusUnprocessableEntity),
		form("/admin/pools/{pool}/limits", "/admin/pools/matrix/limits", "node=absent", auth.Administer, http.StatusUnprocessableEntity),
		form("/admin/pools/{pool}/access", "/admin/pools/matrix/access", "everyone=1", auth.Administer, moved),
		write("PUT", "/pools/{pool}/drain", "/pools/matrix/drain", `{"draining": true}`, auth.Administer, ok),
		write("PUT", "/pools/{pool}/workers/{worker_id}/drain", "/pools/matrix"+absent, `{"draining": true}`, auth.Administer, gone),
		write("POST", "/pools/{pool}/tokens", "/pools/matrix/tokens", "", auth.Administer, http.StatusCreated),
		write("DELETE", "/pools/{pool}/tokens/{token_id}", "/pools/matrix/tokens/aaaaaaaaaaaa", "", auth.Administer, gone),
		write("DELETE", "/pools/{pool}", "/pools/absent", "", auth.Administer, gone),
		page("/admin/pools", "/admin/pools", auth.Administer), page("/admin/pools/{pool}", "/admin/pools/matrix", auth.Administer),
		page("/admin/pools/{pool}/stream", "/admin/pools/matrix/stream", auth.Administer),
		form("/admin/pools", "/admin/pools", "name=matrix", auth.Administer, http.StatusConflict),
		form("/admin/pools/{pool}/drain", "/admin/pools/matrix/drain", "", auth.Administer, moved),
		form("/admin/pools/{pool}/tokens", "/admin/pools/matrix/tokens", "", auth.Administer, ok),
		form("/admin/pools/{pool}/tokens/{token}/revoke", "/admin/pools/matrix/tokens/aaaaaaaaaaaa/revoke", "", auth.Administer, gone),
		form("/admin/pools/{pool}/workers/{worker}/drain", "/admin/pools/matrix"+absent, "draining=1", auth.Administer, gone),
		form("/admin/pools/{pool}/delete", "/admin/pools/absent/delete", "", auth.Administer, gone),
	}
	for i := range rows {
		if rows[i].guard == signIn {
			rows[i] = rows[i].at(installation)
		}
	}
	return rows
}
