package executions

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/engine/comparison"
	"github.com/flowforge/flowforge/engine/comparison/sheet"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/search"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
)

// Parameters of the charts beside a table. Which metrics are charts is part of the columns.
const (
	chartsKey    = "charts"
	chartsOpen   = "open"   // without a chart: choose the first metrics
	chartsNone   = "none"   // without a chart: show none
	chartsChosen = "chosen" // the form that chooses metrics
	hideKey      = "hide"   // the ends of the IDs of executions that the charts leave out
)

const (
	chartsAtFirst = 4   // charts of a reader who has not chosen
	metricsListed = 200 // in the form that chooses metrics
)

// entriesOf are the entries of the columns in an address.
func entriesOf(q url.Values) []string {
	return strings.FieldsFunc(q.Get("columns"), func(r rune) bool { return r == ',' })
}

// chartEntries are the entries that are charts.
func chartEntries(q url.Values) []string {
	metrics, _ := index.Charts(entriesOf(q))
	entries := make([]string, len(metrics))
	for i, name := range metrics {
		entries[i], _ = index.ChartEntry(name) // from an entry
	}
	return entries
}

// chartsOf are the metrics that are charts, and whether the address shows charts.
func chartsOf(q url.Values) (metrics []string, shown bool) {
	metrics, _ = index.Charts(entriesOf(q))
	return metrics, len(metrics) > 0 || q.Get(chartsKey) != ""
}

// samePage is the address of the same page of a table with one parameter changed.
func samePage(q url.Values, key, value string) string {
	address := label.ListURL(views.ExecutionsURL(), q, key, value)
	if after := q.Get("after"); after != "" {
		address += "&" + url.Values{"after": {after}}.Encode() // a table has other parameters
	}
	return address
}

// withCharts is the address with these charts, on the same page. Without charts it shows why.
func withCharts(q url.Values, metrics []string) string {
	_, entries := index.Charts(entriesOf(q))
	none := true
	for _, name := range metrics {
		if entry, ok := index.ChartEntry(name); ok {
			entries, none = append(entries, entry), false
		}
	}
	next := without(q, chartsKey)
	if none {
		next.Set(chartsKey, chartsNone)
	}
	return samePage(next, "columns", strings.Join(entries, ","))
}

// withoutCharts is the table alone.
func withoutCharts(q url.Values) string {
	_, entries := index.Charts(entriesOf(q))
	next := without(q, chartsKey, hideKey)
	next.Set("columns", strings.Join(entries, ","))
	if !isGrid(next) {
		next.Set("sort", newestFirst)
	}
	return samePage(next, "", "")
}

func without(q url.Values, keys ...string) url.Values {
	next := url.Values{}
	for key, values := range q {
		if !slices.Contains(keys, key) {
			next[key] = values
		}
	}
	return next
}

// chosenCharts answers the form that chooses metrics with the address of the table.
func chosenCharts(w http.ResponseWriter, r *http.Request) bool {
	q := r.URL.Query()
	if q.Get(chartsKey) != chartsChosen {
		return false
	}
	http.Redirect(w, r, withCharts(without(q, "chart"), q["chart"]), http.StatusSeeOther)
	return true
}

// openCharts returns the address with the first charts for a table that opens them: the metrics among
// its columns, then those that most of its executions report. It is "" if nothing can be chosen.
func (h *lists) openCharts(r *http.Request) (string, error) {
	q := r.URL.Query()
	if metrics, _ := chartsOf(q); len(metrics) > 0 || q.Get(chartsKey) != chartsOpen {
		return "", nil
	}
	_, where, err := h.Table.Parse(r.Context(), q.Get("where"), h.Now())
	if err != nil {
		return "", nil //nolint:nilerr // the page says what is wrong
	}
	request, err := h.gridQuery(r, where)
	if err != nil {
		return "", nil //nolint:nilerr // as above
	}
	request.Counted = false
	found, err := h.Table.Find(r.Context(), request)
	if err != nil {
		return "", nil //nolint:nilerr // as above
	}
	names, _, err := h.Table.Telemetry.MetricNames(r.Context(), places(found.Executions))
	if err != nil || len(names) == 0 {
		return "", err //nolint:wrapcheck // it names its context
	}
	var columns []string
	for _, c := range found.Columns {
		columns = append(columns, c.Metric())
	}
	return withCharts(q, firstCharts(columns, names)), nil
}

