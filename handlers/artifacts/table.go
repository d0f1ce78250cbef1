package artifacts

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/data/artifact/preview"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/chart"
	"github.com/flowforge/flowforge/views/ui"
)

const (
	tableRows    = 50
	tableColumns = 20
	cellRunes    = 200
)

// tableOf shows the part of a table that the address selects. A filter or an order that does not
// fit the table is named above the rows.
func (h *Pages) tableOf(ctx context.Context, a artifact.Artifact, query url.Values) views.Preview {
	q, err := tableQuery(query)
	var t preview.Table
	if err == nil {
		t, err = h.Artifacts.Table(ctx, a, query.Get("path"), q)
	}
	problem := ""
	if apperr.Is(err, apperr.Invalid) && len(query) > 0 {
		problem = apperr.MessageOf(err)
		plain := preview.Query{Limit: tableRows, Columns: tableColumns, Statistics: true}
		q.From, q.Sort = preview.Position{}, ""
		t, err = h.Artifacts.Table(ctx, a, query.Get("path"), plain)
	}
	if err != nil {
		return h.noPreview(a, err)
	}
	m := tablePage{views.ArtifactURL(a.ID.String()), query, q, t}.model()
	m.Problem = problem
	return views.Preview{Kind: "table", Table: m, Truncated: tableSize(t)}
}

// tableQuery reads an address. The form adds one filter as column, op and value.
func tableQuery(query url.Values) (preview.Query, error) {
	if column, op := query.Get("column"), query.Get("op"); column != "" && op != "" {
		f := preview.Filter{Column: column, Op: preview.Op(op), Value: query.Get("value")}
		if !slices.Contains(query["filter"], f.String()) {
			query["filter"] = append(query["filter"], f.String())
		}
		for _, key := range []string{"column", "op", "value"} {
			query.Del(key)
		}
	}
	q := preview.Query{Limit: tableRows, Columns: tableColumns, Sort: query.Get("sort"), Statistics: true}
	var err error
	if q.From, err = preview.ParsePosition(query.Get("page")); err != nil {
		return q, err
	}
	q.FromColumn, _ = strconv.Atoi(query.Get("from_column"))
	q.Filters, err = preview.ParseFilters(query["filter"])
	return q, err
}

func tableSize(t preview.Table) string {
	columns := units.Plural(len(t.Columns), "column", "columns")
	if t.Total >= 0 {
		return units.Plural(t.Total, "row", "rows") + ", " + columns
	}
	if t.Statistics != nil && t.Statistics.All {
		return units.Plural(t.Statistics.Rows, "row", "rows") + ", " + columns
	}
	return columns
}

// tablePage turns a table into its page.
type tablePage struct {
	url   string
	query url.Values
	q     preview.Query
	t     preview.Table
}

// link is the address with one value changed; it begins with the first rows.
func (p tablePage) link(key, value string) string {
	next := url.Values{}
	for k, v := range p.query {
		if k != "page" && k != key && slices.Contains([]string{"path", "filter", "sort", "from_column"}, k) {
			next[k] = v
		}
	}
	if value != "" {
		next.Set(key, value)
	}
	return p.address(next)
}

func (p tablePage) address(v url.Values) string {
	if len(v) == 0 {
		return p.url
	}
	return p.url + "?" + v.Encode()
}

func (p tablePage) model() *views.DataTable {
	m := &views.DataTable{FormURL: p.url, ClearURL: p.link("filter", ""), Read: p.read(), Empty: "The table has no rows."}
	for _, c := range p.t.Columns[:min(len(p.t.Columns), 1000)] {
		m.Names = append(m.Names, ui.Option{Value: c.Name, Name: c.Name})
	}
	for _, op := range preview.Ops() {
		m.Ops = append(m.Ops, ui.Option{Value: string(op), Name: op.Sign()})
	}
	for _, key := range []string{"path", "filter", "sort", "from_column"} {
		for _, v := range p.query[key] {
			m.Hidden = append(m.Hidden, [2]string{key, v})
		}
	}
	for i, f := range p.q.Filters {
		rest := slices.Delete(slices.Clone(p.query["filter"]), i, i+1)
		next, _ := url.ParseQuery(p.query.Encode())
		next.Del("page")
		if next["filter"] = rest; len(rest) == 0 {
			next.Del("filter")
		}
		value := f.Op.Sign()
		if f.Value != "" {
			value += " " + f.Value
		}
		m.Filters = append(m.Filters, views.Chip{Name: f.Column, Value: value, RemoveURL: p.address(next)})
	}
	if len(p.q.Filters) > 0 {
		m.Empty = "No row matches the filters."
		if !p.t.Complete {
			m.Empty = "No row matches so far. Continue with the next rows."
		}
	}
	p.columns(m)
	for _, row := range p.t.Rows {
		cells := make([]views.DataCell, len(row))
		for i, v := range row {
			cells[i] = dataCell(p.t.Columns[p.t.Shown[i]].Type, v)
		}
		m.Rows = append(m.Rows, cells)
	}
	m.Pager = p.pager()
	p.statistics(m)
	return m
}

