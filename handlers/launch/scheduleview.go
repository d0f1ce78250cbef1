package launch

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/schedule"
	"github.com/flowforge/flowforge/engine/schedule/cron"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/forms"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// drawSchedule responds with the complete form.
func (h *schedulePages) drawSchedule(w http.ResponseWriter, r *http.Request, status int, d *draft) error {
	m, err := h.schedulePage(r, d)
	if err != nil {
		return err
	}
	return web.Render(w, r, status, views.ScheduleFormPage(m))
}

// schedulePage is the form with its preview. Errors appear at controls once the reader has submitted
// the form; the preview always lists them.
func (h *schedulePages) schedulePage(r *http.Request, d *draft) (views.ScheduleForm, error) {
	s := d.schedule
	descriptions := s.when.errors
	preview, err := h.schedulePreview(r, d)
	if err != nil {
		return views.ScheduleForm{}, err
	}
	if s.when.errors = descriptions; d.failed == "" {
		s.when.errors = map[string]string{}
	}
	form, err := h.Forms.Draw(r, d.drawn())
	if err != nil {
		return views.ScheduleForm{}, err
	}
	m := views.ScheduleForm{
		Heading: "New schedule", Action: views.ScheduleWorkflowURL(d.workflow.ID.String()), Cancel: views.WorkflowURL(d.ref), ChangeURL: views.NewScheduleURL(),
		Versions: s.versions(d), Values: s.when.sent, Options: s.options(), Days: s.days(), Zones: forms.Zones(), Errors: s.when.errors, Preview: preview, Tags: s.tags.fields(), JSON: s.json,
		Launch: views.LaunchPage{
			Workflow: launchWorkflow(d), View: d.mode, Key: d.key, Form: form, Priorities: d.schedulePriorities(), Origin: d.origin, Failed: d.failed,
			ErrorLines: slices.Concat(s.errorLines(), form.ErrorLines()),
		},
	}
	crumbs := []views.Crumb{{Name: "Schedules", URL: views.SchedulesURL(nil)}}
	if s.was != nil {
		m.ID, m.Paused, m.ChangeURL = s.was.ID.String(), s.was.Paused, ""
		m.Heading = "Edit " + s.was.Name
		m.Action, m.Cancel = views.EditScheduleURL(m.ID), views.ScheduleURL(m.ID)
		crumbs = append(crumbs, views.Crumb{Name: s.was.Name, URL: m.Cancel})
	}
	if d.mode == views.LaunchForm {
		m.Launch.Check.States = h.form(r, d, nil).States()
	}
	calendars, err := h.Schedules.Calendars().List(r.Context())
	if err != nil && !apperr.Is(err, apperr.Forbidden) {
		return m, err
	}
	m.Options["calendar"] = s.when.calendars(calendars)
	m.Advanced = s.advanced()
	m.Page = h.Page.Base(r, m.Heading, views.SectionSchedules, crumbs...)
	m.Launch.Page = m.Page
	if n := len(m.Launch.ErrorLines); n > 0 && d.failed != "" {
		m.Launch.Failed = "The schedule was not saved: " + units.Plural(n, "value needs", "values need") + " attention"
	}
	if d.failed != "" {
		m.Title = "Error: " + m.Title
	}
	return m, nil
}

// schedulePriorities are the named priorities, and the one that the schedule has.
func (d *draft) schedulePriorities() []ui.Option {
	options := d.priorities()
	known := slices.ContainsFunc(options, func(o ui.Option) bool { return o.Selected })
	if d.priority != "" && !known {
		options = append(options, ui.Option{Value: d.priority, Name: d.priority, Selected: true})
	}
	return options
}

// versions are the choices of the version: the latest at each run, or a pinned one.
func (s *scheduleDraft) versions(d *draft) []ui.Option {
	out := []ui.Option{{Name: "Latest at each run (now " + d.workflow.Latest + ")", Selected: s.pinned == ""}}
	for _, v := range d.workflow.Versions {
		if !v.Development || v.Version == s.pinned {
			out = append(out, ui.Option{Value: v.Version, Name: "Pinned to " + v.Version, Selected: v.Version == s.pinned})
		}
	}
	return out
}

