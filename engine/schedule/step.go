package schedule

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/google/uuid"
)

// step is what a schedule does next: it skips missed fires, and launches at most one.
type step struct {
	missed span       // fires that are not launched
	fire   *time.Time // nil: none
	late   bool       // fire was missed
	start  time.Time  // of the data interval of fire: the fire before
	last   time.Time  // the last fire that is decided now
	next   time.Time  // the fire after, zero for none
}

// span is a row of fires.
type span struct {
	first, last time.Time
	fires       int64 // at most MaxCounted; then there are more
}

// decide returns the step for the fires from next until now. late is what the jitter adds to them.
// Fires that happened long ago are missed, and the rule for misfires says what becomes of them. The
// work does not grow with the number of missed fires, except to count up to MaxCounted of them.
func decide(ctx context.Context, t timing, sp Spec, next, now time.Time, late time.Duration) (step, error) {
	now = now.Add(-late)
	if next.After(now) {
		return step{next: next}, nil
	}
	onTime := now.Add(-OnTime) // fires since then are on time
	fire := next
	if next.Before(onTime) {
		fire = t.next(onTime.Add(-time.Nanosecond))
		if fire.After(now) {
			fire = time.Time{}
		}
		if missed := t.missed(sp, next, onTime, now, !fire.IsZero()); !missed.IsZero() {
			fire = missed
		}
	}
	out := step{}
	if fire.IsZero() || fire.After(next) {
		var err error
		if out.missed, err = t.span(ctx, next, later(fire, onTime)); err != nil {
			return step{}, err
		}
		out.last = out.missed.last
	}
	if !fire.IsZero() {
		out.fire, out.last, out.late, out.start = &fire, fire, fire.Before(onTime), t.before(fire)
	}
	out.next = t.next(out.last)
	return out, nil
}

// later returns bound, or otherwise if there is none.
func later(bound, otherwise time.Time) time.Time {
	if bound.IsZero() {
		return otherwise
	}
	return bound
}

// missed returns the first of the missed fires that the rule for misfires launches, the zero time for
// none. Fires from next until before end were missed.
func (t timing) missed(sp Spec, next, end, now time.Time, onTime bool) time.Time {
	from := next
	if oldest := now.Add(-sp.CatchUp); oldest.After(from) {
		from = oldest
	}
	switch {
	case sp.Misfire == MisfireSkip, sp.Misfire == MisfireLatest && onTime, !from.Before(end):
		return time.Time{}
	case sp.Misfire == MisfireLatest:
		return t.latest(end, from)
	}
	first := t.next(from.Add(-time.Nanosecond))
	n := 0
	for at := first; n <= sp.CatchUpMax && !at.IsZero() && at.Before(end); at = t.next(at) {
		n++
	}
	if n == 0 {
		return time.Time{}
	}
	if n <= sp.CatchUpMax {
		return first
	}
	at := end
	for range sp.CatchUpMax {
		at = t.latest(at, from)
	}
	return at
}

// span returns the fires from first until before end. It counts MaxCounted of them at most.
func (t timing) span(ctx context.Context, first, end time.Time) (span, error) {
	s := span{first: first, last: later(t.latest(end, first), first)}
	for at := first; s.fires < MaxCounted && !at.IsZero() && at.Before(end); at = t.next(at) {
		if err := ctx.Err(); err != nil {
			return s, fmt.Errorf("fires until %s: %w", end, err)
		}
		s.fires++
	}
	return s, nil
}

// message says what happened to the fires.
func (s span) message() string {
	if s.fires >= MaxCounted {
		return fmt.Sprintf("The schedule could not run in time. More than %d runs were missed.", MaxCounted)
	}
	return "The schedule could not run in time."
}

// latest returns the last fire before end that is not before from, the zero time for none. It takes
// about 50 steps, however many fires there are.
func (t timing) latest(end, from time.Time) time.Time {
	low := time.Time{} // a fire
	for length := time.Minute; low.IsZero(); length *= 2 {
		begin, all := end.Add(-length), false
		if !begin.After(from) {
			begin, all = from, true
		}
		if at := t.next(begin.Add(-time.Nanosecond)); !at.IsZero() && at.Before(end) {
			low = at
		} else if all {
			return time.Time{}
		}
	}
	for high := end; ; { // no fire is at or after high and before end
		following := t.next(low)
		if following.IsZero() || !following.Before(high) {
			return low
		}
		low = following
		middle := low.Add(high.Sub(low) / 2)
		if at := t.next(middle.Add(-time.Nanosecond)); !at.IsZero() && at.Before(high) {
			low = at
		} else {
			high = middle
		}
	}
}

// lookBack is how far the fire before another one is searched.
const lookBack = 10 * 366 * 24 * time.Hour

// before returns the fire before one, as if the schedule had always existed: the start of its data
// interval. It is the fire itself when none is before it.
func (t timing) before(fire time.Time) time.Time {
	t.starts = nil
	return later(t.latest(fire, fire.Add(-lookBack)), fire)
}

// verdict is what happens to a fire because of the executions that run.
type verdict string

const (
	launchNow   verdict = "launch"
	launchAlone verdict = "cancel"
	enqueue     verdict = "queue"
	omit        verdict = "skip"
	full        verdict = "full" // the queue has no room
)

// overlapping decides what happens to a fire while running executions run and queued fires wait.
// Missed fires that are all launched wait for each other.
func overlapping(sp Spec, running, queued int, late bool) verdict {
	all := late && sp.Misfire == MisfireAll
	switch {
	case sp.Overlap == OverlapAllow:
		return launchNow
	case running < sp.MaxRunning && queued == 0:
		return launchNow
	case sp.Overlap == OverlapCancel && !all:
		return launchAlone
	case sp.Overlap == OverlapQueueAll, sp.Overlap == OverlapQueueOne && queued == 0, all:
		if queued >= MaxQueued {
			return full
		}
		return enqueue
	}
	return omit
}

// delay is what the jitter adds to the fires of a schedule: always the same.
func delay(id uuid.UUID, jitter time.Duration) time.Duration {
	if jitter <= 0 {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write(id[:])
	sum := binary.BigEndian.Uint64(h.Sum(nil))
	return time.Duration(sum%uint64(jitter/time.Second+1)) * time.Second //nolint:gosec // positive
}