// firstCharts are the charts of a table: its columns that are reported metrics, then other metrics.
func firstCharts(columns []string, reported []telemetry.MetricName) []string {
	var charts []string
	add := func(name string) {
		known := slices.ContainsFunc(reported, func(m telemetry.MetricName) bool { return m.Name == name })
		if _, ok := index.ChartEntry(name); ok && known && len(charts) < chartsAtFirst && !slices.Contains(charts, name) {
			charts = append(charts, name)
		}
	}
	for _, name := range columns {
		add(name)
	}
	for _, m := range reported {
		add(m.Name)
	}
	return charts
}

func places(list []query.Execution) []telemetry.Place {
	places := make([]telemetry.Place, len(list))
	for i, e := range list {
		places[i] = telemetry.Place{ExecutionID: e.ID, ProjectID: e.ProjectID}
	}
	return places
}

// groupedCurves are the executions that the charts of a table with closed groups show, and the path by
// which a comparison groups their curves. A comparison has no groups for other values than inputs.
func (h *lists) groupedCurves(r *http.Request, groups index.Grouped, request index.Query) (list []query.Execution, path string, err error) {
	if _, shown := chartsOf(r.URL.Query()); !shown || len(groups.Groups) < 2 || groups.By.Part != search.Inputs {
		return nil, "", nil
	}
	request.Limit, request.After, request.Counted = comparison.Most, "", false
	found, err := h.Table.Find(r.Context(), request)
	if err != nil {
		return nil, "", err //nolint:wrapcheck // it names its context
	}
	return found.Executions, string(sheet.Inputs) + ":" + strings.TrimPrefix(groups.By.Path, string(search.Inputs)+"."), nil
}

// fillCharts adds the charts of the executions that the table shows, in the order of its rows. If by is
// the path of an input, the charts show groups of executions.
func (h *lists) fillCharts(r *http.Request, m *views.ExecutionGrid, list []query.Execution, by string) error {
	q := r.URL.Query()
	metrics, shown := chartsOf(q)
	if !shown {
		return nil
	}
	all := len(list)
	list = list[:min(all, comparison.Most)]
	names, partial, err := h.Table.Telemetry.MetricNames(r.Context(), places(list))
	if err != nil {
		return err //nolint:wrapcheck // it names its context
	}
	c := &views.RunCharts{
		CompareCurves: label.Curves(q, func(axis string) string { return samePage(q, "x", axis) }), Metrics: metricChoices(metrics, names, len(list)),
		Executions: len(list), CloseURL: withoutCharts(q),
	}
	if by != "" {
		c.Groups = len(m.Groups.Groups)
	}
	c.Live = slices.ContainsFunc(list, func(e query.Execution) bool { return !e.Status.Ended() })
	c.Hidden = append(keptFields(q, "smooth", "scale", "xscale", "outliers"), fields(q, "after")...)
	c.Drawing = fields(q, "smooth", "scale", "xscale", "outliers")
	if more := len(c.Metrics) - metricsListed; more > 0 {
		c.Metrics = c.Metrics[:metricsListed]
		c.More = fmt.Sprintf("%s more metrics are not listed. Add one to the URL: columns=metrics.NAME~chart.", units.Number(int64(more)))
	}
	switch {
	case all > len(list):
		c.Note = fmt.Sprintf("Charts show the first %d executions.", len(list))
	case partial:
		c.Note = "The metric store is not responding. Earlier values are missing."
	case by != "":
		c.Note = fmt.Sprintf("Each curve is the mean of a group, and its band is the range, over at most %d executions. Open groups to show their executions instead.", comparison.Most)
	}
	c.Empty = emptyCharts(m.Groups != nil, len(list), len(names))
	c.Charts = chartsOfRuns(q, list, metrics, by)
	m.Charts = c
	if by != "" {
		return nil
	}
	mark := chartMarks(q, list)
	mark(m.Rows)
	if m.Groups != nil {
		for i := range m.Groups.Groups {
			mark(m.Groups.Groups[i].Rows)
		}
	}
	return nil
}

