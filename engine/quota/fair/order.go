package fair

import (
	"slices"
	"time"
)

// The terms of effective priority, as the sources have them: a boost for
// waiting, a bonus by weight, and a penalty for those who have used most of
// their limits.
const (
	waitingBoost    = 10.0 // after boostAfter
	boostAfter      = time.Hour
	weightBonus     = 20.0 // at weight 1
	penaltyFrom     = 0.80 // of a limit
	utilisationCost = 5.0  // at a whole limit
)

// candidate is the head of a line, with what a decision needs to know of it.
type candidate struct {
	fit

	line      *line
	head      *Request
	covered   bool
	over      uint32 // by depth: the levels on its path that it would take above their limits
	least     int    // its distance in an empty cluster: no waiting makes it less
	effective float64
}

// fit is whether there is room for the requests of a line, and where.
type fit struct {
	placement []Placement
	blocked   bool // it does not fit
	short     shortage
	scattered bool // there are enough GPUs, but not together
}

// boosted is base priority and the boost for waiting: what differs inside a project.
func (r *Request) boosted(now time.Time) float64 {
	return float64(r.Priority) + min(float64(r.waited(now))/float64(boostAfter), 1)*waitingBoost
}

// candidate looks at the head of l.
func (s *state) candidate(l *line, f fit) candidate {
	head := l.head()
	_, covered := s.covered[head.Key]
	return candidate{
		fit: f, line: l, head: head, covered: covered && !l.never,
		over: s.book.over(l.level, l.ask), least: l.least, effective: head.boosted(s.now),
	}
}

// tryFit finds out whether the requests of l fit.
func (s *state) tryFit(l *line) fit {
	if short, blocked := s.book.short(l.level, l.ask, !l.preemptible); blocked {
		return fit{blocked: true, short: short}
	}
	parts, ok := s.floor.place(l.amount, l.spread, false)
	if !ok {
		return fit{blocked: true, scattered: true, short: shortage{axis: l.gpuAxis()}}
	}
	return fit{placement: parts}
}

// gpuAxis is the axis by which the line asks for GPUs: the type when it has one.
func (l *line) gpuAxis() int {
	for _, q := range slices.Backward(l.ask) {
		if q.axis == gpuAxis || q.axis > storageAxis {
			return q.axis
		}
	}
	return gpuAxis
}

const gpuAxis = 2 // newAxes puts it there

// choose returns the request to start next: the one with the most right that
// fits beside the room that is kept for those with more right who have waited
// for long. Only the heads of lines are looked at.
func (s *state) choose() (candidate, bool) {
	list, fitting := s.heads[:0], false
	for _, l := range s.queue.lines {
		if l.never || l.level < 0 {
			continue
		}
		f := s.tryFit(l)
		if f.blocked && !s.reservesRoom(l.head()) {
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

// reservesRoom reports whether room is kept for r: it has waited for long, or
// others were asked to end for it.
func (s *state) reservesRoom(r *Request) bool {
	if _, covered := s.covered[r.Key]; covered {
		return true
	}
	return r.waited(s.now) > s.patience
}

// protection is room that is kept for a request.
type protection struct {
	line *line
	top  int // on the levels up to this
	axis int // of which it is short
}

// firstThatFits goes through candidates by right. For those that do not fit
// room is kept, up to the highest level at which they are short: for one at a
// time on each level and resource.
func (s *state) firstThatFits(ranked *branch) (candidate, bool) {
	var kept []protection
	var rooms []string
	defer func() {
		// In the opposite order: what one changes depends on those before it.
		for _, p := range slices.Backward(kept) {
			s.keep(p, -1)
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
			s.keep(p, 1)
			if c.scattered {
				rooms = append(rooms, s.floor.waitingRoom(c.line.amount))
			}
		case len(kept) == 0:
			return *c, true
		case s.book.fits(c.line.level, c.line.ask, !c.line.preemptible):
			var ok bool
			if c.placement, ok = s.floor.place(c.line.amount, c.line.spread, false, rooms...); ok {
				return *c, true
			}
		}
	}
	return candidate{}, false
}

func (s *state) keep(p protection, sign int64) {
	for _, q := range p.line.ask {
		s.book.change(p.line.level, q.axis, sign*q.n, p.top)
	}
}

// scoreOf explains the standing of r.
func (s *state) scoreOf(r *Request, distance int) *Score {
	i, ok := s.tree().index[r.Project]
	if !ok {
		return nil
	}
	score := &Score{
		Distance: distance, Base: float64(r.Priority),
		Weight:      s.tree().levels[i].Limits.Weight * weightBonus,
		Waiting:     r.boosted(s.now) - float64(r.Priority),
		Utilisation: min(max(0, s.book.utilisation(i)-penaltyFrom)/(1-penaltyFrom), 1) * utilisationCost,
	}
	score.Effective = score.Base + score.Weight + score.Waiting - score.Utilisation
	for ; i > 0; i = s.tree().levels[i].parent {
		score.Levels = append(score.Levels, s.levelScore(i))
	}
	slices.Reverse(score.Levels)
	return score
}
