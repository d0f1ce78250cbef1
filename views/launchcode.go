package views

import (
	"fmt"
	"strings"

	"github.com/flowforge/flowforge/views/forms"
)

// LaunchTextID is the ID of the text area of the YAML view.
const LaunchTextID = "launch-yaml"

// LaunchCode is a launch as text.
type LaunchCode struct {
	View     string            // LaunchYAML, LaunchPython, LaunchCommand, or "" for the form
	Text     string            // of the YAML view
	Problems []forms.ErrorLine // in the YAML view, by line
	Samples  []CodeSample
	Refused  bool // the values have errors, so the samples would be refused
}

// CodeSample is a launch in one language.
type CodeSample struct {
	ID, Title, Note, Text string
}

// rows is the height of the text area.
func (c LaunchCode) rows() string {
	return fmt.Sprint(min(max(strings.Count(c.Text, "\n")+2, 12), 40))
}

// numbers are the line numbers next to the text.
func (c LaunchCode) numbers() string {
	var b strings.Builder
	for i := range strings.Count(c.Text, "\n") + 1 {
		fmt.Fprintf(&b, "%d\n", i+1)
	}
	return b.String()
}

// yamlText is a problem with its line.
func yamlText(l forms.ErrorLine) string {
	text := fmt.Sprintf("Line %d: ", l.Line)
	if l.Label != "" {
		text += l.Label + ": "
	}
	return text + l.Text
}
