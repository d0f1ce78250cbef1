package launch

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flowforge/flowforge/engine/schedule"
	"github.com/flowforge/flowforge/engine/schedule/cron"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
)

// whenDraft contains the controls that determine when a schedule runs.
type whenDraft struct {
	sent   url.Values
	errors map[string]string // by control
}

func (w *whenDraft) get(name string) string {
	return strings.TrimSpace(w.sent.Get(views.SchedulePrefix + name))
}

func (w *whenDraft) set(name, value string) { w.sent.Set(views.SchedulePrefix+name, value) }

func (w *whenDraft) fail(name, format string, args ...any) {
	if w.errors[name] == "" {
		w.errors[name] = fmt.Sprintf(format, args...)
	}
}

// when reads the controls. Its errors are those of texts that it cannot parse.
func (w *whenDraft) when() schedule.When {
	out := schedule.When{Timezone: w.get("timezone"), Gap: cron.Gap(w.get("gap")), Fold: cron.Fold(w.get("fold"))}
	if out.Timezone == "" {
		w.fail("timezone", "Enter a time zone such as Europe/Berlin.")
	}
	zone, err := time.LoadLocation(out.Timezone)
	if err != nil {
		zone = time.UTC // the service names the problem
	}
	switch w.get("kind") {
	case views.ScheduleEvery:
		if length, err := units.ParseDuration(w.get("every")); err != nil {
			w.fail("every", "Enter an interval such as 6h or 90m.")
		} else {
			out.Expressions = []string{"@every " + length.String()}
		}
		if at := w.moment("anchor", zone); at != nil {
			out.Anchor = *at
		}
	case views.ScheduleAt:
		if out.At = w.moment("at", zone); out.At == nil {
			w.fail("at", "Enter the time at which it runs.")
		}
	default:
		out.Expressions = w.expressions()
	}
	out.Starts, out.Ends = w.moment("starts", zone), w.moment("ends", zone)
	out.Calendar, out.BusinessDays, out.Exclude = w.get("calendar"), w.get("business_days") != "", w.windows()
	return out
}

// expressions are the cron expressions of the choices, or those that were typed.
func (w *whenDraft) expressions() []string {
	if w.get("repeats") != views.ScheduleCustom {
		if p, ok := w.pattern(); ok {
			return []string{p.Expression()}
		}
		return nil
	}
	var list []string
	for line := range strings.Lines(w.sent.Get(views.SchedulePrefix + "cron")) {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	if len(list) == 0 {
		w.fail("cron", "Enter a cron expression such as 30 2 * * MON-FRI.")
	}
	return list
}

// pattern is the pattern that the choices describe.
func (w *whenDraft) pattern() (cron.Pattern, bool) {
	p := cron.Pattern{
		Repeats: cron.Repeats(w.get("repeats")), Days: w.sent[views.SchedulePrefix+"days"], On: w.get("on"), Weekday: w.get("weekday"), Month: w.get("month"),
	}
	switch p.Repeats {
	case cron.Minutes:
		p.Every = w.number("minutes", 1, 59)
	case cron.Hourly:
		p.Every, p.Minute = w.number("hours", 1, 23), w.number("minute", 0, 59)
	case cron.Daily, cron.Weekly, cron.Monthly:
		at, err := time.Parse("15:04", w.get("time"))
		if err != nil {
			w.fail("time", "Enter a time of the day such as 02:30.")
		}
		p.Hour, p.Minute = at.Hour(), at.Minute()
		if p.Repeats == cron.Weekly && len(p.Days) == 0 {
			w.fail("days", "Choose at least one day.")
		}
		if p.Repeats == cron.Monthly && (p.On == cron.OnDay || p.On == "") {
			p.Day = w.number("day", 1, 31)
		}
	default:
		w.fail("repeats", "Choose how often it runs.")
	}
	return p, len(w.errors) == 0
}

func (w *whenDraft) number(name string, least, most int) int {
	n, err := strconv.Atoi(w.get(name))
	if err != nil || n < least || n > most {
		w.fail(name, "Enter a whole number from %d to %d.", least, most)
		return least
	}
	return n
}

// moment reads a local time, nil for an empty control.
func (w *whenDraft) moment(name string, zone *time.Location) *time.Time {
	text := w.get(name)
	if text == "" {
		return nil
	}
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02 15:04:05"} {
		if at, err := time.ParseInLocation(layout, text, zone); err == nil {
			return new(at.UTC())
		}
	}
	w.fail(name, "%q is not a time. Enter one such as 2026-11-29T02:30.", text)
	return nil
}

