package views

import (
	"net/url"
	"strings"

	"github.com/flowforge/flowforge/views/ui"
)

// Schedules is the list of schedules.
type Schedules struct {
	Page
	Workflow   string // "": of all workflows
	Query      string
	States     []ui.Option
	Filtered   bool
	Total      int // of the project, without the filters
	Facts      []ui.Fact
	NewURL     string
	Back       string // the query of the page, for commands
	Changeable bool   // the reader may change a schedule of the page
	Failed     string // why a command was refused, or ""
	Rows       []ScheduleRow
	Pager      ui.Pager
}

// ScheduleRow is a schedule in the list.
type ScheduleRow struct {
	ID, Name, URL     string
	Workflow, Version string
	When, Zone        string
	Expression        string           // "" where When is the expression
	Next, NextUTC     string           // "" when it does not run any more; NextUTC also where Zone is UTC
	In                string           // "in 10 h 48 min"
	Late, Latest      ScheduleLateness // the median and the largest of the recent runs
	Strip             ScheduleStrip
	Paused            bool
	Message           string // why it is paused
	Problem           string // why the server could not process it
	Owner             string
	MayChange         bool
	Declared          bool // by the definition of the workflow
}

// ScheduleStrip draws the last occurrences, oldest first.
type ScheduleStrip struct {
	Label string // in words; "" without occurrences
	Bars  []ScheduleBar
}

// ScheduleBar is an occurrence, with its place in the strip. URL is its execution, or "".
type ScheduleBar struct{ State, X, Y, Height, Cut, Title, URL string }

// ScheduleLateness is how late runs were; the text is "" without any.
type ScheduleLateness struct {
	Text string
	Late bool
}

// Schedule is the page of a schedule.
type Schedule struct {
	Page
	Row           ScheduleRow
	WorkflowURL   string
	Facts         []ui.Fact
	Inputs        string // JSON
	Declared      bool   // by a definition: it cannot be edited here
	DefinitionURL string // of Declared
	Fires         []ScheduleFire
	Occurrences   []ScheduleOccurrence
	Pager         ui.Pager
	MissedChoice  bool   // resuming can treat what was missed
	Failed        string // why a command was refused, or ""
}

// ScheduleFire is a coming run. Change is what the zone changes to before it.
type ScheduleFire struct {
	N, At, Zone, UTC, Why, Change string
	Excluded                      bool // there is no run at this time: Why says what excludes it
}

// ScheduleOccurrence is a run and the outcome of it.
type ScheduleOccurrence struct {
	At         ui.Moment
	Fires      string // "3 runs until 12:00", or ""
	State      string // the icon
	Word       string
	Execution  string // "" without one
	URL        string
	Started    ui.Moment
	Took, Note string
}

// SchedulesURL lists schedules.
func SchedulesURL(q url.Values) string { return withQuery("/schedules", q) }

// BulkSchedulesURL pauses or resumes many schedules.
func BulkSchedulesURL() string { return "/schedules/bulk" }

// ScheduleURL is the page of a schedule.
func ScheduleURL(id string) string { return "/schedules/" + id }

// SchedulePartURL is a form or command of a schedule.
func SchedulePartURL(id, part string) string { return ScheduleURL(id) + "/" + part }

// scheduleToggle is the switch of a schedule in the list with the query back.
func scheduleToggle(r ScheduleRow, back string) ListSwitch {
	s := ListSwitch{
		Name: "Schedule " + r.Name, Title: "Pause " + r.Name, URL: SchedulePartURL(r.ID, "pause"), On: !r.Paused,
		Hidden: [][2]string{{"back", "list"}, {"query", back}},
	}
	if r.Paused {
		s.Title, s.URL = "Resume "+r.Name, SchedulePartURL(r.ID, "resume")
	}
	return s
}

// joinedBy joins the texts that are not empty.
func joinedBy(separator string, texts ...string) string {
	var parts []string
	for _, t := range texts {
		if t != "" {
			parts = append(parts, t)
		}
	}
	return strings.Join(parts, separator)
}

// firesTitle is the title of the coming runs.
func (m Schedule) firesTitle() string {
	if m.Row.Paused {
		return "Next runs if resumed"
	}
	return "Next runs"
}
