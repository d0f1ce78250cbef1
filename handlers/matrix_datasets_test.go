package handlers_test

import (
	"net/http"

	"github.com/flowforge/flowforge/access/auth"
)

// datasetRows are about a dataset and a feature set of the project.
func datasetRows() []row {
	const done, moved, absent, accepted = http.StatusNoContent, http.StatusSeeOther, http.StatusNotFound, http.StatusAccepted
	var rows []row
	for _, s := range []struct{ api, version, name, page string }{
		{"/datasets", "{dataset}", "{data}", "/datasets"}, {"/feature-store/feature-sets", "{features}", "{featured}", "/feature-sets"},
	} {
		one, path, page1 := s.api+"/{ref}", s.api+"/"+s.name, s.page+"/"+s.name
		rows = append(
			rows,
			read(one+"/versions", path+"/versions", auth.CatalogueRead).object(),
			read(one+"/statistics", s.api+"/"+s.version+"/statistics", auth.CatalogueRead).object(),
			read(one+"/drift", s.api+"/"+s.version+"/drift", auth.CatalogueRead).object(),
			write("POST", one+"/statistics", s.api+"/"+s.version+"/statistics", "", auth.CatalogueWrite, accepted).object(),
			write("PUT", one+"/aliases/{alias}", path+"/aliases/golden", `{"version": "1"}`, auth.CatalogueWrite, done).object(),
			write("DELETE", one+"/aliases/{alias}", path+"/aliases/absent", "", auth.CatalogueWrite, absent).object(),
			page(s.page, s.page, auth.CatalogueRead), page(s.page+"/{name}", page1, auth.CatalogueRead).object(),
			page(s.page+"/{name}/state", page1+"/state", auth.CatalogueRead).object(),
			form(s.page+"/{name}/aliases", page1+"/aliases", "version=1&alias=best", auth.CatalogueWrite, moved).object(),
			form(s.page+"/{name}/statistics", page1+"/statistics", "version=1", auth.CatalogueWrite, moved).object(),
		)
	}
	return rows
}
