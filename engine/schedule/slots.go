package schedule

import (
	"time"

	"github.com/flowforge/flowforge/apperr"
)

// Slot is a run of a schedule with its data interval, which begins at the previous run.
type Slot struct{ Fire, Start time.Time }

// Slots returns the runs of a When from one time until before another, oldest first, including
// those before it was created. all is false if there are more than most. It returns the invalid
// fields of the When.
func (w When) Slots(from, until time.Time, most int) (slots []Slot, all bool, fields []apperr.Field) {
	w.Starts, w.Ends = nil, nil
	t, fields := w.read()
	if len(fields) > 0 {
		return nil, false, fields
	}
	for at := t.next(from.Add(-time.Nanosecond)); !at.IsZero() && at.Before(until); at = t.next(at) {
		if len(slots) == most {
			return slots, false, nil
		}
		slots = append(slots, Slot{Fire: at, Start: t.before(at)})
	}
	return slots, true, nil
}

// Render replaces the tags in inputs for a slot, in the given time zone.
func (s Slot) Render(inputs map[string]any, zone *time.Location) (map[string]any, []apperr.Field) {
	fire := s.Fire.In(zone)
	return render(inputs, Times{Scheduled: fire, IntervalStart: s.Start.In(zone), IntervalEnd: fire})
}
