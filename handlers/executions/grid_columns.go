package executions

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/engine/search"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/views"
)

// isGrid reports whether a list is of a view, or has a query, an order, columns or groups.
func isGrid(q url.Values) bool {
	return q.Get("view") != "" && q.Get("view") != allViews || slices.ContainsFunc(tableKeys(), func(key string) bool { return q.Get(key) != "" })
}

// chosenColumns answers the form that chooses columns with the URL of the table.
func chosenColumns(w http.ResponseWriter, r *http.Request) bool {
	q := r.URL.Query()
	if len(q["column"]) == 0 {
		return false
	}
	columns := strings.Join(q["column"], ",")
	q.Del("column")
	http.Redirect(w, r, label.ListURL(views.ExecutionsURL(), q, "columns", columns), http.StatusSeeOther)
	return true
}

// clearURL is the list without conditions: of a view, the view without its query.
func clearURL(q url.Values) string {
	if q.Get("view") == "" {
		return views.AllExecutionsURL()
	}
	return label.ListURL(views.ExecutionsURL(), q, "where", "")
}

// gridColumns are the columns with links that sort, move and remove them.
func gridColumns(q url.Values, columns []index.Column) []views.GridColumn {
	paths := make([]string, len(columns))
	for i, c := range columns {
		paths[i] = c.Path
	}
	with := func(list []string) string {
		return label.ListURL(views.ExecutionsURL(), q, "columns", strings.Join(list, ","))
	}
	swapped := func(i, k int) string {
		list := slices.Clone(paths)
		list[i], list[k] = list[k], list[i]
		return with(list)
	}
	sorted, desc := strings.CutPrefix(q.Get("sort"), "-")
	grid := make([]views.GridColumn, len(columns))
	for i, c := range columns {
		g := views.GridColumn{Title: c.Title, Path: c.Path, Numeric: c.Numeric(), DropURL: with(slices.Delete(slices.Clone(paths), i, i+1))}
		if c.Part != search.Facts {
			g.Part = string(c.Part)
		}
		next := "-" + c.Path
		if sorted == c.Path {
			g.Sorted = "ascending"
			if desc {
				g.Sorted, next = "descending", c.Path
			}
		}
		g.SortURL = label.ListURL(views.ExecutionsURL(), q, "sort", next)
		if i > 0 {
			g.LeftURL = swapped(i, i-1)
		}
		if i < len(columns)-1 {
			g.RightURL = swapped(i, i+1)
		}
		grid[i] = g
	}
	return grid
}
