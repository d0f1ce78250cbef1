package views

import (
	"strconv"

	"github.com/flowforge/flowforge/views/chart"
	"github.com/flowforge/flowforge/views/dagview"
	"github.com/flowforge/flowforge/views/ui"
)

// Execution is the page of one execution. Its parts are live pieces: each has one
// component with an id, which page and stream share.
type Execution struct {
	Page
	Head      ExecutionHead
	Views     []ui.Choice // graph or list
	List      bool        // the list view is shown instead of the graph
	Graph     dagview.Picture
	Nodes     NodeTable
	Panel     NodePanel
	Timeline  ExecutionTimeline
	Metrics   Metrics
	Logs      Logs
	Inputs    []Value
	Outputs   Outputs
	Artifacts ExecutionArtifacts
	Events    Events
	StreamURL string // "" once the execution has ended
}

// ExecutionHead is the head: name, state, actions, facts, progress.
type ExecutionHead struct {
	ID, Title, Short         string
	State                    string
	CancelURL                string // "" when it has ended
	PauseURL, UnpauseURL     string // one of them while it lives
	CancelText               string // the consequence in numbers
	RelaunchURL              string
	ResumeURL                string // "" as long as it has not ended
	ResumeOf, ResumeLink     string // the execution that it goes on from, "" for none
	ResumeFrom               string // and from which node, "" for the first failures
	Workflow, WorkflowURL    string // "digits.train 1.0.0"
	By                       string
	Started                  ui.Moment
	Took, Since              string
	Priority                 string // "" for normal
	RelaunchOf, RelaunchLink string
	Bar                      ui.Bar
	Levels                   string // "3 of 5 levels"
	Left                     string // "about 48 s left", "" when unknown
	GPUHours                 string // "12.5 GPU-hours", "" without any
	Failure                  *FailureNotice
	Keeping                  Keeping
	Wait                     WaitPanel // why nothing moves, when everything waits
}

// FailureNotice says why an execution failed and where to look.
type FailureNotice struct{ Node, Message, NodeURL, LogURL string }

// NodeTable is the list view of the nodes, and what groups of the graph link to.
type NodeTable struct {
	ExecutionID string
	Query       string
	States      []ui.Option
	Hidden      [][2]string // further filters that the form keeps
	Title       string      // of a group: "tile, levels 3 to 3"
	ClearURL    string
	Rows        []NodeRow
	Pager       ui.Pager
	Filtered    bool
	All         bool // what nodes became stands in it, too
	HasMore     bool // there is such
}

// NodeRow is one node of the list view.
type NodeRow struct {
	Index            int
	Name, URL, State string
	Sub              string // reason, failure or progress
	Attempt          string // "2 of 3"
	Level            string
	Started          ui.Moment
	Took, Since      string
	LogURL           string
}

// NodePanel is the selected node beside the graph.
type NodePanel struct {
	Name       string // "" shows what the panel is for
	State      string
	URL        string
	CloseURL   string
	LogURL     string
	Progress   *ui.Bar
	ProgressTo string    // "epoch 12 of 30 · val_loss 0.491"
	Wait       WaitPanel // why it waits, while it does
	Facts      []ui.Fact
	Attempts   []AttemptLine
	Inputs     []Value
	Outputs    []Value
}

// AttemptLine tells one attempt in a sentence.
type AttemptLine struct {
	Number, State, Sentence, LogURL string
	Class                           string // what kind of end: "Out of memory"
	Started                         ui.Moment
	Took, Since                     string
	Facts                           []ui.Fact
}

// ExecutionTimeline is one row per node or group.
type ExecutionTimeline struct {
	Chart chart.Timeline
	Note  string // "60 of 400 nodes, the longest first"
	Empty string // why there is nothing yet
}

// Metrics is the metric charts of an execution or node.
type Metrics struct {
	Charts   []MetricChart
	Note     string      // "train"
	Live     bool        // values are still being added
	Axes     []ui.Choice // step or time
	Scales   []ui.Choice // linear or log
	Smooth   int         // 0 to 99
	Action   string      // of the smoothing form
	Hidden   [][2]string // what that form keeps
	Problem  string      // metrics cannot be read right now
	Explains string      // shown while there are none
}

// Usage is what the attempts of a node use of their machines.
type Usage struct {
	Charts   []MetricChart
	Problem  string // it cannot be read right now
	Explains string // shown while there is nothing
}

// MetricChart is one metric with a curve per node and attempt.
type MetricChart struct {
	Name, Label string
	Last        string
	Lines       chart.Lines
	Keys        []ChartKey
	Data        string // JSON for the script: names, x, ys, time, log
	Single      bool   // every curve is one value, which is shown as a number
	ExportURL   string // the values as CSV, "" without
	Table       []ChartKey
}

// ChartKey is a curve in a legend with its last value.
type ChartKey struct {
	Index                   int
	Name, Last, Best, Count string
}

// Outputs are the outputs of the execution.
type Outputs struct{ Values []Value }

// ExecutionArtifacts is the table of artifacts.
type ExecutionArtifacts struct {
	Ended   bool // nothing more comes
	Rows    []ArtifactRow
	Total   string
	MoreURL string
}

// Events is the last events, newest first.
type Events struct {
	Rows    []EventRow
	MoreURL string // the page of all of them
}

// EventsPage is all events of an execution, filtered and paged.
type EventsPage struct {
	Page
	State  string
	Back   string
	Action string
	Node   string // whose events are shown, "" for those of all
	Kinds  []ui.Option
	Rows   []EventRow
	Pager  ui.Pager
	Clear  string // the page without filters, "" when there are none
}

// EventRow is one event in words.
type EventRow struct {
	Icon, Text, URL string
	At              ui.Moment
}

// Element ids of the live pieces of the execution page.
const (
	headID      = "execution-head"
	graphID     = "dag"
	panelID     = "node"
	timelineID  = "timeline-body"
	metricsID   = "metrics-body"
	usageID     = "usage-body"
	outputsID   = "outputs-body"
	artifactsID = "artifacts-body"
	eventsID    = "events-body"
)

// GraphID is the element id of the graph of an execution, and the prefix of the
// ids of its boxes.
func GraphID() string { return graphID }

// NodeRowID is the element id of a node in the list view.
func NodeRowID(index int) string { return "node-" + strconv.Itoa(index) }

// ExecutionUpdate is what changed on the execution page; nil pieces did not.
type ExecutionUpdate struct {
	Head      *ExecutionHead
	Shapes    []dagview.Shape
	NodeRows  []NodeRow
	Panel     *NodePanel
	Timeline  *ExecutionTimeline
	Metrics   *Metrics
	Outputs   *Outputs
	Artifacts *ExecutionArtifacts
	Events    *Events
	Lines     []LogLine
	Title     string // of the document, "" keeps it
}

// CancelExecution asks before an execution is cancelled, on a page of its own for
// readers without a script.
type CancelExecution struct {
	Page
	Head ExecutionHead
	Back string
}

// Empty reports whether nothing changed.
func (u ExecutionUpdate) Empty() bool {
	return u.Head == nil && len(u.Shapes) == 0 && len(u.NodeRows) == 0 && u.Panel == nil && u.Timeline == nil && u.Metrics == nil &&
		u.Outputs == nil && u.Artifacts == nil && u.Events == nil && len(u.Lines) == 0
}
