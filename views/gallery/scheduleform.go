package gallery

import (
	"net/url"

	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/forms"
	"github.com/flowforge/flowforge/views/ui"
)

// scheduleOptions are choices of the form, the first of each chosen.
func scheduleOptions() map[string][]ui.Option {
	first := func(names ...string) []ui.Option {
		var out []ui.Option
		for i, name := range names {
			out = append(out, ui.Option{Value: name, Name: name, Selected: i == 0})
		}
		return out
	}
	return map[string][]ui.Option{
		"kind": first("cron", "every", "at"), "repeats": first("monthly", "daily", "custom"), "on": first("L", "day"), "weekday": first("SUN", "MON"), "month": first("every month", "January"),
		"minutes": first("15 minutes"), "hours": first("hour"), "misfire": first("Launch the latest", "Skip"), "overlap": first("Skip it", "Queue one"),
		"calendar": first("None", "Berlin holidays"), "gap": first("Run after the gap", "Skip"), "fold": first("First", "Last", "Both"),
	}
}

func scheduleForm(f views.Page) views.ScheduleForm {
	inputs := launch(f)
	inputs.Failed, inputs.ErrorLines, inputs.Origin = "", nil, nil
	return views.ScheduleForm{
		Page: frame(f, "New schedule", views.SectionSchedules, views.Crumb{Name: "Schedules", URL: "#"}), Heading: "New schedule", Launch: inputs, Action: "#", Cancel: "#", ChangeURL: "#",
		Versions: []ui.Option{{Name: "Latest at each run (now 2.4.0)", Selected: true}, {Value: "2.4.0", Name: "Pinned to 2.4.0"}},
		Values:   url.Values{"schedule.name": {"writer-bias-audit"}, "schedule.timezone": {"Europe/Berlin"}, "schedule.time": {"02:30"}, "schedule.catch_up": {"24h"}, "schedule.max_running": {"1"}, "schedule.exclude": {"22:00-06:00 MON-FRI"}},
		Options:  scheduleOptions(), Days: []ui.Option{{Value: "MON", Name: "Mo", Selected: true}, {Value: "TUE", Name: "Tu"}}, Zones: []string{"UTC", "Europe/Berlin"}, Advanced: true,
		Preview: views.ScheduleFormPreview{
			Words: "At 02:30 on the last Sunday of the month", Note: "Cron: 30 2 * * SUNL · Europe/Berlin", Expression: "30 2 * * SUNL", Tone: "ok", Summary: "Ready to save. First run Sun 29 Nov, 02:30 CET",
			Fires: schedule(f).Fires,
		},
	}
}

func scheduleFormErrors(f views.Page) views.ScheduleForm {
	m := scheduleForm(f)
	m.Errors = map[string]string{"name": "Enter a name.", "timezone": `Unknown time zone "Berlin". Use a name such as Europe/Berlin.`, "catch_up": `"a day" is not a duration. Enter one such as 90s, 15m or 24h.`}
	m.Launch.Failed = "The schedule was not saved: 3 values need attention"
	for _, l := range [][2]string{{"name", "Name"}, {"timezone", "Time zone"}, {"catch_up", "Catch-up window"}} {
		m.Launch.ErrorLines = append(m.Launch.ErrorLines, forms.ErrorLine{Target: views.ScheduleControlID(l[0]), Label: l[1], Text: m.Errors[l[0]]})
	}
	m.Preview = views.ScheduleFormPreview{Tone: "wait", Summary: "3 values need attention", Verdicts: []views.Verdict{{Tone: "wait", Strong: "3 values need attention.", Links: m.Launch.ErrorLines}}, NoneBecause: "Complete the times to see the next runs."}
	return m
}

func scheduleCalendar(f views.Page) views.ScheduleCalendar {
	m := views.ScheduleCalendar{
		Page: frame(f, "Calendar", views.SectionSchedules, views.Crumb{Name: "Schedules", URL: "#"}), Month: "November 2026", Zone: "Europe/Berlin", Earlier: "#", Later: "#", Today: "#",
		Title: "Friday 20 November", LoadLabel: "Runs per hour; peak 14 at 02:00", Load: []views.CalendarBar{{X: "8", Y: "0", Height: "24", Title: "02:00: 14 runs"}, {X: "12", Y: "12", Height: "12", Title: "03:00: 7 runs"}},
		Frequent: []views.ScheduleLink{{Name: "heartbeat", URL: "#", Note: "Every minute"}},
		Fires: []views.CalendarFire{
			{At: "02:00", Schedule: "digits-nightly", URL: "#", State: "SUCCEEDED", Word: "Succeeded", Execution: "#a1b2c3", ExecutionURL: "#"},
			{At: "05:00", Schedule: "feed-refresh", URL: "#", State: "SKIPPED", Word: "Skipped", Note: "3 runs"}, {At: "18:00", Schedule: "drift-check", URL: "#", State: "PENDING", Word: "Planned"},
		},
	}
	for i := range 42 {
		day := i - 5
		d := views.CalendarDay{Number: ui.Float(float64((day+29)%30 + 1)), URL: "#", Fires: "30", Bars: m.Load, Other: day < 1 || day > 30, Today: day == 20, Chosen: day == 20, Label: "30 runs"}
		if day == 6 {
			d.Failed = "2"
		}
		m.Days = append(m.Days, d)
	}
	return m
}
