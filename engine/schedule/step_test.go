package schedule

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestDecideStops: a step with many fires ends with its context, and records nothing.
func TestDecideStops(t *testing.T) {
	t.Parallel()
	sp := Spec{When: When{Expressions: []string{"@every 1s"}, Timezone: "UTC"}}
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	sp.fill(now)
	timing, fields := sp.read()
	require.Empty(t, fields)
	ctx, cancel := context.WithCancel(t.Context())
	st, err := decide(ctx, timing, sp, now, now.Add(time.Minute), 0)
	require.NoError(t, err)
	require.Equal(t, now, *st.fire)
	cancel()
	st, err = decide(ctx, timing, sp, now, now.Add(time.Minute+OnTime), 0)
	require.ErrorIs(t, err, context.Canceled)
	require.Nil(t, st.fire)
}

// timingOf returns when a spec fires.
func timingOf(t *testing.T, sp *Spec, now time.Time) timing {
	t.Helper()
	sp.fill(now)
	timing, fields := sp.read()
	require.Empty(t, fields)
	return timing
}

// TestDecideIsBounded: ten years of a schedule that fires every second are decided at once, with the
// fires that the rule requires.
func TestDecideIsBounded(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	long := now.AddDate(-10, 0, 0)
	for misfire, want := range map[Misfire]time.Time{
		MisfireLatest: now.Add(-OnTime), MisfireSkip: now.Add(-OnTime), MisfireAll: now.Add(-OnTime - 7*time.Second),
	} {
		for _, text := range []string{"@every 1s", "* * * * * *"} {
			sp := Spec{When: When{Expressions: []string{text}, Anchor: long}, Misfire: misfire, CatchUpMax: 7}
			timing := timingOf(t, &sp, now)
			start := time.Now()
			st, err := decide(t.Context(), timing, sp, long, now, 0)
			require.NoError(t, err)
			require.Equal(t, want, *st.fire, "%s %s", misfire, text)
			require.Equal(t, span{first: long, last: want.Add(-time.Second), fires: MaxCounted}, st.missed)
			require.Contains(t, st.missed.message(), "More than 100000 runs")
			require.Equal(t, want.Add(-time.Second), st.start)
			require.Equal(t, want.Add(time.Second), st.next)
			t.Logf("%s %s took %s", misfire, text, time.Since(start))
		}
	}
}

// TestDecideLikeEnumerating: the step is the one that a walk over all fires finds.
func TestDecideLikeEnumerating(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 24, 12, 0, 30, 0, time.UTC)
	for _, text := range []string{"*/7 * * * *", "0 9 * * MON-FRI", "0 0 1 * *", "@every 45m", "* 9 * * *"} {
		for _, ago := range []time.Duration{0, time.Minute, time.Hour, 26 * time.Hour, 40 * 24 * time.Hour} {
			for _, misfire := range Misfires() {
				sp := Spec{When: When{Expressions: []string{text}, Exclude: []Window{{From: "03:00", Until: "05:00", Days: []string{"SUN"}}}}, Misfire: misfire, CatchUp: 25 * time.Hour, CatchUpMax: 3}
				timing := timingOf(t, &sp, now)
				next := timing.next(now.Add(-ago))
				got, err := decide(t.Context(), timing, sp, next, now, 0)
				require.NoError(t, err)
				fire, missed := enumerate(timing, sp, next, now)
				if fire.IsZero() {
					require.Nil(t, got.fire, "%s %s %s", text, ago, misfire)
				} else {
					require.Equal(t, fire, *got.fire, "%s %s %s", text, ago, misfire)
				}
				require.Equal(t, missed, got.missed, "%s %s %s", text, ago, misfire)
			}
		}
	}
}

// enumerate walks over all fires until now: the one to launch, and those that are not.
func enumerate(t timing, sp Spec, next, now time.Time) (fire time.Time, dropped span) {
	add := func(at time.Time) {
		if dropped.fires++; dropped.fires == 1 {
			dropped.first = at
		}
		dropped.last = at
	}
	keep := map[Misfire]int{MisfireLatest: 1, MisfireAll: sp.CatchUpMax}[sp.Misfire]
	var missed, onTime []time.Time
	for at := next; !at.IsZero() && !at.After(now); at = t.next(at) {
		switch {
		case !at.Before(now.Add(-OnTime)):
			onTime = append(onTime, at)
		case keep == 0 || at.Before(now.Add(-sp.CatchUp)):
			add(at)
		default:
			if missed = append(missed, at); len(missed) > keep {
				add(missed[0])
				missed = missed[1:]
			}
		}
	}
	if sp.Misfire == MisfireLatest && len(missed) > 0 && len(onTime) > 0 {
		add(missed[0])
		missed = nil
	}
	if all := slices.Concat(missed, onTime); len(all) > 0 {
		fire = all[0]
	}
	return fire, dropped
}

// TestExclusions: nothing fires on holidays, on days off, in windows and in blackouts, and the data
// interval reaches from one fire to the next.
func TestExclusions(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 12, 22, 12, 0, 0, 0, time.UTC) // a Tuesday
	calendar := &Calendar{
		Weekend: []string{"SAT", "SUN"}, Holidays: []Holiday{{Date: "2026-12-25", Name: "Christmas"}},
		Blackouts: []Blackout{{Starts: time.Date(2026, 12, 29, 0, 0, 0, 0, time.UTC), Ends: time.Date(2026, 12, 30, 8, 0, 0, 0, time.UTC), Reason: "freeze"}},
	}
	sp := Spec{When: When{Expressions: []string{"0 9 * * *"}, Timezone: "Europe/Berlin", BusinessDays: true, calendar: calendar}}
	timing := timingOf(t, &sp, now)
	var days []string
	fires := timing.fires(now, 5)
	for _, f := range fires {
		days = append(days, f.IntervalStart.Format("02")+">"+f.At.Format("02 15:04"))
	}
	require.Equal(t, []string{"22>23 09:00", "23>24 09:00", "24>28 09:00", "28>30 09:00", "30>31 09:00"}, days)
	var why []string
	for _, f := range timing.exclusionsUntil(now, fires) {
		why = append(why, f.At.Format("02 ")+f.Excluded)
	}
	require.Equal(t, []string{"25 Christmas", "26 Saturday is not a business day", "27 Sunday is not a business day", "29 Blackout: freeze"}, why)

	night := Spec{When: When{Expressions: []string{"0 * * * *"}, Timezone: "Europe/Berlin", Exclude: []Window{{From: "22:00", Until: "06:00", Days: []string{"fri"}}}}}
	hours := timingOf(t, &night, now)
	friday := time.Date(2026, 12, 25, 20, 30, 0, 0, time.UTC)
	require.Equal(t, "26 06:00", hours.next(friday).In(hours.clock.Zone).Format("02 15:04"), "it is 21:30 in Berlin")
	require.Equal(t, "26 22:00", hours.next(time.Date(2026, 12, 26, 20, 30, 0, 0, time.UTC)).In(hours.clock.Zone).Format("02 15:04"))

	never := Spec{When: When{Expressions: []string{"0 9 * * SUN"}, BusinessDays: true}}
	require.True(t, timingOf(t, &never, now).next(now).IsZero())
}
