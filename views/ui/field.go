package ui

import (
	"strings"

	"github.com/a-h/templ"
)

// FormField is the label, the help and the error of one control of a form.
type FormField struct {
	ID       string // of the control
	Label    string
	Help     string // "" for none
	Error    string // "" for none
	Optional bool
	// Attributes are those of the frame, such as the data that a script reads.
	Attributes templ.Attributes
}

// Control returns the attributes of the control: its ID, what describes it, and whether its value is
// invalid.
func (f FormField) Control() templ.Attributes {
	a := templ.Attributes{"id": f.ID}
	var described []string
	if f.Help != "" {
		described = append(described, f.ID+"-help")
	}
	if f.Error != "" {
		described = append(described, f.ID+"-error")
		a["aria-invalid"] = "true"
	}
	if len(described) > 0 {
		a["aria-describedby"] = strings.Join(described, " ")
	}
	return a
}
