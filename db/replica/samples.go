package replica

import "time"

// maxSamples limits the memory of a long outage. Beyond it, the lag is measured more coarsely.
const maxSamples = 1024

// samples are positions of the primary in the order of time. The replica has everything that the
// primary had at the time of a sample once it has replayed its position. No clock of another machine
// is involved.
type samples []sample

type sample struct {
	at       time.Time
	position int64
}

// add adds the position that the primary had at a time or later.
func (s *samples) add(at time.Time, position int64) {
	if n := len(*s); n > 0 && (*s)[n-1].position == position {
		(*s)[n-1].at = at // nothing was written in between
		return
	}
	*s = append(*s, sample{at, position})
	if len(*s) <= maxSamples {
		return
	}
	kept := (*s)[:0]
	for i, one := range *s {
		if i%2 == 0 {
			kept = append(kept, one)
		}
	}
	*s = kept
}

// take returns the time of the newest sample up to position and removes all older ones.
func (s *samples) take(position int64) (at time.Time, ok bool) {
	n := 0
	for n < len(*s) && (*s)[n].position <= position {
		at, ok = (*s)[n].at, true
		n++
	}
	if n > 1 {
		*s = append((*s)[:0], (*s)[n-1:]...) // the last one is extended if the primary stays there
	}
	return at, ok
}
