package launch

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/engine/schedule"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

// windowLine is a line of the excluded times: "22:00-06:00 FRI, SAT".
var windowLine = regexp.MustCompile(`^([0-9:]+)\s*(?:-|–|to)\s*([0-9:]+)(?:\s+(.+))?$`)

// windowLines are the lines of the excluded times that are not empty.
func (w *whenDraft) windowLines() []string {
	var out []string
	for line := range strings.Lines(w.sent.Get(views.SchedulePrefix + "exclude")) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// windows reads the excluded times.
func (w *whenDraft) windows() []schedule.Window {
	var out []schedule.Window
	for _, line := range w.windowLines() {
		parts := windowLine.FindStringSubmatch(line)
		if parts == nil {
			w.fail("exclude", "%q is not a window. Enter one such as 22:00-06:00 or 12:00-14:00 MON-FRI.", line)
			continue
		}
		out = append(out, schedule.Window{From: parts[1], Until: parts[2], Days: weekdays(parts[3])})
	}
	return out
}

// weekdays reads days of the week: "MON-FRI", "SAT, SUN". It returns unknown ones as they are.
func weekdays(text string) []string {
	var out []string
	for _, part := range strings.FieldsFunc(strings.ToUpper(text), func(r rune) bool { return r == ',' || r == ' ' }) {
		first, last, isRange := strings.Cut(part, "-")
		from, until := slices.Index(schedule.Days(), first), slices.Index(schedule.Days(), last)
		if !isRange || from < 0 || until < 0 {
			out = append(out, part)
			continue
		}
		for day := from; ; day = (day + 1) % 7 {
			out = append(out, schedule.Days()[day])
			if day == until {
				break
			}
		}
	}
	return out
}

// failWindow shows what is wrong with the window of an index.
func (w *whenDraft) failWindow(index, message string) {
	if i, err := strconv.Atoi(index); err == nil && i < len(w.windowLines()) && len(w.windowLines()) > 1 {
		message = w.windowLines()[i] + ": " + message
	}
	w.fail("exclude", "%s", message)
}

// optional reads a number that can be 0; nil for an empty control.
func (w *whenDraft) optional(name string) *int {
	if w.get(name) == "" {
		return nil
	}
	return new(w.count(name))
}

// fillRest sets the controls of excluded times, conditions and retained executions.
func (w *whenDraft) fillRest(sc schedule.Schedule) {
	var lines []string
	for _, x := range sc.Exclude {
		line := x.From + "-" + x.Until
		if len(x.Days) > 0 {
			line += " " + strings.Join(x.Days, ", ")
		}
		lines = append(lines, line)
	}
	w.set("exclude", strings.Join(lines, "\n"))
	w.set("calendar", sc.Calendar)
	if sc.BusinessDays {
		w.set("business_days", "1")
	}
	w.set("when", sc.Condition)
	w.set("stop_when", sc.StopWhen)
	for name, keep := range map[string]*int{"keep_succeeded": sc.KeepSucceeded, "keep_failed": sc.KeepFailed} {
		if keep != nil {
			w.set(name, strconv.Itoa(*keep))
		}
	}
}

// calendars are the choices of the calendar: those of the project, and the one that the form has.
func (w *whenDraft) calendars(list []schedule.Calendar) []ui.Option {
	chosen := w.get("calendar")
	out := []ui.Option{{Name: "None", Selected: chosen == ""}}
	known := chosen == ""
	for _, c := range list {
		known = known || c.Name == chosen
		out = append(out, ui.Option{Value: c.Name, Name: c.Name, Selected: c.Name == chosen})
	}
	if !known {
		out = append(out, ui.Option{Value: chosen, Name: chosen, Selected: true})
	}
	return out
}
