package artifacts

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/data/artifact/preview"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/chart"
	"github.com/flowforge/flowforge/views/ui"
)

// arrayAxes is the largest number of axes of an array.
const arrayAxes = 64

// arrayQuery reads the slice that an address selects: index0, index1 … are indexes of axes.
func arrayQuery(query url.Values) preview.ArrayQuery {
	q := preview.ArrayQuery{Member: query.Get("array")}
	q.Row, _ = strconv.ParseInt(query.Get("row"), 10, 64)
	q.Column, _ = strconv.ParseInt(query.Get("column"), 10, 64)
	for key, values := range query {
		axis, err := strconv.Atoi(strings.TrimPrefix(key, "index"))
		if !strings.HasPrefix(key, "index") || err != nil || axis < 0 || axis >= arrayAxes || len(values) == 0 {
			continue
		}
		for len(q.Index) <= axis {
			q.Index = append(q.Index, 0)
		}
		q.Index[axis], _ = strconv.ParseInt(values[0], 10, 64)
	}
	return q
}

// arrayOf is a slice of an array for its page.
func arrayOf(at part, a *preview.Array) *views.ArrayView {
	out := &views.ArrayView{Note: a.Note, Form: at.form("array")}
	for _, m := range a.Members {
		choice := views.ArrayChoice{Name: m.Name, DType: m.DType, Shape: shapeText(m.Shape), URL: at.link("array", m.Name), Current: m.Name == a.Member}
		if m.Problem != "" {
			choice.DType, choice.Shape = m.Problem, ""
		}
		out.Members = append(out.Members, choice)
	}
	order := "C: the last axis is contiguous"
	if a.Fortran {
		order = "Fortran: the first axis is contiguous"
	}
	out.Facts = []ui.Fact{{Name: "Type", Value: a.DType, Mono: true}, {Name: "Shape", Value: shapeText(a.Shape), Mono: true}, {Name: "Size", Value: units.Bytes(a.Size)}}
	if len(a.Shape) > 1 {
		out.Facts = append(out.Facts, ui.Fact{Name: "Order", Value: order})
	}
	if a.Note != "" {
		return out
	}
	s := arrayPage{at, a}
	out.Axes, out.Slice = s.axes(), s.slice()
	if st := a.Statistics; st != nil {
		out.Numbers = true
		s.statistics(out, st)
	}
	s.values(out)
	return out
}

func shapeText(shape []int64) string {
	parts := make([]string, len(shape))
	for i, n := range shape {
		parts[i] = units.Number(n)
	}
	if len(parts) == 0 {
		return "scalar"
	}
	return strings.Join(parts, " × ")
}

// arrayPage makes the addresses of slices.
type arrayPage struct {
	at part
	a  *preview.Array
}

// link is the slice with the index of an axis changed; axis -1 changes none.
func (s arrayPage) link(axis int, index int64, pairs ...string) string {
	all := append([]string{"array", s.a.Member}, pairs...)
	for i, n := range s.a.Index {
		if i == axis {
			n = index
		}
		if n > 0 {
			all = append(all, "index"+strconv.Itoa(i), strconv.FormatInt(n, 10))
		}
	}
	return s.at.link(all...)
}

func (s arrayPage) axes() []views.ArrayAxis {
	var out []views.ArrayAxis
	for i, n := range s.a.Index {
		if i == s.a.RowAxis || i == s.a.ColumnAxis {
			continue
		}
		x := views.ArrayAxis{Name: strconv.Itoa(i), Label: fmt.Sprintf("Axis %d", i), Value: strconv.FormatInt(n, 10), Last: units.Number(s.a.Shape[i] - 1)}
		if n > 0 {
			x.BackURL = s.link(i, n-1)
		}
		if n+1 < s.a.Shape[i] {
			x.NextURL = s.link(i, n+1)
		}
		out = append(out, x)
	}
	return out
}

// slice writes the slice as Python selects it.
func (s arrayPage) slice() string {
	parts := make([]string, len(s.a.Index))
	for i, n := range s.a.Index {
		parts[i] = strconv.FormatInt(n, 10)
		if i == s.a.RowAxis || i == s.a.ColumnAxis {
			parts[i] = ":"
		}
	}
	name := "array"
	if s.a.Member != "" {
		name = s.a.Member
	}
	if len(parts) == 0 {
		return name
	}
	return name + "[" + strings.Join(parts, ", ") + "]"
}

