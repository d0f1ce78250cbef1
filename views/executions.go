package views

import "github.com/flowforge/flowforge/views/ui"

// Executions is the list of executions; the URL holds all filters.
type Executions struct {
	Page
	Views    SavedViews
	Layouts  []ui.Choice // the list, and the table with columns
	Bar      QueryBar
	Query    string
	States   []ui.Option
	Flows    []ui.Option
	Purposes []ui.Option // nil: no execution lists options
	Periods  []ui.Option
	Chips    []Chip // active filters
	Mine     []ui.Choice
	Sweeps   []ui.Choice // one row for a sweep, or for each run; nil: no choice
	EachRun  bool        // kept by the form: each run of a sweep is a row
	User     string      // kept by the form: "me" or a name
	Rows     []ExecutionRow
	Pager    ui.Pager
	Stream   string // "" on older pages, which have no live updates
	ClearURL string
	Metaflow bool // the project has runs of Metaflow, which a tab lists
}

// ChooseExecution lists the executions whose ids end with Text.
type ChooseExecution struct {
	Page
	Text string // "#8c68"
	Rows []ExecutionRow
}

// Chip is an active filter, with the URL that removes it.
type Chip struct{ Name, Value, RemoveURL string }

// NewExecutions is the number of executions started since the page was rendered.
type NewExecutions struct {
	Count int
	URL   string
}
