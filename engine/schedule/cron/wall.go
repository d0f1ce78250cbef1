package cron

import (
	"math/bits"
	"time"

	parser "github.com/netresearch/go-cron"
)

// Times on the wall are seconds since 1970-01-01 00:00:00 on a clock without a time zone.
const (
	minute = 60
	hour   = 60 * minute
	day    = 24 * hour
)

// civil is the wall time of the beginning of a day.
func civil(year int, month time.Month, d int) int64 {
	return time.Date(year, month, d, 0, 0, 0, 0, time.UTC).Unix()
}

// nextWall returns the first wall time at or after from that the expression matches. false: there
// is none within the horizon.
func (e Expression) nextWall(from int64) (int64, bool) {
	if e.spec == nil {
		return 0, false
	}
	t := time.Unix(from, 0).UTC()
	year, month, first := t.Date()
	midnight := from - (from%day+day)%day
	clock, ok := e.nextClock(int(from - midnight))
	if !ok {
		first++ // no time is left on this day
		clock, _ = e.nextClock(0)
	}
	for last := year + horizon; year <= last; {
		if has(e.spec.Month, int(month)) {
			beginning := civil(year, month, 1)
			if days := e.days(year, month, beginning) >> uint(first) << uint(first); days != 0 {
				found := bits.TrailingZeros64(days)
				if found != t.Day() || month != t.Month() || year != t.Year() {
					clock, _ = e.nextClock(0)
				}
				return beginning + int64(found-1)*day + int64(clock), true
			}
		}
		first = 1
		if month++; month > time.December {
			year, month = year+1, time.January
		}
	}
	return 0, false
}

// nextClock returns the first second of a day at or after from that matches.
func (e Expression) nextClock(from int) (int, bool) {
	h, m, s := from/hour, from%hour/minute, from%minute
	firstSecond, _ := atOrAfter(e.spec.Second, 0)
	if has(e.spec.Hour, h) {
		if s, ok := atOrAfter(e.spec.Second, s); ok && has(e.spec.Minute, m) {
			return h*hour + m*minute + s, true
		}
		if m, ok := atOrAfter(e.spec.Minute, m+1); ok {
			return h*hour + m*minute + firstSecond, true
		}
	}
	h, ok := atOrAfter(e.spec.Hour, h+1)
	firstMinute, _ := atOrAfter(e.spec.Minute, 0)
	return h*hour + firstMinute*minute + firstSecond, ok
}

func has(field uint64, value int) bool { return field&(1<<uint(value)) != 0 }

// atOrAfter returns the first value of a field that is from or more. The parser marks a field of
// * with the highest bit.
func atOrAfter(field uint64, from int) (int, bool) {
	left := field & (1<<60 - 1) >> uint(from) << uint(from)
	return bits.TrailingZeros64(left), left != 0
}

const star = 1 << 63 // the parser's mark of a field of *

// days returns the days of a month that match, bit 1 for the first.
func (e Expression) days(year int, month time.Month, beginning int64) uint64 {
	length := int((civil(year, month+1, 1) - beginning) / day)
	weekday := int(((beginning/day+4)%7 + 7) % 7) // of the first day; 1970-01-01 was a Thursday
	ofMonth := e.spec.Dom
	for _, c := range e.spec.DomConstraints {
		ofMonth |= 1 << uint(dayOf(c, length, weekday))
	}
	var ofWeek uint64
	for d := 1; d <= length; d++ {
		if has(e.spec.Dow, (weekday+d-1)%7) {
			ofWeek |= 1 << uint(d)
		}
	}
	for _, c := range e.spec.DowConstraints {
		d := 1 + (c.Weekday-weekday+7)%7 // the first such day
		if c.N > 0 {
			d += 7 * (c.N - 1)
		} else {
			d += (length - d) / 7 * 7
		}
		ofWeek |= 1 << uint(d)
	}
	all := uint64(1)<<uint(length+1) - 2
	if (e.spec.Dom|e.spec.Dow)&star != 0 {
		return ofMonth & ofWeek & all
	}
	return (ofMonth | ofWeek) & all
}

// dayOf returns the day of a month that a constraint of the parser names, 0 for none.
func dayOf(c parser.DomConstraint, length, weekday int) int {
	switch c.Type {
	case parser.DomLast:
		return length
	case parser.DomLastOffset:
		return max(length-c.N, 0)
	case parser.DomLastWeekday:
		return nearest(length, length, weekday)
	case parser.DomNearestWeekday:
		if c.N <= length {
			return nearest(c.N, length, weekday)
		}
	}
	return 0
}

// nearest returns the day from Monday to Friday in the same month that is nearest to d.
func nearest(d, length, weekday int) int {
	switch (weekday + d - 1) % 7 {
	case 6: // Saturday
		if d == 1 {
			return 3
		}
		return d - 1
	case 0: // Sunday
		if d == length {
			return d - 2
		}
		return d + 1
	}
	return d
}
