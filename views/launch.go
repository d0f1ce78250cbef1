package views

import (
	"net/url"
	"slices"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/views/forms"
	"github.com/flowforge/flowforge/views/ui"
)

// TypeaheadURL completes references of the launch form; a path below it previews them.
func TypeaheadURL() string { return "/typeahead" }

// UploadsURL accepts background uploads by POST.
func UploadsURL() string { return "/uploads" }

// The views of the launch form.
const (
	LaunchForm    = "form"
	LaunchYAML    = "yaml"
	LaunchPython  = "python"
	LaunchCommand = "cli"
)

// LaunchPage is the generated form that launches a workflow.
type LaunchPage struct {
	Page
	Workflow LaunchWorkflow
	View     string // LaunchForm, LaunchYAML, LaunchPython or LaunchCommand
	Key      string // idempotency key of this form: submitting it twice launches once
	Form     *forms.Form
	Carried  url.Values // in LaunchPython and LaunchCommand, the values of the form

	From       string // id of the execution from which values were copied, or ""
	Name       string // of the execution, optional
	Priorities []ui.Option
	Options    LaunchOptions

	Develop    *Develop          // the version that the reader develops, nil on other forms
	Origin     *Provenance       // origin of the values, nil for defaults
	Failed     string            // heading of the error summary, "" without errors
	ErrorLines []forms.ErrorLine // lines of the error summary
	Check      LaunchCheck
	Recent     []RecentInputs
	Presets    PresetPanel

	Sweep *LaunchSweep // the form launches a sweep; nil: one execution
	Kept  url.Values   // controls of the other form, so that switching loses nothing
}

// action is the address that takes the form.
func (p LaunchPage) action() string {
	if p.Sweep != nil {
		return SweepLaunchURL(p.Workflow.ID)
	}
	return LaunchURL(p.Workflow.ID)
}

// address is that of the form for users.
func (p LaunchPage) address() string {
	if p.Sweep != nil {
		return SweepLaunchURL(p.Workflow.Ref)
	}
	return LaunchURL(p.Workflow.Ref)
}

// Develop is the version that the reader develops. The form reloads when it changes.
type Develop struct {
	Version   string
	Saved     ui.Moment
	StreamURL string
}

// LaunchWorkflow is the head of the page.
type LaunchWorkflow struct {
	ID       string // explicit target project, because another page may switch the current project
	Ref      string // name used in links
	Name     string
	Lead     string // "Trains a network. 9 nodes."
	Version  string
	Versions []ui.Option
}

// Provenance is the origin of the values of the form.
type Provenance struct {
	Kind         string // of the notice: "" or "warn"
	From         string // "From execution 0192…", "From a link"
	URL          string // of that execution, or ""
	Text         string
	Incompatible []forms.ErrorLine // values that were left out
	Default      string            // whether values differ from the defaults; true until one changes
	Differs      []forms.ErrorLine // fields with non-default values
	Focus        bool              // the notice answers a press of a button elsewhere on the page
	Reset        string            // URL of the form with the defaults
}

// LaunchCheck is the content of the panel next to the form.
type LaunchCheck struct {
	Verdicts []Verdict
	Choices  []Verdict // alternatives that would start sooner
	Facts    []ui.Fact // estimated start, end and usage
	Ready    bool
	Waits    bool   // valid, but would wait for capacity
	Never    bool   // it cannot run on this cluster
	Summary  string // one line for the bar: "Fits now", "Would wait about 12 min"
	Link     string // URL of the form with these values
	Code     LaunchCode
	States   string // what the rules of fields say about the values, as JSON; "" without rules
}

// Verdict is one statement of the check. Tone is "ok", "wait", "warn" or "no".
type Verdict struct {
	Tone, Strong, Text string
	Links              []forms.ErrorLine
}

// RecentInputs is an earlier execution whose inputs can be reused.
type RecentInputs struct {
	URL   string
	Label string
	State string
	Note  string
	When  ui.Moment
}

// focus moves the focus to the notice.
func (p Provenance) focus() templ.Attributes {
	if !p.Focus {
		return nil
	}
	return templ.Attributes{"tabindex": "-1", "autofocus": true}
}

// verdictIcon is the state symbol of a tone.
func verdictIcon(tone string) string {
	switch tone {
	case "ok":
		return "SUCCEEDED"
	case "no":
		return "FAILED"
	case "warn":
		return "warn"
	}
	return "READY"
}

// sections are the cards of the form.
func (p LaunchPage) sections() []forms.Section { return p.Form.Sections() }

// carried lists the names of the hidden values in a fixed order.
func carried(values url.Values) []string {
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (p LaunchPage) tab(view string) bool { return p.View == view }

// isEmpty reports whether the workflow has no inputs.
func (p LaunchPage) isEmpty() bool { return len(p.Form.Controls()) == 0 }

// state is the state symbol in the launch bar.
func (c LaunchCheck) state() string {
	switch {
	case c.Never || !c.Ready:
		return "FAILED"
	case !c.Waits:
		return "SUCCEEDED"
	}
	return "READY"
}
