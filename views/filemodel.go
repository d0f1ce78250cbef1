package views

import "github.com/flowforge/flowforge/views/ui"

// ModelView is what a file of a model states.
type ModelView struct {
	Warning    string   // loading it runs code
	Commands   []string // names that can run commands
	Problem    string
	Facts      []ui.Fact
	Inputs     [][2]string // name and type
	Outputs    [][2]string
	Operators  []ui.Fact // with counts
	Attributes []ui.Fact
	Metadata   []ui.Fact
	Names      []string // that loading imports

	Search   PreviewForm
	Text     string // of the search
	ClearURL string
	Tensors  []TensorRow
	Empty    string // why no tensor is listed; "": there are none
	Pager    ui.Pager
}

// TensorRow is a tensor of a model.
type TensorRow struct{ Name, DType, Shape, Size string }

// NotebookView is a part of a notebook.
type NotebookView struct {
	Kernel string
	Cells  []NotebookCell
	Pager  ui.Pager
}

// NotebookCell is a cell: Markdown as HTML, or source code.
type NotebookCell struct {
	Label   string // "Cell 3, code"
	Prompt  string // "In [4]"
	HTML    string // sanitised
	Source  *Source
	Text    string // of a raw cell
	Outputs []NotebookOutput
	Note    string
}

// NotebookOutput is an output: text, error, image, table or html.
type NotebookOutput struct {
	Kind  string
	Text  string
	Image string // data URL
	Alt   string
	HTML  string // of a table, sanitised
	Frame string // address of the sandboxed HTML
	Error bool   // written to stderr
	Note  string
}
