package schedule

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/google/uuid"
)

// step is the next action of a schedule: it skips missed runs, and launches at most one run.
type step struct {
	missed span       // runs that are not launched
	fire   *time.Time // nil: none
	late   bool       // the run was missed
	start  time.Time  // start of the data interval: the previous run
	last   time.Time  // the last run that is decided now
	next   time.Time  // the run after it; zero: none
}

// span is a sequence of runs.
type span struct {
	first, last time.Time
	fires       int64 // at most MaxCounted; then there are more
}

// decide returns the step for the runs from next until now. late is the delay by the jitter.
// Runs that are long overdue are missed, and the misfire rule determines what happens to them.
// The work does not grow with the number of missed runs, except to count up to MaxCounted of
// them.
func decide(ctx context.Context, t timing, sp Spec, next, now time.Time, late time.Duration) (step, error) {
	now = now.Add(-late)
	if next.After(now) {
		return step{next: next}, nil
	}
	onTime := now.Add(-OnTime) // runs since then are on time
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

// missed returns the first of the missed runs that the misfire rule launches, or the zero time
// if it launches none. Runs from next until before end were missed.
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

// span returns the runs from first until before end. It counts at most MaxCounted of them.
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

// message describes what happened to the runs.
func (s span) message() string {
	if s.fires >= MaxCounted {
		return fmt.Sprintf("The schedule could not run in time. More than %d runs were missed.", MaxCounted)
	}
	return "The schedule could not run in time."
}

// latest returns the last run before end that is not before from, or the zero time if there is
// none. It takes about 50 steps, regardless of the number of runs.
func (t timing) latest(end, from time.Time) time.Time {
	low := time.Time{} // a run
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
	for high := end; ; { // no run is at or after high and before end
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

// lookBack limits how far before searches for a run.
const lookBack = 10 * 366 * 24 * time.Hour

// before returns the run before another one, as if the schedule had always existed: the start of
// its data interval. If there is none before it, it returns the run itself.
func (t timing) before(fire time.Time) time.Time {
	t.starts = nil
	return later(t.latest(fire, fire.Add(-lookBack)), fire)
}

// verdict is the decision about a run because of running executions.
type verdict string

const (
	launchNow   verdict = "launch"
	launchAlone verdict = "cancel"
	enqueue     verdict = "queue"
	omit        verdict = "skip"
	full        verdict = "full" // the queue has no room
)

// overlapping decides what happens to a run while running executions run and queued runs wait.
// Missed runs that are all launched wait for each other.
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

// delay is the delay by the jitter, which is the same for all runs of a schedule.
func delay(id uuid.UUID, jitter time.Duration) time.Duration {
	if jitter <= 0 {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write(id[:])
	sum := binary.BigEndian.Uint64(h.Sum(nil))
	return time.Duration(sum%uint64(jitter/time.Second+1)) * time.Second //nolint:gosec // positive
}
