package fair

import (
	"fmt"
	"slices"
)

// reclaimer finds what to stop so that requests within their guarantee start. It changes the
// state, which is a copy.
type reclaimer struct {
	s    *state
	real *Ledger // the ledger of the state without the simulated starts
}

// run simulates the state after everything that is ending has ended, and returns
// the additional victims for requests within their guarantee. It changes the state.
func (r *reclaimer) run() (victims []Victim) {
	r.s.releaseEnding()
	r.real = r.s.ledger.clone()
	hopeless, outdated := map[*line]bool{}, false
	for range maxReclaims {
		for {
			c, ok := r.s.choose()
			if !ok {
				break
			}
			r.s.begin(c)
		}
		c := r.nextEntitled(hopeless)
		if c == nil && outdated {
			clear(hopeless)
			c = r.nextEntitled(hopeless)
		}
		if c == nil {
			return victims
		}
		for _, h := range c.victims {
			r.real.add(h.level, h.demand, -1)
			r.s.release(h.Key)
			victims = append(victims, r.victim(h, c))
		}
		r.s.begin(c.candidate)
		outdated = len(hopeless) > 0 // their levels use less now, so their requests may be within their guarantee
	}
	return victims
}

// entitled is a request that starts when its victims end.
type entitled struct {
	candidate

	victims    []*holding
	contention contention
}

// contention holds the axes that a request lacks, and the axes whose limits define the
// guarantees: GPUs are limited in total and by type.
type contention struct {
	short []int // axes
	rules []int // axes, short among them
}

// nextEntitled returns the first request in the order of admission that has victims.
// Lines without victims become hopeless.
func (r *reclaimer) nextEntitled(hopeless map[*line]bool) *entitled {
	var list []candidate
	for _, l := range r.s.queue.lines {
		if l.level < 0 || l.never || hopeless[l] {
			continue
		}
		if f := r.s.tryFit(l); f.blocked {
			list = append(list, r.s.candidate(l, f))
		}
	}
	ranked := r.s.ranked(list)
	for c := ranked.head(); c != nil; c = ranked.pop() {
		found := r.findVictims(c)
		if found != nil {
			return found
		}
		hopeless[c.line] = true
	}
	return nil
}

// contention returns the axes that the line of c lacks.
func (r *reclaimer) contention(c *candidate) (out contention) {
	gpus := false
	for _, q := range c.line.demand {
		if _, short := r.s.ledger.shortageOn(c.line.level, q, !c.line.preemptible); short {
			out.short = append(out.short, q.axis)
			gpus = gpus || isGPU(q.axis)
		}
	}
	if len(out.short) == 0 { // enough, but not together
		out.short, gpus = []int{c.line.gpuAxis()}, true
	}
	for _, q := range c.line.demand {
		if slices.Contains(out.short, q.axis) || gpus && isGPU(q.axis) {
			out.rules = append(out.rules, q.axis)
		}
	}
	return out
}

// findVictims looks for a minimal set of holdings that lets c start, among its nearest
// relatives first. It does not change s.
func (r *reclaimer) findVictims(c *candidate) *entitled {
	var taken []*holding
	defer func() {
		for _, h := range taken {
			r.undoEvict(h)
		}
	}()
	levels := r.s.tree().levels
	contention := r.contention(c)
	for child, a := c.line.level, levels[c.line.level].parent; a >= 0; child, a = a, levels[a].parent {
		if !r.s.ledger.isWithin(c, a, contention) {
			return nil
		}
		if !r.s.ledger.isGuaranteed(c, a, contention) {
			continue
		}
		for _, h := range r.borrowers(c, a, child, contention) {
			if !r.canPreempt(h, a, contention) {
				continue
			}
			r.evict(h)
			taken = append(taken, h)
			if f := r.s.tryFit(c.line); !f.blocked {
				taken = r.minimalVictims(c, taken)
				c.fit = r.s.tryFit(c.line)
				return &entitled{candidate: *c, victims: slices.Clone(taken), contention: contention}
			}
		}
	}
	return nil
}

func (r *reclaimer) evict(h *holding) {
	r.s.deallocate(h)
	r.real.add(h.level, h.demand, -1)
}

