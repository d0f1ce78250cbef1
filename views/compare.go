package views

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/views/ui"
)

// Compare is the page that compares executions.
type Compare struct {
	Page

	Legend  CompareLegend
	Find    CompareFind
	Table   CompareTable
	Curves  CompareCurves
	Plots   *ComparePlots // nil without inputs that differ, or without results
	Chosen  bool          // at least two executions
	Link    string
	CSVURL  string
	Stream  string // "" when all executions have ended
	Notes   []string
	Heading string
	Alone   string // why there is nothing to compare with
}

// CompareLegend is the compared executions.
type CompareLegend struct{ Runs []CompareRun }

// CompareRun is a compared execution.
type CompareRun struct {
	ID          string
	Style       RunStyle
	Short, URL  string
	Title       string
	Name        string // its own name, or ""
	State       string
	Note        string // its first values that differ from the others
	Launched    ui.Moment
	Baseline    bool
	BaselineURL string // makes it the baseline
	RemoveURL   string
}

// CompareFind adds executions by name or short id.
type CompareFind struct {
	Query, Executions string
	Hidden            [][2]string // the other parameters of the page
	Requested         bool
	Hits              []CompareHit
	Full              string // why no execution can be added
}

// CompareHit is an execution that can be added.
type CompareHit struct {
	Short, Title, Note, State, URL string
}

// CompareTable is the properties of the executions, side by side.
type CompareTable struct {
	Runs      []CompareRun
	Sections  []CompareSection
	All       bool   // rows without a difference are shown
	Toggle    string // the URL that shows or hides them
	Counts    string // "5 differ, 17 are the same"
	Statistic []ui.Choice
	Version   string // of a comparison that is followed; charts are read again when it changes
}

// CompareSection is a group of rows.
type CompareSection struct {
	Name    string
	Rows    []CompareRow
	Changes []ui.Action // what changed between versions of the same workflow
}

// CompareRow is a property of the executions.
type CompareRow struct {
	SideURL      string // shows the artifacts of the row side by side; "" for other rows
	Name, Better string // Better is "higher is better", or ""
	Differs      bool
	Cells        []CompareCell
}

// CompareCell is a value.
type CompareCell struct {
	Text, Exact string
	URL         string
	Delta       string // "+0.02"
	State       string
	Number      bool
	Missing     bool
	Changed     bool // it differs from the baseline
	Best        bool
}

// CompareCurves is the charts of the metrics.
type CompareCurves struct {
	Charts  []CompareChart
	Note    string
	Axes    []ui.Choice
	Groups  []ui.Option
	Hidden  [][2]string
	Smooth  int
	Log     bool
	LogAxis bool // the horizontal axis
	NoLog   bool // an axis of times has no logarithmic scale
	Outlier bool // the scale ignores outliers
	Live    bool
}

// CompareChart is the curves of a metric, which the script reads and draws.
type CompareChart struct{ Name, DataURL, CSVURL string }

// ComparePlots is the drawings of inputs and results.
type ComparePlots struct {
	Plots      Plots
	Version    string // changes with the columns
	Objectives []ui.Option
	Hidden     [][2]string
}

// ComparePlotsSelector selects the element whose data-version changes with the columns.
func ComparePlotsSelector() string { return "#" + comparePlotsID }

// Element ids of the parts of the page that the stream replaces.
const (
	compareLegendID = "compare-legend"
	compareTableID  = "compare-table"
	compareFoundID  = "compare-found"
	compareNotesID  = "compare-notes"
	comparePlotsID  = "compare-plots"
)

// RunStyle is the colour and the dash of an execution in charts and legends. Both start at 0.
type RunStyle struct{ Color, Dash int }

// classes are those of the line of a swatch.
func (s RunStyle) classes() string {
	return "line s" + strconv.Itoa(s.Color+1) + " d" + strconv.Itoa(s.Dash)
}

// nameParts are the pieces of a name between which it can wrap.
func nameParts(name string) []string {
	var parts []string
	for _, part := range strings.SplitAfter(name, ".") {
		parts = append(parts, strings.SplitAfter(part, "_")...)
	}
	return parts
}

// columns is the number of columns of the table.
func (t CompareTable) columns() string { return strconv.Itoa(len(t.Runs) + 1) }

// CompareURL compares executions; the first one is the baseline.
func CompareURL(ids ...string) string {
	if len(ids) == 0 {
		return "/compare"
	}
	return "/compare?executions=" + url.QueryEscape(strings.Join(ids, ","))
}

// ComparePartURL is a part of the page, such as its stream or its table as CSV.
func ComparePartURL(part string, q url.Values) string { return withQuery("/compare"+part, q) }

// ComparePreviousURL compares an execution with the previous one of its workflow.
func ComparePreviousURL(id string) string { return CompareURL(id) + "&with=previous" }
