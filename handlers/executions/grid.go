package executions

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/engine/search"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/handlers/table"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// grid lists executions with chosen columns; everything about it is in the URL.
func (h *lists) grid(w http.ResponseWriter, r *http.Request) error {
	to, err := h.openCharts(r)
	if err != nil {
		return err
	}
	if to != "" {
		http.Redirect(w, r, to, http.StatusSeeOther)
		return nil
	}
	return h.gridPage(w, r, nil)
}

// gridPage is grid with the form of a view that failed.
func (h *lists) gridPage(w http.ResponseWriter, r *http.Request, failed *viewFailure) error {
	q := r.URL.Query()
	saved, err := h.savedViews(r, failed)
	if err != nil {
		return err
	}
	m := views.ExecutionGrid{
		Page: h.Page.Base(r, "Executions", views.SectionExecutions), Filters: executionChips(q),
		Views: saved, ClearURL: clearURL(q), Layouts: layouts(q, nil, nil), Back: label.ListURL(views.ExecutionsURL(), q, "", ""),
	}
	names, where, err := h.Table.Parse(r.Context(), q.Get("where"), h.Now())
	problem, mistaken := index.Problem(err)
	if apperr.Is(err, apperr.Unavailable) {
		m.Query, m.Failed = queryBar(q, nil, nil), apperr.MessageOf(err)
		if texts := search.LogTextsOf(q.Get("where")); len(texts) > 0 {
			m.Lines = new(h.logHits(r, index.LineQuery{Texts: texts, Limit: hitsInTable}))
		}
		return web.Render(w, r, http.StatusServiceUnavailable, views.ExecutionGridPage(m))
	}
	if err != nil && !mistaken {
		return err
	}
	m.Query = queryBar(q, names, problem)
	if mistaken {
		return web.Render(w, r, http.StatusUnprocessableEntity, views.ExecutionGridPage(m))
	}
	m.Query.Reads = readings(q.Get("where"), where)
	request, err := h.gridQuery(r, where)
	if apperr.Is(err, apperr.Invalid) {
		m.Failed = apperr.MessageOf(err)
		return web.Render(w, r, http.StatusUnprocessableEntity, views.ExecutionGridPage(m))
	}
	if err != nil {
		return err
	}
	status, err := h.fillGrid(r, &m, where, request)
	if err != nil {
		return err
	}
	if failed != nil {
		status = failed.status
	}
	return web.Render(w, r, status, views.ExecutionGridPage(m))
}

// fillGrid reads the table and, at the same time, the log lines that its query finds. A mistake, and a
// missing ClickHouse, are shown on the page.
func (h *lists) fillGrid(r *http.Request, m *views.ExecutionGrid, where search.Expr, request index.Query) (int, error) {
	var lines sync.WaitGroup
	if texts := search.LogTexts(where); len(texts) > 0 {
		lines.Go(func() {
			m.Lines = new(h.logHits(r, index.LineQuery{Query: index.Query{Where: request.Where}, Texts: texts, Limit: hitsInTable}))
		})
	}
	err := h.readGrid(r, m, where, request)
	lines.Wait()
	switch {
	case apperr.Is(err, apperr.Unavailable):
		m.Failed = apperr.MessageOf(err)
		return http.StatusServiceUnavailable, nil
	case apperr.Is(err, apperr.Invalid):
		m.Failed = apperr.MessageOf(err)
		return http.StatusUnprocessableEntity, nil
	case err != nil:
		return 0, err
	}
	return http.StatusOK, nil
}

