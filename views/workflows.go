package views

import (
	"github.com/flowforge/flowforge/views/chart"
	"github.com/flowforge/flowforge/views/dagview"
	"github.com/flowforge/flowforge/views/ui"
)

// Workflows is the list of workflows.
type Workflows struct {
	Page
	Query, Tag  string
	Team        string
	Teams       []ui.Option
	Archived    bool
	Development bool // includes workflows that have only development versions

	InDevelopment, InDevelopmentURL string // "2 workflows in development", or ""

	Filtered    bool // a filter is active
	MayRegister bool
	Rows        []WorkflowRow
	Pager       ui.Pager
}

// emptyActions lead to the first workflow of an installation without any.
func (m Workflows) emptyActions() []ui.Action {
	actions := []ui.Action{{Name: "Write one in Python", URL: PythonURL()}}
	if m.MayRegister {
		actions = append([]ui.Action{{Name: "Register a workflow", URL: RegisterURL()}}, actions...)
	}
	return actions
}

// WorkflowRow is a workflow in the list.
type WorkflowRow struct {
	Name, URL, LaunchURL string
	Description          string
	Version              string
	Team                 string
	Tags                 []Tag
	Updated              ui.Moment
	Archived             bool
	Trend                []chart.TrendBar
	TrendLabel           string
}

// Tag is a label with a link.
type Tag struct{ Name, URL string }

// Workflow is the page of a workflow, or of one of its versions.
type Workflow struct {
	Page
	Name, Description string
	Notices           []string // informational notices
	Version           string
	Latest            bool // Version is the latest
	Archived          bool
	Team              string
	Tags              []Tag
	Author            string
	Created           ui.Moment
	URL, LaunchURL    string
	SchedulesURL      string
	Schedules         []ScheduleLink // the first ones
	MoreSchedules     bool
	NewScheduleURL    string // "" for an archived workflow
	Tabs              []ui.Tab
	Tab               string // "", executions, versions, source

	Plan       dagview.Picture
	PlanText   string // "6 operators, 5 levels"
	Graphs     []PlanGraph
	Inputs     []SchemaRow
	Outputs    []SchemaRow
	Operators  []OperatorRow
	Packages   []OperatorPackages
	Versions   []VersionRow
	Executions []ExecutionRow
	Pager      ui.Pager
	Trend      []chart.TrendBar
	TrendLabel string
	History    []ui.Fact
	Source     string
	Format     string // of Source: YAML

	FromPython bool
	Commit     Commit // of the version
	PackageURL string // download of the code package
	Python     PythonSource
	Returns    string // the annotation of the result, as written

	Development      []VersionRow // development versions, newest first
	DevelopmentCount int          // of all
	Noted            bool         // a version has a change or a commit
	ArchiveURL       string       // POST; "" without permission
}

// SchemaRow is an input or output of a version.
type SchemaRow struct {
	Name, Type, TypeURL, Default, Description, From string
	Required                                        bool
	Annotation                                      string // of Python, as written
}

// OperatorRow is an operator of a version.
type OperatorRow struct {
	Name, Kind, After, Resources, Retry, Timeout string
	Place                                        string // image, gang and pod fields; "" for the default
	Control                                      string // conditions, loops and other control; "" for none
}

// PlanGraph is a graph used by operators.
type PlanGraph struct {
	Name, Description, Text string
	Inputs, Outputs         string // its inputs and outputs
	Picture                 dagview.Picture
	Operators               []OperatorRow
}

// PlanGraphID is the element id of a graph on the page of its workflow.
func PlanGraphID(name string) string { return "graph-" + name }

// VersionRow is a version of a workflow.
type VersionRow struct {
	Version, URL, LaunchURL string
	DiffURL                 string // what changed since the version before; "" for the first one
	Latest, Current         bool
	By                      string
	Created                 ui.Moment
	Runs, Succeeded         string // executions, and the share of them that succeeded; "" without any
	Level                   string // Major, Minor, Patch; "" if unknown
	Change, From            string // what changed in the signature, and since which version
	Commit                  Commit
}

// Commit is the state of the author's files when a version was registered.
type Commit struct {
	Hash, Full string // abbreviated and complete; "" outside a repository
	Branch     string
	Subject    string
	Dirty      bool // files differed from the commit
}

// PythonSource is a file of the code package of a version.
type PythonSource struct {
	File, Size    string
	Text          string // to copy
	Source        Source
	Problem       string // why the package cannot be read
	DownloadURL   string // the file
	DefinitionURL string
	Function      string // the workflow, if File contains it
	FunctionURL   string // its first line
	FunctionLines string // lines 7 to 17
	Files         []SourceFile
	Total         string // 5 files, 31 KiB
	Omitted       string // how many files are not listed
}
