package compare

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/engine/comparison"
	"github.com/flowforge/flowforge/engine/comparison/sheet"
	"github.com/flowforge/flowforge/engine/sweep/importance"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// plots are the drawings of the inputs that differ and of the results. There are none without both.
func plots(c choice, compared comparison.Comparison) *views.ComparePlots {
	f := frameOf(c, compared)
	inputs := slices.ContainsFunc(f.Columns, func(c views.PlotColumn) bool { return c.Role == "input" })
	if !inputs || len(f.Columns) < 2 {
		return nil
	}
	m := &views.ComparePlots{Version: fingerprint(f)}
	m.Plots = views.Plots{Name: "comparison", DataURL: views.ComparePartURL("/plots.json", c.next("", "")), VersionOf: views.ComparePlotsSelector()}
	if f.Objective >= 0 {
		m.Plots.Objective = f.Columns[f.Objective].Name
	}
	m.Plots.Importance = important(f)
	for _, col := range f.Columns {
		if col.Role == "metric" || col.Role == "objective" {
			m.Objectives = append(m.Objectives, ui.Option{Value: col.Name, Name: col.Name, Selected: col.Role == "objective"})
		}
	}
	for _, key := range []string{"executions", "baseline", "all", "stat", "x", "scale", "xscale", "smooth", "outliers", "group"} {
		if v := c.next("", "").Get(key); v != "" {
			m.Hidden = append(m.Hidden, [2]string{key, v})
		}
	}
	return m
}

// plotData sends the columns to the script of the page.
func (h *Pages) plotData(w http.ResponseWriter, r *http.Request) error {
	c, err := h.choose(r)
	if err != nil {
		return err
	}
	compared, err := h.Comparison.Compare(r.Context(), c.texts(), c.baseline)
	if err != nil {
		return err
	}
	web.WriteJSON(w, http.StatusOK, "application/json", frameOf(c, compared))
	return nil
}

// longest is the length of the texts that are categories of an axis.
const longest = 60

// frameOf are the columns of the compared executions.
func frameOf(c choice, compared comparison.Comparison) views.PlotFrame {
	f := views.PlotFrame{URLs: views.ExecutionURL(""), Objective: -1, Best: -1}
	styles := comparison.Styles(compared.Executions)
	for i, e := range compared.Executions {
		f.Add(e.ID.String(), label.ShortID(e.ID), string(e.Status), views.RunStyle(styles[i]))
	}
	statistic, objective := statisticOf(c.q.Get("stat")), c.q.Get("objective")
	better := map[string]sheet.Direction{}
	for _, r := range compared.Rows {
		var col views.PlotColumn
		ok := false
		switch {
		case r.Section == sheet.Inputs && r.Differs:
			col, ok = column(r)
			col.Role = "input"
		case r.Section == sheet.Outputs || r.Section == sheet.Metrics && r.Statistic == statistic:
			col, ok = column(r)
			ok = ok && col.Categories == nil
			col.Role = "metric"
			better[col.Name] = r.Better
		}
		if ok && !slices.ContainsFunc(f.Columns, func(other views.PlotColumn) bool { return other.Name == col.Name }) {
			f.Columns = append(f.Columns, col)
		}
	}
	slices.SortStableFunc(f.Columns, func(a, b views.PlotColumn) int { return strings.Compare(a.Role, b.Role) }) // input, metric
	shorten(f.Columns)
	f.Objective = slices.IndexFunc(f.Columns, func(c views.PlotColumn) bool { return c.Role == "metric" && c.Name == objective })
	if f.Objective < 0 {
		f.Objective = slices.IndexFunc(f.Columns, func(c views.PlotColumn) bool { return c.Role == "metric" && better[c.Name] != "" })
	}
	if f.Objective < 0 {
		f.Objective = slices.IndexFunc(f.Columns, func(c views.PlotColumn) bool { return c.Role == "metric" })
	}
	if f.Objective >= 0 {
		o := &f.Columns[f.Objective]
		if o.Role, o.Better = "objective", "max"; better[o.Name] == sheet.Lower {
			o.Better = "min"
		}
		f.Best = bestOf(*o)
	}
	return f
}

