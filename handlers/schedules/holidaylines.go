package schedules

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/schedule"
)

// A holiday is "2026-12-25 Christmas", and a blackout "2026-12-29 18:00 - 2027-01-02 08:00 Freeze".
var (
	holidayLine  = regexp.MustCompile(`^(\d{4}-\d{2}-\d{2})(?:[\s,;:]+(.+))?$`)
	blackoutLine = regexp.MustCompile(`^` + moment + `\s*(?:-|–|to)\s*` + moment + `(?:[\s,;]+(.+))?$`)
)

// moment is a date, a time of the day and an offset, of which only the date is required.
const moment = `(\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:\d{2})?)?)`

// textLines are the lines of a text that are not empty.
func textLines(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// readHolidays reads one holiday from each line.
func readHolidays(text string) (list []schedule.Holiday, problem *apperr.Field) {
	for _, line := range textLines(text) {
		parts := holidayLine.FindStringSubmatch(line)
		if parts == nil {
			return nil, &apperr.Field{Path: "holidays", Message: fmt.Sprintf("%q is not a holiday. Enter a date and a name, such as 2026-12-25 Christmas.", line)}
		}
		list = append(list, schedule.Holiday{Date: parts[1], Name: parts[2]})
	}
	return list, nil
}

// readBlackouts reads one blackout from each line. Times without an offset are in zone.
func readBlackouts(text string, zone *time.Location) (list []schedule.Blackout, problem *apperr.Field) {
	for _, line := range textLines(text) {
		parts := blackoutLine.FindStringSubmatch(line)
		if parts == nil {
			return nil, &apperr.Field{Path: "blackouts", Message: fmt.Sprintf("%q is not a blackout. Enter the start, the end and a reason, such as 2026-12-29 18:00 - 2027-01-02 08:00 Change freeze.", line)}
		}
		starts, startErr := readMoment(parts[1], zone, false)
		ends, endErr := readMoment(parts[2], zone, true)
		if startErr != nil || endErr != nil {
			return nil, &apperr.Field{Path: "blackouts", Message: fmt.Sprintf("%q has a date or a time that does not exist.", line)}
		}
		list = append(list, schedule.Blackout{Starts: starts.UTC(), Ends: ends.UTC(), Reason: parts[3]})
	}
	return list, nil
}

// readMoment reads a moment. A date alone is the start of the day, or its end if it ends something.
func readMoment(text string, zone *time.Location, end bool) (time.Time, error) {
	if len(text) == len(time.DateOnly) {
		day, err := time.ParseInLocation(time.DateOnly, text, zone)
		if end {
			day = day.AddDate(0, 0, 1)
		}
		return day, err
	}
	text = strings.Replace(text, "T", " ", 1)
	var failed error
	for _, layout := range []string{"2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02 15:04Z07:00", "2006-01-02 15:04:05Z07:00"} {
		at, err := time.ParseInLocation(layout, text, zone)
		if err == nil {
			return at, nil
		}
		failed = err
	}
	return time.Time{}, failed
}

// holidayText is what readHolidays reads.
func holidayText(list []schedule.Holiday) string {
	lines := make([]string, len(list))
	for i, h := range list {
		lines[i] = strings.TrimSpace(h.Date + " " + h.Name)
	}
	return strings.Join(lines, "\n")
}

// blackoutText is what readBlackouts reads.
func blackoutText(list []schedule.Blackout, zone *time.Location) string {
	lines := make([]string, len(list))
	for i, b := range list {
		lines[i] = strings.TrimSpace(momentText(b.Starts, zone) + " - " + momentText(b.Ends, zone) + " " + b.Reason)
	}
	return strings.Join(lines, "\n")
}

// momentText is a time in zone, with its offset if the clock shows the same time twice.
func momentText(t time.Time, zone *time.Location) string {
	layout := "2006-01-02 15:04"
	if t.Second() != 0 {
		layout = "2006-01-02 15:04:05"
	}
	text := t.In(zone).Format(layout)
	if again, err := readMoment(text, zone, false); err != nil || !again.Equal(t.Truncate(time.Second)) {
		text += t.In(zone).Format("Z07:00")
	}
	return text
}
