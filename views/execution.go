package views

import (
	"strconv"

	"github.com/flowforge/flowforge/views/chart"
	"github.com/flowforge/flowforge/views/dagview"
	"github.com/flowforge/flowforge/views/ui"
)

// Execution is the page of one execution. It consists of live parts: each is a component
// with an id that page and stream share.
type Execution struct {
	Page
	Head      ExecutionHead
	Views     []ui.Choice // graph or list
	List      bool        // shows the list instead of the graph
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
	ResumeOfID, RelaunchOfID string // the executions that it resumes and repeats
	ID, Title, Short         string
	State                    string
	CancelURL                string // "" after the end
	PauseURL, UnpauseURL     string // one of them before the end
	CancelText               string // the consequences in numbers
	RelaunchURL              string
	LineageURL               string
	ResumeURL                string // "" before the end
	ResumeOf, ResumeLink     string // the resumed execution, or ""
	Run, RunURL              string // the flow of Metaflow and the page of its run, or ""
	ResumeFrom               string // the start node, "" for the failed nodes
	Workflow, WorkflowURL    string // "digits.train 1.0.0"
	By                       string
	Started                  ui.Moment
	Took, Since              string
	Priority                 string // "" for normal
	RelaunchOf, RelaunchLink string
	Bar                      ui.Bar
	Progress                 string // "64 %", or "2 of 5 nodes succeeded" of an execution that has ended otherwise
	Levels                   string // "3 of 5 levels"
	Left                     string // "about 48 s left", "" when unknown
	GPUHours                 string // "12.5 GPU-hours", "" without any
	Failure                  *FailureNotice
	Keeping                  Keeping
	Labels                   ExecutionLabels
	Wait                     WaitPanel // why the execution waits
	Sweep                    SweepLink
	Trigger                  TriggerLink
	Schedule                 ScheduleLink
}

// FailureNotice is the cause of a failure, with links.
type FailureNotice struct{ Node, Message, NodeURL, LogURL string }

// NodeTable is the list view of the nodes, and the target of links from groups of the graph.
type NodeTable struct {
	ExecutionID string
	Query       string
	States      []ui.Option
	Hidden      [][2]string // other filters, kept by the form
	Title       string      // of a group: "tile, levels 3 to 3"
	ClearURL    string
	Rows        []NodeRow
	Pager       ui.Pager
	Filtered    bool
	All         bool // includes nodes created by fan-outs and graphs
	HasMore     bool // there are such nodes
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

// NodePanel is the selected node next to the graph.
type NodePanel struct {
	Name       string // "" without a selected node
	State      string
	URL        string
	CloseURL   string
	LogURL     string
	Progress   *ui.Bar
	ProgressTo string    // "epoch 12 of 30 · val_loss 0.491"
	Wait       WaitPanel // why it is waiting
	Facts      []ui.Fact
	Attempts   []AttemptLine
	Inputs     []Value
	Outputs    []Value
}

// AttemptLine describes one attempt.
type AttemptLine struct {
	Number, State, Sentence, LogURL string
	Class                           string // failure class: "Out of memory"
	Started                         ui.Moment
	Took, Since                     string
	Facts                           []ui.Fact
}

// ExecutionTimeline is one row per node or group.
type ExecutionTimeline struct {
	Chart chart.Timeline
	Note  string // "60 of 400 nodes, the longest first"
	Empty string // text while there are no rows
}

// Metrics is the metric charts of an execution or node.
type Metrics struct {
	Charts   []MetricChart
	Note     string      // "train"
	Live     bool        // new values are still arriving
	Axes     []ui.Choice // step or time
	Scales   []ui.Choice // linear or log
	Smooth   int         // 0 to 99
	Action   string      // URL of the smoothing form
	Hidden   [][2]string // other values of that form
	Problem  string      // why metrics are unavailable
	Explains string      // text while there are none
}

// Usage is the resource usage of the attempts of a node.
type Usage struct {
	Charts   []MetricChart
	Problem  string // why usage is unavailable
	Explains string // text while there is none
}

// MetricChart is one metric with a curve per node and attempt.
type MetricChart struct {
	Name, Label string
	Last        string
	Lines       chart.Lines
	Keys        []ChartKey
	Data        string // JSON for the script: names, x, ys, time, log
	Single      bool   // every curve is a single value, shown as a number
	ExportURL   string // CSV export, or ""
	Table       []ChartKey
}

// ChartKey is a curve in a legend with its last value.
type ChartKey struct {
	Index                   int
	Name, Last, Best, Count string
}

// Outputs are the outputs of the execution.
type Outputs struct {
	None   string // why an ended execution has no outputs, or ""
	Values []Value
}

// ExecutionArtifacts is the table of artifacts.
type ExecutionArtifacts struct {
	Ended   bool // no more artifacts will follow
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
	Node   string // filter by node, "" for all
	Kinds  []ui.Option
	Rows   []EventRow
	Pager  ui.Pager
	Clear  string // the page without filters, "" if none is set
}

// EventRow is one event as text.
type EventRow struct {
	Icon, Text, URL string
	At              ui.Moment
}

// Element ids of the live parts of the execution page.
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

// ExecutionUpdate contains the changed parts of the execution page; nil parts are unchanged.
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
	Title     string // document title, "" if unchanged
}

// CancelExecution is the confirmation page of a cancellation, for browsers without
// JavaScript.
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
