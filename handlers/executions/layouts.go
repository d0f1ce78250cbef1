package executions

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/search"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

const newestFirst = "-created"

// listFilters are the parameters of filters, which a list and a table have in common.
func listFilters() []string { return []string{"q", "state", "workflow", "user", "purpose", "period"} }

// layouts switch between the list, the table, and the table with charts. The table starts with the
// inputs and results that the rows of the list show.
func layouts(q url.Values, names *search.Names, list []query.Execution) []ui.Choice {
	filters := url.Values{}
	for _, key := range append(listFilters(), sweepsKey) {
		if v := q.Get(key); v != "" {
			filters.Set(key, v)
		}
	}
	here := label.ListURL(views.ExecutionsURL(), q, "", "")
	if isGrid(q) {
		layouts := []ui.Choice{
			{Name: "List", URL: label.ListURL(views.ExecutionsURL(), filters, "view", allViews)},
			{Name: "Table", URL: here, Current: true},
			{Name: "Charts", URL: samePage(q, chartsKey, chartsOpen)},
		}
		if _, charts := chartsOf(q); charts {
			layouts[1], layouts[2] = ui.Choice{Name: "Table", URL: withoutCharts(q)}, ui.Choice{Name: "Charts", URL: here, Current: true}
		}
		return layouts
	}
	if columns := shownColumns(names, list); len(columns) > 0 {
		filters.Set("columns", strings.Join(append(columns, "tags", "user", "created", "duration"), ","))
	} else {
		filters.Set("sort", newestFirst)
	}
	return []ui.Choice{
		{Name: "List", URL: here, Current: true}, {Name: "Table", URL: label.ListURL(views.ExecutionsURL(), filters, "", "")},
		{Name: "Charts", URL: label.ListURL(views.ExecutionsURL(), filters, chartsKey, chartsOpen)},
	}
}

// shownColumns are the searchable inputs in which executions differ, and their results.
func shownColumns(names *search.Names, list []query.Execution) []string {
	inputs := make([]map[string]any, len(list))
	for i, e := range list {
		inputs[i] = parts(e.Inputs)
	}
	differing := differingInputs(list, inputs)
	var columns []string
	add := func(kind search.Part, name string) {
		path := string(kind) + "." + name
		found, _ := names.Find(path)
		if found.Path() == path && !slices.Contains(columns, path) && !strings.ContainsAny(name, ",~ ") {
			columns = append(columns, path)
		}
	}
	seen := map[string]bool{}
	for i, e := range list {
		if seen[e.WorkflowName] {
			continue
		}
		seen[e.WorkflowName] = true
		for _, fact := range figures(inputs[i], differing[e.WorkflowID], inputsShown) {
			add(search.Inputs, fact.Name)
		}
		for _, fact := range figures(e.Outputs, slices.Sorted(maps.Keys(e.Outputs)), resultsShown) {
			add(search.Outputs, fact.Name)
		}
		if len(columns) >= tableColumns {
			break
		}
	}
	return columns
}

// tableColumns is the number of inputs and results from which the table adds no further workflow.
const tableColumns = 5
