package executions

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/engine/search"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
)

// isGrid reports whether a list is of a view, or has a query, an order, columns, groups or charts.
func isGrid(q url.Values) bool {
	return q.Get("view") != "" && q.Get("view") != allViews || q.Get(chartsKey) != "" || slices.ContainsFunc(tableKeys(), func(key string) bool { return q.Get(key) != "" })
}

// chosenColumns answers the form that chooses columns with the URL of the table. The form also sends
// the widths of the columns that it shows.
func chosenColumns(w http.ResponseWriter, r *http.Request) bool {
	q := r.URL.Query()
	if len(q["column"]) == 0 {
		return false
	}
	columns := slices.Clone(q["column"])
	for i, entry := range columns {
		name, layout, err := index.ParseColumn(entry)
		if layout.Chart {
			continue
		}
		width := strings.TrimSpace(q.Get(views.ColumnWidth + name))
		q.Del(views.ColumnWidth + name)
		if err != nil || width == strconv.Itoa(layout.Width) {
			continue // the table says what is wrong
		}
		layout.Width = 0
		columns[i] = layout.Entry(name)
		if width != "" {
			columns[i] += "~" + width
		}
	}
	for name := range q { // of columns that were removed
		if strings.HasPrefix(name, views.ColumnWidth) {
			q.Del(name)
		}
	}
	q.Del("column")
	http.Redirect(w, r, label.ListURL(views.ExecutionsURL(), q, "columns", strings.Join(columns, ",")), http.StatusSeeOther)
	return true
}

// clearURL is the list without conditions: of a view, the view without its query.
func clearURL(q url.Values) string {
	if q.Get("view") == "" {
		return views.AllExecutionsURL()
	}
	return label.ListURL(views.ExecutionsURL(), q, "where", "")
}

// gridColumns are the columns with links that sort, move, pin and remove them. The order is that of
// the table, with the full name of its column.
func gridColumns(q url.Values, columns []index.Column, order string) []views.GridColumn {
	entries, charts := make([]string, len(columns)), chartEntries(q)
	pinned := 0
	for i, c := range columns {
		entries[i] = c.Entry(c.Path)
		if c.Pinned {
			pinned++
		}
	}
	with := func(list []string) string {
		return label.ListURL(views.ExecutionsURL(), q, "columns", strings.Join(append(slices.Clone(list), charts...), ","))
	}
	swapped := func(i, k int) string {
		list := slices.Clone(entries)
		list[i], list[k] = list[k], list[i]
		return with(list)
	}
	sorted, desc := strings.CutPrefix(order, "-")
	grid := make([]views.GridColumn, len(columns))
	for i, c := range columns {
		g := views.GridColumn{
			Title: c.Title, Path: c.Path, Entry: entries[i], Numeric: c.Numeric(), Width: c.Width, DropURL: with(slices.Delete(slices.Clone(entries), i, i+1)),
		}
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
		if i > 0 && columns[i-1].Pinned == c.Pinned {
			g.LeftURL = swapped(i, i-1)
		}
		if i < len(columns)-1 && columns[i+1].Pinned == c.Pinned {
			g.RightURL = swapped(i, i+1)
		}
		if c.Pinned {
			g.Pin = i + 1 // pinned columns come first
		}
		if c.Pinned || pinned < index.MaxPinned {
			changed := index.Layout{Pinned: !c.Pinned, Width: c.Width}.Entry(c.Path)
			to := pinned // the last of the pinned columns, or the first of the others
			if c.Pinned {
				to--
			}
			g.PinURL = with(slices.Insert(slices.Delete(slices.Clone(entries), i, i+1), to, changed))
		}
		grid[i] = g
	}
	return grid
}

// missingColumns describe the parts of a table that it leaves out: a saved view keeps a column whose
// metric no execution has any more. It is nil for a complete table.
func missingColumns(q url.Values, missing []index.Missing) *views.MissingColumns {
	if len(missing) == 0 {
		return nil
	}
	m := &views.MissingColumns{}
	var parts []string
	left := index.Query{Columns: entriesOf(q), Sort: q.Get("sort")}.Without(missing)
	for _, one := range missing {
		m.Reasons = append(m.Reasons, one.Reason)
		if one.Parameter == "columns" {
			m.Columns = append(m.Columns, views.GridColumn{Path: index.ColumnName(one.Entry), Entry: one.Entry})
		}
	}
	if n := len(m.Columns); n > 0 {
		parts = append(parts, units.Plural(n, "column is", "columns are")+" not shown")
	}
	if left.Sort != q.Get("sort") {
		parts = append(parts, "the order is ignored")
	}
	m.Title = label.SentenceCase(strings.Join(parts, ", and ") + ".")
	next := maps.Clone(q)
	next.Set("sort", left.Sort)
	m.RemoveURL = label.ListURL(views.ExecutionsURL(), next, "columns", strings.Join(left.Columns, ","))
	m.Reasons = slices.Compact(m.Reasons)
	return m
}

// sized reports whether the table has columns with a width or a place of their own.
func sized(columns []views.GridColumn) bool {
	return slices.ContainsFunc(columns, func(c views.GridColumn) bool { return c.Width > 0 || c.Pin > 0 })
}

// pinCells sets the positions of the cells in pinned columns.
func pinCells(rows []views.GridRow, columns []index.Column) []views.GridRow {
	for i := range rows {
		for k := range rows[i].Cells {
			if k < len(columns) && columns[k].Pinned {
				rows[i].Cells[k].Pin = k + 1
			}
		}
	}
	return rows
}
