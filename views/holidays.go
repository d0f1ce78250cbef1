package views

import (
	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/views/ui"
)

// HolidayCalendars is the list of the project's calendars.
type HolidayCalendars struct {
	Page
	Rows    []HolidayCalendarRow
	MayEdit bool
	Notice  string // what the last command did, or ""
}

// HolidayCalendarRow is a calendar in the list.
type HolidayCalendarRow struct {
	Name, URL, Description string
	Weekend                string
	Next                   string // the next day or time without runs, or ""
	Contains, UsedBy       string // "3 holidays, 1 blackout", "2 schedules"
}

// HolidayCalendar is the form of a calendar.
type HolidayCalendar struct {
	Page
	Heading             string
	URL, Action         string
	DeleteURL           string // "": it cannot be deleted by the reader, or does not exist yet
	New                 bool
	ReadOnly            bool
	Based               string // the version that the form changes
	Zone                string // of the times of the blackouts
	Name, Description   string
	Days                []ui.Option // of the weekend
	Holidays, Blackouts string      // one for each line
	Failed              string      // why the calendar was not saved, or ""
	Kept                bool        // someone else has changed it: saving again replaces that
	Errors              map[string]string
	Uses                []ScheduleLink
	MoreUses            string // "and 12 others", or ""
}

// emptyActions are the links of a page without calendars.
func (m HolidayCalendars) emptyActions() []ui.Action {
	read := ui.Action{Name: "Read the documentation", URL: DocURL("schedules")}
	if !m.MayEdit {
		return []ui.Action{read}
	}
	return []ui.Action{{Name: "New calendar", URL: NewHolidayCalendarURL()}, read}
}

// field is the frame of a control.
func (m HolidayCalendar) field(name string) ui.FormField {
	f := ui.FormField{ID: "calendar-" + name, Error: m.Errors[name], Optional: name != "name"}
	switch name {
	case "name":
		f.Label, f.Help = "Name", "Schedules select the calendar by this name, such as germany."
	case "description":
		f.Label = "Description"
	case "holidays":
		f.Label, f.Help = "Holidays", "One per line: a date and a name, such as 2026-12-25 Christmas. A holiday is a day in the time zone of the schedule."
	case "blackouts":
		f.Label = "Blackouts"
		f.Help = "One per line: start, end and a reason, such as 2026-12-29 18:00 - 2027-01-02 08:00 Change freeze. Times are in " + m.Zone + ". A date without a time means the whole day."
	}
	return f
}

func (m HolidayCalendar) control(name string) templ.Attributes {
	a := m.field(name).Control()
	if m.ReadOnly {
		a["readonly"] = true
	}
	return a
}

// HolidayCalendarsURL is the list of the project's calendars.
func HolidayCalendarsURL() string { return "/schedules/calendars" }

// NewHolidayCalendarURL is the form of a new calendar.
func NewHolidayCalendarURL() string { return "/schedules/calendars/new" }

// HolidayCalendarURL is the page of a calendar, by its ID.
func HolidayCalendarURL(id string) string { return HolidayCalendarsURL() + "/" + id }
