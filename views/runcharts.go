package views

import "github.com/flowforge/flowforge/platform/units"

// RunCharts are the charts beside a table of executions. The rows of the table are their legend.
type RunCharts struct {
	CompareCurves

	Metrics    []MetricChoice
	More       string      // how many metrics are not listed; "" for none
	Executions int         // that the charts can draw
	Groups     int         // whose means the charts draw; 0 for executions
	Empty      string      // what to do without a chart
	CloseURL   string      // the table alone
	Drawing    [][2]string // smoothing and scale, which the form of the metrics keeps
}

// MetricChoice is a metric that can be a chart. Note is how many executions report it; "" for all.
type MetricChoice struct {
	Name   string
	Chosen bool
	Note   string
}

// searchedMetrics is the number of metrics from which their list has a search field.
const searchedMetrics = 12

// drawn is what the charts show before the reader selects or hides executions.
func (c RunCharts) drawn() string {
	if c.Groups > 0 {
		return units.Plural(c.Groups, "group", "groups")
	}
	return units.Plural(c.Executions, "execution", "executions")
}

// chosen is the number of charts.
func (c RunCharts) chosen() int {
	n := 0
	for _, m := range c.Metrics {
		if m.Chosen {
			n++
		}
	}
	return n
}