// emptyCharts says why there is no chart, and what to do.
func emptyCharts(grouped bool, executions, metrics int) string {
	switch {
	case grouped && executions == 0:
		return "Open a group to chart its executions."
	case executions == 0:
		return "No execution matches."
	case metrics == 0:
		return "These executions have not reported metrics."
	}
	return "Choose the metrics to chart."
}

// chartsOfRuns are a chart for each metric. The script reads its curves.
func chartsOfRuns(q url.Values, list []query.Execution, metrics []string, by string) []views.CompareChart {
	if len(list) == 0 {
		return nil
	}
	ids := make([]string, len(list))
	for i, e := range list {
		ids[i] = e.ID.String()
	}
	data := url.Values{"executions": {strings.Join(ids, ",")}}
	if axis := q.Get("x"); axis != "" {
		data.Set("x", axis)
	}
	if by != "" {
		data.Set("group", by)
	}
	charts := make([]views.CompareChart, len(metrics))
	for i, name := range metrics {
		data.Set("metric", name)
		charts[i] = views.CompareChart{Name: name, DataURL: views.ComparePartURL("/curves", data), CSVURL: views.ComparePartURL("/curves.csv", data)}
	}
	return charts
}

// metricChoices are the metrics that can be charts: the chosen ones, and those that executions report.
func metricChoices(chosen []string, reported []telemetry.MetricName, executions int) []views.MetricChoice {
	var choices []views.MetricChoice
	count := map[string]int{}
	for _, m := range reported {
		count[m.Name] = m.Executions
	}
	add := func(name string, on bool) {
		choice := views.MetricChoice{Name: name, Chosen: on}
		if n := count[name]; n < executions {
			choice.Note = fmt.Sprintf("%d of %d", n, executions)
		}
		choices = append(choices, choice)
	}
	for _, name := range chosen {
		add(name, true)
	}
	for _, m := range reported {
		if _, ok := index.ChartEntry(m.Name); ok && !slices.Contains(chosen, m.Name) {
			add(m.Name, false)
		}
	}
	return choices
}

// chartMarks returns a function that tells rows how the charts draw their executions.
func chartMarks(q url.Values, list []query.Execution) func([]views.GridRow) {
	styles := map[string]views.RunStyle{}
	for i, style := range comparison.Styles(list) {
		styles[list[i].ID.String()] = views.RunStyle(style)
	}
	hidden := strings.Split(q.Get(hideKey), ",")
	return func(rows []views.GridRow) {
		for i := range rows {
			row := &rows[i]
			row.Style, row.Charted = styles[row.ID]
			row.Unseen = slices.Contains(hidden, strings.TrimPrefix(row.Short, "#"))
		}
	}
}

// streamMarks are the chartMarks of a stream, for the rows that the page shows.
func streamMarks(q url.Values, first []query.Execution, shown map[uuid.UUID]bool) func([]views.GridRow) {
	if _, charts := chartsOf(q); !charts {
		return func([]views.GridRow) {}
	}
	return chartMarks(q, slices.DeleteFunc(slices.Clone(first), func(e query.Execution) bool { return !shown[e.ID] }))
}

// keptFields are the parameters of a table that its forms keep, except some.
func keptFields(q url.Values, except ...string) [][2]string {
	keys := append([]string{"view", editKey, "where", "group", "sort", "columns", "user", "state", "workflow", "purpose", "period", "q", chartsKey, hideKey}, label.CurveKeys()...)
	return fields(q, slices.DeleteFunc(keys, func(key string) bool { return slices.Contains(except, key) })...)
}

// fields are the parameters of an address with these names.
func fields(q url.Values, keys ...string) [][2]string {
	var fields [][2]string
	for _, key := range keys {
		if q.Get(key) != "" {
			fields = append(fields, [2]string{key, q.Get(key)})
		}
	}
	return fields
}
