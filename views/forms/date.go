package forms

import (
	"time"

	"github.com/a-h/templ"
)

// dateControl is the control of a Date, a DateTime or a DateRange.
type dateControl struct{ c Control }

// dates is input for a date control: its bounds help the browser's calendar.
func (d dateControl) dates() templ.Attributes {
	a := d.c.input()
	if d.c.Type.Params.Earliest != "" {
		a["min"] = d.bound(d.c.Type.Params.Earliest)
	}
	if d.c.Type.Params.Latest != "" {
		a["max"] = d.bound(d.c.Type.Params.Latest)
	}
	return a
}

// day is a date some days from today, for the quick buttons.
func (d dateControl) day(offset int) string {
	if d.c.form.cfg.Today.IsZero() {
		return ""
	}
	return d.c.form.cfg.Today.AddDate(0, 0, offset).Format(time.DateOnly)
}

func (d dateControl) bound(s string) string {
	if s == "today" {
		return d.day(0)
	}
	return s
}

// Clock is a date with time, without zero seconds, as the browser shows it.
func (d dateControl) Clock() string {
	if at, err := time.Parse("2006-01-02T15:04:05", d.c.Value()); err == nil && at.Second() == 0 {
		return at.Format("2006-01-02T15:04")
	}
	return d.c.Value()
}

// Zone is the zone of a date with time.
func (d dateControl) Zone() string {
	if z := d.c.sub("$zone"); z != "" {
		return z
	}
	return "UTC"
}

// rangeAttrs is attrs for one end of a date range.
func (d dateControl) rangeAttrs(end string) templ.Attributes {
	a := d.c.attrs()
	a["name"] = d.c.Name + "." + end
	a["aria-label"] = d.c.Label + ", " + end
	if end != "from" {
		delete(a, "autofocus")
	}
	return a
}

// zones are the suggestions without JavaScript, which adds all zones of the browser.
func zones() []string { return Zones() }

// Zones are the time zones that forms offer without a script.
func Zones() []string {
	return []string{
		"UTC", "America/Los_Angeles", "America/Denver", "America/Chicago", "America/New_York", "America/Sao_Paulo", "Europe/London",
		"Europe/Berlin", "Europe/Helsinki", "Africa/Lagos", "Africa/Johannesburg", "Asia/Dubai", "Asia/Kolkata", "Asia/Singapore",
		"Asia/Shanghai", "Asia/Tokyo", "Australia/Sydney", "Pacific/Auckland",
	}
}

// typed reports whether the browser's native control can show the value. Otherwise the
// control is a text input, because a native control would drop the value.
func typed(value string, layouts ...string) bool {
	if value == "" {
		return true
	}
	for _, layout := range layouts {
		if _, err := time.Parse(layout, value); err == nil {
			return true
		}
	}
	return false
}

func dateType(value string) string {
	if typed(value, time.DateOnly) {
		return "date"
	}
	return "text"
}

func momentType(value string) string {
	if typed(value, "2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02T15:04:05.999") {
		return "datetime-local"
	}
	return "text"
}

// momentStep lets the browser show seconds.
func momentStep(value string) string {
	if typed(value, "2006-01-02T15:04") {
		return "60"
	}
	return "any"
}
