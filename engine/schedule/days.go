package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flowforge/flowforge/apperr"
)

// Window is a daily window in which a schedule does not run, in its time zone. A window that
// ends before it begins lasts until the next day; a window whose times are equal lasts all day.
type Window struct {
	From  string   `json:"from"`           // such as 22:00
	Until string   `json:"until"`          // not part of the window
	Days  []string `json:"days,omitempty"` // days of the week on which it begins, such as SAT; all without them
}

// Holiday is a day without runs.
type Holiday struct {
	Date string `json:"date"` // 2026-12-25
	Name string `json:"name,omitempty"`
}

// Blackout is a period without runs. The end is exclusive.
type Blackout struct {
	Starts time.Time `json:"starts_at"`
	Ends   time.Time `json:"ends_at"`
	Reason string    `json:"reason,omitempty"`
}

// Days returns the short names of the days of the week, Sunday first, as in cron expressions.
func Days() []string { return []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"} }

// week is a set of days of the week.
type week [7]bool

func readWeek(days []string) (w week, wrong string) {
	for _, d := range days {
		i := slices.Index(Days(), strings.ToUpper(d))
		if i < 0 {
			return w, d
		}
		w[i] = true
	}
	return w, ""
}

// exclusions are the times in which a schedule does not run. The zero value excludes nothing.
type exclusions struct {
	zone      *time.Location
	weekend   week
	holidays  map[string]string // names by date
	blackouts []Blackout
	windows   []window
}

// window is a Window in minutes of the day.
type window struct {
	from, until int
	days        week
	text        string
}

// readExclusions checks the exclusions of a schedule.
func readExclusions(w When, zone *time.Location) (x exclusions, fields []apperr.Field) {
	x.zone = zone
	weekend := []string{"SAT", "SUN"}
	if c := w.calendar; c != nil {
		weekend, x.blackouts, x.holidays = c.Weekend, c.Blackouts, make(map[string]string, len(c.Holidays))
		for _, h := range c.Holidays {
			x.holidays[h.Date] = h.Name
		}
	}
	if w.BusinessDays {
		x.weekend, _ = readWeek(weekend)
	}
	if len(w.Exclude) > MaxWindows {
		return x, []apperr.Field{{Path: "exclude", Message: fmt.Sprintf("A schedule excludes at most %d windows.", MaxWindows)}}
	}
	for i, of := range w.Exclude {
		read, problem := of.read()
		if problem != "" {
			fields = append(fields, apperr.Field{Path: fmt.Sprintf("exclude.%d", i), Message: problem})
		}
		x.windows = append(x.windows, read)
	}
	return x, fields
}

// Words describes a window: "22:00 to 06:30 on Friday".
func (w Window) Words() string {
	text := w.From + " to " + w.Until
	if len(w.Days) == 0 {
		return text
	}
	names := make([]string, len(w.Days))
	for i, d := range w.Days {
		if names[i] = d; slices.Contains(Days(), strings.ToUpper(d)) {
			names[i] = time.Weekday(slices.Index(Days(), strings.ToUpper(d))).String()
		}
	}
	return text + " on " + strings.Join(names, ", ")
}

func (w Window) read() (out window, problem string) {
	for _, bound := range []struct {
		text string
		to   *int
	}{{w.From, &out.from}, {w.Until, &out.until}} {
		t, err := time.Parse("15:04", bound.text)
		if bound.text == "24:00" && bound.to == &out.until {
			*bound.to = 0
			continue
		}
		if err != nil || len(bound.text) != len("15:04") {
			return out, fmt.Sprintf("%q is not a time of the day. Use a time such as 22:00.", bound.text)
		}
		*bound.to = t.Hour()*60 + t.Minute()
	}
	out.days = week{true, true, true, true, true, true, true}
	out.text = w.Words()
	if len(w.Days) > 0 {
		days, wrong := readWeek(w.Days)
		if wrong != "" {
			return out, fmt.Sprintf("%q is not a day of the week. Use %s.", wrong, strings.Join(Days(), ", "))
		}
		out.days = days
	}
	return out, ""
}

// at returns when the exclusion that contains t ends, and why t is excluded. until is the zero time
// if t is not excluded.
func (x *exclusions) at(t time.Time) (until time.Time, why string) {
	if len(x.blackouts) == 0 && len(x.holidays) == 0 && len(x.windows) == 0 && x.weekend == (week{}) {
		return until, ""
	}
	for _, b := range x.blackouts {
		if !t.Before(b.Starts) && t.Before(b.Ends) {
			if b.Reason == "" {
				return b.Ends, "Blackout"
			}
			return b.Ends, "Blackout: " + b.Reason
		}
	}
	local := t.In(x.zone)
	midnight := func(days int) time.Time {
		return after(t, time.Date(local.Year(), local.Month(), local.Day()+days, 0, 0, 0, 0, x.zone))
	}
	if len(x.holidays) > 0 {
		if name, ok := x.holidays[local.Format(time.DateOnly)]; ok {
			return midnight(1), cmp.Or(capital(name), "Holiday")
		}
	}
	if x.weekend[local.Weekday()] {
		return midnight(1), local.Weekday().String() + " is not a business day"
	}
	minute := local.Hour()*60 + local.Minute()
	end := func(days, minute int) time.Time {
		return after(t, time.Date(local.Year(), local.Month(), local.Day()+days, minute/60, minute%60, 0, 0, x.zone))
	}
	for _, w := range x.windows {
		today, yesterday := w.days[local.Weekday()], w.days[(local.Weekday()+6)%7]
		switch overnight := w.until <= w.from; {
		case !overnight && today && minute >= w.from && minute < w.until:
			return end(0, w.until), "Excluded: " + w.text
		case overnight && today && minute >= w.from:
			return end(1, w.until), "Excluded: " + w.text
		case overnight && yesterday && minute < w.until:
			return end(0, w.until), "Excluded: " + w.text
		}
	}
	return until, ""
}

// after returns end, or a minute after t if a change of the clocks makes end earlier than t.
func after(t, end time.Time) time.Time {
	if end.After(t) {
		return end
	}
	return t.Add(time.Minute)
}
