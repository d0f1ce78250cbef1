package table

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/flowforge/flowforge/data/index"
)

// Notebook is the format of a Jupyter notebook, which reads the executions of a query again.
const Notebook = "ipynb"

// notebook and cell are the parts of nbformat 4.5 that the export needs
// (https://nbformat.readthedocs.io/en/latest/format_description.html).
type notebook struct {
	Cells    []notebookCell `json:"cells"`
	Metadata map[string]any `json:"metadata"`
	Format   int            `json:"nbformat"`
	Minor    int            `json:"nbformat_minor"`
}

type notebookCell struct {
	ID       string          `json:"id"`
	Type     string          `json:"cell_type"`
	Metadata map[string]any  `json:"metadata"`
	Source   string          `json:"source"`
	Outputs  *[]any          `json:"outputs,omitempty"`
	Count    json.RawMessage `json:"execution_count,omitempty"`
}

// NotebookOf returns a notebook that reads the executions of a query into a DataFrame and draws its
// numbers. It contains the query, not the executions, and no credentials. server is the address of this site, project the ID of a project or "" for the user's own.
func NotebookOf(q index.Query, server, project string) (json.RawMessage, error) {
	var code strings.Builder
	code.WriteString("import flowforge\n\nruns = flowforge.executions(\n")
	argument := func(name string, value any) error {
		text, err := json.Marshal(value) // a literal of JSON is one of Python, too: texts and lists of texts
		fmt.Fprintf(&code, "    %s=%s,\n", name, text)
		return err
	}
	var err error
	for _, a := range []struct{ name, value string }{{"where", q.Where}, {"sort", q.Sort}} {
		if a.value != "" && err == nil {
			err = argument(a.name, a.value)
		}
	}
	if len(q.Columns) > 0 && err == nil {
		columns := make([]string, len(q.Columns))
		for i, entry := range q.Columns {
			columns[i] = index.ColumnName(entry)
		}
		err = argument("columns", columns)
	}
	if err != nil {
		return nil, fmt.Errorf("write the query of a notebook: %w", err)
	}
	code.WriteString("    limit=1000,\n)\nruns")
	address, err := json.Marshal(server)
	if err != nil {
		return nil, fmt.Errorf("write the address of a notebook: %w", err)
	}
	setup := "import os\n\nos.environ.setdefault(\"FLOWFORGE_SERVER\", " + string(address) + ")"
	if project != "" {
		setup += "\nos.environ.setdefault(\"FLOWFORGE_PROJECT\", \"" + project + "\")"
	}
	markdown := func(id, text string) notebookCell {
		return notebookCell{ID: id, Type: "markdown", Metadata: map[string]any{}, Source: text}
	}
	python := func(id, text string) notebookCell {
		return notebookCell{ID: id, Type: "code", Metadata: map[string]any{}, Source: text, Outputs: &[]any{}, Count: json.RawMessage("null")}
	}
	n := notebook{Format: 4, Minor: 5, Metadata: map[string]any{
		"kernelspec":    map[string]any{"display_name": "Python 3", "language": "python", "name": "python3"},
		"language_info": map[string]any{"name": "python"},
	}, Cells: []notebookCell{
		markdown("intro", "# Executions\n\nThis notebook reads a query of executions from FlowForge. It needs the package `flowforge`, which the server serves below `/sdk`, "+
			"with `pandas` and `matplotlib`, and an API key in the environment variable `FLOWFORGE_TOKEN`."),
		python("server", setup),
		python("runs", code.String()),
		markdown("charts", "## Distributions\n\nA histogram of each column of numbers:"),
		python("histograms", "numbers = runs.select_dtypes(\"number\")\nif not numbers.empty:\n    numbers.hist(figsize=(12, 8))"),
		markdown("one", "## One execution\n\n`flowforge.Run(ID)` has the outputs, metrics, logs and artifacts of an execution."),
		python("best", "if len(runs):\n    run = flowforge.Run(runs.iloc[0][\"execution_id\"])\n    display(run)"),
	}}
	text, err := json.MarshalIndent(n, "", " ")
	if err != nil {
		return nil, fmt.Errorf("write a notebook: %w", err)
	}
	return text, nil
}
