package fair

import (
	"cmp"
	"fmt"
	"slices"
)

// Excess returns the attempts to stop so that no level is above its ceiling after a
// limit was lowered, and marks them as ending: lowest priority first, then newest.
// Attempts that are not preemptible keep running. Nothing is stopped because the
// cluster itself became smaller: attempts on the lost part have already ended.
func (s *Scheduler) Excess() []Victim {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.tick(s.config.Now())
	victims := s.state.clone().endExcess()
	s.state.mark(victims)
	s.changes++
	return victims
}

// endExcess ends the holdings that are ending and those above a ceiling, deepest levels
// first, and returns the latter. It changes s.
func (s *state) endExcess() (victims []Victim) {
	s.releaseEnding()
	for i := len(s.tree().levels) - 1; i > 0; i-- {
		for axis := range s.ledger.axes.count() {
			for _, h := range s.overLimitHoldings(i, axis) {
				s.release(h.Key)
				victims = append(victims, s.excessive(h, i, axis))
			}
		}
	}
	return victims
}

// overCeiling is the amount of axis that level i holds above its ceiling.
func (s *state) overCeiling(i, axis int) int64 {
	n := &s.tree().levels[i]
	limit := n.limitOn(axis)
	if limit == noLimit || axis == storageAxis {
		return 0
	}
	return max(0, s.ledger.used[i].at(axis)-limit-n.borrowOn(axis))
}

// overLimitHoldings returns a minimal list of holdings without which level i is not above its
// ceiling on axis, or, when those are not enough, all preemptible ones.
func (s *state) overLimitHoldings(i, axis int) []*holding {
	over := s.overCeiling(i, axis)
	if over == 0 {
		return nil
	}
	var list []*holding
	for _, nodes := range s.held {
		for _, h := range nodes {
			if h.expendable() && h.demand.on(axis) > 0 && s.isBelow(h.level, i) {
				list = append(list, h)
			}
		}
	}
	slices.SortFunc(list, byExpendability)
	var sum int64
	for k, h := range list {
		if sum += h.demand.on(axis); sum >= over {
			list = list[:k+1]
			break
		}
	}
	for k, l := range slices.Backward(list) {
		if n := l.demand.on(axis); sum-n >= over {
			sum -= n
			list = slices.Delete(list, k, k+1)
		}
	}
	return list
}

// excessive returns the victim h with the reason that level i is above its ceiling.
func (s *state) excessive(h *holding, i, axis int) Victim {
	n := &s.tree().levels[i]
	ref, r := n.Ref(), s.ledger.axes.names[axis]
	return Victim{Held: h.Held, Level: ref, Resource: r, Reason: Reason{
		Code: Preempted, Resource: r, Unit: r.Unit(), Requested: h.demand.on(axis), Capacity: n.limitOn(axis) + n.borrowOn(axis), Level: &ref,
		Message: fmt.Sprintf("Stopped because the limit of %s for %s was lowered to %s. It restarts when capacity is available.",
			r.Title(), ref, r.Format(n.limitOn(axis))),
	}}
}

// shortfalls lists the levels that are above their ceilings.
func (s *state) shortfalls() (list []Shortfall) {
	for i := range s.tree().levels {
		n := &s.tree().levels[i]
		for axis, r := range s.ledger.axes.names {
			if s.overCeiling(i, axis) > 0 {
				list = append(list, Shortfall{n.Ref(), r, s.ledger.used[i].at(axis), n.limitOn(axis) + n.borrowOn(axis)})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Shortfall) int { return cmp.Or(a.Resource.Compare(b.Resource)) })
	return list
}
