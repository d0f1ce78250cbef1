package cron

import "time"

// reach is more than any clock change moves a wall clock.
const reach = 26 * hour

// Next returns the first match after t, in UTC, or the zero time if there is none within 41 years.
//
// A zone is a row of segments with one offset each, so within a segment wall time and time run
// alike. At the forward change that begins a segment, a match inside the gap counts at the change.
// At a backward change, the repeated wall times match in the segment that Fold chooses.
func (e Expression) Next(t time.Time, c Clock) time.Time {
	if e.every > 0 {
		return nextEvery(t, c.Anchor, e.every)
	}
	zone := c.Zone
	if zone == nil {
		zone = time.UTC
	}
	u := t.Unix() + 1
	var wall, searched int64 // wall is the first match at or after searched
	known := false
	for limit := t.Year() + horizon; ; {
		seg := segmentOf(u, zone)
		from, until := u+seg.offset, seg.end+seg.offset
		if !e.frequency {
			if seg.bounded.start && u-seg.start < reach {
				before := offsetAt(seg.start-1, zone)
				if u == seg.start && before < seg.offset && c.Gap != GapSkip && e.matches(u+before, u+seg.offset) {
					return time.Unix(u, 0).UTC()
				}
				if c.Fold == FoldFirst || c.Fold == "" {
					from = max(from, seg.start+before)
				}
			}
		}
		if !known || from < searched || wall < from {
			var ok bool
			known, searched = true, from
			if wall, ok = e.nextWall(from); !ok {
				return time.Time{}
			}
		}
		if !seg.bounded.end {
			return time.Unix(wall-seg.offset, 0).UTC()
		}
		if !e.frequency && c.Fold == FoldLast && wall >= until-reach {
			until = min(until, seg.end+offsetAt(seg.end, zone))
		}
		if wall < until {
			return time.Unix(wall-seg.offset, 0).UTC()
		}
		u = seg.end
		if time.Unix(u, 0).UTC().Year() > limit {
			return time.Time{}
		}
	}
}

// Note describes the effect of a clock change on the run at t in a sentence, or returns "" if
// there is none.
func (e Expression) Note(t time.Time, c Clock) string {
	zone := c.Zone
	if e.frequency || zone == nil || !e.Next(t.Add(-time.Second), c).Equal(t) {
		return ""
	}
	u := t.Unix()
	now, earlier := offsetAt(u, zone), offsetAt(u-1, zone)
	if earlier < now && !e.matches(u+now, u+now+1) {
		missing, _ := e.nextWall(u + earlier)
		return "Clocks go forward: " + time.Unix(missing, 0).UTC().Format("15:04") + " does not exist. It runs right after the gap."
	}
	for _, other := range []int64{u + reach, u - reach} {
		if o := offsetAt(other, zone); o != now {
			if again := u + now - o; offsetAt(again, zone) == o {
				which := map[Fold]string{FoldLast: "It runs the second time.", FoldBoth: "It runs both times."}[c.Fold]
				if which == "" {
					which = "It runs the first time."
				}
				return "Clocks go back: " + t.In(zone).Format("15:04") + " exists twice. " + which
			}
		}
	}
	return ""
}

// matches reports whether a wall time from from to before until matches.
func (e Expression) matches(from, until int64) bool {
	wall, ok := e.nextWall(from)
	return ok && wall < until
}

// segment is a time span with one offset from UTC, in seconds since 1970.
type segment struct {
	start, end, offset int64
	bounded            struct{ start, end bool }
}

func segmentOf(u int64, zone *time.Location) (s segment) {
	t := time.Unix(u, 0).In(zone)
	_, offset := t.Zone()
	s.offset = int64(offset)
	start, end := t.ZoneBounds()
	if !start.IsZero() {
		s.start, s.bounded.start = firstWith(s.offset, start.Unix(), u, zone), true
	}
	if !end.IsZero() {
		s.end, s.bounded.end = end.Unix(), true
	}
	if s.bounded.end && s.end <= u {
		// After the last change in the database of time zones, ZoneBounds takes each year for 365
		// days, so on 31 December of a leap year it returns an end that has passed. No rule changes
		// clocks on that day.
		s.end = u + day
	}
	return s
}

// firstWith returns the first second from start to u since which the zone has an offset. It is start
// itself, but for the segment after the last change in the database of time zones: there ZoneBounds
// returns the beginning that later years have.
func firstWith(offset, start, u int64, zone *time.Location) int64 {
	for low := start; offsetAt(start, zone) != offset; {
		if u-low <= 1 {
			return u
		}
		if middle := low + (u-low)/2; offsetAt(middle, zone) == offset {
			u = middle
		} else {
			low = middle
		}
	}
	return start
}

func offsetAt(u int64, zone *time.Location) int64 {
	_, offset := time.Unix(u, 0).In(zone).Zone()
	return int64(offset)
}

// nextEvery returns the first time after t that is a whole number of intervals from anchor.
func nextEvery(t, anchor time.Time, every time.Duration) time.Time {
	// In seconds: a time.Duration holds 292 years, and an anchor can be further away.
	length := int64(every / time.Second)
	since := t.Unix() - anchor.Unix()
	if t.Nanosecond() < anchor.Nanosecond() {
		since--
	}
	n := since / length
	if since%length < 0 {
		n--
	}
	return time.Unix(anchor.Unix()+(n+1)*length, int64(anchor.Nanosecond())).UTC()
}
