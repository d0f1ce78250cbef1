package views

import "github.com/flowforge/flowforge/views/forms"

// ExecutionLabels are what users add to an execution.
type ExecutionLabels struct {
	Name    string
	Tags    []string
	Note    string
	EditURL string // "" for those who may not change them
	Form    LabelForm
}

// LabelForm changes the name, the tags and the note of an execution. The values that the form
// showed first distinguish a change from a value that another person changed meanwhile.
type LabelForm struct {
	URL                             string
	Name, Tags, Note                string // commas separate the tags
	NameWas, TagsWas, NoteWas       string // each tag is a line
	NameError, TagsError, NoteError string
}

// LabelsPage is the page of the form.
type LabelsPage struct {
	Page
	Form   LabelForm
	Back   string
	Failed string
}

// ErrorLines are the errors of the form with their fields.
func (f LabelForm) ErrorLines() []forms.ErrorLine {
	var lines []forms.ErrorLine
	for _, l := range []forms.ErrorLine{
		{Target: "label-name", Label: "Name", Text: f.NameError}, {Target: "label-tags", Label: "Tags", Text: f.TagsError}, {Target: "label-note", Label: "Note", Text: f.NoteError},
	} {
		if l.Text != "" {
			lines = append(lines, l)
		}
	}
	return lines
}
