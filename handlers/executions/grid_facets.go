package executions

import (
	"context"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/engine/search"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

const (
	facetsKey = "facets" // a table with open facets
	facetsURL = "/executions/facets"
)

// facets answers with the facets of a table, in the project of its view.
func (h *lists) facets(w http.ResponseWriter, r *http.Request) error {
	r, err := h.withView(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	_, where, err := h.Table.Parse(r.Context(), q.Get("where"), h.Now())
	if _, mistaken := index.Problem(err); mistaken {
		return web.Render(w, r, http.StatusOK, views.FacetList(views.Facets{Failed: "Correct the query first."}))
	}
	m := views.Facets{}
	if err == nil {
		var request index.Query
		if request, err = h.gridQuery(r, where); err == nil {
			m, err = h.readFacets(r.Context(), q, request)
		}
	}
	if apperr.Is(err, apperr.Unavailable) || apperr.Is(err, apperr.Invalid) {
		m, err = views.Facets{Failed: apperr.MessageOf(err)}, nil
	}
	if err != nil {
		return err
	}
	return web.Render(w, r, http.StatusOK, views.FacetList(m))
}

// readFacets returns the facets of a table. Their links keep them open.
func (h *lists) readFacets(ctx context.Context, q url.Values, request index.Query) (views.Facets, error) {
	f, err := h.Table.Index.Facets(ctx, index.Query{Where: request.Where, And: request.And, Columns: request.Columns, Lenient: true})
	if err != nil {
		return views.Facets{}, err
	}
	open := maps.Clone(q)
	open.Set(facetsKey, "1")
	m := views.Facets{List: factFacets(open, f)}
	for _, c := range f.Columns {
		m.List = append(m.List, columnFacet(open, c))
	}
	if f.More > 0 {
		m.More = fmt.Sprintf("The first %d columns have facets.", index.MaxFacetColumns)
	}
	return m, nil
}

// factFacets add a condition to the query, or remove it.
func factFacets(q url.Values, f index.Facets) []views.Facet {
	return []views.Facet{
		facetLinks(q, "State", "state:", f.States), facetLinks(q, "Tag", "tag:", f.Tags), facetLinks(q, "Workflow", "workflow:", f.Workflows), facetLinks(q, "Person", "user:", f.People),
	}
}

// facetLinks are values with links that add the condition to the query, or remove it.
func facetLinks(q url.Values, name, condition string, counts []index.Count) views.Facet {
	out := views.Facet{Name: name}
	for _, c := range counts {
		value := search.QuoteText(c.Value)
		v := views.FacetValue{Name: c.Value, N: units.Number(int64(c.N))}
		if condition == "state:" {
			v.State, value = c.Value, strings.ToLower(value)
		}
		where, on := toggled(q.Get("where"), condition+value)
		v.On, v.URL = on, label.ListURL(views.ExecutionsURL(), q, "where", where)
		out.Values = append(out.Values, v)
	}
	return out
}

// columnFacet is the facet of a column: the distribution of its numbers and its most frequent texts.
func columnFacet(q url.Values, c index.ColumnFacet) views.Facet {
	out := facetLinks(q, c.Column.Path, c.Where+" = ", c.Texts)
	if c.Buckets == nil {
		return out
	}
	show := ui.Float
	if c.Column.Type == "duration" {
		show = func(v float64) string { return units.Duration(time.Duration(v * float64(time.Second))) }
	}
	most, sum := slices.Max(c.Buckets), 0
	h := views.RangeHistogram{Path: c.Column.Path, Least: show(c.Least), Most: show(c.Most), Low: c.Least, High: c.Most, Logarithmic: c.Logarithmic}
	for i, n := range c.Buckets {
		sum += n
		if n == 0 {
			continue
		}
		width, height := 100/float64(len(c.Buckets)), max(2, 100*float64(n)/float64(most))
		h.Bars = append(h.Bars, views.HistogramBar{
			X: percent(width * float64(i)), Width: percent(width * 0.9), Y: percent(100 - height), Height: percent(height),
			Title: show(edge(c, i)) + " to " + show(edge(c, i+1)) + ": " + units.Plural(n, "execution", "executions"),
		})
	}
	at := slices.Index(c.Buckets, most)
	h.Says = fmt.Sprintf("Distribution of %s: %s from %s to %s, most from %s to %s.", c.Column.Path, units.Plural(sum, "execution", "executions"), h.Least, h.Most, show(edge(c, at)), show(edge(c, at+1)))
	for key, values := range q {
		if key != "after" && len(values) > 0 && values[0] != "" {
			h.Hidden = append(h.Hidden, [2]string{key, values[0]})
		}
	}
	slices.SortFunc(h.Hidden, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	out.Histogram = &h
	return out
}

func percent(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) + "%" }

// edge is the lower bound of interval i of a histogram.
func edge(c index.ColumnFacet, i int) float64 {
	part := float64(i) / float64(len(c.Buckets))
	if c.Logarithmic {
		return math.Pow(c.Least, 1-part) * math.Pow(c.Most, part) // the ratio can exceed the numbers
	}
	return c.Least + c.Most*part - c.Least*part // the difference can exceed the numbers
}

// chosenRange answers the form of a histogram with the URL of the table: the range is a condition.
func (h *lists) chosenRange(w http.ResponseWriter, r *http.Request) (bool, error) {
	q := r.URL.Query()
	path := q.Get("range")
	if path == "" {
		return false, nil
	}
	fields, err := h.Table.Index.Fields(r.Context())
	if err != nil {
		return true, err
	}
	where := q.Get("where")
	if f, _ := fields.Names.Find(path); f.Name != "" {
		for _, bound := range [][2]string{{" >= ", q.Get("from")}, {" <= ", q.Get("to")}} {
			if value := strings.TrimSpace(bound[1]); value != "" {
				where = joined(where, f.Quoted()+bound[0]+search.Quote(rangeValue(f, value)))
			}
		}
	}
	for _, key := range []string{"range", "from", "to"} {
		q.Del(key)
	}
	http.Redirect(w, r, label.ListURL(views.ExecutionsURL(), q, "where", where), http.StatusSeeOther)
	return true, nil
}

// rangeValue is a bound as a query writes it: seconds of a duration have a unit.
func rangeValue(f search.Field, value string) string {
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && f.Is(search.Span) {
		return strconv.FormatFloat(seconds, 'f', -1, 64) + "s"
	}
	return value
}

// toggled adds a condition to the end of a query, or removes it from there or from its beginning.
// The second result indicates that the query had it: as one of two alternatives, it does not hold for all.
func toggled(where, condition string) (string, bool) {
	switch {
	case where == "":
		return condition, false
	case where == condition:
		return "", true
	case search.Alternatives(where):
		return "(" + where + ") and " + condition, false
	}
	if rest, found := strings.CutSuffix(where, " and "+condition); found {
		return rest, true
	}
	if rest, found := strings.CutPrefix(where, condition+" and "); found {
		return rest, true
	}
	return where + " and " + condition, false
}
