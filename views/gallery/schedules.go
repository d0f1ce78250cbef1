package gallery

import (
	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

func scheduleEntries() []Entry {
	return []Entry{
		{"schedules", "Schedules", func(f views.Page) templ.Component { return views.SchedulesPage(schedules(f)) }},
		{"schedules-empty", "Schedules: none", func(f views.Page) templ.Component {
			m := schedules(f)
			m.Rows, m.Total, m.Facts = nil, 0, nil
			return views.SchedulesPage(m)
		}},
		{"schedules-filtered", "Schedules: no match", func(f views.Page) templ.Component {
			m := schedules(f)
			m.Rows, m.Query, m.Filtered = nil, "weekly", true
			return views.SchedulesPage(m)
		}},
		{"schedule-new", "New schedule", func(f views.Page) templ.Component { return views.ScheduleFormPage(scheduleForm(f)) }},
		{"schedule-new-errors", "New schedule with errors", func(f views.Page) templ.Component { return views.ScheduleFormPage(scheduleFormErrors(f)) }},
		{"schedule-workflows", "New schedule: choose the workflow", func(f views.Page) templ.Component {
			return views.ScheduleWorkflowsPage(views.ScheduleWorkflows{Page: frame(f, "New schedule", views.SectionSchedules), Rows: []views.ScheduleWorkflow{
				{Name: "digits.train", Description: "Trains a network that recognises digits", Version: "2.4.0", URL: "#"}, {Name: "feed.refresh", Version: "1.0.0", URL: "#"},
			}})
		}},
		{"schedule-calendar", "Schedule calendar", func(f views.Page) templ.Component { return views.ScheduleCalendarPage(scheduleCalendar(f)) }},
		{"schedule", "Schedule: paused", func(f views.Page) templ.Component { return views.SchedulePage(schedule(f)) }},
		{"schedule-declared", "Schedule: declared by a definition", func(f views.Page) templ.Component {
			m := schedule(f)
			m.Declared, m.DefinitionURL, m.Failed, m.MissedChoice = true, "#", "", false
			return views.SchedulePage(m)
		}},
	}
}

func scheduleRows() []views.ScheduleRow {
	strip := views.ScheduleStrip{Label: "Last 4: 1 failed, 1 running, 1 skipped, 1 succeeded", Bars: []views.ScheduleBar{
		{State: "SUCCEEDED", X: "0", Y: "3", Height: "17", Title: "Succeeded, 20 Nov 02:00 UTC", URL: "#"}, {State: "FAILED", X: "8", Y: "3", Height: "17", Cut: "M7 15l8-7"},
		{State: "SKIPPED", X: "16", Y: "3", Height: "17"}, {State: "RUNNING", X: "24", Y: "10", Height: "10"},
	}}
	return []views.ScheduleRow{
		{
			ID: "1", Name: "digits-nightly", URL: "#", Workflow: "digits.train", Version: "2.4.0", When: "Every day at 02:00", Expression: "0 2 * * *", Zone: "Europe/Berlin",
			Next: "Sat 21 Nov 2026, 02:00 CET", NextUTC: "21 Nov 01:00 UTC", In: "in 10 h 48 min", Strip: strip,
			Late: views.ScheduleLateness{Text: "0.2 s"}, Latest: views.ScheduleLateness{Text: "41 s", Late: true}, Owner: "Amara Okafor", MayChange: true,
		},
		{
			ID: "2", Name: "feed-refresh", URL: "#", Workflow: "feed.refresh", Version: "latest version", When: "Every 15 minutes", Expression: "*/15 * * * *", Zone: "UTC",
			Next: "Fri 20 Nov 2026, 14:15 UTC", NextUTC: "20 Nov 14:15 UTC", Paused: true, Message: "Paused after 5 consecutive failures.", Owner: "Mei Tanaka",
		},
		{
			ID: "4", Name: "weekly", URL: "#", Workflow: "digits.train", Version: "latest version", When: "Every Monday at 06:00", Zone: "UTC", Owner: "Mei Tanaka", MayChange: true,
			Problem: "FlowForge could not process the run of this schedule, and tries again. The server's log contains the cause: ask an administrator to search it for the ID of this schedule.",
		},
		{ID: "3", Name: "once", URL: "#", Workflow: "digits.train", Version: "latest version", When: "Once, Thu 19 Nov 2026, 12:00 UTC", Zone: "UTC", Owner: "Mei Tanaka", MayChange: true},
	}
}

func schedules(f views.Page) views.Schedules {
	return views.Schedules{
		Page: frame(f, "Schedules", views.SectionSchedules), Rows: scheduleRows(), Pager: ui.Pager{Text: "4 schedules", InOrder: true}, NewURL: "#", Changeable: true, Total: 3,
		Facts:  []ui.Fact{{Name: "On", Value: "2", Note: "of 3"}, {Name: "Next run", Value: "02:00", Note: "in 10 h 48 min"}},
		States: []ui.Option{{Name: "All states", Selected: true}, {Value: "on", Name: "On"}, {Value: "paused", Name: "Paused"}},
	}
}

func schedule(f views.Page) views.Schedule {
	row := scheduleRows()[1]
	row.MayChange = true
	return views.Schedule{
		Page: frame(f, row.Name, views.SectionSchedules, views.Crumb{Name: "Schedules", URL: "#"}), Row: row, WorkflowURL: "#", Inputs: "{\n  \"day\": \"{{ data_interval_start | date }}\"\n}",
		Facts: []ui.Fact{{Name: "Version", Value: "latest version"}, {Name: "Owner", Value: "Mei Tanaka", Note: "executions run with the owner's permissions"}, {Name: "Expression", Value: "*/15 * * * *", Mono: true}},
		Fires: []views.ScheduleFire{
			{N: "1", At: "Sun 28 Mar 2027, 03:00", Zone: "CEST", UTC: "01:00 UTC", Why: "02:30 does not exist on this day: clocks go forward."},
			{N: "2", At: "Mon 29 Mar 2027, 02:30", Zone: "CEST", UTC: "00:30 UTC", Change: "From here on: CEST, UTC+02:00"},
			{At: "Tue 30 Mar 2027, 02:30", Zone: "CEST", UTC: "00:30 UTC", Excluded: true, Why: "Blackout: quarter end"},
		},
		Occurrences: []views.ScheduleOccurrence{
			{At: clock().Exactly(ago(900e9)), State: "FAILED", Word: "Failed", Execution: "#a1b2c3", URL: "#", Took: "12 s", Note: "HTTP 401 from features.example"},
			{At: clock().Exactly(ago(1800e9)), State: "SKIPPED", Word: "Skipped", Note: "An execution of the schedule runs."},
		},
		Pager: ui.Pager{Text: "2 occurrences"}, MissedChoice: true, Failed: "The inputs cannot be used. inputs.day: Enter a date.",
	}
}
