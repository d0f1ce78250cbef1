package handlers

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/handlers/request"
)

// listPatterns are the pages and API calls that may be read from a replica of the database: lists and
// dashboards. Pages of a single object are not among them, because their readers wait for its next
// state.
func listPatterns() []string {
	pages := []string{
		"/", "/executions", "/executions/facets", "/executions/lines", "/workflows", "/workflows/{name}/grid", "/admin/audit", "/events", "/reports/{report}",
		"/compare", "/compare/curves", "/compare/curves.csv", "/compare/plots.json", "/compare/table.csv",
		"/teams/{id}",
	}
	for _, p := range []string{
		"/executions", "/executions/groups", "/executions/lines", "/workflows/{workflow_id}/grid", "/audit", "/events", "/compare", "/compare/metrics",
	} {
		pages = append(pages, request.APIPrefix+p)
	}
	return pages
}

// isList returns a function that reports whether a request is one of listPatterns.
func isList() func(*http.Request) bool {
	lists := chi.NewRouter()
	for _, p := range listPatterns() {
		lists.Get(p, func(http.ResponseWriter, *http.Request) {})
	}
	return func(r *http.Request) bool { return lists.Match(chi.NewRouteContext(), http.MethodGet, r.URL.Path) }
}
