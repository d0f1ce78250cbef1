package executions

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/search"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/table"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

const (
	groupRows = 20 // executions of an open group that the page shows
	maxOpen   = 10 // groups that are open at once
)

// findGroups returns the groups of a table, and a page without rows. If the table selects the runs of a
// sweep, the page has one of them.
func (h *lists) findGroups(ctx context.Context, request index.Query, by string, where search.Expr) (table.Page, index.Grouped, error) {
	groups, err := h.Table.Index.Groups(ctx, request, by)
	if err != nil || !selectsSweep(where) {
		return table.Page{Result: groups.Result}, groups, err
	}
	request.Limit, request.After, request.Counted = 1, "", false
	run, err := h.Table.Find(ctx, request)
	return table.Page{Result: groups.Result, Executions: run.Executions}, groups, err
}

// fillGroups shows the groups of a table, and returns the executions of those that are open.
func (h *lists) fillGroups(r *http.Request, m *views.ExecutionGrid, request index.Query, found index.Grouped, best directions) (shown []query.Execution, err error) {
	q, ctx := r.URL.Query(), r.Context()
	by, columns, groups := found.By, found.Columns, found.Groups
	m.Columns = gridColumns(q, columns, request.Sort)
	for i := range m.Columns { // groups have no layout
		m.Columns[i].Pin, m.Columns[i].Entry = 0, ""
	}
	if len(groups) == 0 {
		return nil, nil
	}
	m.Groups = &views.GridGroups{Name: by.Title}
	if found.All > len(groups) {
		m.Groups.More = fmt.Sprintf("The %d largest of %s. Add a condition to see the others.", len(groups), units.Plural(found.All, "group", "groups"))
	}
	open := openGroups(q)
	var sets []rowSet
	for i, g := range groups {
		one := h.gridGroup(q, by, g, columns)
		one.ID = fmt.Sprintf("group-%d", i+1)
		one.Open = slices.Contains(open, g.Key())
		one.ToggleURL = toggleURL(q, open, g.Key()) + "#" + one.ID
		if one.Open {
			opened, err := h.openGroup(ctx, h.Page.Clock(r), &one, request, g.Of(by))
			if err != nil {
				return nil, err
			}
			shown = append(shown, opened.Executions...)
			sets = append(sets, rowSet{one.Rows, opened})
		}
		m.Groups.Groups = append(m.Groups.Groups, one)
	}
	best.markBest(columns, sets...)
	return shown, nil
}

// openGroup reads the first executions of a group.
func (h *lists) openGroup(ctx context.Context, clock ui.Clock, into *views.GridGroup, request index.Query, of search.Expr) (table.Page, error) {
	request.And = append(slices.Clone(request.And), of)
	request.Limit, request.After, request.Counted = groupRows, "", true
	found, err := h.Table.Find(ctx, request)
	if err != nil {
		return found, err
	}
	into.Rows = editable(ctx, table.Rows(clock, found), found.Executions)
	if found.Total > len(into.Rows) {
		into.Rest = "All " + units.Plural(found.Total, "execution", "executions")
	}
	return found, nil
}

func (h *lists) gridGroup(q url.Values, by index.Column, g index.Group, columns []index.Column) views.GridGroup {
	one := views.GridGroup{Count: units.Plural(g.Count, "execution", "executions")}
	switch v := g.Value.(type) {
	case float64:
		one.Value = ui.Float(v)
		if by.Type == "duration" {
			one.Value = units.Duration(time.Duration(v * float64(time.Second)))
		}
	case string:
		one.Value = ui.Short(v, table.CellShown)
		if by.Path == "state" {
			one.Value = ui.Word(v)
		}
	default:
		one.Value, one.None = "No "+by.Title, true
	}
	only := map[string][]string{}
	for key, value := range q {
		if key != "group" && key != "open" {
			only[key] = value
		}
	}
	one.OnlyURL = label.ListURL(views.ExecutionsURL(), only, "where", joined(q.Get("where"), g.Where(by)))
	for i, c := range columns {
		one.Cells = append(one.Cells, groupCell(c, g.Stats[i]))
	}
	return one
}

// joined is a query with one more condition.
func joined(where, condition string) string {
	next, on := toggled(where, condition)
	if on {
		return where
	}
	return next
}

// openGroups are the keys of the open groups in an address, each in a parameter.
func openGroups(q url.Values) []string {
	list := q["open"]
	return list[max(0, len(list)-maxOpen):]
}

func toggleURL(q url.Values, open []string, key string) string {
	next := slices.Clone(open)
	if at := slices.Index(next, key); at >= 0 {
		next = slices.Delete(next, at, at+1)
	} else {
		next = append(next, key)
	}
	address := label.ListURL(views.ExecutionsURL(), q, "open", "")
	if len(next) == 0 {
		return address
	}
	return address + "&" + url.Values{"open": next}.Encode()
}

// groupCell sums up a column: metrics by their best value, amounts by their sum, others by their
// range.
func groupCell(c index.Column, s *index.Stats) views.GroupCell {
	if s == nil {
		return views.GroupCell{}
	}
	show := ui.Float
	if c.Type == "duration" {
		show = func(v float64) string { return units.Duration(time.Duration(v * float64(time.Second))) }
	}
	spread := show(s.Least)
	if s.Least != s.Most {
		spread += " to " + show(s.Most)
	}
	mean := "mean " + show(s.Mean)
	switch {
	case c.Part == search.Metrics && search.LowerIsBetter(c.Path):
		return views.GroupCell{Figure: show(s.Least), Name: "min", More: mean}
	case c.Part == search.Metrics:
		return views.GroupCell{Figure: show(s.Most), Name: "max", More: mean}
	case c.Path == "gpu_hours":
		return views.GroupCell{Figure: show(s.Sum), Name: "sum", More: mean}
	case c.Type == "duration":
		return views.GroupCell{Figure: show(s.Median), Name: "median", More: spread}
	}
	return views.GroupCell{Figure: show(s.Mean), Name: "mean", More: spread}
}

// groupOptions are the names that can group the table.
func groupOptions(q url.Values, fields []views.FieldGroup) views.GroupChoice {
	chosen := q.Get("group")
	out := views.GroupChoice{Options: []ui.Option{{Name: "No groups", Selected: chosen == ""}}}
	out.Hidden = keptFields(q, "group")
	var names []string
	for _, g := range fields {
		for _, f := range g.Fields {
			if !slices.Contains([]string{"id", "created", "started", "finished", "note"}, f.Path) {
				names = append(names, f.Path)
			}
		}
	}
	if chosen != "" && !slices.Contains(names, chosen) {
		if at := slices.IndexFunc(names, func(name string) bool { return strings.HasSuffix(name, "."+chosen) }); at >= 0 {
			chosen = names[at]
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.Count(b, "."), strings.Count(a, ".")), cmp.Compare(a, b))
	})
	for _, name := range names {
		out.Options = append(out.Options, ui.Option{Value: name, Name: "Group by " + name, Selected: name == chosen})
	}
	return out
}
