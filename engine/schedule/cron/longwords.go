package cron

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// longWords puts an expression together from words for its fields, "" if a field has none.
func (e Expression) longWords() string {
	if e.fields[0] != "0" {
		return ""
	}
	clock, daily := clockWords(e.fields[1], e.fields[2])
	days, ok := dayWords(e.fields[3], e.fields[5])
	months, known := monthWords(e.fields[4])
	if clock == "" || !ok || !known {
		return ""
	}
	switch {
	case days == "" && daily:
		days = "every day"
	case days != "" && months == "" && isAny(e.fields[5]):
		months = "of every month"
	}
	parts := slices.DeleteFunc([]string{clock, days, months}, func(part string) bool { return part == "" })
	text := strings.Join(parts, " ")
	return strings.ToUpper(text[:1]) + text[1:]
}

// maxTimes is how many times of a day are listed.
const maxTimes = 6

// clockWords are the times of a day: "at 02:30", "every 15 minutes from 09:00 to 17:59". daily: they
// are single times.
func clockWords(minute, hour string) (text string, daily bool) {
	hours, minutes := numbersOf(hour, 23), numbersOf(minute, 59)
	if len(hours) > 0 && len(minutes) > 0 && len(hours)*len(minutes) <= maxTimes {
		var times []string
		for _, h := range hours {
			for _, m := range minutes {
				times = append(times, fmt.Sprintf("%02d:%02d", h, m))
			}
		}
		return "at " + enumerate(times), true
	}
	during, ok := hourWords(hour)
	if !ok {
		return "", false
	}
	step, isStep := strings.CutPrefix(minute, "*/")
	n, err := strconv.Atoi(step)
	switch {
	case isAny(minute):
		return "every minute" + during.continuous, false
	case isStep && err == nil && n > 1 && 60%n == 0:
		return fmt.Sprintf("every %d minutes%s", n, during.continuous), false
	case len(minutes) > 0 && len(minutes) <= maxTimes && during.each != "":
		return "at " + countedMinutes(minutes) + " of " + during.each, false
	}
	return "", false
}

func countedMinutes(minutes []int) string {
	if len(minutes) == 1 {
		return fmt.Sprintf("minute %d", minutes[0])
	}
	return "minutes " + enumerate(texts(minutes))
}

// hoursInWords are the hours of an expression: during which all minutes count, and one by one.
type hoursInWords struct{ continuous, each string }

func hourWords(hour string) (hoursInWords, bool) {
	if isAny(hour) {
		return hoursInWords{each: "every hour"}, true
	}
	if from, to, ok := span(hour, 23); ok {
		return hoursInWords{fmt.Sprintf(" from %02d:00 to %02d:59", from, to), fmt.Sprintf("every hour from %02d:00 to %02d:59", from, to)}, true
	}
	if step, ok := strings.CutPrefix(hour, "*/"); ok {
		if n, err := strconv.Atoi(step); err == nil && n > 1 && 24%n == 0 {
			return hoursInWords{fmt.Sprintf(" in every %s hour", ordinal(n)), fmt.Sprintf("every %s hour", ordinal(n))}, true
		}
		return hoursInWords{}, false
	}
	if hours := numbersOf(hour, 23); len(hours) > 0 && len(hours) <= maxTimes {
		names := make([]string, len(hours))
		for i, h := range hours {
			names[i] = fmt.Sprintf("%02d:00", h)
		}
		return hoursInWords{" in the hours from " + enumerate(names), "the hours from " + enumerate(names)}, true
	}
	return hoursInWords{}, false
}

// dayWords are the days, "" for every day. If both fields restrict days, either is enough.
func dayWords(day, weekday string) (string, bool) {
	inMonth, ok := monthDayWords(day)
	inWeek, known := weekdayWords(weekday)
	switch {
	case !ok || !known:
		return "", false
	case inMonth != "" && inWeek != "":
		return inMonth + " or " + inWeek, true
	}
	return inMonth + inWeek, true
}

func monthDayWords(day string) (string, bool) {
	if isAny(day) {
		return "", true
	}
	if from, to, ok := span(day, 31); ok {
		return fmt.Sprintf("on days %d to %d", from, to), true
	}
	var days []string
	numbers := 0
	for part := range strings.SplitSeq(strings.ToUpper(day), ",") {
		before, isBefore := strings.CutPrefix(part, "L-")
		near, isNear := strings.CutSuffix(part, "W")
		n, err := strconv.Atoi(part)
		switch {
		case part == "L":
			days = append(days, "the last day")
		case part == "LW":
			days = append(days, "the last workday")
		case part == "1W":
			days = append(days, "the first workday")
		case isBefore && isWhole(before):
			n, _ := strconv.Atoi(before)
			days = append(days, "the "+ordinal(n+1)+"-to-last day")
		case isNear && isWhole(near):
			days = append(days, "the workday nearest to day "+near)
		case err == nil:
			days = append(days, "day "+strconv.Itoa(n))
			numbers++
		default:
			return "", false
		}
	}
	if numbers == len(days) && numbers > 1 {
		for i := range days {
			days[i] = strings.TrimPrefix(days[i], "day ")
		}
		return "on days " + enumerate(days), true
	}
	return "on " + enumerate(days), true
}

