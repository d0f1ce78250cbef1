package cron

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Repeats is how often a Pattern matches.
type Repeats string

// The repetitions that forms offer.
const (
	Minutes Repeats = "minutes"
	Hourly  Repeats = "hourly"
	Daily   Repeats = "daily"
	Weekly  Repeats = "weekly"
	Monthly Repeats = "monthly"
)

// The days of a month beside days by number and weekdays.
const (
	OnDay         = "day" // by number
	OnLastDay     = "last"
	OnWorkday     = "workday" // the first from Monday to Friday
	OnLastWorkday = "last_workday"
	OnLast        = "L" // weekday; the others are 1 to 4
)

// Pattern is a cron expression as the choices of a form. Only the fields of its repetition count.
type Pattern struct {
	Repeats Repeats
	Every   int      // minutes or hours
	Hour    int      // of days, weeks and months
	Minute  int      // of hours, days, weeks and months
	Days    []string // of a week: MON to SUN
	On      string   // of months: OnDay, OnLastDay, OnWorkday, OnLastWorkday, or 1 to 4 and OnLast of Weekday
	Day     int      // of OnDay
	Weekday string   // MON to SUN
	Month   string   // "*", "*/3", or 1 to 12
}

// MinuteSteps are the distances in minutes that divide an hour.
func MinuteSteps() []int { return []int{1, 2, 3, 5, 10, 15, 20, 30} }

// HourSteps are the distances in hours that divide a day.
func HourSteps() []int { return []int{1, 2, 3, 4, 6, 8, 12} }

// Expression is the pattern as a cron expression of five fields.
func (p Pattern) Expression() string {
	clock := fmt.Sprintf("%d %d", p.Minute, p.Hour)
	switch p.Repeats {
	case Minutes:
		return step(p.Every) + " * * * *"
	case Hourly:
		return fmt.Sprintf("%d %s * * *", p.Minute, step(p.Every))
	case Daily:
		return clock + " * * *"
	case Weekly:
		return clock + " * * " + daysOf(p.Days)
	case Monthly:
	}
	month := p.Month
	if month == "" {
		month = "*"
	}
	switch p.On {
	case OnLastDay:
		return clock + " L " + month + " *"
	case OnWorkday:
		return clock + " 1W " + month + " *"
	case OnLastWorkday:
		return clock + " LW " + month + " *"
	case OnLast:
		return clock + " * " + month + " " + p.Weekday + "L"
	case "1", "2", "3", "4":
		return clock + " * " + month + " " + p.Weekday + "#" + p.On
	}
	return fmt.Sprintf("%s %d %s *", clock, p.Day, month)
}

func step(n int) string {
	if n <= 1 {
		return "*"
	}
	return "*/" + strconv.Itoa(n)
}

// daysOf writes days of the week in their order.
func daysOf(days []string) string {
	var list []string
	for _, day := range Weekdays() {
		if slices.Contains(days, day) {
			list = append(list, day)
		}
	}
	if joined := strings.Join(list, ","); joined != "MON,TUE,WED,THU,FRI" {
		return joined
	}
	return "MON-FRI"
}

// Pattern returns the choices that make an expression, and false if no choices do.
func (e Expression) Pattern() (Pattern, bool) {
	if e.every > 0 || e.spec == nil || e.fields[0] != "0" {
		return Pattern{}, false
	}
	minute, hour, day, month, weekday := e.fields[1], e.fields[2], e.fields[3], e.fields[4], strings.ToUpper(e.fields[5])
	p := Pattern{Month: "*"}
	if every, ok := stepOf(minute, MinuteSteps()); ok && isAny(hour) && isAny(day) && isAny(month) && isAny(weekday) {
		p.Repeats, p.Every = Minutes, every
		return p, true
	}
	if p.Minute, _ = strconv.Atoi(minute); strconv.Itoa(p.Minute) != minute {
		return Pattern{}, false
	}
	if every, ok := stepOf(hour, HourSteps()); ok && isAny(day) && isAny(month) && isAny(weekday) {
		p.Repeats, p.Every = Hourly, every
		return p, true
	}
	if p.Hour, _ = strconv.Atoi(hour); strconv.Itoa(p.Hour) != hour {
		return Pattern{}, false
	}
	if isAny(month) && isAny(day) && isAny(weekday) {
		p.Repeats = Daily
		return p, true
	}
	if p.Days = daysIn(weekday); isAny(month) && isAny(day) && len(p.Days) > 0 {
		p.Repeats = Weekly
		return p, true
	}
	p.Days = nil
	return p.monthly(strings.ToUpper(day), month, weekday)
}

// monthly reads the days and months of a monthly pattern.
func (p Pattern) monthly(day, month, weekday string) (Pattern, bool) {
	p.Repeats = Monthly
	if n, err := strconv.Atoi(month); err == nil || month == "*/3" || month == "*/2" || month == "*/6" {
		if p.Month = month; err == nil {
			p.Month = strconv.Itoa(n)
		}
	} else if !isAny(month) {
		return Pattern{}, false
	}
	name, which, nth := strings.Cut(weekday, "#")
	last, isLast := strings.CutSuffix(weekday, "L")
	n, err := strconv.Atoi(day)
	switch {
	case isAny(weekday) && err == nil:
		p.On, p.Day = OnDay, n
	case isAny(weekday) && day == "L":
		p.On = OnLastDay
	case isAny(weekday) && day == "1W":
		p.On = OnWorkday
	case isAny(weekday) && day == "LW":
		p.On = OnLastWorkday
	case isAny(day) && isLast && slices.Contains(Weekdays(), last):
		p.On, p.Weekday = OnLast, last
	case isAny(day) && nth && slices.Contains([]string{"1", "2", "3", "4"}, which) && slices.Contains(Weekdays(), name):
		p.On, p.Weekday = which, name
	default:
		return Pattern{}, false
	}
	return p, true
}

// stepOf reads * and */n with one of the given steps.
func stepOf(field string, steps []int) (int, bool) {
	if isAny(field) {
		return 1, true
	}
	text, ok := strings.CutPrefix(field, "*/")
	n, err := strconv.Atoi(text)
	return n, ok && err == nil && n > 1 && slices.Contains(steps, n)
}

// daysIn reads a list of days of the week, nil for anything else.
func daysIn(weekday string) []string {
	if weekday == "MON-FRI" || weekday == "1-5" {
		return Weekdays()[:5]
	}
	var days []string
	for part := range strings.SplitSeq(weekday, ",") {
		name := WeekdayName(part)
		if name == "" {
			return nil
		}
		days = append(days, strings.ToUpper(name[:3]))
	}
	return days
}
