package fair

import (
	"slices"
	"time"
)

// The terms of effective priority: a boost for waiting, a bonus by weight, and a
// penalty for high use of a limit.
const (
	waitingBoost    = 10.0 // after boostAfter
	boostAfter      = time.Hour
	weightBonus     = 20.0 // at weight 1
	penaltyFrom     = 0.80 // of a limit
	utilisationCost = 5.0  // at a whole limit
)

// candidate is the head of a line, with the facts for a decision.
type candidate struct {
	fit

	line      *line
	head      *Request
	covered   bool
	over      uint32 // by depth: the levels on its path that would exceed their limits
	least     int    // its distance in an empty cluster: waiting does not reduce it
	effective float64
}

// fit reports whether the requests of a line fit, and where.
type fit struct {
	placement []Placement
	blocked   bool // it does not fit
	short     shortage
	scattered bool // there are enough GPUs, but not together
}

// boosted is the base priority plus the boost for waiting: the terms that differ within
// a project.
func (r *Request) boosted(now time.Time) float64 {
	return float64(r.Priority) + min(float64(r.waited(now))/float64(boostAfter), 1)*waitingBoost
}

// candidate evaluates the head of l.
func (s *state) candidate(l *line, f fit) candidate {
	head := l.head()
	_, covered := s.covered[head.Key]
	return candidate{
		fit: f, line: l, head: head, covered: covered && !l.never,
		over: s.ledger.over(l.level, l.demand), least: l.least, effective: head.boosted(s.now),
	}
}

// tryFit checks whether the requests of l fit.
func (s *state) tryFit(l *line) fit {
	if short, blocked := s.ledger.shortage(l.level, l.demand, !l.preemptible); blocked {
		return fit{blocked: true, short: short}
	}
	parts, ok := s.gpuPool.place(l.amount, l.spread, false)
	if !ok {
		return fit{blocked: true, scattered: true, short: shortage{axis: l.gpuAxis()}}
	}
	return fit{placement: parts}
}

// gpuAxis is the axis of the GPUs that the line requests: the type when it has one.
func (l *line) gpuAxis() int {
	for _, q := range slices.Backward(l.demand) {
		if q.axis == gpuAxis || q.axis > storageAxis {
			return q.axis
		}
	}
	return gpuAxis
}

const gpuAxis = 2 // newAxes puts it there

// choose returns the request to start next: the first in the order of admission that
// fits alongside the capacity reserved for earlier requests that have waited for long. It
// considers only the heads of lines.
func (s *state) choose() (candidate, bool) {
	list, fitting := s.heads[:0], false
	for _, l := range s.queue.lines {
		if l.never || l.level < 0 {
			continue
		}
		f := s.tryFit(l)
		if f.blocked && !s.reservesCapacity(l.head()) {
			continue
		}
		fitting = fitting || !f.blocked
		list = append(list, s.candidate(l, f))
	}
	s.heads = list
	if !fitting {
		return candidate{}, false
	}
	return s.firstThatFits(s.ranked(list))
}

// reservesCapacity reports whether capacity is reserved for r: it has waited for long, or
// attempts are being preempted for it.
func (s *state) reservesCapacity(r *Request) bool {
	if _, covered := s.covered[r.Key]; covered {
		return true
	}
	return r.waited(s.now) > s.reserveAfter
}

// protection is capacity that is reserved for a request.
type protection struct {
	line *line
	top  int // on the levels up to this one
	axis int // that it lacks
}

// firstThatFits visits candidates in the order of admission. It reserves capacity for
// those that do not fit, up to the highest level that lacks it: for one at a time on
// each level and resource.
func (s *state) firstThatFits(ranked *branch) (candidate, bool) {
	var kept []protection
	var rooms []string
	defer func() {
		// In reverse order: each change depends on the ones before it.
		for _, p := range slices.Backward(kept) {
			s.protect(p, -1)
		}
	}()
	for c := ranked.head(); c != nil; c = ranked.pop() {
		switch {
		case c.blocked:
			p := protection{c.line, c.short.top, c.short.axis}
			if slices.ContainsFunc(kept, func(q protection) bool { return q.top == p.top && q.axis == p.axis }) {
				continue
			}
			kept = append(kept, p)
			s.protect(p, 1)
			if c.scattered {
				rooms = append(rooms, s.gpuPool.reservedMachine(c.line.amount))
			}
		case len(kept) == 0:
			return *c, true
		case s.ledger.fits(c.line.level, c.line.demand, !c.line.preemptible):
			var ok bool
			if c.placement, ok = s.gpuPool.place(c.line.amount, c.line.spread, false, rooms...); ok {
				return *c, true
			}
		}
	}
	return candidate{}, false
}

func (s *state) protect(p protection, sign int64) {
	for _, q := range p.line.demand {
		s.ledger.change(p.line.level, q.axis, sign*q.n, p.top)
	}
}

// scoreOf explains the rank of r.
func (s *state) scoreOf(r *Request, distance int) *Score {
	i, ok := s.tree().index[r.Project]
	if !ok {
		return nil
	}
	score := &Score{
		Distance: distance, Base: float64(r.Priority),
		Weight:      s.tree().levels[i].Limits.Weight * weightBonus,
		Waiting:     r.boosted(s.now) - float64(r.Priority),
		Utilisation: min(max(0, s.ledger.utilisation(i)-penaltyFrom)/(1-penaltyFrom), 1) * utilisationCost,
	}
	score.Effective = score.Base + score.Weight + score.Waiting - score.Utilisation
	for ; i > 0; i = s.tree().levels[i].parent {
		score.Levels = append(score.Levels, s.shares().levelScore(i))
	}
	slices.Reverse(score.Levels)
	return score
}
