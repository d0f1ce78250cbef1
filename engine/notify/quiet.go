package notify

import "time"

// QuietUntil returns when the quiet hours that include now end, and whether now is within them.
// from and to are HH:MM in the zone; hours with from after to span midnight.
func QuietUntil(now time.Time, from, to string, zone *time.Location) (time.Time, bool) {
	if from == "" || to == "" {
		return time.Time{}, false
	}
	local := now.In(zone)
	clock := local.Format("15:04")
	inside := from <= clock && clock < to
	if from > to {
		inside = clock >= from || clock < to
	}
	if !inside {
		return time.Time{}, false
	}
	at, err := time.Parse("15:04", to)
	if err != nil {
		return time.Time{}, false
	}
	days := 0
	if clock >= to {
		days = 1
	}
	end := time.Date(local.Year(), local.Month(), local.Day()+days, at.Hour(), at.Minute(), 0, 0, zone)
	if !end.After(now) { // clocks went back
		end = now.Add(time.Minute)
	}
	return end.UTC(), true
}
