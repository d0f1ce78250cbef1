package views

import (
	"net/url"
	"slices"

	"github.com/flowforge/flowforge/views/forms"
	"github.com/flowforge/flowforge/views/ui"
)

// TypeaheadURL completes references of the launch form, and below it previews them.
func TypeaheadURL() string { return "/typeahead" }

// UploadsURL takes files in the background by POST.
func UploadsURL() string { return "/uploads" }

// The views of the launch form.
const (
	LaunchForm    = "form"
	LaunchJSON    = "json"
	LaunchCommand = "cli"
)

// LaunchPage is the generated form that launches a workflow.
type LaunchPage struct {
	Page
	Workflow LaunchWorkflow
	View     string // LaunchForm, LaunchJSON or LaunchCommand
	Key      string // of this rendered form: the same one twice launches once
	Form     *forms.Form
	JSON     string     // in LaunchJSON, what is in the text area
	Command  string     // in LaunchCommand, the same launch from a shell
	Carried  url.Values // in LaunchCommand, the values of the form

	From       string // id of the execution that the values came from, "" for none
	Name       string // of the execution, optional
	Priorities []ui.Option
	Options    LaunchOptions

	Came     *Provenance     // where the values came from, nil for the defaults
	Failed   string          // heading of the error summary, "" when nothing failed
	Troubles []forms.Trouble // lines of the error summary
	Check    LaunchCheck
	Recent   []RecentInputs
}

// LaunchWorkflow is the head of the page.
type LaunchWorkflow struct {
	ID       string // where the form is sent, whatever project another page goes to meanwhile
	Ref      string // what links name it by
	Name     string
	Lead     string // "Trains a network. 9 nodes."
	Version  string
	Versions []ui.Option
}

// Provenance says where the values of the form came from.
type Provenance struct {
	Kind    string // of the notice: "" or "warn"
	From    string // "From execution 0192…", "From a link"
	URL     string // of that execution, "" when there is none
	Text    string
	Differs []forms.Trouble // fields that are not at their defaults
	Reset   string          // URL of the form with the defaults
}

// LaunchCheck is what the panel beside the form says.
type LaunchCheck struct {
	Verdicts []Verdict
	Choices  []Verdict // other ways to run what would wait
	Facts    []ui.Fact // when it starts and ends, what it uses
	Ready    bool
	Waits    bool   // it is ready, and would wait for room
	Never    bool   // it can never start
	Summary  string // one line for the bar: "Fits now", "Would wait about 12 min"
	Link     string // URL of the form with these values
}

// Verdict is one statement of the check. Tone is "ok", "wait" or "no".
type Verdict struct {
	Tone, Strong, Text string
	Links              []forms.Trouble
}

// RecentInputs is an earlier execution whose inputs can be taken over.
type RecentInputs struct {
	URL   string
	Label string
	State string
	Note  string
	When  ui.Moment
}

// verdictIcon is the state symbol of a tone.
func verdictIcon(tone string) string {
	switch tone {
	case "ok":
		return "SUCCEEDED"
	case "no":
		return "FAILED"
	}
	return "READY"
}

// sections are the cards of the form.
func (p LaunchPage) sections() []forms.Section { return p.Form.Sections() }

// carried lists the names of the values that travel along unseen, in a fixed order.
func carried(values url.Values) []string {
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (p LaunchPage) tab(view string) bool { return p.View == view }

// isEmpty reports whether the workflow asks for nothing.
func (p LaunchPage) isEmpty() bool { return len(p.Form.Controls()) == 0 }

// state is the state symbol of the verdict in the bar.
func (c LaunchCheck) state() string {
	switch {
	case c.Never:
		return "FAILED"
	case c.Ready && !c.Waits:
		return "SUCCEEDED"
	}
	return "READY"
}