// shorten labels inputs with the last part of their paths, unless other columns end with it, too.
func shorten(columns []views.PlotColumn) {
	end := func(c views.PlotColumn) string { return c.Name[strings.LastIndexByte(c.Name, '.')+1:] }
	count := map[string]int{}
	for _, c := range columns {
		count[end(c)]++
	}
	for i, c := range columns {
		if c.Role == "input" && count[end(c)] == 1 {
			columns[i].Label = end(c)
		}
	}
}

// bestOf is the index of the best value, -1 for none.
func bestOf(c views.PlotColumn) int {
	best := -1
	for i, v := range c.Values {
		if math.IsNaN(v) {
			continue
		}
		if best < 0 || c.Better == "max" && v > c.Values[best] || c.Better == "min" && v < c.Values[best] {
			best = i
		}
	}
	return best
}

// column is a row as a column of numbers, or of short texts. Other values have no axis.
func column(r sheet.Row) (views.PlotColumn, bool) {
	c := views.PlotColumn{Name: r.Path}
	numbers, low, high := true, math.Inf(1), math.Inf(-1)
	for _, cell := range r.Cells {
		v, ok := sheet.Number(cell.Value)
		switch {
		case !cell.Present, !ok && r.Section == sheet.Metrics: // NaN and the infinities have no place on an axis
			v = math.NaN()
		case !ok:
			numbers = false
		default:
			low, high = math.Min(low, v), math.Max(high, v)
		}
		c.Values = append(c.Values, v)
	}
	if numbers {
		c.Integer = !slices.ContainsFunc(c.Values, func(v float64) bool { return !math.IsNaN(v) && v != math.Trunc(v) })
		c.Log = low > 0 && high >= 100*low
		return c, low <= high
	}
	var texts []string
	for _, cell := range r.Cells {
		if cell.Present {
			texts = append(texts, sheet.Text(cell.Value))
		}
	}
	slices.Sort(texts)
	c.Categories = slices.Compact(texts)
	for i, cell := range r.Cells {
		c.Values[i] = math.NaN()
		if cell.Present {
			c.Values[i] = float64(slices.Index(c.Categories, sheet.Text(cell.Value)))
		}
	}
	return c, !slices.ContainsFunc(c.Categories, func(text string) bool { return len(text) > longest })
}

// important describes how much each input explains of the objective, over the executions with all values.
func important(f views.PlotFrame) views.Importance {
	if f.Objective < 0 {
		return views.Importance{Note: "The executions have no metric and no numeric output."}
	}
	objective := f.Columns[f.Objective]
	var inputs []views.PlotColumn
	for _, c := range f.Columns {
		if c.Role == "input" {
			inputs = append(inputs, c)
		}
	}
	var rows [][]float64
	var results []float64
	for i, v := range objective.Values {
		row := make([]float64, len(inputs))
		whole := !math.IsNaN(v)
		for j, c := range inputs {
			row[j] = c.Values[i]
			whole = whole && !math.IsNaN(row[j])
		}
		if whole {
			rows, results = append(rows, row), append(results, v)
		}
	}
	m := views.Importance{For: objective.Name}
	if len(rows) < importance.MinRuns {
		m.Note = fmt.Sprintf("Importance needs %d executions with a result and with all inputs that differ; there are %d.", importance.MinRuns, len(rows))
		return m
	}
	found := importance.Of(rows, results)
	order := make([]int, len(found))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(found[b].Share, found[a].Share) })
	percent := func(v float64) string { return strconv.FormatFloat(100*math.Min(1, math.Max(0, v)), 'f', 1, 64) + "%" }
	for _, i := range order {
		r := found[i]
		m.Rows = append(m.Rows, views.ImportanceRow{
			Name: inputs[i].Name, Text: strconv.FormatFloat(r.Share, 'f', 2, 64), Error: "± " + strconv.FormatFloat(r.Deviation, 'f', 2, 64),
			Width: percent(r.Share), From: percent(r.Share - r.Deviation), To: percent(r.Share + r.Deviation),
		})
	}
	m.Note = importance.Method + " From " + units.Plural(len(rows), "execution", "executions") + "."
	return m
}

// fingerprint changes with the columns.
func fingerprint(f views.PlotFrame) string {
	h := fnv.New64a()
	fmt.Fprint(h, f)
	return strconv.FormatUint(h.Sum64(), 36)
}
