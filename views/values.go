package views

import "github.com/flowforge/flowforge/views/ui"

// Value is a formatted input or output.
type Value struct {
	Name, Type string
	Text       string       // one line
	URL        string       // of the referenced artifact or catalogue entry
	Code       string       // several lines: JSON, text
	Missing    string       // why there is no value yet: "after evaluate"
	Exact      string       // the exact value, for the tooltip
	Note       string       // "default", "4 KiB"
	Artifact   string       // id of the referenced artifact
	Renderer   *ui.Renderer // the page of the type, or nil
	Files      []Value      // in a composite value
	MoreFiles  string       // "and 12 more"
	Via        string       // how it reached its node: "from train.model, copied from local disk, 1.2 GiB"
}

// ExecutionRow is an execution in a list.
type ExecutionRow struct {
	ID, Short, URL string // full id, "#a1b2c3", page
	State          string
	Title          string // the workflow, or the execution's own name
	Version        string
	Flow           string    // "digits.train 1.0.0", without the name if Title contains it
	Sub            string    // the most important fact: the failure, the running node, the reason for waiting
	Inputs         []ui.Fact // inputs that differ from other executions of the workflow
	Results        []ui.Fact // the first outputs
	By             string
	Started        ui.Moment
	Took           string // elapsed or total duration
	Since          string // RFC 3339 start of a running execution: the page updates the duration
	Bar            ui.Bar
	RelaunchURL    string
	EditURL        string // of its name, tags and note; "" for those who may not change them
	WorkflowURL    string
	Sweep          *ExecutionSweep // the row is a sweep; nil: an execution
}

// ExecutionSweep is what the row of a sweep has in addition.
type ExecutionSweep struct {
	State   SweepState
	Runs    string // "1,000 runs", or with filters "12 of 1,000 runs"
	RunsURL string // the table of these runs
}

// ExecutionRowID is the element id of a row.
func ExecutionRowID(id string) string { return "x-" + id }

// ArtifactRow is an artifact in a list.
type ArtifactRow struct {
	ID, Name, URL, Type, Icon     string
	Size, Hash                    string // "412 MiB", "9f3ac1…"
	Node, NodeURL                 string
	Execution, ExecutionURL       string // "#a1b2c3"
	Workflow                      string
	Created                       ui.Moment
	DownloadURL                   string
	Filename, MediaType, FullHash string
	Current                       bool
}

// KindIcon is the sprite symbol of an artifact or type kind.
func KindIcon(kind string) string {
	switch kind {
	case "Dataset", "FeatureSet":
		return "db"
	case "Model":
		return "box"
	case "Image":
		return "pic"
	case "Table", "Metrics", "Struct", "Map":
		return "table"
	case "Directory":
		return "fold"
	case "HyperparameterSet":
		return "chart"
	case "Date", "DateTime", "DateRange":
		return "cal"
	case "Duration":
		return "clock"
	case "List", "Enum", "Union", "Optional":
		return "menu"
	case "Secret", "Connection":
		return "key"
	case "Integer", "Float", "Boolean", "String", "Text", "JSON":
		return "type"
	}
	return "file"
}
