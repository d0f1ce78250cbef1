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
	victims := excess{s.state.clone()}.end()
	s.state.mark(victims)
	s.changes++
	return victims
}

// excess ends what is above the ceiling of a level.
type excess struct{ s *state }

// end ends the holdings that are ending and those above a ceiling, deepest levels
// first, and returns the latter. It changes s.
func (x excess) end() (victims []Victim) {
	x.s.releaseEnding()
	for i := len(x.s.tree().levels) - 1; i > 0; i-- {
		for axis := range x.s.ledger.axes.count() {
			for _, h := range x.holdings(i, axis) {
				x.s.release(h.Key)
				victims = append(victims, x.victim(h, i, axis))
			}
		}
	}
	return victims
}

// overCeiling is the amount of axis that level i holds above its ceiling.
func (b *Ledger) overCeiling(i, axis int) int64 {
	n := &b.tree.levels[i]
	limit := n.limitOn(axis)
	if limit == noLimit || axis == storageAxis {
		return 0
	}
	return max(0, b.used[i].at(axis)-limit-n.borrowOn(axis))
}

// holdings returns a minimal list of holdings without which level i is not above its
// ceiling on axis, or, when those are not enough, all preemptible ones.
func (x excess) holdings(i, axis int) []*holding {
	over := x.s.ledger.overCeiling(i, axis)
	if over == 0 {
		return nil
	}
	var list []*holding
	for _, nodes := range x.s.held {
		for _, h := range nodes {
			if h.expendable() && h.demand.on(axis) > 0 && x.s.tree().isBelow(h.level, i) {
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

// victim returns the victim h with the reason that level i is above its ceiling.
func (x excess) victim(h *holding, i, axis int) Victim {
	n := &x.s.tree().levels[i]
	ref, r := n.Ref(), x.s.ledger.axes.names[axis]
	return Victim{Held: h.Held, Level: ref, Resource: r, Reason: Reason{
		Code: Preempted, Resource: r, Unit: r.Unit(), Requested: h.demand.on(axis), Capacity: n.limitOn(axis) + n.borrowOn(axis), Level: &ref,
		Message: fmt.Sprintf("Stopped because the limit of %s for %s was lowered to %s. It restarts when capacity is available.",
			r.Title(), ref, r.Format(n.limitOn(axis))),
	}}
}

// shortfalls lists the levels that are above their ceilings.
func (b *Ledger) shortfalls() (list []Shortfall) {
	for i := range b.tree.levels {
		n := &b.tree.levels[i]
		for axis, r := range b.axes.names {
			if b.overCeiling(i, axis) > 0 {
				list = append(list, Shortfall{n.Ref(), r, b.used[i].at(axis), n.limitOn(axis) + n.borrowOn(axis)})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Shortfall) int { return cmp.Or(a.Resource.Compare(b.Resource)) })
	return list
}
