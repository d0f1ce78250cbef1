package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/web/contract"
)

func TestSettingsOfASchedule(t *testing.T) {
	t.Parallel()
	sc := contract.ScheduleBody{ScheduleInput: contract.ScheduleInput{
		Inputs: json.RawMessage(`{"epochs":5}`), Jitter: 600, PauseAfter: 3,
		ScheduleWhen: contract.ScheduleWhen{Calendar: "germany", BusinessDays: true, Exclude: []contract.ScheduleWindow{{From: "22:00", Until: "06:00", Days: []string{"FRI"}}}},
	}, Delay: 90}
	var out strings.Builder
	printScheduleSettings(&out, sc)
	require.Equal(t, `  Inputs: {"epochs":5}
  Calendar: germany
  Only on business days
  Excluded: 22:00 to 06:00 on Friday
  Jitter: up to 10 min, always 1 min 30 s
  Pauses after: 3 consecutive failures
`, out.String())
	out.Reset()
	printScheduleSettings(&out, contract.ScheduleBody{ScheduleInput: contract.ScheduleInput{Inputs: json.RawMessage(`{}`), MaxRunning: 1}})
	require.Empty(t, out.String())
}

// TestBackfillsAreInTheTimeZoneOfTheirSchedule: a range from midnight to midnight has days.
func TestBackfillsAreInTheTimeZoneOfTheirSchedule(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 8, 31, 22, 0, 0, 0, time.UTC)
	require.Equal(t, "2026-09-01", dayOrTime(from, "Europe/Berlin"))
	require.Equal(t, "2026-09-01 01:30", dayOrTime(from.Add(90*time.Minute), "Europe/Berlin"))
	require.Equal(t, "2026-08-31 22:00", dayOrTime(from, "Nowhere"))
}

// TestAListOfSchedulesNamesWhatPausedThem: a pause by a user needs no explanation.
func TestAListOfSchedulesNamesWhatPausedThem(t *testing.T) {
	t.Parallel()
	next := time.Date(2026, 12, 1, 6, 0, 0, 0, time.UTC)
	paused := contract.ScheduleInput{Paused: true}
	for want, sc := range map[string]contract.ScheduleBody{
		"2026-12-01T06:00:00Z": {NextFireAt: &next},
		"ended":                {},
		"paused":               {ScheduleInput: paused, Reason: "person"},
		"paused (failures)":    {ScheduleInput: paused, Reason: "failures", NextFireAt: &next},
	} {
		require.Equal(t, want, stateOf(sc))
	}
}
