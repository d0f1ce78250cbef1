package handlers_test

import (
	"net/http"

	"github.com/flowforge/flowforge/access/auth"
)

// modelRows are about a model of the project, and about requests that do not exist.
func modelRows() []row {
	const ok, done, moved, absent, invalid = http.StatusOK, http.StatusNoContent, http.StatusSeeOther, http.StatusNotFound, http.StatusUnprocessableEntity
	const one, path, no = "/model-registry/{name}", "/model-registry/{net}", "00000000-0000-0000-0000-000000000001"
	const pages, model = "/models/{name}", "/models/{net}"
	return []row{
		read("/model-registry", "/model-registry", auth.CatalogueRead), read(one, path, auth.CatalogueRead).object(),
		read(one+"/compare", path+"/compare?version=2&against=1", auth.CatalogueRead).object(),
		write("POST", one+"/versions/{version}/stage", path+"/versions/1/stage", `{"stage": "production"}`, auth.CatalogueWrite, invalid).object(),
		write("PUT", one+"/aliases/{alias}", path+"/aliases/champion", `{"version": "1"}`, auth.CatalogueWrite, done).object(),
		write("DELETE", one+"/aliases/{alias}", path+"/aliases/absent", "", auth.CatalogueWrite, absent).object(),
		write("PUT", one+"/policy", path+"/policy", `{"approval": false, "propose": false, "rules": []}`, auth.WorkflowArchive, done).object(),
		write("PUT", "/model-policy", "/model-policy", `{"approval": false, "propose": false, "rules": []}`, auth.WorkflowArchive, done),
		write("POST", "/model-requests/{request_id}", "/model-requests/"+no, `{"decision": "approve"}`, "", absent),
		page("/models", "/models", auth.CatalogueRead), page(pages, model, auth.CatalogueRead).object(),
		form("/models/{name}/stage", model+"/stage", "version=1&stage=production", auth.CatalogueWrite, invalid).object(),
		form("/models/{name}/aliases", model+"/aliases", "version=1&alias=best", auth.CatalogueWrite, moved).object(),
		form("/models/{name}/policy", model+"/policy", "rules=", auth.WorkflowArchive, moved).object(),
		page("/model-policy", "/model-policy", auth.CatalogueRead), form("/model-policy", "/model-policy", "rules=", auth.WorkflowArchive, moved),
		form("/models/{name}/requests/{id}", model+"/requests/"+no, "decision=approve", "", absent),
		form("/artifacts/{id}/register", "/artifacts/{artifact}/register", "name=x&version=1", auth.CatalogueWrite, invalid).object(),
	}
}
