package views

import (
	"net/url"
	"strconv"

	"github.com/flowforge/flowforge/views/dagview"
	"github.com/flowforge/flowforge/views/ui"
)

// MetaflowTasksURL is the page of a run with the tasks of q.
func MetaflowTasksURL(flow, run string, q url.Values) string {
	return withQuery(MetaflowRunURL(flow, run), q) + "#tasks"
}

// MetaflowStreamURL is the stream of the page of a run with the tasks of q.
func MetaflowStreamURL(flow, run string, q url.Values) string {
	return withQuery(MetaflowRunURL(flow, run)+"/stream", q)
}

// MetaflowTagsURL changes the tags of a run.
func MetaflowTagsURL(flow, run string) string { return MetaflowRunURL(flow, run) + "/tags" }

// MetaflowTaskURL is the page of a task.
func MetaflowTaskURL(flow, run, step, task string) string {
	return MetaflowRunURL(flow, run) + "/" + url.PathEscape(step) + "/" + url.PathEscape(task)
}

// MetaflowAttemptURL is the page of a task with the log and artifacts of an attempt.
func MetaflowAttemptURL(flow, run, step, task, attempt string) string {
	return MetaflowTaskURL(flow, run, step, task) + "?attempt=" + url.QueryEscape(attempt)
}

// MetaflowRun is the page of a run.
type MetaflowRun struct {
	Page
	Head       MetaflowRunHead
	Graph      MetaflowGraph
	Timeline   ExecutionTimeline
	Tasks      MetaflowTasks
	Tags       MetaflowTags
	Parameters []MetaflowArtifact
	Datastore  []ui.Fact
	Elsewhere  string // why the datastore of the run is not read, or ""
	Client     string // Python that reads the run
	StreamURL  string // "" once the run has ended
}

// MetaflowRunHead is the head of a run.
type MetaflowRunHead struct {
	Flow, FlowURL, Run string
	ExecutionURL       string // of a run that FlowForge started
	State              string
	User               string
	Started            ui.Moment
	Took, Since        string
	Heartbeat          ui.Moment // of a run that has not reported its end
	Origin, OriginURL  string    // the run that it resumes
	Bar                ui.Bar
}

// MetaflowGraph is the graph of the flow, or the order of the steps.
type MetaflowGraph struct {
	Picture dagview.Picture // without boxes before the first step
	Ordered bool            // the order of the steps by their times
	Problem string          // why the graph cannot be read
}

// MetaflowTasks is the table of the tasks of a run.
type MetaflowTasks struct {
	Action   string
	Steps    []ui.Option
	States   []ui.Option
	Rows     []MetaflowTaskRow
	Pager    ui.Pager
	ClearURL string
	Filtered bool
}

// MetaflowTaskRow is a task in the table.
type MetaflowTaskRow struct {
	Name, URL   string // "train/5"
	Items       string // "kinds=3"
	State       string
	Attempts    string
	Started     ui.Moment
	Took, Since string
}

// MetaflowTags are the tags of a run with the form that changes them.
type MetaflowTags struct {
	Action string // "" for readers who may not change them
	User   []Tag
	System []Tag
	Typed  string
	Error  string // why the typed tag was refused
}

// MetaflowArtifact is an artifact: its value is in the datastore.
type MetaflowArtifact struct {
	Name, Type, Location string
	Size                 string
	Value                string // as Python prints it
	Cut                  bool   // Value is the beginning
	Why                  string // why there is no value
	DownloadURL          string
}

// MetaflowCard is a card of a task.
type MetaflowCard struct {
	Title, Type, URL string // URL changes with the content of the card
	Size             string
	Modified         ui.Moment
}

// MetaflowTaskUpdate is one message of the stream of a task.
type MetaflowTaskUpdate struct {
	Head  *MetaflowTask // its head and attempts have changed
	Lines []LogLine
	Cards []MetaflowCard // nil: unchanged
}

// MetaflowDownloadURL sends the bytes of an artifact.
func MetaflowDownloadURL(flow, run, step, task, name string, attempt int64) string {
	return MetaflowTaskURL(flow, run, step, task) + "/artifacts/" + url.PathEscape(name) + "?attempt=" + strconv.FormatInt(attempt, 10)
}

// MetaflowCardURL is the HTML of a card.
func MetaflowCardURL(flow, run, step, task, file, version string) string {
	return MetaflowTaskURL(flow, run, step, task) + "/cards/" + url.PathEscape(file) + "?v=" + url.QueryEscape(version)
}

// MetaflowLogURL is the log of an attempt as text.
func MetaflowLogURL(flow, run, step, task string, attempt int64) string {
	return MetaflowTaskURL(flow, run, step, task) + "/log?attempt=" + strconv.FormatInt(attempt, 10)
}

// MetaflowRunUpdate is one message of the stream of a run: the changed pieces.
type MetaflowRunUpdate struct {
	Head     *MetaflowRunHead
	Graph    *MetaflowGraph  // the steps have changed
	Shapes   []dagview.Shape // only their states have
	Timeline *ExecutionTimeline
	Tasks    *MetaflowTasks
	Tags     *MetaflowTags
}

// Empty reports whether nothing changed.
func (u MetaflowRunUpdate) Empty() bool {
	return u.Head == nil && u.Graph == nil && len(u.Shapes) == 0 && u.Timeline == nil && u.Tasks == nil && u.Tags == nil
}

// MetaflowTask is the page of a task.
type MetaflowTask struct {
	Page
	Name      string // "train/5"
	State     string
	Facts     []ui.Fact
	Attempts  []MetaflowAttempt
	Attempt   string // whose artifacts are listed
	Artifacts []MetaflowArtifact
	Private   []MetaflowArtifact // those of Metaflow itself
	Metadata  []MetaflowFact
	Datastore []ui.Fact
	Elsewhere string // why the datastore of the run is not read, or ""
	Cards     []MetaflowCard
	CardsWhy  string // why cards cannot be read
	Logs      Logs
	StreamURL string // "" once the task has ended
}

// MetaflowAttempt is an attempt of a task.
type MetaflowAttempt struct {
	Number, URL string // URL lists its artifacts
	State       string
	Started     ui.Moment
	Took, Since string
	Current     bool // its artifacts are listed
}

// MetaflowFact is a fact that the client reported about a task.
type MetaflowFact struct {
	Name, Value, Attempt string
	At                   ui.Moment
}

const (
	metaflowHeadID  = "run-head"
	metaflowGraphID = "run-graph"
	metaflowTasksID = "run-tasks"
	metaflowTagsID  = "run-tags"
	taskHeadID      = "task-head"
	taskAttemptsID  = "task-attempts"
	taskCardsID     = "task-cards"
)
