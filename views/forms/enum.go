package forms

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/a-h/templ"
)

// Limits for radio buttons and selects; more options need a search.
const (
	segmentedOptions = 4
	selectOptions    = 11
	segmentedLetters = 48 // together: longer labels do not fit in one row
	compactLetters   = 18 // in a member of a struct
)

// enumControl is the control of an Enum.
type enumControl struct{ c Control }

// Option is one entry of a choice.
type Option struct {
	Value    string
	Label    string
	ID       string
	Selected bool
}

// Options are the options of an Enum. A value that is not among them (a typing error in a
// link, an option of an older version) is listed too, so that it is not lost.
func (e enumControl) Options() []Option {
	value, known := e.c.Value(), e.c.Value() == ""
	out := make([]Option, 0, len(e.c.Type.Params.Options)+1)
	for i, o := range e.c.Type.Params.Options {
		text := optionText(o.Value)
		label := o.Label
		if label == "" {
			label = text
		}
		known = known || text == value
		out = append(out, Option{Value: text, Label: label, ID: fmt.Sprintf("%s-%d", e.c.ID(), i+1), Selected: text == value})
	}
	if !known {
		out = append(out, Option{Value: value, Label: value + " (not an option)", ID: e.c.ID() + "-other", Selected: true})
	}
	return out
}

// optionText is how a form submits the value of an option.
func optionText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

// Segmented reports whether the options are a row of radio buttons.
func (e enumControl) Segmented() bool {
	letters := 0
	options := e.Options()
	for _, o := range options {
		letters += len([]rune(o.Label)) + 3
	}
	if e.c.Widget == "select" || e.c.Bare {
		return false
	}
	if e.c.Compact && letters > compactLetters {
		return e.c.Widget == "radio"
	}
	return e.c.Widget == "radio" || len(options) <= segmentedOptions && letters <= segmentedLetters
}

// Searched reports whether there are so many options that the select needs a search.
func (e enumControl) Searched() bool { return len(e.c.Type.Params.Options) > selectOptions }

// radio returns the attributes of the radio button of o.
func (e enumControl) radio(o Option) templ.Attributes {
	a := templ.Attributes{"id": o.ID, "name": e.c.Name, "value": o.Value}
	if e.c.focused() && (o.Selected || e.c.Value() == "" && strings.HasSuffix(o.ID, "-1")) {
		a["autofocus"] = true
	}
	return a
}

// OptionLabel is the label of the selected option.
func (e enumControl) OptionLabel() string {
	for _, o := range e.Options() {
		if o.Selected {
			return o.Label
		}
	}
	return e.c.Value()
}

// excluded reports whether the rules of a choice exclude an option with the values of the form.
// The chosen option stays visible with its message.
func (e enumControl) excluded(o Option) bool {
	return e.c.state.Options != nil && !o.Selected &&
		!slices.ContainsFunc(e.c.state.Options, func(v any) bool { return optionText(v) == o.Value })
}
