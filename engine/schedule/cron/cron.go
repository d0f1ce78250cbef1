// Package cron computes the times of schedules: cron expressions in time zones with daylight
// saving time, intervals and single times. It is pure (docs/decisions/026-clock-changes.md).
package cron

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	parser "github.com/netresearch/go-cron"
)

// Gap defines what happens to a time that does not exist because clocks go forward.
type Gap string

// The rules for gaps. The zero value is GapRunAfter.
const (
	GapRunAfter Gap = "run_after" // run once, right after the gap
	GapSkip     Gap = "skip"
)

// Gaps returns all values of Gap, the default first.
func Gaps() []Gap { return []Gap{GapRunAfter, GapSkip} }

// Fold defines what happens to a time that exists twice because clocks go back.
type Fold string

// The rules for folds. The zero value is FoldFirst.
const (
	FoldFirst Fold = "first"
	FoldLast  Fold = "last"
	FoldBoth  Fold = "both"
)

// Folds returns all values of Fold, the default first.
func Folds() []Fold { return []Fold{FoldFirst, FoldLast, FoldBoth} }

// Clock defines how a cron expression is evaluated in a time zone.
type Clock struct {
	Zone   *time.Location
	Gap    Gap
	Fold   Fold
	Anchor time.Time // intervals run a whole number of intervals after it
}

// Limits of expressions.
const (
	MaxLength = 200 // characters
	// horizon is how far Next searches. It is longer than any cycle of leap years and days of the week,
	// also across 2100, which is no leap year.
	horizon = 41 // years
)

// Expression is a parsed cron expression. The zero value never matches.
type Expression struct {
	text      string
	fields    [6]string // seconds to days of the week, as written
	spec      *parser.SpecSchedule
	every     time.Duration
	frequency bool // every hour matches: runs keep their distance when clocks change, and Gap and Fold do not apply
}

// dayName is a day of the week. The parser takes the H of THU for a hashed value.
var dayName = regexp.MustCompile(`(?i)\b(SUN|MON|TUE|WED|THU|FRI|SAT)`)

// dayNumber returns the number of a day of the week.
func dayNumber(name string) string {
	return strconv.Itoa(strings.Index("SUNMONTUEWEDTHUFRISAT", strings.ToUpper(name)) / 3)
}

// parse is the parser of go-cron. Its search for times is not used.
var parse = parser.MustNewParser(parser.Second | parser.Minute | parser.Hour | parser.Dom | parser.Month | parser.Dow | parser.Extended | parser.DowOrDom).Parse //nolint:gochecknoglobals // constant

// lastDay matches a last day of the week in the notation of Quartz: FRIL or 5L.
var lastDay = regexp.MustCompile(`(?i)^(sun|mon|tue|wed|thu|fri|sat|[0-7])L$`)

// words are the expressions that have a name.
var words = map[string]string{ //nolint:gochecknoglobals // constant
	"@yearly": "0 0 0 1 1 *", "@annually": "0 0 0 1 1 *", "@monthly": "0 0 0 1 * *", "@weekly": "0 0 0 * * 0",
	"@daily": "0 0 0 * * *", "@midnight": "0 0 0 * * *", "@hourly": "0 0 * * * *",
}

// Parse reads an expression of five fields (minute, hour, day of the month, month, day of the
// week), of six fields that begin with seconds, a word such as @daily, or @every with a duration. If both days are
// restricted, either is enough, as in cron. The error is a sentence for users.
func Parse(text string) (Expression, error) {
	text = strings.TrimSpace(text)
	full := text
	if strings.HasPrefix(text, "@") {
		if length, ok := strings.CutPrefix(text, "@every "); ok {
			return parseEvery(text, strings.TrimSpace(length))
		}
		var ok bool
		if full, ok = words[strings.ToLower(text)]; !ok {
			return Expression{}, fmt.Errorf("unknown macro %q; use @hourly, @daily, @weekly, @monthly, @yearly, or @every with a duration such as @every 90m", shorten(text))
		}
	}
	fields := strings.Fields(full)
	switch {
	case strings.Contains(text, "TZ="):
		return Expression{}, fmt.Errorf("set the time zone in timezone, not in the expression %q", shorten(text))
	case utf8.RuneCountInString(text) > MaxLength:
		return Expression{}, fmt.Errorf("a cron expression can have at most %d characters", MaxLength)
	case len(fields) == 5:
		fields = append([]string{"0"}, fields...)
	case len(fields) != 6:
		return Expression{}, fmt.Errorf("%q has %d fields; use five (minute, hour, day, month, day of the week) such as \"0 5 * * *\", or six, with seconds first", shorten(text), len(fields))
	}
	e := Expression{text: text, fields: [6]string(fields)}
	days := strings.Split(fields[5], ",")
	for i, day := range days {
		if m := lastDay.FindStringSubmatch(day); m != nil {
			days[i] = m[1] + "#L"
		}
	}
	fields[5] = dayName.ReplaceAllStringFunc(strings.Join(days, ","), dayNumber)
	parsed, err := parse(strings.Join(fields, " "))
	if err != nil {
		return Expression{}, fmt.Errorf("%q is not a cron expression: %w", shorten(text), err)
	}
	spec, ok := parsed.(*parser.SpecSchedule)
	if !ok {
		return Expression{}, fmt.Errorf("%q is not a cron expression", shorten(text))
	}
	e.spec = spec
	e.frequency = spec.Hour&allHours == allHours
	if _, ok := e.nextWall(civil(2024, time.January, 1)); !ok { // the horizon contains every calendar year
		return Expression{}, fmt.Errorf("the expression %q never runs, because no such day exists", shorten(text))
	}
	return e, nil
}

// parseEvery reads an interval: elapsed time that clock changes do not move.
func parseEvery(text, length string) (Expression, error) {
	every, err := time.ParseDuration(length)
	if days, ok := strings.CutSuffix(length, "d"); err != nil && ok {
		if n, err := strconv.Atoi(days); err == nil && n > 0 && n <= 10_000 {
			return Expression{}, fmt.Errorf("%q is not a valid interval. Use %dh", shorten(length), 24*n)
		}
	}
	if err != nil || every < time.Second || every%time.Second != 0 {
		return Expression{}, fmt.Errorf("%q is not a valid interval. Use whole seconds, minutes or hours, such as 90m", shorten(length))
	}
	return Expression{text: text, every: every, frequency: true}, nil
}

const allHours = 1<<24 - 1

// String returns the expression as it was written.
func (e Expression) String() string { return e.text }

// Every returns the interval of an @every expression, 0 for the others.
func (e Expression) Every() time.Duration { return e.every }

// shorten bounds a text in a message.
func shorten(text string) string {
	if r := []rune(text); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return text
}
