package views

import (
	"net/url"

	"github.com/flowforge/flowforge/views/ui"
)

// SweepsURL lists the sweeps of the project.
func SweepsURL() string { return "/sweeps" }

// SweepsQueryURL lists the sweeps that a query selects.
func SweepsQueryURL(q url.Values) string { return withQuery(SweepsURL(), q) }

// SweepURL is the page of a sweep.
func SweepURL(id string) string { return SweepsURL() + "/" + url.PathEscape(id) }

// SweepQueryURL is the page of a sweep with parameters.
func SweepQueryURL(id string, q url.Values) string { return withQuery(SweepURL(id), q) }

// SweepPartURL is a part of a sweep, such as its stream, or takes a command.
func SweepPartURL(id, part string) string { return SweepURL(id) + "/" + part }

// SweepRunsURL is the page of a sweep with its runs in an order.
func SweepRunsURL(id string, q url.Values) string { return withQuery(SweepURL(id), q) + "#runs" }

// Sweeps lists sweeps, newest first.
type Sweeps struct {
	Page

	Rows   []SweepRow
	States []ui.Choice
	Pager  ui.Pager
	Any    bool   // the list is not filtered
	Stream string // "" when no sweep on the page can change
}

// SweepRow is one sweep.
type SweepRow struct {
	ID, URL, Name string
	State         SweepState
	Workflow      string
	Method        string
	Varies        string // the inputs that it varies
	Objective     string
	Best, BestURL string // "" without a result
	Progress      ui.Bar
	Runs          string // "40 of 60"
	Created       ui.Moment
	By            string
}

// SweepState is a state with its symbol.
type SweepState struct{ Icon, Word string }

// SweepLink leads from an execution to its sweep; the zero value to none.
type SweepLink struct {
	URL, Name string
	Run       int // from 1
}

// SweepView is the page of a sweep.
type SweepView struct {
	Page

	Head   SweepHead
	Curves SweepCurves
	Plots  Plots
	Runs   SweepRuns
	Space  SweepSpace
	Stream string // "" after the end
}

// SweepHead is the title of a sweep, its commands and its figures.
type SweepHead struct {
	ID, Name      string
	State         SweepState
	Lead, Message string // of the notice about why it is paused, stopping or stopped
	Kind          string // of the notice about it
	Workflow, URL string
	Version       string
	Method        string
	By            string
	Started       ui.Moment
	Ended         *ui.Moment
	Figures       []SweepFigure
	Changed       string // changes with the runs, so that drawings are read again

	MayChange              bool
	Pauses, Resumes, Stops bool // the commands that apply
	LikeURL                string
}

// SweepFigure is one figure of a sweep.
type SweepFigure struct {
	Name, Value, Of string
	URL, Link       string // below the value
	Note            string
	Bar             *ui.Bar
	Share           string // of a bar of one colour, "68%"
	ShareText       string
}

// SweepCurves are the curves of one metric of the best runs. The rows of the table are their legend.
type SweepCurves struct {
	CompareCurves

	ID      string
	Metric  string // "" without curves
	Metrics []ui.Option
	Empty   string // why there are no curves
}

// SweepRuns is a page of the runs of a sweep.
type SweepRuns struct {
	ID      string
	Caption string
	Columns []SweepColumn
	Rows    []SweepRunRow
	Pager   ui.Pager
	Total   string
	Empty   string // why there are no rows
	Ended   bool
	Moved   bool   // rows are no longer in the order that the address selects
	SortURL string // shows them in this order

	TableURL                   string // the runs as a table of executions
	BestURL, PresetURL, TopURL string // launch the best again, save it as a preset, compare the best
	TopName                    string
}

// emptyTitle is the title of a table without rows.
func (m SweepRuns) emptyTitle() string {
	if m.Ended {
		return "No runs"
	}
	return "No runs yet"
}

// SweepColumn is a column of the runs. It sorts if it has an URL.
type SweepColumn struct {
	Name, Title, URL string
	Number           bool
	Sorted           string // "ascending", "descending" or ""
}

// SweepRunRow is one run.
type SweepRunRow struct {
	ContinueURL string // resumes a run that was stopped early from its checkpoint, "" without permission
	Index       int
	Rank        string
	Name, URL   string // of its execution, if there is one
	Title       string // the name that a person gave the execution, "" for none
	ExecutionID string
	Style       RunStyle // of its execution in the charts
	State       SweepState
	Message     string
	Values      []string
	Objective   string
	Best        bool
	Step, Hours string
	Took        string
}

// SweepSpace is what a sweep varies, and its settings.
type SweepSpace struct {
	ID         string
	Parameters []SweepParameter
	Facts      []ui.Fact
	Inputs     []Value
	ChangeURL  string // "" without the right to change it
}

// SweepParameter is one input with many values.
type SweepParameter struct{ Path, Text string }

// SweepChange is the page that changes a sweep.
type SweepChange struct {
	Page

	ID, Name   string
	Action     string
	Failed     string
	ErrorLines []ErrorTarget
	Errors     map[string]string
	NewName    string
	Runs       string
	RunsHelp   string
	Parallel   string
	GPUHours   string
	Fields     []ManyField
}

// ErrorTarget is a line of an error summary.
type ErrorTarget struct{ URL, Text string }

// SweepStop is the page that stops a sweep.
type SweepStop struct {
	Page

	ID, Name string
	Running  int
}

// Element ids of the parts of the page that the stream replaces.
const (
	sweepHeadID = "sweep-head"
	curvesID    = "curves"
	drawnID     = "curves-drawn"

	curvesMetricID = "curves-metric"
	sweepRunsID    = "runs"
	sweepListID    = "sweep-list"
)

// SweepHeadSelector selects the element whose data-version changes with the runs.
func SweepHeadSelector() string { return "#" + sweepHeadID }
