package reports

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/data/report/document"
	"github.com/flowforge/flowforge/data/view"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/search"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/handlers/table"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
)

// selection is the executions that a table or a chart shows.
type selection struct {
	query index.Query
	url   string // of the list with the same executions; "" in another project
	note  string
}

// selected reads the view and the query of a block. The order and the columns of the block take
// precedence over those of the view.
func (h *Pages) selected(ctx context.Context, b document.Block) (selection, error) {
	s := selection{query: index.Query{Where: b.Where, Sort: b.Sort, Columns: b.Columns, Limit: b.Limit, Counted: true}}
	if b.View != "" {
		v, err := h.Views.Get(ctx, b.View)
		if err != nil {
			return s, err
		}
		s.join(v.Table)
		s.note = "View “" + v.Name + "”"
		if v.Sharing == view.Private {
			s.note = "Only you can see the view “" + v.Name + "”. Share it so that others see this " + string(b.Kind) + "."
		}
		if b.Where == "" && b.Sort == "" && len(b.Columns) == 0 {
			s.url = views.ExecutionViewURL(v.ID.String())
		}
	}
	_, where, err := h.Table.Parse(ctx, s.query.Where, h.Now())
	if problem, mistaken := index.Problem(err); mistaken {
		return s, apperr.New(apperr.Invalid, "The query %q is not valid: %s", s.query.Where, problem.Message)
	}
	if err != nil {
		return s, err
	}
	s.query.Columns = table.Columns(s.query.Columns, where, s.query.Sort)
	if s.url == "" && !request.Visiting(ctx) {
		s.url = listURL(s.query, where)
	}
	return s, nil
}

// join adds the conditions of a view to those of the block.
func (s *selection) join(t view.Table) {
	switch {
	case s.query.Where == "":
		s.query.Where = t.Where
	case t.Where != "":
		s.query.Where = "(" + t.Where + ") and (" + s.query.Where + ")"
	}
	if s.query.Sort == "" {
		s.query.Sort = t.Sort
	}
	if len(s.query.Columns) == 0 {
		s.query.Columns = t.Columns
	}
}

// listURL is the list of executions with a query.
func listURL(q index.Query, where search.Expr) string {
	if where == nil && q.Sort == "" {
		return views.AllExecutionsURL()
	}
	values := url.Values{}
	for key, value := range map[string]string{"where": q.Where, "sort": q.Sort, "columns": strings.Join(q.Columns, ",")} {
		if value != "" {
			values.Set(key, value)
		}
	}
	return views.ExecutionsURL() + "?" + values.Encode()
}

// says describes the view, and how many of its executions are shown.
func (s selection) says(shown, total int) string {
	text := units.Plural(total, "execution", "executions")
	if shown < total {
		text = units.Number(int64(shown)) + " of " + text
	}
	if s.note != "" {
		text = s.note + " · " + text
	}
	return text
}

func (h *Pages) table(r *http.Request, b document.Block, m *views.ReportBlock) error {
	m.Title = "Executions"
	s, err := h.selected(r.Context(), b)
	if err != nil {
		return err
	}
	found, err := h.Table.Find(r.Context(), s.query)
	if err != nil {
		return err
	}
	m.URL, m.Open, m.Note = s.url, "Open the list", s.says(len(found.Executions), found.Total)
	t := views.ReportTable{Rows: table.Rows(h.Page.Clock(r), found)}
	for _, c := range found.Columns {
		column := views.ReportColumn{Title: c.Title, Numeric: c.Numeric()}
		if c.Part != search.Facts {
			column.Part = string(c.Part)
		}
		t.Columns = append(t.Columns, column)
	}
	m.Table = &t
	return nil
}

func (h *Pages) chart(r *http.Request, b document.Block, m *views.ReportBlock) error {
	m.Title = strings.Join(b.Metrics, ", ")
	list, note, err := h.charted(r.Context(), b)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return apperr.New(apperr.NotFound, "No execution matches yet.")
	}
	ids := make([]string, len(list))
	for i, e := range list {
		ids[i] = e.ID.String()
	}
	m.Note = note
	if len(ids) > 1 {
		m.URL, m.Open = views.CompareURL(ids...), "Compare"
	} else {
		m.URL, m.Open = views.ExecutionURL(ids[0]), "Open the execution"
	}
	c := views.ReportChart{Smooth: b.Smooth, Log: b.Log, Outlier: b.Outliers}
	c.Live = slices.ContainsFunc(list, func(e query.Execution) bool { return !e.Status.Ended() })
	for _, name := range b.Metrics {
		q := url.Values{"executions": {strings.Join(ids, ",")}, "metric": {name}}
		if b.Axis != "step" {
			q.Set("x", b.Axis)
		}
		c.Charts = append(c.Charts, views.CompareChart{Name: name, DataURL: views.ComparePartURL("/curves", q), CSVURL: views.ComparePartURL("/curves.csv", q)})
	}
	m.Chart = &c
	return nil
}

// charted are the executions of a chart: those that it names, or those of its query.
func (h *Pages) charted(ctx context.Context, b document.Block) ([]query.Execution, string, error) {
	if len(b.Executions) > 0 {
		ids, err := h.Comparison.Resolve(ctx, b.Executions)
		if err != nil {
			return nil, "", err
		}
		list, err := h.Executions.Several(ctx, ids)
		return list, units.Plural(len(ids), "execution", "executions"), err
	}
	s, err := h.selected(ctx, b)
	if err != nil {
		return nil, "", err
	}
	found, err := h.Table.Find(ctx, s.query)
	if err != nil {
		return nil, "", err
	}
	return found.Executions, s.says(len(found.Executions), found.Total), nil
}
