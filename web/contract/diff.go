package contract

// VersionDiffBody is what changed from one version of a workflow to another.
type VersionDiffBody struct {
	WorkflowName string        `json:"workflow_name"`
	From         string        `json:"from" doc:"The earlier version"`
	To           string        `json:"to"`
	Breaking     bool          `json:"breaking" doc:"Launches or callers of the earlier version can fail"`
	Changes      []DiffChange  `json:"changes"`
	Files        []ChangedFile `json:"files" doc:"Files of the code packages that differ"`
	Notes        []string      `json:"notes,omitempty" doc:"What was not compared"`
}

// DiffChange is one difference between two definitions.
type DiffChange struct {
	Section string       `json:"section" enum:"inputs,outputs,operators,settings"`
	Name    string       `json:"name" doc:"Of the input, the output, the operator (graph/operator in graphs) or the setting"`
	Change  string       `json:"change" enum:"added,removed,changed"`
	Breaks  string       `json:"breaks,omitempty" doc:"Why callers of the earlier version fail"`
	Details []DiffDetail `json:"details,omitempty"`
}

// DiffDetail is a property that differs.
type DiffDetail struct {
	Path   string `json:"path" doc:"Such as resources.memory"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	Patch  string `json:"patch,omitempty" doc:"Of a value with several lines, and of code: the body of a unified diff"`
}

// ChangedFile is a file that differs.
type ChangedFile struct {
	Name    string `json:"name"`
	Change  string `json:"change" enum:"added,removed,changed"`
	Added   int    `json:"lines_added"`
	Removed int    `json:"lines_removed"`
	Patch   string `json:"patch,omitempty" doc:"The body of a unified diff"`
	Note    string `json:"note,omitempty" doc:"Why there is no patch"`
}
