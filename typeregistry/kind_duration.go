package typeregistry

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// durationKind is Duration: a length of time, canonically ISO 8601 in hours,
// minutes and seconds ("PT1H30M").
type durationKind struct{ single }

func (durationKind) entry() Entry {
	return Entry{Name: "Duration", Group: "time", Summary: "A length of time, such as 1h30m, 90 s or 2 days.", Example: `Duration(min="1s", max="24h")`}
}

func (durationKind) params() []parameter {
	return []parameter{
		textParam("min", "The shortest duration, such as \"1s\".", func(p *Params) *string { return &p.Earliest }),
		textParam("max", "The longest duration.", func(p *Params) *string { return &p.Latest }),
	}
}

func (durationKind) prepare(t *Type) error {
	for _, bound := range []*string{&t.Params.Earliest, &t.Params.Latest} {
		if *bound == "" {
			continue
		}
		d, err := ParseDuration(*bound)
		if err != nil {
			return err
		}
		*bound = isoDuration(d)
	}
	least, most := durationBounds(t)
	if t.Params.Latest != "" && least > most {
		return fmt.Errorf("min %s is more than max %s", humanDuration(least), humanDuration(most))
	}
	return nil
}

func durationBounds(t *Type) (least, most time.Duration) {
	least, most = 0, 1<<63-1
	if d, err := ParseDuration(t.Params.Earliest); err == nil {
		least = d
	}
	if d, err := ParseDuration(t.Params.Latest); err == nil {
		most = d
	}
	return least, most
}

func (durationKind) noun(*Type) string { return "a duration" }

func (durationKind) hint(t *Type) string {
	least, most := durationBounds(t)
	switch p := t.Params; {
	case p.Earliest != "" && p.Latest != "":
		return fmt.Sprintf("Enter %s to %s.", humanDuration(least), humanDuration(most))
	case p.Earliest != "":
		return fmt.Sprintf("Enter %s or more.", humanDuration(least))
	case p.Latest != "":
		return fmt.Sprintf("Enter %s or less.", humanDuration(most))
	}
	return "Enter a duration, such as 90 s or 1 h 30 min."
}

func (k durationKind) normalize(c *checker, t *Type, path string, v any) any {
	s, ok := v.(string)
	if !ok {
		return c.wrong(t, path, v)
	}
	d, err := ParseDuration(s)
	if err != nil {
		c.problem(path, err.Error())
		return s
	}
	least, most := durationBounds(t)
	switch {
	case d < least:
		c.problem(path, sentence(humanDuration(d)+" is less than "+humanDuration(least)+".", k.hint(t)))
	case d > most:
		c.problem(path, sentence(humanDuration(d)+" is more than "+humanDuration(most)+".", k.hint(t)))
	}
	return isoDuration(d)
}

func (durationKind) jsonSchema(*Type) map[string]any {
	return map[string]any{"type": "string", "pattern": durationPattern()}
}

// durationPattern approximates the input of ParseDuration as a regular expression.
func durationPattern() string {
	const amount = `[0-9]+([.,][0-9]+)?`
	units := slices.Sorted(maps.Keys(durationUnits()))
	slices.Reverse(units) // longer spellings first
	return `^\s*(0|[Pp](` + amount + `[WDwd])+|[Pp](` + amount + `[WDwd])*[Tt](` + amount + `[HMShms])+|(` + amount + `\s*(` + strings.Join(units, "|") + `)\s*)+)\s*$`
}

func (durationKind) ui(t *Type, f *UIField, _ Env) {
	f.Component = "DurationInput"
	setBounds(f, t.Params.Earliest, t.Params.Latest)
}

func (durationKind) encode(t *Type, v any, name string, out url.Values) {
	out.Set(name, durationKind{}.render(t, v))
}

func (durationKind) render(_ *Type, v any) string {
	if d, err := ParseDuration(inputText(v)); err == nil {
		return humanDuration(d)
	}
	return inputText(v)
}

func (durationKind) accept(t, from *Type) error { return sameKind(t, from) }

// durationUnits maps spellings to lengths.
func durationUnits() map[string]time.Duration {
	units := map[string]time.Duration{}
	for spellings, length := range map[string]time.Duration{
		"w wk week weeks":                   7 * 24 * time.Hour,
		"d day days":                        24 * time.Hour,
		"h hr hrs hour hours":               time.Hour,
		"m min mins minute minutes":         time.Minute,
		"s sec secs second seconds":         time.Second,
		"ms millisecond milliseconds":       time.Millisecond,
		"us µs μs microsecond microseconds": time.Microsecond,
		"ns nanosecond nanoseconds":         time.Nanosecond,
	} {
		for s := range strings.FieldsSeq(spellings) {
			units[s] = length
		}
	}
	return units
}