func (s arrayPage) statistics(out *views.ArrayView, st *preview.SliceStatistics) {
	if h := s.a.Heat; h != nil && s.a.Rows*s.a.Columns > 1 {
		heat := chart.NewHeat(h.Cells, h.Rows, h.Columns, st.Min, st.Max)
		heat.Caption = heatCaption(h)
		if !st.Complete {
			heat.Caption += "; the first 16 MiB of the slice"
		}
		out.Heat = &heat
	}
	out.Stats = []ui.Fact{{Name: "Minimum", Value: figure(st.Min), Mono: true}, {Name: "Mean", Value: figure(st.Mean), Mono: true}, {Name: "Maximum", Value: figure(st.Max), Mono: true}}
	if st.Count == 0 {
		out.Stats = nil
	}
	if st.Other > 0 {
		out.Stats = append(out.Stats, ui.Fact{Name: "NaN or infinite", Value: units.Plural(st.Other, "value", "values")})
	}
}

func heatCaption(h *preview.Heat) string {
	cells := int64(len(h.Cells))
	across := int64(1)
	if cells > 0 {
		across = int64(len(h.Cells[0]))
	}
	rows, columns := (h.Rows+cells-1)/max(cells, 1), (h.Columns+across-1)/max(across, 1)
	if rows <= 1 && columns <= 1 {
		return units.Number(h.Rows) + " × " + units.Number(h.Columns) + ", one cell per value"
	}
	return fmt.Sprintf("%s × %s, each cell is the mean of %d × %d values", units.Number(h.Rows), units.Number(h.Columns), rows, columns)
}

// values fills in the numbers and the links to others.
func (s arrayPage) values(out *views.ArrayView) {
	a := s.a
	for c := a.FromColumn; len(a.Values) > 0 && c < a.FromColumn+int64(len(a.Values[0])); c++ {
		name := strconv.FormatInt(c, 10)
		if a.ColumnAxis < 0 {
			name = "Value"
		}
		out.Columns = append(out.Columns, name)
	}
	for i, values := range a.Values {
		row := views.ArrayRow{Name: strconv.FormatInt(a.FromRow+int64(i), 10)}
		if a.RowAxis < 0 {
			row.Name = ""
		}
		for _, v := range values {
			row.Values = append(row.Values, valueText(v))
		}
		out.Rows = append(out.Rows, row)
	}
	number := func(n int64) string {
		if n <= 0 {
			return ""
		}
		return strconv.FormatInt(n, 10)
	}
	across := func(n int64) string { return s.link(-1, 0, "row", number(a.FromRow), "column", number(n)) }
	down := func(n int64) string { return s.link(-1, 0, "row", number(n), "column", number(a.FromColumn)) }
	out.Down = pagerOf("Rows", a.FromRow, int64(len(a.Values)), a.Rows, preview.ArrayRows, down)
	out.Across = pagerOf("Columns", a.FromColumn, int64(len(out.Columns)), a.Columns, preview.ArrayColumns, across)
}

// pagerOf leads to earlier and later elements of a range.
func pagerOf(what string, from, shown, total, page int64, link func(int64) string) ui.Pager {
	p := ui.Pager{InOrder: true, Text: fmt.Sprintf("%s %s to %s of %s", what, units.Number(from), units.Number(from+shown-1), units.Number(total))}
	if from > 0 {
		p.Newer = link(max(from-page, 0))
	}
	if from+shown < total {
		p.Older = link(from + shown)
	}
	return p
}

func valueText(v any) string {
	if n, ok := v.(float64); ok {
		return figure(n)
	}
	return preview.Text(v)
}

// ratioText is how much smaller an entry of an archive is than its content.
func ratioText(size, packed int64) string {
	if size <= 0 || packed <= 0 || slices.Contains([]int64{size, packed}, -1) {
		return "–"
	}
	return fmt.Sprintf("%.1f ×", float64(size)/float64(packed))
}