// options are the choices of selects and radio buttons.
func (s *scheduleDraft) options() map[string][]ui.Option {
	out := map[string][]ui.Option{
		"kind":    {{Value: views.ScheduleCron, Name: "Cron"}, {Value: views.ScheduleEvery, Name: "Interval"}, {Value: views.ScheduleAt, Name: "Once"}},
		"repeats": {{Value: string(cron.Minutes), Name: "Minutes"}, {Value: string(cron.Hourly), Name: "Hourly"}, {Value: string(cron.Daily), Name: "Daily"}, {Value: string(cron.Weekly), Name: "Weekly"}, {Value: string(cron.Monthly), Name: "Monthly"}, {Value: views.ScheduleCustom, Name: "Custom"}},
		"misfire": {{Value: string(schedule.MisfireLatest), Name: "Launch the latest"}, {Value: string(schedule.MisfireSkip), Name: "Skip"}, {Value: string(schedule.MisfireAll), Name: "Launch all"}},
		"gap":     {{Value: string(cron.GapRunAfter), Name: "Run after the gap"}, {Value: string(cron.GapSkip), Name: "Skip"}},
		"fold":    {{Value: string(cron.FoldFirst), Name: "First"}, {Value: string(cron.FoldLast), Name: "Last"}, {Value: string(cron.FoldBoth), Name: "Both"}},
		"overlap": {
			{Value: string(schedule.OverlapSkip), Name: "Skip it"}, {Value: string(schedule.OverlapQueueOne), Name: "Queue one"}, {Value: string(schedule.OverlapQueueAll), Name: "Queue all"},
			{Value: string(schedule.OverlapCancel), Name: "Cancel the running execution"}, {Value: string(schedule.OverlapAllow), Name: "Launch concurrently"},
		},
		"on": {
			{Value: cron.OnDay, Name: "day"}, {Value: "1", Name: "the first"}, {Value: "2", Name: "the second"}, {Value: "3", Name: "the third"}, {Value: "4", Name: "the fourth"}, {Value: cron.OnLast, Name: "the last"},
			{Value: cron.OnLastDay, Name: "the last day"}, {Value: cron.OnWorkday, Name: "the first workday"}, {Value: cron.OnLastWorkday, Name: "the last workday"},
		},
		"month":   {{Value: "*", Name: "every month"}, {Value: "*/2", Name: "every second month"}, {Value: "*/3", Name: "every quarter"}, {Value: "*/6", Name: "every half-year"}},
		"minutes": steps(cron.MinuteSteps(), "minute", "minutes"), "hours": steps(cron.HourSteps(), "hour", "hours"),
	}
	for i, name := range cron.MonthNames() {
		out["month"] = append(out["month"], ui.Option{Value: strconv.Itoa(i + 1), Name: name})
	}
	for _, day := range cron.Weekdays() {
		out["weekday"] = append(out["weekday"], ui.Option{Value: day, Name: cron.WeekdayName(day)})
	}
	for name, options := range out {
		for i := range options {
			options[i].Selected = options[i].Value == s.when.get(name)
		}
	}
	return out
}

func steps(list []int, one, many string) []ui.Option {
	var out []ui.Option
	for _, n := range list {
		name := one
		if n > 1 {
			name = units.Plural(n, one, many)
		}
		out = append(out, ui.Option{Value: strconv.Itoa(n), Name: name})
	}
	return out
}

func (s *scheduleDraft) days() []ui.Option {
	var out []ui.Option
	for _, day := range cron.Weekdays() {
		out = append(out, ui.Option{Value: day, Name: cron.WeekdayName(day)[:2], Selected: slices.Contains(s.when.sent[views.SchedulePrefix+"days"], day)})
	}
	return out
}

// rules are the controls of the advanced part with their defaults.
func rules() map[string]string {
	return map[string]string{
		"misfire": "latest", "catch_up": "24h", "catch_up_max": "10", "overlap": "skip", "max_running": "1", "jitter": "", "pause_after": "", "gap": "run_after", "fold": "first",
		"when": "", "stop_when": "", "keep_succeeded": "", "keep_failed": "",
	}
}

// advanced reports whether a rule differs from its default or has an error.
func (s *scheduleDraft) advanced() bool {
	for name, value := range rules() {
		now := squeezed(s.when.get(name))
		if s.when.errors[name] != "" || now != value && !(name == "pause_after" && now == "0") {
			return true
		}
	}
	return false
}