// ParseDuration reads human units ("1h30m", "2 h 30 min", "90 s", "1.5 days") and
// ISO 8601 ("PT1H30M", "P1DT2H", "P2W"). The error is a sentence for the user.
func ParseDuration(s string) (time.Duration, error) {
	text := strings.TrimSpace(s)
	if len(text) > 100 || text == "" {
		return 0, fmt.Errorf("%s is not a duration. Enter one such as 90 s or 1 h 30 min.", quote(s))
	}
	if text[0] == 'P' || text[0] == 'p' {
		return parseISODuration(s, strings.ToUpper(text[1:]))
	}
	if _, ok := parseDecimal(text); ok && text != "0" {
		return 0, fmt.Errorf("%s has no unit. Enter a duration such as %s s or %s min.", quote(s), text, text)
	}
	if text == "0" {
		return 0, nil
	}
	return sumDuration(s, strings.ToLower(text), durationUnits())
}

func parseISODuration(s, body string) (time.Duration, error) {
	days, clock, hasClock := strings.Cut(body, "T")
	if strings.ContainsAny(days, "YM") {
		return 0, fmt.Errorf("%s counts years or months, which differ in length. Enter days, hours, minutes or seconds.", quote(s))
	}
	if hasClock && clock == "" || days == "" && clock == "" {
		return 0, fmt.Errorf("%s is not a duration. Enter one such as PT1H30M.", quote(s))
	}
	units := durationUnits()
	total := time.Duration(0)
	for part, allowed := range map[string][]string{days: {"W", "D"}, clock: {"H", "M", "S"}} {
		if part == "" {
			continue
		}
		table := map[string]time.Duration{}
		for _, unit := range allowed {
			table[unit] = units[strings.ToLower(unit)]
		}
		d, err := sumDuration(s, part, table)
		if err != nil {
			return 0, err
		}
		total += d
		if total < 0 {
			return 0, tooLong(s)
		}
	}
	return total, nil
}

func tooLong(s string) error {
	return fmt.Errorf("%s is too long. Enter less than 292 years.", quote(s))
}

var durationPart = regexp.MustCompile(`^([0-9]+(?:[.,][0-9]+)?)\s*([\pL]+)\s*`)

// sumDuration adds up "1h 30m": numbers, each with a unit.
func sumDuration(s, text string, units map[string]time.Duration) (time.Duration, error) {
	total, exact := decimal{}, false
	for text != "" {
		m := durationPart.FindStringSubmatch(text)
		if m == nil {
			return 0, fmt.Errorf("%s is not a duration. Enter one such as 90 s or 1 h 30 min.", quote(s))
		}
		unit, known := units[m[2]]
		if !known {
			return 0, fmt.Errorf("%s is not a unit of time. Enter days, h, min or s.", quote(m[2]))
		}
		amount, ok := parseDecimal(strings.Replace(m[1], ",", ".", 1))
		if !ok {
			return 0, tooLong(s)
		}
		amount = amount.times(int64(unit))
		if exact {
			amount = amount.plus(total)
		}
		total, exact = amount, true
		text = text[len(m[0]):]
	}
	nanoseconds := total.truncated()
	if !nanoseconds.IsInt64() {
		return 0, tooLong(s)
	}
	return time.Duration(nanoseconds.Int64()), nil
}

// isoDuration writes hours, minutes and seconds: PT36H, PT1H30M, PT0.25S.
func isoDuration(d time.Duration) string {
	parts := clockParts(d)
	var text strings.Builder
	text.WriteString("PT")
	for i, unit := range []string{"H", "M", "S"} {
		if parts[i] != "0" {
			text.WriteString(parts[i] + unit)
		}
	}
	if text.String() == "PT" {
		return "PT0S"
	}
	return text.String()
}

// humanDuration writes 3 h 10 min.
func humanDuration(d time.Duration) string {
	if d > 0 && d < time.Second {
		for _, u := range []struct {
			name   string
			length time.Duration
		}{{"ms", time.Millisecond}, {"µs", time.Microsecond}, {"ns", time.Nanosecond}} {
			if d%u.length == 0 {
				return strconv.FormatInt(int64(d/u.length), 10) + " " + u.name
			}
		}
	}
	parts := clockParts(d)
	var words []string
	for i, unit := range []string{"h", "min", "s"} {
		if parts[i] != "0" {
			words = append(words, parts[i]+" "+unit)
		}
	}
	if len(words) == 0 {
		return "0 s"
	}
	return strings.Join(words, " ")
}

// clockParts are the hours, minutes and seconds of d, the seconds with a fraction.
func clockParts(d time.Duration) []string {
	seconds := strconv.FormatInt(int64(d%time.Minute/time.Second), 10)
	if rest := d % time.Second; rest != 0 {
		seconds += "." + strings.TrimRight(fmt.Sprintf("%09d", int64(rest)), "0")
	}
	return []string{
		strconv.FormatInt(int64(d/time.Hour), 10),
		strconv.FormatInt(int64(d%time.Hour/time.Minute), 10),
		seconds,
	}
}
