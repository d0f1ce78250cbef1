package views

import (
	"github.com/flowforge/flowforge/views/forms"
	"github.com/flowforge/flowforge/views/ui"
)

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

func (f LabelForm) name() ui.FormField {
	return ui.FormField{ID: "label-name", Label: "Name", Error: f.NameError, Optional: true}
}

func (f LabelForm) tags() ui.FormField {
	return ui.FormField{ID: "label-tags", Label: "Tags", Help: "Separate tags with commas.", Error: f.TagsError, Optional: true}
}

func (f LabelForm) note() ui.FormField {
	return ui.FormField{ID: "label-note", Label: "Note", Error: f.NoteError, Optional: true}
}

// ErrorLines are the errors of the form with their fields.
func (f LabelForm) ErrorLines() []forms.ErrorLine {
	var lines []forms.ErrorLine
	for _, field := range []ui.FormField{f.name(), f.tags(), f.note()} {
		if field.Error != "" {
			lines = append(lines, forms.ErrorLine{Target: field.ID, Label: field.Label, Text: field.Error})
		}
	}
	return lines
}
