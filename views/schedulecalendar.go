package views

import (
	"net/url"

	"github.com/flowforge/flowforge/views/ui"
)

// ScheduleCalendar is a month of all schedules of the project.
type ScheduleCalendar struct {
	Page
	Month, Zone           string
	Earlier, Later, Today string // URLs
	Days                  []CalendarDay
	Frequent              []ScheduleLink // schedules that run too often to be drawn
	Title                 string         // of the chosen day
	Load                  []CalendarBar
	LoadLabel             string
	Fires                 []CalendarFire
	MoreFires             bool // the day has more than the page lists
}

// CalendarDay is one cell of a month.
type CalendarDay struct {
	Number, URL, Label   string
	Fires, Failed        string // "" for none
	Bars                 []CalendarBar
	Chosen, Today, Other bool
}

// CalendarBar is the load of an hour in a strip of 96 × 24.
type CalendarBar struct {
	X, Y, Height, Title string
	Past                bool // of runs that were decided
}

// CalendarFire is a run of the chosen day.
type CalendarFire struct {
	At, Schedule, URL       string
	State, Word, Note       string
	Execution, ExecutionURL string // "" without one
}

// ScheduleLink leads to a schedule.
type ScheduleLink struct{ Name, URL, Note string }

// ScheduleWorkflows chooses the workflow of a new schedule.
type ScheduleWorkflows struct {
	Page
	Query string
	Rows  []ScheduleWorkflow
	Pager ui.Pager
}

// ScheduleWorkflow is a workflow that a schedule can launch.
type ScheduleWorkflow struct{ Name, Description, Version, URL string }

// ScheduleCalendarURL is the calendar of the project.
func ScheduleCalendarURL(q url.Values) string { return withQuery("/schedules/calendar", q) }
