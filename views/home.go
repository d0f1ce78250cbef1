package views

import "github.com/flowforge/flowforge/views/ui"

// Home is the first page: what runs, what waits and why, what was yours, what to launch.
type Home struct {
	Page
	Greeting  string
	Again     ui.Action // launch the latest once more; Name "" shows none
	Live      HomeLive
	Mine      []HomeRecent
	Workflows []WorkflowTile
	Total     int    // workflows in all
	StreamURL string // "" without live updates
	First     bool   // nothing was launched yet
	Example   WorkflowTile
}

// HomeLive is the part of the home page that moves.
type HomeLive struct {
	Asks    HomeAsks
	Running []ExecutionRow
	More    int // live executions that are not shown
	Waiting []WaitingRow
	Figures []ui.Fact // today: succeeded, failed, in use
}

// HomeAsks are the questions that wait for the answer of a person.
type HomeAsks struct {
	Questions []Question // the first ones
	Total     int
}

// HomeLiveID is the element id of the moving part.
func HomeLiveID() string { return "home-live" }

// WaitingRow is a node that waits, with the reason.
type WaitingRow struct {
	Node, NodeURL           string
	Execution, ExecutionURL string
	Reason                  string
	Since                   ui.Moment
}

// HomeRecent is one of the reader's own executions.
type HomeRecent struct {
	State, Title, Short, URL, Note string
	Ended                          ui.Moment
}

// WorkflowTile is a workflow to launch.
type WorkflowTile struct {
	Name, URL, LaunchURL, Version, Sub string
	Spark                              string // durations or a metric of the last executions
	SparkLabel                         string
}