// scheduleLabels are the controls in the order of the page.
func scheduleLabels() [][2]string {
	return [][2]string{
		{"name", "Name"}, {"version", "Version"}, {"workflow", "Workflow"}, {"kind", "Kind"}, {"repeats", "Repeats"}, {"minutes", "Minutes"}, {"hours", "Hours"}, {"minute", "Minute"},
		{"days", "Days"}, {"on", "Day of the month"}, {"day", "Day of the month"}, {"time", "Time"}, {"cron", "Cron expression"}, {"every", "Interval"}, {"anchor", "Counted from"},
		{"at", "Runs at"}, {"timezone", "Time zone"}, {"starts", "Starts"}, {"ends", "Ends"}, {"calendar", "Calendar"}, {"business_days", "Business days"}, {"exclude", "Excluded times"}, {"inputs", "Inputs"}, {"misfire", "Missed runs"}, {"catch_up", "Catch-up window"},
		{"catch_up_max", "Maximum missed runs"}, {"overlap", "If an execution is still running"}, {"max_running", "Concurrent executions"}, {"jitter", "Jitter"}, {"pause_after", "Pause after"},
		{"keep_succeeded", "Keep succeeded"}, {"keep_failed", "Keep failed"}, {"when", "Run only if"}, {"stop_when", "Pause when"},
		{"priority", "Priority"}, {"gap", "Clocks go forward"}, {"fold", "Clocks go back"},
	}
}

// errorLines are the lines of the error summary.
func (s *scheduleDraft) errorLines() []forms.ErrorLine {
	var lines []forms.ErrorLine
	for _, l := range scheduleLabels() {
		if message := s.when.errors[l[0]]; message != "" {
			lines = append(lines, forms.ErrorLine{Target: views.ScheduleControlID(l[0]), Label: l[1], Text: message})
		}
	}
	return lines
}

const schedulePreviewed = 10

// schedulePreview describes when the schedule runs, or why it cannot be saved.
func (h *schedulePages) schedulePreview(r *http.Request, d *draft) (views.ScheduleFormPreview, error) {
	s := d.schedule
	p := views.ScheduleFormPreview{Tone: "ok", Summary: "Ready to save", NoneBecause: "Complete the times to see the next runs."}
	_, problems, err := h.checkSchedule(r, d)
	if apperr.Is(err, apperr.Forbidden) {
		p.Tone, p.Summary = "no", "You cannot create schedules here"
		p.Verdicts = append(p.Verdicts, views.Verdict{Tone: "no", Strong: p.Summary + ".", Text: apperr.MessageOf(err)})
	} else if err != nil {
		return p, err
	}
	lines := slices.Concat(s.errorLines(), h.form(r, d, problems).ErrorLines())
	if len(lines) > 0 {
		p.Tone, p.Summary = "no", units.Plural(len(lines), "value needs attention", "values need attention")
		p.Verdicts = append(p.Verdicts, views.Verdict{Tone: "no", Strong: p.Summary + ".", Links: lines})
	}
	reading := whenDraft{sent: s.when.sent, errors: map[string]string{}}
	when := reading.when()
	p.Words, p.Expression = whenWords(when), strings.Join(when.Expressions, "; ")
	if p.Words != "" {
		p.Note = when.Timezone
	}
	if p.Expression != "" && p.Words != p.Expression && !strings.HasPrefix(p.Expression, "@every") {
		p.Note = "Cron: " + p.Expression + " · " + when.Timezone
	}
	if len(reading.errors) > 0 {
		return p, nil
	}
	fires, excluded, err := h.Schedules.Outlook(r.Context(), when, schedulePreviewed)
	switch {
	case apperr.Is(err, apperr.Invalid), apperr.Is(err, apperr.Forbidden):
		return p, nil
	case err != nil:
		return p, err
	}
	p.Fires, p.NoneBecause = label.Fires(fires, excluded), "The schedule never runs: all its times are in the past or excluded."
	if len(fires) > 0 && p.Tone == "ok" {
		p.Summary = "Ready to save. First run " + fires[0].At.Format("Mon 2 Jan, 15:04 MST")
	}
	return p, nil
}

// whenWords describes when a schedule runs.
func whenWords(w schedule.When) string {
	if w.At != nil {
		return "Once"
	}
	var descriptions []string
	for _, text := range w.Expressions {
		e, err := cron.Parse(text)
		if err != nil {
			return ""
		}
		descriptions = append(descriptions, cmp.Or(e.Words(), fmt.Sprintf("Cron expression %s", text)))
	}
	return strings.Join(descriptions, "; ")
}
