package typeregistry

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// dateLayout is the canonical form of a date.
const dateLayout = "2006-01-02"

func timeBounds(what, example string) []parameter {
	return []parameter{
		textParam("min", "The earliest "+what+", such as "+example+".", func(p *Params) *string { return &p.Earliest }),
		textParam("max", "The latest "+what+".", func(p *Params) *string { return &p.Latest }),
	}
}

// dateKind is Date: a day without a time zone. "today" may be its default or a bound.
type dateKind struct{ single }

func (dateKind) entry() Entry {
	return Entry{Name: "Date", Group: "time", Summary: "A day, such as 2026-01-24. The form suggests today.", Example: `Date(min="2020-01-01", max="today")`}
}

func (dateKind) params() []parameter { return timeBounds("day", `"2020-01-01" or "today"`) }

func (dateKind) prepare(t *Type) error { return datesInOrder(t) }

func datesInOrder(t *Type) error {
	for _, bound := range []string{t.Params.Earliest, t.Params.Latest} {
		if _, ok := parseDate(bound); bound != "" && bound != "today" && !ok {
			return fmt.Errorf("%s is not a date such as \"2026-01-24\"", quote(bound))
		}
	}
	if p := t.Params; p.Earliest != "" && p.Latest != "" && p.Earliest != "today" && p.Earliest > p.Latest {
		return fmt.Errorf("min %s is after max %s", p.Earliest, p.Latest)
	}
	return nil
}

func parseDate(s string) (time.Time, bool) {
	d, err := time.Parse(dateLayout, s)
	return d, err == nil && d.Year() >= 1
}

func (dateKind) noun(*Type) string { return "a date" }

func (dateKind) hint(t *Type) string {
	return dayHint(t, "Enter a date", ", such as 2026-01-24.")
}

func dayHint(t *Type, start, example string) string {
	switch p := t.Params; {
	case p.Earliest != "" && p.Latest != "":
		return fmt.Sprintf("%s from %s to %s.", start, p.Earliest, p.Latest)
	case p.Earliest != "":
		return fmt.Sprintf("%s from %s on.", start, p.Earliest)
	case p.Latest != "":
		return fmt.Sprintf("%s up to %s.", start, p.Latest)
	}
	return start + example
}

func (k dateKind) normalize(c *checker, t *Type, path string, v any) any {
	s, ok := v.(string)
	if !ok {
		return c.wrong(t, path, v)
	}
	d, ok := parseDate(s)
	if !ok {
		return c.wrong(t, path, v)
	}
	day := d.Format(dateLayout)
	if early, late := bound(t.Params.Earliest, c.env), bound(t.Params.Latest, c.env); early != "" && day < early || late != "" && day > late {
		side := map[bool]string{true: "before " + early, false: "after " + late}[early != "" && day < early]
		c.problem(path, sentence(day+" is "+side+".", k.hint(t)))
	}
	return day
}

// bound resolves "today"; without a clock there is no bound.
func bound(text string, env Env) string {
	if text != "today" {
		return text
	}
	if env.Now.IsZero() {
		return ""
	}
	return env.Now.Format(dateLayout)
}

func (dateKind) jsonSchema(*Type) map[string]any {
	return map[string]any{"type": "string", "format": "date"}
}

func (dateKind) ui(t *Type, f *UIField, env Env) {
	f.Component = "DatePicker"
	setBounds(f, bound(t.Params.Earliest, env), bound(t.Params.Latest, env))
	if f.Required && !env.Now.IsZero() {
		f.Default = env.Now.Format(dateLayout)
	}
}

func setBounds(f *UIField, least, most string) {
	if least != "" {
		f.Min = least
	}
	if most != "" {
		f.Max = most
	}
}

func (dateKind) accept(t, from *Type) error { return sameKind(t, from) }

// dateRangeKind is DateRange: two days, both included.
type dateRangeKind struct{ dateKind }

func (dateRangeKind) entry() Entry {
	return Entry{Name: "DateRange", Group: "time", Summary: "A range of days, including the first and the last.", Example: `DateRange(min="2020-01-01")`}
}

func (dateRangeKind) composite(*Type) bool { return true }
func (dateRangeKind) noun(*Type) string    { return "a date range" }

func (dateRangeKind) hint(t *Type) string {
	return dayHint(t, "Enter a first and a last day", ".")
}

func (k dateRangeKind) normalize(c *checker, t *Type, path string, v any) any {
	object, ok := v.(map[string]any)
	if !ok {
		return c.wrong(t, path, v)
	}
	refuseUnknown(c, path, object, "from", "to")
	day := &Type{Kind: KindDate, Params: t.Params, impl: dateKind{}}
	before := len(c.problems)
	from, _ := k.dateKind.normalize(c, day, join(path, "from"), object["from"]).(string)
	to, _ := k.dateKind.normalize(c, day, join(path, "to"), object["to"]).(string)
	if len(c.problems) == before && from > to {
		c.problem(join(path, "to"), to+" is before the first day, "+from+". Enter a day from "+from+" on.")
	}
	return map[string]any{"from": from, "to": to}
}

// refuseUnknown reports unknown keys.
func refuseUnknown(c *checker, path string, object map[string]any, allowed ...string) {
	for _, key := range sortedKeys(object) {
		if !slices.Contains(allowed, key) {
			c.problem(join(path, key), quote(key)+" is not a known key. Enter "+strings.Join(allowed, " and ")+" only.")
		}
	}
}

func (dateRangeKind) jsonSchema(*Type) map[string]any {
	day := map[string]any{"type": "string", "format": "date"}
	return map[string]any{"type": "object", "properties": map[string]any{"from": day, "to": day},
		"required": []any{"from", "to"}, "additionalProperties": false}
}

func (dateRangeKind) ui(t *Type, f *UIField, env Env) {
	f.Component = "DateRangePicker"
	setBounds(f, bound(t.Params.Earliest, env), bound(t.Params.Latest, env))
}

func (dateRangeKind) decode(r *formReader, _ *Type, name, _ string) (any, bool) {
	from, _ := r.text(name + ".from")
	to, _ := r.text(name + ".to")
	out := map[string]any{}
	if from != "" {
		out["from"] = from
	}
	if to != "" {
		out["to"] = to
	}
	return out, len(out) > 0
}

func (dateRangeKind) encode(_ *Type, v any, name string, out url.Values) {
	object, _ := v.(map[string]any)
	out.Set(name+".from", inputText(object["from"]))
	out.Set(name+".to", inputText(object["to"]))
}

func (dateRangeKind) control(_ *formReader, _ *Type, name string, segments []string) string {
	if len(segments) == 0 {
		return name + ".from"
	}
	return join(name, segments[0])
}

func (dateRangeKind) render(_ *Type, v any) string {
	object, ok := v.(map[string]any)
	if !ok {
		return inputText(v)
	}
	return inputText(object["from"]) + " to " + inputText(object["to"])
}
