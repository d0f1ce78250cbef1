package views

import (
	"net/url"

	"github.com/flowforge/flowforge/views/ui"
)

// Schedules is the list of schedules.
type Schedules struct {
	Page
	Workflow string // "": of all workflows
	Rows     []ScheduleRow
	Pager    ui.Pager
}

// ScheduleRow is a schedule in the list.
type ScheduleRow struct {
	ID, Name, URL     string
	Workflow, Version string
	When, Zone        string
	Expression        string // "" where When is the expression
	Next, NextUTC     string // "" when it does not fire any more; NextUTC also where Zone is UTC
	Strip             ScheduleStrip
	Paused            bool
	Message           string // why it is paused
	Owner             string
	MayChange         bool
}

// ScheduleStrip draws the last occurrences, oldest first.
type ScheduleStrip struct {
	Label string // in words; "" without occurrences
	Bars  []ScheduleBar
}

// ScheduleBar is an occurrence, with its place in the strip.
type ScheduleBar struct{ State, X, Y, Height, Cut string }

// Schedule is the page of a schedule.
type Schedule struct {
	Page
	Row          ScheduleRow
	WorkflowURL  string
	Facts        []ui.Fact
	Inputs       string // JSON
	Fires        []ScheduleFire
	Occurrences  []ScheduleOccurrence
	Pager        ui.Pager
	MissedChoice bool   // resuming can treat what was missed
	Failed       string // why a command was refused, or ""
}

// ScheduleFire is a coming fire. Change is what the zone changes to before it.
type ScheduleFire struct{ N, At, Zone, UTC, Why, Change string }

// ScheduleOccurrence is a fire and the outcome of it.
type ScheduleOccurrence struct {
	At         ui.Moment
	Fires      string // "3 fires until 12:00", or ""
	State      string // the icon
	Word       string
	Execution  string // "" without one
	URL        string
	Started    ui.Moment
	Took, Note string
}

// SchedulesURL lists schedules.
func SchedulesURL(q url.Values) string { return withQuery("/schedules", q) }

// ScheduleURL is the page of a schedule.
func ScheduleURL(id string) string { return "/schedules/" + id }

// SchedulePartURL is a form or command of a schedule.
func SchedulePartURL(id, part string) string { return ScheduleURL(id) + "/" + part }