// duration reads a length of time, 0 for an empty control.
func (w *whenDraft) duration(name string) time.Duration {
	text := w.get(name)
	if text == "" {
		return 0
	}
	length, err := units.ParseDuration(text)
	if err != nil {
		w.fail(name, "%q is not a duration. Enter one such as 90s, 15m or 24h.", text)
	}
	return length
}

// count reads a number, 0 for an empty control.
func (w *whenDraft) count(name string) int {
	text := w.get(name)
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		w.fail(name, "%q is not a whole number.", text)
		return 0
	}
	return n
}

// fillDefaults sets the controls of a new schedule: every day at two.
func (w *whenDraft) fillDefaults(zone string) {
	for name, value := range map[string]string{
		"kind": views.ScheduleCron, "repeats": string(cron.Daily), "minutes": "15", "hours": "1", "minute": "0", "time": "02:00", "on": cron.OnDay, "day": "1", "weekday": "MON",
		"month": "*", "every": "6h", "timezone": zone, "gap": string(cron.GapRunAfter), "fold": string(cron.FoldFirst), "misfire": string(schedule.MisfireLatest),
		"catch_up": "24h", "catch_up_max": "10", "overlap": string(schedule.OverlapSkip), "max_running": "1",
	} {
		if !w.sent.Has(views.SchedulePrefix + name) {
			w.set(name, value)
		}
	}
	if !w.sent.Has(views.SchedulePrefix + "days") {
		w.sent[views.SchedulePrefix+"days"] = cron.Weekdays()[:5]
	}
}

const localInput = "2006-01-02T15:04"

// fill sets the controls to a schedule.
func (w *whenDraft) fill(sc schedule.Schedule) {
	zone, err := time.LoadLocation(sc.Timezone)
	if err != nil {
		zone = time.UTC
	}
	local := func(t *time.Time) string {
		switch {
		case t == nil:
			return ""
		case t.Second() != 0:
			return t.In(zone).Format("2006-01-02T15:04:05")
		}
		return t.In(zone).Format(localInput)
	}
	for name, value := range map[string]string{
		"name": sc.Name, "timezone": sc.Timezone, "gap": string(sc.Gap), "fold": string(sc.Fold), "at": local(sc.At), "starts": local(sc.Starts), "ends": local(sc.Ends),
		"misfire": string(sc.Misfire), "catch_up": units.Exact(sc.CatchUp), "catch_up_max": strconv.Itoa(sc.CatchUpMax), "overlap": string(sc.Overlap),
		"max_running": strconv.Itoa(sc.MaxRunning),
	} {
		w.set(name, value)
	}
	if sc.Jitter > 0 {
		w.set("jitter", units.Exact(sc.Jitter))
	}
	if sc.PauseAfter > 0 {
		w.set("pause_after", strconv.Itoa(sc.PauseAfter))
	}
	w.fillRest(sc)
	if sc.At != nil {
		w.set("kind", views.ScheduleAt)
		return
	}
	w.fillExpressions(sc, local)
}

func (w *whenDraft) fillExpressions(sc schedule.Schedule, local func(*time.Time) string) {
	w.set("kind", views.ScheduleCron)
	w.set("cron", strings.Join(sc.Expressions, "\n"))
	w.set("repeats", views.ScheduleCustom)
	if len(sc.Expressions) != 1 {
		return
	}
	e, err := cron.Parse(sc.Expressions[0])
	if err != nil {
		return
	}
	if every := e.Every(); every > 0 {
		w.set("kind", views.ScheduleEvery)
		w.set("every", units.Exact(every))
		w.set("anchor", local(&sc.Anchor))
		return
	}
	p, ok := e.Pattern()
	if !ok {
		return
	}
	w.set("repeats", string(p.Repeats))
	w.set("time", fmt.Sprintf("%02d:%02d", p.Hour, p.Minute))
	w.set("minute", strconv.Itoa(p.Minute))
	w.set("month", p.Month)
	switch p.Repeats {
	case cron.Minutes:
		w.set("minutes", strconv.Itoa(p.Every))
	case cron.Hourly:
		w.set("hours", strconv.Itoa(p.Every))
	case cron.Weekly:
		w.sent[views.SchedulePrefix+"days"] = slices.Clone(p.Days)
	case cron.Monthly:
		w.set("on", p.On)
		if p.Day > 0 {
			w.set("day", strconv.Itoa(p.Day))
		}
		if p.Weekday != "" {
			w.set("weekday", p.Weekday)
		}
	case cron.Daily:
	}
}
