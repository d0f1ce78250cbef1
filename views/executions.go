package views

import "github.com/flowforge/flowforge/views/ui"

// Executions is the list of executions; all of its filters are in the URL.
type Executions struct {
	Page
	Query    string
	States   []ui.Option
	Flows    []ui.Option
	Periods  []ui.Option
	Chips    []Chip // filters that are set
	Mine     []ui.Choice
	User     string // kept by the form: "me" or a name
	Rows     []ExecutionRow
	Pager    ui.Pager
	Stream   string // "" on older pages, which do not move
	ClearURL string
}

// ChooseExecution offers the executions whose ids end in a text.
type ChooseExecution struct {
	Page
	Text string // "#8c68"
	Rows []ExecutionRow
}

// Chip is a filter that is set, with the list without it.
type Chip struct{ Name, Value, RemoveURL string }

// ExecutionsNews says how many executions began since the page was drawn.
type ExecutionsNews struct {
	Count int
	URL   string
}
