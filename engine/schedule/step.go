package schedule

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/google/uuid"
)

// step is what a schedule does next: it skips missed fires, and launches at most one.
type step struct {
	missed span       // fires that are not launched
	fire   *time.Time // nil: none
	start  time.Time  // of the data interval of fire: the fire before
	last   time.Time  // the last fire that is decided now
	next   time.Time  // the fire after, zero for none
}

// span is a row of fires.
type span struct {
	first, last time.Time
	fires       int64
}

func (s *span) add(t time.Time) {
	if s.fires == 0 {
		s.first = t
	}
	s.last = t
	s.fires++
}

// decide returns the step for the fires from next until now. late is what the jitter adds to them.
// Fires that happened long ago are missed, and the rule for misfires describes what becomes of them. A step
// that is computed when ctx ends is not complete, and an error.
func decide(ctx context.Context, t timing, sp Spec, next, now time.Time, late time.Duration, last *time.Time) (step, error) {
	now = now.Add(-late)
	var missed, onTime []time.Time // missed: the last CatchUpMax, or the last one
	keep := 1
	if sp.Misfire == MisfireAll {
		keep = sp.CatchUpMax
	}
	var dropped span
	for at := next; !at.IsZero() && !at.After(now); at = t.next(at) {
		if err := ctx.Err(); err != nil {
			return step{}, fmt.Errorf("fires until %s: %w", now, err)
		}
		if !at.Before(now.Add(-OnTime)) {
			onTime = append(onTime, at)
			continue
		}
		if sp.Misfire == MisfireSkip || at.Before(now.Add(-sp.CatchUp)) {
			dropped.add(at)
			continue
		}
		if missed = append(missed, at); len(missed) > keep {
			dropped.add(missed[0])
			missed = missed[1:]
		}
	}
	if sp.Misfire == MisfireLatest && len(missed) > 0 && len(onTime) > 0 {
		dropped.add(missed[0]) // the latest is on time
		missed = nil
	}
	out := step{missed: dropped, last: dropped.last}
	if all := slices.Concat(missed, onTime); len(all) > 0 {
		out.fire, out.last = &all[0], all[0]
		out.start = before(t, all[0], dropped, last)
	}
	if out.fire == nil && dropped.fires == 0 {
		out.next = next
		return out, nil
	}
	out.next = t.next(out.last)
	return out, nil
}

// before returns the fire before one: the last that was skipped or launched. The first fire of a
// schedule begins where a fire before it would have been, as far as the next interval tells.
func before(t timing, fire time.Time, dropped span, last *time.Time) time.Time {
	switch {
	case dropped.fires > 0:
		return dropped.last
	case last != nil:
		return *last
	}
	if following := t.next(fire); !following.IsZero() {
		return fire.Add(fire.Sub(following))
	}
	return fire
}

// verdict is what happens to a fire because of the executions that run.
type verdict string

const (
	launchNow   verdict = "launch"
	launchAlone verdict = "cancel"
	enqueue     verdict = "queue"
	omit        verdict = "skip"
)

// overlapping decides what happens to a fire while running executions run and queued wait.
func overlapping(o Overlap, running, queued, limit int) verdict {
	switch {
	case o == OverlapAllow:
		return launchNow
	case running < limit && queued == 0:
		return launchNow
	case o == OverlapCancel:
		return launchAlone
	case o == OverlapQueueAll, o == OverlapQueueOne && queued == 0:
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
