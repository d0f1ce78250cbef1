package cron

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func berlin(t *testing.T) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	return zone
}

func fires(t *testing.T, text, after string, n int, c Clock) (out []string) {
	t.Helper()
	e, err := Parse(text)
	require.NoError(t, err)
	at, err := time.Parse("2006-01-02 15:04:05", after)
	require.NoError(t, err)
	for range n {
		at = e.Next(at, c)
		zone := c.Zone
		if zone == nil {
			zone = time.UTC
		}
		out = append(out, at.In(zone).Format("Mon 2006-01-02 15:04:05 MST"))
	}
	return out
}

func TestNotations(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"30 2 * * SUNL":       "Sun 2026-11-29 02:30:00 UTC",
		"30 2 * * 7L":         "Sun 2026-11-29 02:30:00 UTC",
		"30 2 * * 5#3":        "Fri 2026-12-18 02:30:00 UTC",
		"0 6 L * *":           "Mon 2026-11-30 06:00:00 UTC",
		"0 6 L-2 * *":         "Sat 2026-11-28 06:00:00 UTC",
		"0 6 LW * *":          "Mon 2026-11-30 06:00:00 UTC",
		"0 6 1W 8 *":          "Mon 2027-08-02 06:00:00 UTC", // the 1st is a Sunday
		"0 6 31W * *":         "Thu 2026-12-31 06:00:00 UTC",
		"15 0 6 * * *":        "Wed 2026-11-25 06:00:15 UTC",
		"*/20 * * * * *":      "Tue 2026-11-24 12:00:20 UTC",
		"0 9 * jan mon-fri":   "Fri 2027-01-01 09:00:00 UTC",
		"0 0 13 * FRI":        "Fri 2026-11-27 00:00:00 UTC", // either day is enough
		"@hourly":             "Tue 2026-11-24 13:00:00 UTC",
		"@yearly":             "Fri 2027-01-01 00:00:00 UTC",
		"0 0 29 2 *":          "Tue 2028-02-29 00:00:00 UTC",
		"5,10 22-2 * * *":     "Tue 2026-11-24 22:05:00 UTC",
		"0 12 * * *":          "Wed 2026-11-25 12:00:00 UTC", // strictly after
		"59 59 23 31 12 *":    "Thu 2026-12-31 23:59:59 UTC",
		"0 0 1-7 * *":         "Tue 2026-12-01 00:00:00 UTC",
		"0 0 * * SUN#5,MON#1": "Sun 2026-11-29 00:00:00 UTC",
	} {
		require.Equal(t, []string{want}, fires(t, text, "2026-11-24 12:00:00", 1, Clock{}), text)
	}
}

// TestRareDays: the day that comes after the longest wait is found.
func TestRareDays(t *testing.T) {
	t.Parallel()
	e, err := Parse("0 0 29 2 *")
	require.NoError(t, err)
	require.Equal(t, 2104, e.Next(time.Date(2096, 3, 1, 0, 0, 0, 0, time.UTC), Clock{}).Year())
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                         `"" has 0 fields; use five`,
		"0 5 * *":                  `"0 5 * *" has 4 fields`,
		"0 0 30 2 *":               `the expression "0 0 30 2 *" never runs, because no such day exists`,
		"0 0 31 4,6,9,11 *":        "never runs",
		"60 * * * *":               `"60 * * * *" is not a cron expression`,
		"@every 10ms":              `"10ms" is not a valid interval`,
		"@every -1h":               "is not a valid interval",
		"@reboot":                  `unknown macro "@reboot"; use @hourly`,
		"CRON_TZ=Asia/Tokyo 0 5 *": "set the time zone in timezone",
		"0 5 * * L":                "is not a cron expression",
		"H 5 * * *":                "is not a cron expression",
	} {
		_, err := Parse(text)
		require.ErrorContains(t, err, want, text)
	}
}

// TestClocksGoForward: on 28 March 2027, 02:30 does not exist in Berlin.
func TestClocksGoForward(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"Sun 2027-03-28 03:00:00 CEST", "Mon 2027-03-29 02:30:00 CEST"},
		fires(t, "30 2 * * *", "2027-03-27 12:00:00", 2, Clock{Zone: berlin(t)}))
	require.Equal(t, []string{"Mon 2027-03-29 02:30:00 CEST"},
		fires(t, "30 2 * * *", "2027-03-27 12:00:00", 1, Clock{Zone: berlin(t), Gap: GapSkip}))
	require.Equal(t, []string{"Sun 2027-03-28 01:45:00 CET", "Sun 2027-03-28 03:00:00 CEST", "Sun 2027-03-28 03:15:00 CEST"},
		fires(t, "*/15 * * * *", "2027-03-28 00:30:00", 3, Clock{Zone: berlin(t)}), "a frequency keeps its distance")
}

