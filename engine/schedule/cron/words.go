package cron

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Words describes an expression in English, or returns "" for one that is easier to read as
// written.
func (e Expression) Words() string {
	if text := e.shortWords(); text != "" {
		return text
	}
	return e.longWords()
}

// shortWords are the words of the usual expressions.
func (e Expression) shortWords() string {
	if e.every > 0 {
		return everyWords(e.every)
	}
	if step, ok := strings.CutPrefix(e.fields[0], "*/"); ok && !slices.ContainsFunc(e.fields[1:], func(f string) bool { return !isAny(f) }) {
		if n, err := strconv.Atoi(step); err == nil && n > 1 && 60%n == 0 {
			return "Every " + step + " seconds"
		}
	}
	minute, hour, day, month, weekday := e.fields[1], e.fields[2], e.fields[3], e.fields[4], e.fields[5]
	if e.fields[0] != "0" || !isAny(month) {
		return ""
	}
	if step, ok := strings.CutPrefix(minute, "*/"); ok && isAny(hour) && isAny(day) && isAny(weekday) {
		if n, err := strconv.Atoi(step); err == nil && 60%n == 0 {
			return "Every " + step + " minutes"
		}
		return ""
	}
	m, err := strconv.Atoi(minute)
	if err != nil {
		return ""
	}
	if isAny(hour) && isAny(day) && isAny(weekday) {
		return fmt.Sprintf("Every hour, at minute %d", m)
	}
	h, err := strconv.Atoi(hour)
	if err != nil {
		return ""
	}
	at := fmt.Sprintf(" at %02d:%02d", h, m)
	switch {
	case isAny(day) && isAny(weekday):
		return "Every day" + at
	case isAny(day) && dayNames(weekday) != "":
		return dayNames(weekday) + at
	case isAny(weekday) && strings.EqualFold(day, "L"):
		return "On the last day of every month" + at
	}
	if n, err := strconv.Atoi(day); err == nil && isAny(weekday) {
		return fmt.Sprintf("On day %d of every month%s", n, at)
	}
	return ""
}

func isAny(field string) bool { return field == "*" || field == "?" }

// dayNames are the days of the week of a field that names one of them, or the working days.
func dayNames(field string) string {
	switch strings.ToUpper(field) {
	case "0", "7", "SUN":
		return "Every Sunday"
	case "1", "MON":
		return "Every Monday"
	case "2", "TUE":
		return "Every Tuesday"
	case "3", "WED":
		return "Every Wednesday"
	case "4", "THU":
		return "Every Thursday"
	case "5", "FRI":
		return "Every Friday"
	case "6", "SAT":
		return "Every Saturday"
	case "1-5", "MON-FRI":
		return "Monday to Friday"
	}
	return ""
}

// everyWords describes an interval in the largest unit that divides it: "Every 90 minutes".
func everyWords(d time.Duration) string {
	n, unit := int64(d/time.Second), "second"
	switch {
	case d%time.Hour == 0:
		n, unit = int64(d/time.Hour), "hour"
	case d%time.Minute == 0:
		n, unit = int64(d/time.Minute), "minute"
	}
	if n == 1 {
		return "Every " + unit
	}
	return "Every " + strconv.FormatInt(n, 10) + " " + unit + "s"
}
