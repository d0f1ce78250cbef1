package views

import "github.com/flowforge/flowforge/views/ui"

// Home is the home page: running executions, waiting nodes, recent executions and workflows.
type Home struct {
	Page
	Greeting  string
	Again     ui.Action // relaunch the latest execution; Name "" hides it
	Live      HomeLive
	Recent    []HomeRecent
	Workflows []WorkflowTile
	Total     int    // workflows in all
	StreamURL string // "" without live updates
	First     bool   // before the first launch
	Example   WorkflowTile
}

// HomeLive is the live part of the home page.
type HomeLive struct {
	Approvals HomeApprovals
	Running   []ExecutionRow
	More      int // live executions that are not shown
	Waiting   []WaitingRow
	Figures   []ui.Fact // today: succeeded, failed, in use
}

// HomeApprovals are the open approvals.
type HomeApprovals struct {
	Pending []PendingApproval // the first ones
	Total   int
}

// HomeLiveID is the element id of the live part.
func HomeLiveID() string { return "home-live" }

// WaitingRow is a waiting node with the reason.
type WaitingRow struct {
	Node, NodeURL           string
	Execution, ExecutionURL string
	Reason                  string
	Since                   ui.Moment
}

// HomeRecent is one of the user's own executions, or a sweep with such executions.
type HomeRecent struct {
	State, Title string
	Short        string // ID, or the number of runs
	URL, Note    string
	Long         bool // on a narrow screen, Note has a line of its own
	Ended        ui.Moment
}

// WorkflowTile is a workflow to launch.
type WorkflowTile struct {
	Name, URL, LaunchURL, Version, Sub string
	Spark                              string // durations or a metric of the last executions
	SparkLabel                         string
}
