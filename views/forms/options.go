package forms

import (
	"fmt"
	"strings"

	"github.com/flowforge/flowforge/typeregistry"
)

// OptionItem is an option of an input in a list.
type OptionItem struct {
	Value       string // of the control
	Label       string // "" for the value alone
	Description string
	Preview     []OptionFact
}

// OptionFact helps to choose an option.
type OptionFact struct{ Name, Value string }

// OptionPage is a page of options.
type OptionPage struct {
	Items   []OptionItem
	Query   string
	After   string // of the page before; "" is the first page
	Next    string // "" is the last page
	Age     string // "Options from 12 minutes ago."; "" for options that are not kept
	Kept    bool   // the server keeps the list, so users can refresh it
	Waits   bool   // newer options are on the way, so the list is worth another request
	Note    string
	Free    bool
	Failure string     // why there are no options, a sentence
	Run     *OptionRun // that failed to list options
}

// OptionRun links to an execution that lists options.
type OptionRun struct{ Name, URL string }

// offers reports whether the control has options of its own source.
func (c Control) offers() bool { return c.source != nil && !c.grouped() }

// sourceControl is the control of a value with a source of options.
type sourceControl struct{ c Control }

// OptionsURL lists the options of the control for scripts; "" without a script.
func (s sourceControl) OptionsURL() string { return s.c.form.cfg.Options }

// reads are the names of the controls that the options depend on.
func (s sourceControl) reads() string {
	part, ok := s.c.form.cfg.Schema.SourceAt(s.c.from)
	if !ok {
		return ""
	}
	names := s.c.form.cfg.Schema.SourceReads(part)
	for i, name := range names {
		names[i] = Prefix + "." + name
	}
	return strings.Join(names, " ")
}

// listed are the options of a list in the schema, for browsers without scripts.
func (s sourceControl) listed() []OptionItem {
	out := make([]OptionItem, 0, len(s.c.source.Values))
	for _, v := range s.c.source.Values {
		out = append(out, OptionItem{Value: optionText(v.Value), Label: v.Label, Description: v.Description})
	}
	return out
}

// chosen is the option of the schema's list that the control has.
func (s sourceControl) chosen() OptionItem {
	for _, o := range s.listed() {
		if o.Value == s.c.Value() {
			return o
		}
	}
	return OptionItem{}
}

// title is the label of an option, else its value.
func (o OptionItem) title() string {
	if o.Label != "" {
		return o.Label
	}
	return o.Value
}

// about is what users read below a control that has the option.
func (o OptionItem) about() string {
	parts := []string{}
	for _, part := range []string{o.Label, o.Description} {
		if part != "" && part != o.Value {
			parts = append(parts, part)
		}
	}
	for _, f := range o.Preview {
		parts = append(parts, f.Name+" "+f.Value)
	}
	return strings.Join(parts, " · ")
}

// counted describes how many options a page adds, for screen readers.
func (p OptionPage) counted() string {
	n := fmt.Sprint(len(p.Items))
	switch {
	case p.Next != "" && p.After != "":
		return n + " further options, and more."
	case p.Next != "":
		return "The first " + n + " options."
	case len(p.Items) == 1:
		return "1 option."
	}
	return n + " options."
}

// none is what an empty list says.
func (p OptionPage) none() string {
	switch {
	case p.Query != "" && p.Free:
		return "No option matches “" + p.Query + "”. You can use it all the same."
	case p.Query != "":
		return "No option matches “" + p.Query + "”."
	}
	return "There are no options now."
}

func joinPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// OptionValue is the text of a control for the value of an option.
func OptionValue(v any) string { return optionText(typeregistry.Plain(v)) }