func (r *reclaimer) undoEvict(h *holding) {
	r.s.ledger.add(h.level, h.demand, 1)
	r.s.gpuPool.take(h.Placement, 1)
	r.real.add(h.level, h.demand, 1)
}

// minimalVictims puts back holdings of taken that c does not need, the last chosen first, and
// returns the others.
func (r *reclaimer) minimalVictims(c *candidate, taken []*holding) []*holding {
	for i := len(taken) - 1; i >= 0 && len(taken) > 1; i-- {
		r.undoEvict(taken[i])
		if f := r.s.tryFit(c.line); f.blocked {
			r.evict(taken[i])
		} else {
			taken = slices.Delete(taken, i, i+1)
		}
	}
	return taken
}

// isWithin reports whether c stays within the limits on its path below level a, on the
// contended axes.
func (b *Ledger) isWithin(c *candidate, a int, contention contention) bool {
	levels := b.tree.levels
	for _, axis := range contention.rules {
		for l := c.line.level; l != a; l = levels[l].parent {
			if limit := levels[l].limitOn(axis); limit != noLimit && b.used[l].at(axis)+c.line.demand.on(axis) > limit {
				return false
			}
		}
	}
	return true
}

// isGuaranteed reports whether the path of c below level a has limits on the contended
// axes: without them, nothing is guaranteed there. A limit of GPUs or of their type is
// enough for both.
func (b *Ledger) isGuaranteed(c *candidate, a int, contention contention) bool {
	gpus, limited := false, false
	for _, axis := range contention.rules {
		has := b.tree.hasLimit(c.line.level, a, axis)
		switch {
		case isGPU(axis):
			gpus, limited = true, limited || has
		case !has:
			return false
		}
	}
	return !gpus || limited
}

// borrowers returns the holdings below level a, outside its child above c, of the axes
// that c lacks, in the order of preemption.
func (r *reclaimer) borrowers(c *candidate, a, child int, contention contention) (list []*holding) {
	for id, nodes := range r.s.held {
		if id == c.head.Execution {
			continue
		}
		for _, h := range nodes {
			helps := slices.ContainsFunc(contention.short, func(axis int) bool { return h.demand.on(axis) > 0 })
			if helps && h.expendable() && r.s.tree().isBelow(h.level, a) && !r.s.tree().isBelow(h.level, child) {
				list = append(list, h)
			}
		}
	}
	slices.SortFunc(list, byExpendability)
	return list
}

// canPreempt reports whether every level on the path of h below a that has a limit
// holds at least that without h, on the contested axes that h holds. Simulated starts
// do not count as held.
func (r *reclaimer) canPreempt(h *holding, a int, contention contention) bool {
	levels := r.s.tree().levels
	for _, axis := range contention.rules {
		n := h.demand.on(axis)
		if n == 0 {
			continue
		}
		for l := h.level; l != a; l = levels[l].parent {
			if limit := levels[l].limitOn(axis); limit != noLimit && r.real.used[l].at(axis)-n < limit {
				return false
			}
		}
	}
	return true
}

// victim returns the victim h with the reason that it ends for e.
func (r *reclaimer) victim(h *holding, e *entitled) Victim {
	axis := e.contention.short[0]
	for _, x := range e.contention.short {
		if h.demand.on(x) > 0 {
			axis = x
			break
		}
	}
	resource := r.s.ledger.axes.names[axis]
	i, j := r.s.tree().fork(h.level, e.line.level)
	owner, lender := r.s.tree().levels[i].Ref(), r.s.tree().levels[j].Ref()
	v := Victim{Held: h.Held, For: e.head.Key, Level: owner, Resource: resource}
	v.Reason = Reason{
		Code: Preempted, Resource: resource, Unit: resource.Unit(), Requested: h.demand.on(axis), Missing: h.demand.on(axis), Level: &owner,
		Message: fmt.Sprintf("Stopped because %s had borrowed %s from %s, which has reclaimed its guarantee. It restarts when capacity is available.",
			owner, resource.Format(h.demand.on(axis)), lender.toRelatives()),
	}
	return v
}
