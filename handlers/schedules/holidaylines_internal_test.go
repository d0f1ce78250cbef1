package schedules

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/schedule"
)

func berlin(t *testing.T) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	return zone
}

func TestHolidaysAreReadFromLines(t *testing.T) {
	t.Parallel()
	list, problem := readHolidays("2026-12-25 Christmas\r\n\n  2026-05-01\n2026-10-03: German Unity Day\n")
	require.Nil(t, problem)
	require.Equal(t, []schedule.Holiday{{Date: "2026-12-25", Name: "Christmas"}, {Date: "2026-05-01"}, {Date: "2026-10-03", Name: "German Unity Day"}}, list)
	require.Equal(t, "2026-12-25 Christmas\n2026-05-01\n2026-10-03 German Unity Day", holidayText(list))

	_, problem = readHolidays("2026-12-25\nChristmas 2026")
	require.Equal(t, "holidays", problem.Path)
	require.Contains(t, problem.Message, `"Christmas 2026" is not a holiday.`)
}

func TestBlackoutsAreReadFromLines(t *testing.T) {
	t.Parallel()
	zone := berlin(t)
	at := func(text string) time.Time {
		v, err := time.Parse(time.RFC3339, text)
		require.NoError(t, err)
		return v
	}
	list, problem := readBlackouts("2026-12-29 18:00 - 2027-01-02 08:00 Change freeze\n2026-07-01 – 2026-07-02\n2026-07-01T10:00Z to 2026-07-01T11:00:30Z, move", zone)
	require.Nil(t, problem)
	require.Equal(t, []schedule.Blackout{
		{Starts: at("2026-12-29T17:00:00Z"), Ends: at("2027-01-02T07:00:00Z"), Reason: "Change freeze"},
		{Starts: at("2026-06-30T22:00:00Z"), Ends: at("2026-07-02T22:00:00Z")}, // both days
		{Starts: at("2026-07-01T10:00:00Z"), Ends: at("2026-07-01T11:00:30Z"), Reason: "move"},
	}, list)
	for line, want := range map[string]string{
		"2026-12-29 Christmas": "is not a blackout", "2026-02-30 - 2026-03-01": "does not exist", "2026-02-01 25:00 - 2026-03-01": "does not exist",
	} {
		_, problem := readBlackouts(line, zone)
		require.Equal(t, "blackouts", problem.Path, line)
		require.Contains(t, problem.Message, want, line)
	}
}

// TestBlackoutsSurviveTheForm: the form shows every instant so that saving it again changes nothing,
// also at the hour that a change of the clock repeats.
func TestBlackoutsSurviveTheForm(t *testing.T) {
	t.Parallel()
	zone := berlin(t)
	for start := time.Date(2026, 10, 24, 22, 0, 0, 0, time.UTC); start.Before(time.Date(2026, 10, 25, 4, 0, 0, 0, time.UTC)); start = start.Add(15*time.Minute + time.Second) {
		want := []schedule.Blackout{{Starts: start, Ends: start.Add(time.Hour), Reason: "night"}}
		got, problem := readBlackouts(blackoutText(want, zone), zone)
		require.Nil(t, problem)
		require.Equal(t, want, got, blackoutText(want, zone))
	}
}