// Weekdays are the names of cron for the days of the week, Monday first.
func Weekdays() []string { return []string{"MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"} }

// WeekdayName is the English name of a day in the notation of cron, "" for none: MON, mon or 1.
func WeekdayName(day string) string {
	names := [...]string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}
	if n, err := strconv.Atoi(day); err == nil && n >= 0 && n < len(names) {
		return names[n]
	}
	for _, name := range names {
		if strings.EqualFold(name[:3], day) {
			return name
		}
	}
	return ""
}

func weekdayWords(weekday string) (string, bool) {
	if isAny(weekday) {
		return "", true
	}
	if from, to, ok := strings.Cut(weekday, "-"); ok {
		first, last := WeekdayName(from), WeekdayName(to)
		if first == "Monday" && last == "Friday" {
			return "from Monday to Friday", true
		}
		return "from " + first + " to " + last, first != "" && last != ""
	}
	var plain, single []string
	for part := range strings.SplitSeq(strings.ToUpper(weekday), ",") {
		name, which, nth := strings.Cut(part, "#")
		last, isLast := strings.CutSuffix(part, "L")
		switch {
		case isLast && WeekdayName(last) != "":
			single = append(single, "the last "+WeekdayName(last))
		case nth && which == "L" && WeekdayName(name) != "":
			single = append(single, "the last "+WeekdayName(name))
		case nth && len(which) == 1 && which >= "1" && which <= "5" && WeekdayName(name) != "":
			n, _ := strconv.Atoi(which)
			single = append(single, "the "+ordinal(n)+" "+WeekdayName(name))
		case !nth && WeekdayName(part) != "":
			plain = append(plain, WeekdayName(part))
		default:
			return "", false
		}
	}
	var parts []string
	if len(plain) > 0 {
		parts = append(parts, "every "+enumerate(plain))
	}
	if len(single) > 0 {
		parts = append(parts, "on "+enumerate(single)+" of the month")
	}
	return strings.Join(parts, " and "), true
}

// MonthNames are the English names of the months.
func MonthNames() []string {
	return []string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"}
}

func monthName(month string) string {
	names := MonthNames()
	if n, err := strconv.Atoi(month); err == nil && n >= 1 && n <= len(names) {
		return names[n-1]
	}
	for _, name := range names {
		if strings.EqualFold(name[:3], month) {
			return name
		}
	}
	return ""
}

// monthWords are the months, "" for every month.
func monthWords(month string) (string, bool) {
	if isAny(month) {
		return "", true
	}
	if step, ok := strings.CutPrefix(month, "*/"); ok {
		n, err := strconv.Atoi(step)
		if err != nil || n < 2 || 12%n != 0 {
			return "", false
		}
		var names []string
		for m := 0; m < 12; m += n {
			names = append(names, MonthNames()[m])
		}
		return "in " + enumerate(names), true
	}
	if from, to, ok := strings.Cut(month, "-"); ok {
		return "from " + monthName(from) + " to " + monthName(to), monthName(from) != "" && monthName(to) != ""
	}
	var names []string
	for part := range strings.SplitSeq(month, ",") {
		name := monthName(part)
		if name == "" {
			return "", false
		}
		names = append(names, name)
	}
	return "in " + enumerate(names), true
}

// numbersOf are the numbers of a list, nil for anything else.
func numbersOf(field string, most int) []int {
	var out []int
	for part := range strings.SplitSeq(field, ",") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 || n > most {
			return nil
		}
		out = append(out, n)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// span reads a range of numbers.
func span(field string, most int) (from, to int, ok bool) {
	a, b, ok := strings.Cut(field, "-")
	from, err := strconv.Atoi(a)
	to, err2 := strconv.Atoi(b)
	return from, to, ok && err == nil && err2 == nil && from >= 0 && from < to && to <= most
}

func isWhole(text string) bool {
	n, err := strconv.Atoi(text)
	return err == nil && n > 0
}

func texts(numbers []int) []string {
	out := make([]string, len(numbers))
	for i, n := range numbers {
		out[i] = strconv.Itoa(n)
	}
	return out
}

// ordinal is "first", "second", or "21st".
func ordinal(n int) string {
	names := map[int]string{1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth", 6: "sixth"}
	if name := names[n]; name != "" {
		return name
	}
	endings := map[int]string{1: "st", 2: "nd", 3: "rd"}
	if ending := endings[n%10]; ending != "" && n > 20 {
		return strconv.Itoa(n) + ending
	}
	return strconv.Itoa(n) + "th"
}

// enumerate lists words: "a, b and c".
func enumerate(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + " and " + list[len(list)-1]
}