func (h *lists) readGrid(r *http.Request, m *views.ExecutionGrid, where search.Expr, request index.Query) error {
	q, clock := r.URL.Query(), h.Page.Clock(r)
	grouped := q.Get("group") != ""
	var (
		found  table.Page
		groups index.Grouped
		err    error
	)
	if grouped {
		found, groups, err = h.findGroups(r.Context(), request, q.Get("group"), where)
	} else {
		found, err = h.Table.Find(r.Context(), request)
	}
	if err != nil && found.Columns == nil {
		return err
	}
	request = request.Without(found.Missing)
	request.Sort, m.Missing = found.Sort, missingColumns(q, found.Missing)
	m.Total = units.Plural(found.Total, "execution", "executions")
	if found.Behind > 0 {
		m.Behind = "The index is " + units.Plural(found.Behind, "execution", "executions") + " behind: their latest values cannot be searched yet."
	}
	m.GroupBy, m.Shown, m.ChartEntries = groupOptions(q, m.Query.Fields), gridColumns(q, found.Columns, request.Sort), chartEntries(q)
	if err != nil { // the group is wrong; people can choose another
		return err
	}
	shown := found.Executions
	best, err := h.directions(r.Context(), request.Sort, where, found)
	if err != nil {
		return err
	}
	if grouped {
		if shown, err = h.fillGroups(r, m, request, groups, best); err != nil {
			return err
		}
	} else {
		m.Columns = m.Shown
		m.Sized = sized(m.Columns)
		m.Rows = pinCells(editable(r.Context(), table.Rows(clock, found), found.Executions), found.Columns)
		best.markBest(found.Columns, rowSet{m.Rows, found})
		h.pageGrid(q, m, found)
	}
	by := ""
	if len(shown) == 0 {
		if shown, by, err = h.groupedCurves(r, groups, request); err != nil {
			return err
		}
	}
	if err := h.fillCharts(r, m, shown, by); err != nil {
		return err
	}
	for i := range m.Query.Fields {
		for k := range m.Query.Fields[i].Fields {
			f := &m.Query.Fields[i].Fields[k]
			f.Chosen = slices.ContainsFunc(found.Columns, func(c index.Column) bool { return c.Path == f.Path })
		}
	}
	m.Facets = views.Facets{LoadURL: label.ListURL(facetsURL, q, facetsKey, ""), OpenURL: label.ListURL(views.ExecutionsURL(), q, facetsKey, "1")}
	if q.Get(facetsKey) != "" {
		if m.Facets, err = h.readFacets(r.Context(), q, request); err != nil {
			return err
		}
	}
	m.Exports = exportLinks(r.Context(), request)
	return nil
}

// exportLinks export the table. There are none for a table with filters, which the export lacks.
func exportLinks(ctx context.Context, requested index.Query) []ui.Action {
	if len(requested.And) > 0 {
		return nil
	}
	q := url.Values{"where": {requested.Where}, "sort": {requested.Sort}, "columns": {strings.Join(requested.Columns, ",")}}
	if subject, _ := auth.SubjectOf(ctx); request.Visiting(ctx) {
		q.Set("project", subject.ProjectID.String())
	}
	in := func(name, format string) ui.Action {
		q.Set("format", format)
		return ui.Action{Name: name, URL: request.APIPrefix + "/executions/export?" + q.Encode()}
	}
	return []ui.Action{in("CSV", table.CSV), in("Parquet", table.Parquet), in("Notebook", table.Notebook)}
}

// pageGrid links the pages of a table and its stream.
func (h *lists) pageGrid(q url.Values, m *views.ExecutionGrid, found table.Page) {
	m.Pager = ui.Pager{Text: units.Plural(len(m.Rows), "execution", "executions")}
	if found.Next != "" {
		m.Pager.Older = label.ListURL(views.ExecutionsURL(), q, "after", found.Next)
	}
	if q.Get("after") != "" {
		m.Pager.Newer = label.ListURL(views.ExecutionsURL(), q, "after", "")
	} else if len(found.Executions) > 0 {
		m.Stream = label.ListURL(views.ExecutionsURL()+"/stream", q, "top", found.Executions[0].ID.String())
	}
}

// gridQuery is the request of the URL: without columns, the table has the fields of the query.
func (h *lists) gridQuery(r *http.Request, where search.Expr) (index.Query, error) {
	q := r.URL.Query()
	filter, err := h.executionFilter(r)
	if err != nil {
		return index.Query{}, err
	}
	conditions, err := h.Table.Conditions(r.Context(), filter)
	if err != nil {
		return index.Query{}, err
	}
	request := index.Query{Where: q.Get("where"), And: conditions, Sort: q.Get("sort"), After: q.Get("after"), Limit: executionPageSize, Counted: true, Lenient: true}
	request.Columns = table.Columns(entriesOf(q), where, request.Sort)
	return request, nil
}

