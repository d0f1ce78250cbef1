package views

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/views/forms"
	"github.com/flowforge/flowforge/views/ui"
)

// SchedulePrefix begins the names of the controls of a schedule.
const SchedulePrefix = "schedule."

// The kinds of times of a schedule, the repetition that is typed, and the value of an input that is
// a text with times.
const (
	ScheduleCron   = "cron"
	ScheduleEvery  = "every"
	ScheduleAt     = "at"
	ScheduleCustom = "custom"
	ScheduleText   = "text"
)

// ScheduleJSON is the view of the form in which the inputs are JSON.
const ScheduleJSON = "json"

// ScheduleForm is the form of a schedule: a new one, or one that exists.
type ScheduleForm struct {
	Page

	Heading   string
	Launch    LaunchPage // the inputs: sections, or JSON with the view ScheduleJSON
	JSON      string     // the inputs in the view ScheduleJSON
	ID        string     // "" for a new one
	Paused    bool       // a schedule that exists
	Action    string
	Cancel    string // the page to leave for
	ChangeURL string // to choose another workflow; "" for a schedule that exists
	Versions  []ui.Option
	Values    url.Values
	Options   map[string][]ui.Option // of selects and radio buttons, by control
	Days      []ui.Option
	Zones     []string
	Advanced  bool // the rules start expanded
	Errors    map[string]string
	Preview   ScheduleFormPreview
	Tags      []ScheduleTag
}

// ScheduleFormPreview says when a schedule runs, while people type.
type ScheduleFormPreview struct {
	Words       string // "Every day at 02:00"
	Note        string // "Berlin time"; or how the expression is written
	Expression  string
	Tone        string // of the summary: "ok", "wait" or "no"
	Summary     string
	Verdicts    []Verdict
	Fires       []ScheduleFire
	NoneBecause string // why there are no runs
}

// ScheduleTag gives an input the times of a run.
type ScheduleTag struct {
	Path, Label string
	Choices     []ui.Option
	Text        string // of ScheduleText
	Sample      string // the value at the next run, "" if unknown
}

func (f ScheduleTag) name(part string) string { return SchedulePrefix + part + "." + f.Path }

// id escapes the dots of a path, because selectors give them a meaning.
func (f ScheduleTag) id(part string) string {
	return "schedule-" + part + "-" + strings.ReplaceAll(f.Path, ".", "~2e")
}

// scheduleID is the id of a control.
func scheduleID(name string) string { return "schedule-" + strings.ReplaceAll(name, "_", "-") }

// ScheduleControlID is the id of the control with a name, for the error summary.
func ScheduleControlID(name string) string { return scheduleID(name) }

func (m ScheduleForm) value(name string) string { return m.Values.Get(SchedulePrefix + name) }

// attrs describes a control: its id, its name and its error.
func (m ScheduleForm) attrs(name, help string) templ.Attributes {
	a := templ.Attributes{"id": scheduleID(name), "name": SchedulePrefix + name}
	if by := described(scheduleID(name), help, m.Errors[name]); by != "" {
		a["aria-describedby"] = by
	}
	if m.Errors[name] != "" {
		a["aria-invalid"] = "true"
	}
	return a
}

func (p ScheduleFormPreview) state() string { return verdictIcon(p.Tone) }

// errorLines links the errors to their controls.
func (m ScheduleForm) errorLines() []forms.ErrorLine { return m.Launch.ErrorLines }

// segment is a choice of radio buttons.
func (m ScheduleForm) segment(name string) []ui.Option { return m.Options[name] }

// scheduleMomentType is the type of a control for a local time: a text for what is none.
func scheduleMomentType(value string) string {
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05"} {
		if _, err := time.Parse(layout, value); err == nil || value == "" {
			return "datetime-local"
		}
	}
	return "text"
}

// excludes reports whether the form excludes days or times, or has an error there.
func (m ScheduleForm) excludes() bool {
	for _, name := range []string{"calendar", "business_days", "exclude"} {
		if m.value(name) != "" || m.Errors[name] != "" {
			return true
		}
	}
	return false
}

// hasTags reports whether an input can take the times of a run.
func (m ScheduleForm) hasTags() bool { return len(m.Tags) > 0 && m.Launch.View == LaunchForm }

// zones are those that the form offers, and the one that it has.
func (m ScheduleForm) zones() []string {
	zone := m.value("timezone")
	if zone == "" || slices.Contains(m.Zones, zone) {
		return m.Zones
	}
	return append([]string{zone}, m.Zones...)
}

// NewScheduleURL chooses the workflow of a new schedule.
func NewScheduleURL() string { return "/schedules/new" }

// ScheduleWorkflowURL is the form of a new schedule of a workflow.
func ScheduleWorkflowURL(ref string) string { return WorkflowURL(ref) + "/schedule" }

// EditScheduleURL is the form of a schedule that exists.
func EditScheduleURL(id string) string { return SchedulePartURL(id, "edit") }