// TestClocksGoBack: on 31 October 2027, 02:30 exists twice in Berlin.
func TestClocksGoBack(t *testing.T) {
	t.Parallel()
	const noon = "2027-10-30 12:00:00"
	first, last, after := "Sun 2027-10-31 02:30:00 CEST", "Sun 2027-10-31 02:30:00 CET", "Mon 2027-11-01 02:30:00 CET"
	require.Equal(t, []string{first, after}, fires(t, "30 2 * * *", noon, 2, Clock{Zone: berlin(t)}))
	require.Equal(t, []string{last, after}, fires(t, "30 2 * * *", noon, 2, Clock{Zone: berlin(t), Fold: FoldLast}))
	require.Equal(t, []string{first, last, after}, fires(t, "30 2 * * *", noon, 3, Clock{Zone: berlin(t), Fold: FoldBoth}))
	require.Equal(t, []string{first, last}, fires(t, "30 * * * *", "2027-10-31 00:00:00", 2, Clock{Zone: berlin(t), Fold: FoldFirst}), "a frequency keeps its distance")
}

// TestLeapYearEnd: ZoneBounds ends the years after the last change in the database a day early.
func TestLeapYearEnd(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"Sun 2028-12-31 09:00:00 CET", "Mon 2029-01-01 09:00:00 CET"},
		fires(t, "0 9 * * *", "2028-12-30 12:00:00", 2, Clock{Zone: berlin(t)}))
}

func TestIntervals(t *testing.T) {
	t.Parallel()
	anchor := time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)
	e, err := Parse("@every 6h")
	require.NoError(t, err)
	require.Equal(t, 6*time.Hour, e.Every())
	for hours, want := range map[int]int{0: 6, 5: 6, 6: 12, -1: 0, -6: 0, -7: -6} {
		require.Equal(t, anchor.Add(time.Duration(want)*time.Hour), e.Next(anchor.Add(time.Duration(hours)*time.Hour), Clock{Anchor: anchor}), hours)
	}
}

// TestIntervalsFromFarAway: anchors and times are further apart than a time.Duration holds.
func TestIntervalsFromFarAway(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 24, 12, 34, 56, 500, time.UTC)
	anchors := []time.Time{
		{}, time.Date(1700, 1, 1, 0, 0, 0, 1000, time.UTC), time.Date(2600, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC),
	}
	for _, text := range []string{"@every 1s", "@every 6h", "@every 2540000h"} {
		e, err := Parse(text)
		require.NoError(t, err)
		for _, anchor := range anchors {
			next := e.Next(now, Clock{Anchor: anchor})
			require.True(t, next.After(now) && !next.After(now.Add(e.Every())), "%s from %s: %s", text, anchor, next)
			require.Equal(t, anchor.Nanosecond(), next.Nanosecond())
			require.Zero(t, (next.Unix()-anchor.Unix())%int64(e.Every()/time.Second), "%s from %s", text, anchor)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"*/5 * * * *", "0 0 L-3 * FRI#2", "@daily", "1-5/2 22-2 15W * SUNL", "0 0 0 29 2 1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := Parse(text)
		if err != nil {
			return
		}
		at := time.Date(2026, 3, 28, 0, 0, 0, 0, time.UTC)
		if next := e.Next(at, Clock{Zone: time.UTC}); !next.After(at) {
			t.Errorf("%q: the run after %s is %s", text, at, next)
		}
	})
}

// TestEveryDayHasAName: a name means the same as its number, alone and in lists and ranges.
func TestEveryDayHasAName(t *testing.T) {
	t.Parallel()
	for text, same := range map[string]string{
		"0 8 * * THU": "0 8 * * 4", "0 8 * * mon,thu": "0 8 * * 1,4", "0 8 * * MON-THU": "0 8 * * 1-4", "0 8 * * THU#2": "0 8 * * 4#2", "0 8 * * SUN,SAT": "0 8 * * 0,6",
	} {
		named, err := Parse(text)
		require.NoError(t, err, text)
		numbered, err := Parse(same)
		require.NoError(t, err, same)
		at := time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)
		want := numbered.Next(at, Clock{})
		require.Equal(t, want, named.Next(at, Clock{}), text)
	}
}