// queryBar has the query with its mistake and the names of the project.
func queryBar(q url.Values, names *search.Names, problem *search.Error) views.QueryBar {
	bar := views.QueryBar{Where: q.Get("where")}
	if name := q.Get("view"); name != allViews {
		bar.View = name
	}
	bar.Hidden = keptFields(q, "where")
	if names != nil {
		bar.Fields = fieldGroups(names)
	}
	if problem == nil {
		return bar
	}
	runes := []rune(bar.Where)
	from := min(problem.Column-1, len(runes))
	to := min(from+problem.Length, len(runes))
	bar.At = [2]int{utf16Length(runes[:from]), utf16Length(runes[:to])}
	bar.Error = &views.QueryError{Message: problem.Message, Before: string(runes[:from]), Word: string(runes[from:to]), After: string(runes[to:])}
	if problem.Suggestion != "" {
		bar.Error.Fix = problem.Suggestion
		bar.Error.FixURL = label.ListURL(views.ExecutionsURL(), q, "where", string(runes[:from])+problem.Suggestion+string(runes[to:]))
	}
	return bar
}

func fieldGroups(names *search.Names) []views.FieldGroup {
	titles := []struct {
		part search.Part
		name string
	}{{search.Inputs, "Inputs"}, {search.Metrics, "Metrics"}, {search.Outputs, "Outputs"}, {search.Metadata, "Metadata of artifacts"}, {search.Facts, "Every execution"}}
	var groups []views.FieldGroup
	for _, t := range titles {
		g := views.FieldGroup{Name: t.name}
		for _, f := range names.Fields() {
			if f.Part != t.part || f.Part == search.Facts && slices.Contains([]string{"since", "until", "sha", "log"}, f.Name) {
				continue
			}
			path := f.Path()
			if path == "tag" {
				path = "tags"
			}
			types := make([]string, len(f.Types))
			for i, kind := range f.Types {
				types[i] = string(kind)
			}
			g.Fields = append(g.Fields, views.FieldChoice{Path: path, Type: strings.Join(types, " or "), Help: f.Help})
		}
		if len(g.Fields) > 0 {
			groups = append(groups, g)
		}
	}
	return groups
}

// readings specify which full names the short names of a query mean.
func readings(where string, e search.Expr) []string {
	var list []string
	for _, f := range search.Used(e) {
		if f.Part != search.Facts && !strings.Contains(where, f.Path()) {
			list = append(list, f.Name+" reads as "+f.Path())
		}
	}
	return list
}

// gridStream sends changed rows of a table and the number of new ones.
func (h *lists) gridStream(w http.ResponseWriter, r *http.Request, top uuid.UUID) error {
	_, where, err := h.Table.Parse(r.Context(), r.URL.Query().Get("where"), h.Now())
	if err != nil {
		return err
	}
	request, err := h.gridQuery(r, where)
	if err != nil {
		return err
	}
	request.Counted = false
	first, err := h.Table.Find(r.Context(), request)
	if err != nil {
		return err
	}
	shown := map[uuid.UUID]bool{}
	for _, e := range first.Executions {
		shown[e.ID] = e.ID.String() <= top.String() || request.Sort != ""
	}
	stream, err := web.NewStream(w, r, web.StillMay(auth.ExecutionRead))
	if err != nil {
		return err
	}
	clock, q, sent := h.Page.Clock(r), r.URL.Query(), page.SentPieces{}
	mark := streamMarks(q, first.Executions, shown)
	best, err := h.directions(r.Context(), request.Sort, where, first)
	if err != nil {
		return err
	}
	q.Del("top")
	h.Page.OnHints(r, stream, h.Executions.Watches.WatchAll(r.Context()), page.ListInterval, func(ctx context.Context) error {
		found, err := h.Table.Find(ctx, request)
		if err != nil {
			return err
		}
		clock.Now = h.Now()
		var rows []views.GridRow
		news := views.NewExecutions{URL: label.ListURL(views.ExecutionsURL(), q, "after", "")}
		all := pinCells(editable(ctx, table.Rows(clock, found), found.Executions), found.Columns)
		mark(all)
		best.markBest(found.Columns, rowSet{all, found}.only(shown))
		for _, row := range all {
			id, _ := uuid.Parse(row.ID)
			if !shown[id] {
				news.Count++
			} else if sent.Changed(row.ID, row) {
				rows = append(rows, row)
			}
		}
		if !sent.Changed("news", news.Count) && len(rows) == 0 {
			return nil
		}
		return stream.SendComponent(ctx, "", "", views.GridUpdate(rows, news))
	})
	return nil
}
