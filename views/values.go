package views

import "github.com/flowforge/flowforge/views/ui"

// Value is an input or output ready to be shown by its type.
type Value struct {
	Name, Type string
	Text       string // one line for people
	URL        string // of the artifact or catalogue entry that it names
	Code       string // several lines: JSON, text
	Missing    string // why there is no value yet: "after evaluate"
	Exact      string // what Text rounds, for the tooltip
	Note       string // "default", "4 KiB"
	Artifact   string // id of the artifact that it refers to
	Via        string // how it comes to its node: "from train.model, LOCAL_DISK: same machine, 1.2 GiB, no copy"
}

// ExecutionRow is an execution in a list.
type ExecutionRow struct {
	ID, Short, URL string // full id, "#a1b2c3", page
	State          string
	Title          string // the workflow, or the execution's own name
	Version        string
	Flow           string    // "digits.train 1.0.0", without the name where Title is that
	Sub            string    // what matters most: the failure, what runs, why it waits
	Inputs         []ui.Fact // those in which it differs from others of its workflow
	Results        []ui.Fact // the first outputs
	By             string
	Started        ui.Moment
	Took           string // duration so far or in all
	Since          string // RFC 3339 start while it runs: the figure counts on by itself
	Bar            ui.Bar
	RelaunchURL    string
	WorkflowURL    string
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
	case "Secret":
		return "key"
	case "Integer", "Float", "Boolean", "String", "Text", "JSON":
		return "type"
	}
	return "file"
}
