package views

import (
	"net/url"

	"github.com/flowforge/flowforge/views/forms"
	"github.com/flowforge/flowforge/views/ui"
)

// ExecutionLabels are what users add to an execution.
type ExecutionLabels struct {
	Name    string
	Tags    []string
	Note    string
	Short   string // ID of the execution
	EditURL string // "" for those who may not change them
	Form    LabelForm
}

// tagsText is the text of the link that edits the tags; "" beside tags.
func (l ExecutionLabels) tagsText() string {
	if len(l.Tags) > 0 {
		return ""
	}
	return "Add tags"
}

// The labels of an execution that are edited where they are shown.
const (
	LabelName = "name"
	LabelTags = "tags"
	LabelNote = "note"
)

// LabelEditor edits one label in place.
type LabelEditor struct {
	LabelForm

	Label string // such as LabelNote
}

// heading is the name of the dialog around the field.
func (e LabelEditor) heading() string {
	return map[string]string{LabelName: "Name of the execution", LabelTags: "Tags of the execution", LabelNote: "Note about the execution"}[e.Label]
}

// field is the only field of the editor. It has no label text of its own: the dialog has.
func (e LabelEditor) field() ui.FormField {
	f := map[string]ui.FormField{LabelName: e.name(), LabelTags: e.tags(), LabelNote: e.note()}[e.Label]
	f.ID = "edit-" + f.ID
	return f
}

// labelLink opens the editor of a label. Without a script it leads to the form at the field.
type labelLink struct {
	URL, Label, Short string // Short is of the execution
	Text              string // "" for a symbol alone
}

func (l labelLink) href() string { return l.URL + "#label-" + l.Label }

// editor is the URL of the editor.
func (l labelLink) editor() string { return l.URL + "?" + url.Values{"field": {l.Label}}.Encode() }

func (l labelLink) name() string {
	if l.Text != "" {
		return l.Text + " to " + l.Short
	}
	return map[string]string{LabelName: "Rename ", LabelTags: "Edit the tags of ", LabelNote: "Edit the note of "}[l.Label] + l.Short
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