func (p tablePage) columns(m *views.DataTable) {
	for _, i := range p.t.Shown {
		c := p.t.Columns[i]
		col := views.DataColumn{Name: c.Name, Type: string(c.Type), Number: c.Type.Numeric(), SortURL: p.link("sort", c.Name)}
		switch p.q.Sort {
		case c.Name:
			col.Sorted, col.SortURL = "ascending", p.link("sort", "-"+c.Name)
		case "-" + c.Name:
			col.Sorted, col.SortURL = "descending", p.link("sort", "")
		}
		m.Columns = append(m.Columns, col)
	}
	if len(p.t.Shown) == 0 || len(p.t.Shown) == len(p.t.Columns) {
		return
	}
	first, last := p.t.Shown[0], p.t.Shown[len(p.t.Shown)-1]
	m.Of = fmt.Sprintf("Columns %s to %s of %s", units.Number(int64(first+1)), units.Number(int64(last+1)), units.Number(int64(len(p.t.Columns))))
	if first > 0 {
		m.LeftURL = p.link("from_column", strconv.Itoa(max(first-tableColumns, 0)))
	}
	if last+1 < len(p.t.Columns) {
		m.RightURL = p.link("from_column", strconv.Itoa(last+1))
	}
}

// read describes what the filter or the order looked at.
func (p tablePage) read() string {
	rows := units.Plural(p.t.Scanned, "row", "rows")
	switch {
	case p.q.Sort != "" && !p.t.Complete:
		return "Sorted within the first " + rows + "."
	case len(p.q.Filters) > 0 && !p.t.Complete && len(p.t.Rows) < tableRows:
		return "Searched " + rows + ". The next page continues from there."
	}
	return ""
}

func (p tablePage) pager() ui.Pager {
	out := ui.Pager{InOrder: true, Text: units.Plural(len(p.t.Rows), "row", "rows")}
	n, from := int64(len(p.t.Rows)), p.q.From.Row
	if (len(p.q.Filters) == 0 || p.t.Scanned == 0) && n > 0 {
		out.Text = fmt.Sprintf("Rows %s to %s", units.Number(from+1), units.Number(from+n))
		if p.t.Total >= 0 {
			out.Text += " of " + units.Number(p.t.Total)
		}
	}
	if p.t.Next != nil {
		out.Older = p.link("page", p.t.Next.String())
	}
	if from > 0 {
		out.Newer = p.link("page", "")
		if back := from - tableRows; back > 0 && p.q.From.Byte == 0 && (len(p.q.Filters) == 0 || p.q.Sort != "") {
			out.Newer = p.link("page", preview.Position{Row: back}.String())
		}
	}
	return out
}

func (p tablePage) statistics(m *views.DataTable) {
	s := p.t.Statistics
	if s == nil || s.Rows == 0 {
		return
	}
	m.StatisticsRead = "Statistics of the first " + units.Plural(s.Rows, "row", "rows")
	if s.All {
		m.StatisticsRead = "Statistics of all " + units.Plural(s.Rows, "row", "rows")
	}
	for i, c := range p.t.Shown {
		m.Statistics = append(m.Statistics, columnStatistics(p.t.Columns[c], s.Columns[i]))
	}
}

func columnStatistics(c preview.Column, s preview.Summary) views.ColumnStatistics {
	out := views.ColumnStatistics{
		Name: c.Name, Type: string(c.Type), Count: units.Number(s.Count), Nulls: units.Number(s.Nulls), Distinct: units.Number(int64(s.Distinct)),
		Min: extreme(s.Min), Max: extreme(s.Max), Mean: "–",
	}
	if s.More {
		out.Distinct = "> " + units.Number(preview.MaxDistinct)
	}
	if c.Type.Numeric() && s.Count > s.Other {
		out.Mean = figure(s.Mean)
	}
	if s.Other > 0 {
		out.Other = units.Plural(s.Other, "value is", "values are") + " not of this type."
	}
	var bins []chart.HistogramBin
	for _, b := range s.Bins {
		bins = append(bins, chart.HistogramBin{Name: figure(b.From) + " to " + figure(b.To), Count: b.Count})
	}
	for _, v := range s.Top {
		bins = append(bins, chart.HistogramBin{Name: ui.Short(preview.Text(v.Value), 60), Count: v.Count})
	}
	switch {
	case len(s.Top) > 0:
		out.Histogram = chart.NewHistogram(bins, "Most frequent values of "+c.Name+": "+words(bins))
	case len(bins) > 0:
		out.Histogram = chart.NewHistogram(bins, "Histogram of "+c.Name+", "+out.Min+" to "+out.Max)
	}
	return out
}

func words(bins []chart.HistogramBin) string {
	parts := make([]string, len(bins))
	for i, b := range bins {
		parts[i] = b.Name + " (" + units.Number(b.Count) + ")"
	}
	return strings.Join(parts, ", ")
}

func extreme(v any) string {
	if v == nil {
		return "–"
	}
	if n, ok := v.(float64); ok {
		return figure(n)
	}
	return ui.Short(preview.Text(v), 60)
}

// figure is a number with six significant digits.
func figure(n float64) string { return strconv.FormatFloat(n, 'g', 6, 64) }

// roundedBelow is the size of numbers that are rounded: larger ones can be times or keys.
const roundedBelow = 1e6

// dataCell is a value of a column. A number with more than six significant digits is rounded.
func dataCell(t preview.Type, v any) views.DataCell {
	cell := views.DataCell{Text: ui.Short(preview.Text(v), cellRunes), Null: v == nil}
	if t != preview.Float {
		return cell
	}
	f, err := strconv.ParseFloat(cell.Text, 64)
	if err != nil || math.Abs(f) >= roundedBelow {
		return cell
	}
	if short := strconv.FormatFloat(f, 'g', 6, 64); len(short) < len(cell.Text) {
		cell.Text, cell.Exact = short, cell.Text
	}
	return cell
}
