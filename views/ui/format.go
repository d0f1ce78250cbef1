package ui

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/flowforge/flowforge/platform/units"
)

// Clock formats times relative to now in the time zone of the user.
type Clock struct {
	Now  time.Time
	Zone *time.Location
}

// Moment shows t: today 14:34, this week Fri 09:14, older 12 November 2026. The
// zero time gives the zero Moment.
func (c Clock) Moment(t time.Time) Moment {
	if t.IsZero() {
		return Moment{}
	}
	t, now := t.In(c.zone()), c.Now.In(c.zone())
	text := t.Format("2 January 2006")
	switch {
	case t.Year() == now.Year() && t.YearDay() == now.YearDay():
		text = t.Format("15:04")
	case now.Sub(t) < 6*24*time.Hour && now.After(t):
		text = t.Format("Mon 15:04")
	}
	return c.moment(t, text)
}

// Exactly formats t with seconds, and with the day if it is not today. It is for logs and
// attempts.
func (c Clock) Exactly(t time.Time) Moment {
	if t.IsZero() {
		return Moment{}
	}
	t, now := t.In(c.zone()), c.Now.In(c.zone())
	layout := "2006-01-02 15:04:05"
	if t.Year() == now.Year() && t.YearDay() == now.YearDay() {
		layout = "15:04:05"
	}
	return c.moment(t, t.Format(layout))
}

// Ago formats the time since t: "3 min ago".
func (c Clock) Ago(t time.Time) Moment {
	if t.IsZero() {
		return Moment{}
	}
	since := c.Now.Sub(t)
	if since > 6*24*time.Hour {
		return c.Moment(t)
	}
	text := "just now"
	if since >= 5*time.Second {
		text = units.Duration(since.Truncate(coarse(since))) + " ago"
	}
	return c.moment(t.In(c.zone()), text)
}

func (c Clock) zone() *time.Location {
	if c.Zone == nil {
		return time.UTC
	}
	return c.Zone
}

func (c Clock) moment(t time.Time, text string) Moment {
	return Moment{Text: text, Exact: t.Format("Monday 2 January 2006, 15:04:05 MST"), ISO: t.Format(time.RFC3339)}
}

// coarse returns the precision for d.
func coarse(d time.Duration) time.Duration {
	switch {
	case d >= 24*time.Hour:
		return time.Hour
	case d >= time.Hour:
		return time.Minute
	case d >= 10*time.Minute:
		return time.Minute
	default:
		return time.Second
	}
}

// CPU shows millicores: 500 → "0.5 CPU".
func CPU(millis int) string {
	return strconv.FormatFloat(float64(millis)/1000, 'f', -1, 64) + " CPU"
}

// Memory shows MiB: 1536 → "1.5 GiB".
func Memory(mib int) string { return units.Bytes(int64(mib) << 20) }

// Float shows a measured value with four significant digits: 0.9934, 3.2e-05. A value that is not an
// integer has as many more as it needs not to look like one: 0.999996.
func Float(v float64) string {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 1):
		return "∞"
	case math.IsInf(v, -1):
		return "−∞"
	case v == math.Trunc(v) && math.Abs(v) < 1e9:
		return units.Number(int64(v))
	case math.Abs(v) >= 1e6 || math.Abs(v) < 1e-3:
		return strconv.FormatFloat(v, 'e', 2, 64)
	case math.Abs(v) >= 1000:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	for digits := 4; ; digits++ {
		text := strings.TrimRight(strings.TrimRight(strconv.FormatFloat(v, 'f', digits, 64), "0"), ".")
		if strings.Contains(text, ".") || digits == 9 {
			return text
		}
	}
}

// Short cuts text to at most n runes, with an ellipsis.
func Short(text string, n int) string {
	return units.Shorten(text, n)
}
