package typeregistry

import (
	"fmt"
	"net/url"
	"strings"
	"time"
	_ "time/tzdata" // time zones also work on a machine without a zone database
)

// dateTimeKind is DateTime: an instant with its offset from UTC, canonically
// RFC 3339. "2026-03-29T02:30 Europe/Berlin", local time and a zone, is read too.
type dateTimeKind struct{ single }

func (dateTimeKind) entry() Entry {
	return Entry{Name: "DateTime", Group: "time", Summary: "A date and time with a time zone.", Example: `DateTime(min="2020-01-01T00:00:00Z")`}
}

func (dateTimeKind) params() []parameter { return timeBounds("moment", `"2020-01-01T00:00:00Z"`) }

func (dateTimeKind) prepare(t *Type) error {
	for _, bound := range []*string{&t.Params.Earliest, &t.Params.Latest} {
		if *bound == "" {
			continue
		}
		at, problem := parseMoment(*bound)
		if problem != "" {
			return fmt.Errorf("%s is not a date with time such as \"2026-01-24T18:00:00Z\"", quote(*bound))
		}
		*bound = at.Format(time.RFC3339Nano)
	}
	return nil
}

func (dateTimeKind) noun(*Type) string { return "a date with time" }

func (dateTimeKind) hint(t *Type) string {
	return dayHint(t, "Enter a date with time and zone", ", such as 2026-01-24T18:00:00Z.")
}

func (k dateTimeKind) normalize(c *checker, t *Type, path string, v any) any {
	s, ok := v.(string)
	if !ok {
		return c.wrong(t, path, v)
	}
	at, problem := parseMoment(s)
	if problem != "" {
		c.problem(path, problem)
		return s
	}
	if early, problem := parseMoment(t.Params.Earliest); problem == "" && at.Before(early) {
		c.problem(path, sentence(s+" is before "+t.Params.Earliest+".", k.hint(t)))
	}
	if late, problem := parseMoment(t.Params.Latest); problem == "" && at.After(late) {
		c.problem(path, sentence(s+" is after "+t.Params.Latest+".", k.hint(t)))
	}
	return at.Format(time.RFC3339Nano)
}

func localLayouts() []string {
	return []string{"2006-01-02T15:04:05.999999999", "2006-01-02T15:04", "2006-01-02 15:04:05.999999999", "2006-01-02 15:04"}
}

// parseMoment reads RFC 3339, or local time and a zone; problem describes invalid input.
func parseMoment(s string) (at time.Time, problem string) {
	if at, err := time.Parse(time.RFC3339Nano, strings.Replace(s, " ", "T", 1)); err == nil && at.Year() >= 1 {
		return at, ""
	}
	clock, zone := splitZone(s)
	for _, layout := range localLayouts() {
		local, err := time.Parse(layout, clock)
		if err != nil || local.Year() < 1 {
			continue
		}
		if zone == "" {
			return at, quote(s) + " has no time zone. Add one, such as Z, +01:00 or Europe/Berlin."
		}
		location, ok := loadZone(zone)
		if !ok {
			return at, quote(zone) + " is not a time zone. Enter a name such as Europe/Berlin, or UTC."
		}
		return inZone(local, location)
	}
	return at, quote(s) + " is not a date with time. Enter one such as 2026-01-24T18:00:00Z."
}

// splitZone cuts "2026-01-24T18:00 Europe/Berlin" before the zone.
func splitZone(s string) (clock, zone string) {
	i := strings.LastIndexByte(s, ' ')
	if i < 0 || strings.ContainsRune(s[i:], ':') && !strings.ContainsAny(s[i:], "+-") {
		return s, ""
	}
	return s[:i], s[i+1:]
}

func loadZone(name string) (*time.Location, bool) {
	if at, err := time.Parse("-07:00", name); err == nil {
		return at.Location(), true
	}
	if name == "Z" || name == "UTC" {
		return time.UTC, true
	}
	if name == "" || name == "Local" {
		return nil, false
	}
	location, err := time.LoadLocation(name)
	return location, err == nil
}

// inZone interprets local as wall-clock time in a zone. A skipped time is a problem; an
// ambiguous time means the first occurrence.
func inZone(local time.Time, zone *time.Location) (time.Time, string) {
	at := time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), local.Minute(), local.Second(), local.Nanosecond(), zone)
	if at.Hour() != local.Hour() || at.Minute() != local.Minute() || at.Day() != local.Day() {
		return at, fmt.Sprintf("%s does not exist on %s in %s: the clocks go forward. Enter another time.",
			local.Format("15:04"), local.Format("2 January 2006"), zone)
	}
	if earlier := at.Add(-time.Hour); earlier.Hour() == at.Hour() && earlier.Minute() == at.Minute() {
		at = earlier
	}
	_, offset := at.Zone()
	if offset == 0 {
		return at.UTC(), ""
	}
	return at.In(time.FixedZone("", offset)), ""
}

func (dateTimeKind) jsonSchema(*Type) map[string]any {
	return map[string]any{"type": "string", "format": "date-time"}
}

func (dateTimeKind) ui(t *Type, f *UIField, _ Env) {
	f.Component = "DateTimePicker"
	setBounds(f, t.Params.Earliest, t.Params.Latest)
}

// decode joins the local time and its zone; without a zone it returns the text.
func (dateTimeKind) decode(r *formReader, _ *Type, name, _ string) (any, bool) {
	text, ok := r.text(name)
	if !ok || text == "" {
		return nil, false
	}
	if zone, ok := r.text(name + ".$zone"); ok && zone != "" {
		if _, err := time.Parse(time.RFC3339Nano, text); err != nil {
			return text + " " + zone, true
		}
	}
	return text, true
}

func (dateTimeKind) encode(_ *Type, v any, name string, out url.Values) {
	text := inputText(v)
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		zone := at.Format("-07:00")
		if _, offset := at.Zone(); offset == 0 {
			zone = "UTC"
		}
		out.Set(name, at.Format("2006-01-02T15:04:05.999999999"))
		out.Set(name+".$zone", zone)
		return
	}
	clock, zone := splitZone(text)
	out.Set(name, clock)
	out.Set(name+".$zone", zone)
}

func (dateTimeKind) render(_ *Type, v any) string {
	at, err := time.Parse(time.RFC3339Nano, inputText(v))
	if err != nil {
		return inputText(v)
	}
	zone := "UTC" + at.Format("-07:00")
	if _, offset := at.Zone(); offset == 0 {
		zone = "UTC"
	}
	return at.Format("2 January 2006 15:04:05 ") + zone
}

func (dateTimeKind) accept(t, from *Type) error { return sameKind(t, from) }
