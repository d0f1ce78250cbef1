// Package units reads and writes durations, sizes in bytes, and counted nouns in the same format
// for pages, messages, documents and commands.
package units

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Day is 24 hours.
const Day = 24 * time.Hour

// maxText bounds the text of a duration, in bytes.
const maxText = 100

// spellings maps the spellings of units of time to their lengths.
func spellings() map[string]time.Duration {
	units := map[string]time.Duration{}
	for names, length := range map[string]time.Duration{
		"w wk week weeks":                   7 * Day,
		"d day days":                        Day,
		"h hr hrs hour hours":               time.Hour,
		"m min mins minute minutes":         time.Minute,
		"s sec secs second seconds":         time.Second,
		"ms millisecond milliseconds":       time.Millisecond,
		"us µs μs microsecond microseconds": time.Microsecond,
		"ns nanosecond nanoseconds":         time.Nanosecond,
	} {
		for s := range strings.FieldsSeq(names) {
			units[s] = length
		}
	}
	return units
}

// DurationPattern approximates the input of ParseDuration as a regular expression.
func DurationPattern() string {
	const amount = `[0-9]+([.,][0-9]+)?`
	units := slices.Sorted(maps.Keys(spellings()))
	slices.Reverse(units) // longer spellings first
	return `^\s*(0|[Pp](` + amount + `[WDwd])+|[Pp](` + amount + `[WDwd])*[Tt](` + amount + `[HMShms])+|(` + amount + `\s*(` + strings.Join(units, "|") + `)\s*)+)\s*$`
}

// ParseDuration reads "1h30m", "2 h 30 min", "90 s", "1.5 days" and ISO 8601 ("PT1H30M",
// "P1DT2H", "P2W"). A number without a unit is refused, except 0. The error is a sentence
// for the user.
func ParseDuration(s string) (time.Duration, error) {
	text := strings.TrimSpace(s)
	switch {
	case len(text) > maxText || text == "":
		return 0, fmt.Errorf("%s is not a valid duration. Enter a value such as 90 s or 1 h 30 min.", quote(s))
	case iso.MatchString(text):
		return parseISO(s, strings.ToUpper(text[1:]))
	case text == "0":
		return 0, nil
	}
	if bareNumber.MatchString(text) {
		return 0, fmt.Errorf("%s has no unit. Enter a duration such as %s s or %s min.", quote(s), text, text)
	}
	return sum(s, strings.ToLower(text), spellings())
}

// iso matches the beginning of a duration in ISO 8601; other words may begin with p, such as pm.
var iso = regexp.MustCompile(`^[Pp][0-9Tt]`)

var bareNumber = regexp.MustCompile(`^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$`)

// Seconds reads a duration as ParseDuration does, or a number of seconds without a unit.
func Seconds(text string) (time.Duration, bool) {
	if bareNumber.MatchString(text) {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || math.Abs(f) > 1e9 {
			return 0, false
		}
		return time.Duration(f * float64(time.Second)).Round(time.Millisecond), true
	}
	d, err := ParseDuration(text)
	return d, err == nil
}

func parseISO(s, body string) (time.Duration, error) {
	days, clock, hasClock := strings.Cut(body, "T")
	if strings.ContainsAny(days, "YM") {
		return 0, fmt.Errorf("%s contains years or months, whose length varies. Enter days, hours, minutes or seconds.", quote(s))
	}
	if hasClock && clock == "" || days == "" && clock == "" {
		return 0, fmt.Errorf("%s is not a valid duration. Enter a value such as PT1H30M.", quote(s))
	}
	total := time.Duration(0)
	for _, part := range []struct {
		text  string
		units map[string]time.Duration
	}{
		{days, map[string]time.Duration{"W": 7 * Day, "D": Day}},
		{clock, map[string]time.Duration{"H": time.Hour, "M": time.Minute, "S": time.Second}},
	} {
		if part.text == "" {
			continue
		}
		d, err := sum(s, part.text, part.units)
		if err != nil {
			return 0, err
		}
		if total += d; total < 0 {
			return 0, tooLong(s)
		}
	}
	return total, nil
}

func tooLong(s string) error {
	return fmt.Errorf("%s is too long. Enter less than 292 years.", quote(s))
}

var amountAndUnit = regexp.MustCompile(`^\+?([0-9]*[.,]?[0-9]+)\s*([\pL]+)\s*`)

// sum adds "1h 30m": numbers, each with a unit. It is exact before it truncates to
// nanoseconds.
func sum(s, text string, units map[string]time.Duration) (time.Duration, error) {
	total := new(big.Rat)
	for text != "" {
		m := amountAndUnit.FindStringSubmatch(text)
		if m == nil {
			return 0, fmt.Errorf("%s is not a valid duration. Enter a value such as 90 s or 1 h 30 min.", quote(s))
		}
		unit, known := units[m[2]]
		if !known {
			return 0, fmt.Errorf("%s is not a unit of time. Enter days, h, min or s.", quote(m[2]))
		}
		amount, ok := new(big.Rat).SetString(strings.Replace(m[1], ",", ".", 1))
		if !ok {
			return 0, tooLong(s)
		}
		total.Add(total, amount.Mul(amount, new(big.Rat).SetInt64(int64(unit))))
		text = text[len(m[0]):]
	}
	nanoseconds := new(big.Int).Quo(total.Num(), total.Denom())
	if !nanoseconds.IsInt64() {
		return 0, tooLong(s)
	}
	return time.Duration(nanoseconds.Int64()), nil
}

// quote shows a typed text in a message, shortened to one line.
func quote(s string) string {
	if runes := []rune(s); len(runes) > 60 {
		s = string(runes[:60]) + "…"
	}
	return "“" + strings.ReplaceAll(s, "\n", "↵") + "”"
}
