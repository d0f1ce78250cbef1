package contract

// VersionDiffBody is what changed from one version of a workflow to another.
type VersionDiffBody struct {
	WorkflowName string        `json:"workflow_name"`
	From         string        `json:"from" doc:"Earlier version"`
	To           string        `json:"to"`
	Breaking     bool          `json:"breaking" doc:"True if launches or callers of the earlier version can fail"`
	Changes      []DiffChange  `json:"changes"`
	Files        []ChangedFile `json:"files" doc:"Files that differ between the code packages"`
	Notes        []string      `json:"notes,omitempty" doc:"Notes about what was not compared"`
}

// DiffChange is one difference between two definitions.
type DiffChange struct {
	Section string       `json:"section" enum:"inputs,outputs,operators,settings"`
	Name    string       `json:"name" doc:"Name of the input, output, operator (graph/operator in graphs) or setting"`
	Change  string       `json:"change" enum:"added,removed,changed"`
	Breaks  string       `json:"breaks,omitempty" doc:"Reason why callers of the earlier version fail"`
	Details []DiffDetail `json:"details,omitempty"`
}

// DiffDetail is a property that differs.
type DiffDetail struct {
	Path   string `json:"path" doc:"Path of the value, such as resources.memory"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	Patch  string `json:"patch,omitempty" doc:"Unified diff body, for code and multi-line values"`
}

// ChangedFile is a file that differs.
type ChangedFile struct {
	Name    string `json:"name"`
	Change  string `json:"change" enum:"added,removed,changed"`
	Added   int    `json:"lines_added"`
	Removed int    `json:"lines_removed"`
	Patch   string `json:"patch,omitempty" doc:"Unified diff body"`
	Note    string `json:"note,omitempty" doc:"Reason why there is no patch"`
}
