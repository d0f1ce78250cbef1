package views

import "github.com/flowforge/flowforge/views/ui"

// NodeGrid has the nodes of several executions of a workflow side by side, the newest at the right.
type NodeGrid struct {
	Page
	Name, LaunchURL string
	Tabs            []ui.Tab
	Runs            []GridRun
	Rows            []NodeGridRow
	Shown           []ui.Choice // numbers of executions
	States          []ui.Choice
	OlderURL        string
	NewerURL        string
	NodesText       string // which nodes the grid has, if not all
	FormerNodesURL  string
	FurtherNodesURL string
	Stream          string
	LatestURL       string
}

// GridRun is an execution, a column of the grid.
type GridRun struct {
	ID, Short, URL, State, Took, Title string
	Height                             int // of its bar, in percent of the longest
}

// NodeGridRow is a node. Cells are in the order of the executions.
type NodeGridRow struct {
	Name, Median string
	Cells        []NodeGridCell
}

// NodeGridCell is a node in one execution; without a state the plan has no such node. Pace is "slow"
// or "quick" next to the median.
type NodeGridCell struct {
	ID, URL, State, Took, Pace string
	Icon                       bool
}

// NodeGridURL is the grid of a workflow.
func NodeGridURL(workflow string) string { return WorkflowURL(workflow) + "/grid" }
