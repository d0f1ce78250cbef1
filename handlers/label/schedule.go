package label

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flowforge/flowforge/engine/schedule"
	"github.com/flowforge/flowforge/views"
)

// Fire is the time of a run in its zone: "Sat 21 Nov 2026, 02:00 CET".
func Fire(t time.Time) string { return fullMinute(t, "Mon 2 Jan 2006, 15:04:05 MST") }

// FireUTC is a run in UTC, without the year: "21 Nov 01:00 UTC".
func FireUTC(t time.Time) string { return fullMinute(t.UTC(), "2 Jan 15:04:05 UTC") }

// fullMinute leaves out the seconds of a full minute.
func fullMinute(t time.Time, layout string) string {
	if t.Second() == 0 {
		layout = strings.Replace(layout, ":05", "", 1)
	}
	return t.Format(layout)
}

// Fires are the next runs, with the clock changes between them and the times that are excluded.
func Fires(runs, excluded []schedule.Fire) []views.ScheduleFire {
	all := slices.Concat(runs, excluded)
	slices.SortStableFunc(all, func(a, b schedule.Fire) int { return a.At.Compare(b.At) })
	var out []views.ScheduleFire
	n := 0
	for i, f := range all {
		line := views.ScheduleFire{
			At: fullMinute(f.At, "Mon 2 Jan 2006, 15:04:05"), Zone: f.At.Format("MST"), Why: f.Note,
		}
		if f.Excluded != "" {
			line.Excluded, line.Why = true, f.Excluded
		} else {
			n++
			line.N = strconv.Itoa(n)
		}
		if f.At.Location().String() != "UTC" {
			line.UTC = fullMinute(f.At.UTC(), "15:04:05 UTC")
		}
		if i > 0 {
			_, was := all[i-1].At.Zone()
			if _, now := f.At.Zone(); was != now {
				line.Change = "From here on: " + f.At.Format("MST, UTC-07:00")
			}
		}
		out = append(out, line)
	}
	return out
}

// NextFire describes when a schedule runs next in its time zone, or why it does not.
func NextFire(sc schedule.Schedule) string {
	switch {
	case sc.Paused:
		return "Paused"
	case sc.NextAt == nil:
		return "Will not run again"
	}
	zone, err := time.LoadLocation(sc.Timezone)
	if err != nil {
		zone = time.UTC
	}
	return "Next: " + Fire(sc.NextAt.In(zone))
}
