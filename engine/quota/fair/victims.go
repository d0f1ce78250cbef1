package fair

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Victim is an attempt to preempt: it gets the signal to write a checkpoint and a grace
// period, and its node returns to READY. The caller stops and releases it as usual;
// until then it counts as ending and is not chosen again.
type Victim struct {
	Held

	// For is the request that replaces it, or the zero Key when a limit was lowered.
	For Key
	// Level is the level above its guarantee or its ceiling.
	Level    LevelRef
	Resource Resource
	// Reason is shown on its node while it waits again; its code is Preempted.
	Reason Reason
}

// maxReclaims is the maximum number of requests that one call of Victims preempts for.
const maxReclaims = 64

// Victims returns the attempts to stop now so that requests within their
// guarantee start, and marks them as ending.
//
// Only borrowers are stopped, and only for requests within the guarantee that was lent,
// nearest relatives first, then lowest priority, then newest. Every level below the
// common ancestor that has a limit still holds at least its limit afterwards; a level
// without a limit has no guarantee. An attempt is never stopped for its own execution.
// Attempts that are not preemptible are never stopped, and no more attempts than
// necessary are. Capacity that is already being freed counts first.
func (s *Scheduler) Victims() []Victim {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.tick(s.config.Now())
	maps.DeleteFunc(s.state.covered, func(_ Key, victims []Key) bool { return len(victims) == 0 })
	if s.state.queue.count == 0 {
		return nil
	}
	victims := s.state.clone().reclaim()
	s.state.mark(victims)
	s.changes++
	return victims
}

// CancelPreemption removes the mark of Victims or Excess from attempts that are not stopped after
// all.
func (s *Scheduler) CancelPreemption(keys []Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keys {
		if h := s.state.held[key.Execution][key.Node]; h != nil && h.Ending {
			s.state.clearCovered(h)
			spared := *h
			spared.Ending, spared.cause = false, Key{}
			s.state.held[key.Execution][key.Node] = &spared
		}
	}
	s.changes++
}

// mark records that victims are ending, and for which request.
func (s *state) mark(victims []Victim) {
	for _, v := range victims {
		h := s.held[v.Execution][v.Node]
		if h == nil {
			continue
		}
		marked := *h
		marked.Ending, marked.cause = true, v.For
		s.held[v.Execution][v.Node] = &marked
		if v.For != (Key{}) {
			s.covered[v.For] = append(s.covered[v.For], v.Key)
		}
	}
}

// reclaim simulates the state after everything that is ending has ended, and returns
// the additional victims for requests within their guarantee. It changes s.
func (s *state) reclaim() (victims []Victim) {
	s.releaseEnding()
	s.real = s.ledger.clone()
	hopeless, outdated := map[*line]bool{}, false
	for range maxReclaims {
		for {
			c, ok := s.choose()
			if !ok {
				break
			}
			s.begin(c)
		}
		c := s.nextEntitled(hopeless)
		if c == nil && outdated {
			clear(hopeless)
			c = s.nextEntitled(hopeless)
		}
		if c == nil {
			return victims
		}
		for _, h := range c.victims {
			s.real.add(h.level, h.demand, -1)
			s.release(h.Key)
			victims = append(victims, s.victim(h, c))
		}
		s.begin(c.candidate)
		outdated = len(hopeless) > 0 // their levels use less now, so their requests may be within their guarantee
	}
	return victims
}

// releaseEnding releases all holdings that are ending.
func (s *state) releaseEnding() {
	for _, nodes := range s.held {
		for _, h := range nodes {
			if h.Ending {
				s.release(h.Key)
			}
		}
	}
}

// begin starts the request of c at once. It is never a victim in this simulation.
func (s *state) begin(c candidate) *holding {
	r := *c.head
	s.queue.remove(r.Key)
	delete(s.covered, r.Key)
	r.Preemptible = false
	return s.hold(Held{Request: r, Placement: c.placement, Granted: s.now})
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
func (s *state) nextEntitled(hopeless map[*line]bool) *entitled {
	var list []candidate
	for _, l := range s.queue.lines {
		if l.level < 0 || l.never || hopeless[l] {
			continue
		}
		if f := s.tryFit(l); f.blocked {
			list = append(list, s.candidate(l, f))
		}
	}
	ranked := s.ranked(list)
	for c := ranked.head(); c != nil; c = ranked.pop() {
		found := s.findVictims(c)
		if found != nil {
			return found
		}
		hopeless[c.line] = true
	}
	return nil
}

// contention returns the axes that the line of c lacks.
func (s *state) contention(c *candidate) (out contention) {
	gpus := false
	for _, q := range c.line.demand {
		if _, short := s.ledger.shortageOn(c.line.level, q, !c.line.preemptible); short {
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

func isGPU(axis int) bool { return axis == gpuAxis || axis > storageAxis }

// findVictims looks for a minimal set of holdings that lets c start, among its nearest
// relatives first. It does not change s.
func (s *state) findVictims(c *candidate) *entitled {
	var taken []*holding
	defer func() {
		for _, h := range taken {
			s.undoEvict(h)
		}
	}()
	levels := s.tree().levels
	contention := s.contention(c)
	for child, a := c.line.level, levels[c.line.level].parent; a >= 0; child, a = a, levels[a].parent {
		if !s.isWithin(c, a, contention) {
			return nil
		}
		if !s.isGuaranteed(c, a, contention) {
			continue
		}
		for _, h := range s.borrowers(c, a, child, contention) {
			if !s.canPreempt(h, a, contention) {
				continue
			}
			s.evict(h)
			taken = append(taken, h)
			if f := s.tryFit(c.line); !f.blocked {
				taken = s.minimalVictims(c, taken)
				c.fit = s.tryFit(c.line)
				return &entitled{candidate: *c, victims: slices.Clone(taken), contention: contention}
			}
		}
	}
	return nil
}

func (s *state) evict(h *holding) {
	s.deallocate(h)
	s.real.add(h.level, h.demand, -1)
}

func (s *state) undoEvict(h *holding) {
	s.ledger.add(h.level, h.demand, 1)
	s.gpuPool.take(h.Placement, 1)
	s.real.add(h.level, h.demand, 1)
}

// minimalVictims puts back holdings of taken that c does not need, the last chosen first, and
// returns the others.
func (s *state) minimalVictims(c *candidate, taken []*holding) []*holding {
	for i := len(taken) - 1; i >= 0 && len(taken) > 1; i-- {
		s.undoEvict(taken[i])
		if f := s.tryFit(c.line); f.blocked {
			s.evict(taken[i])
		} else {
			taken = slices.Delete(taken, i, i+1)
		}
	}
	return taken
}

// isWithin reports whether c stays within the limits on its path below level a, on the
// contended axes.
func (s *state) isWithin(c *candidate, a int, contention contention) bool {
	levels := s.tree().levels
	for _, axis := range contention.rules {
		for l := c.line.level; l != a; l = levels[l].parent {
			if limit := levels[l].limitOn(axis); limit != noLimit && s.ledger.used[l].at(axis)+c.line.demand.on(axis) > limit {
				return false
			}
		}
	}
	return true
}

// isGuaranteed reports whether the path of c below level a has limits on the contended
// axes: without them, nothing is guaranteed there. A limit of GPUs or of their type is
// enough for both.
func (s *state) isGuaranteed(c *candidate, a int, contention contention) bool {
	gpus, limited := false, false
	for _, axis := range contention.rules {
		has := s.hasLimit(c.line.level, a, axis)
		switch {
		case isGPU(axis):
			gpus, limited = true, limited || has
		case !has:
			return false
		}
	}
	return !gpus || limited
}

// hasLimit reports whether the path of level i below a has a limit on axis.
func (s *state) hasLimit(i, a, axis int) bool {
	for l := i; l != a; l = s.tree().levels[l].parent {
		if s.tree().levels[l].limitOn(axis) != noLimit {
			return true
		}
	}
	return false
}

// borrowers returns the holdings below level a, outside its child above c, of the axes
// that c lacks, in the order of preemption.
func (s *state) borrowers(c *candidate, a, child int, contention contention) (list []*holding) {
	for id, nodes := range s.held {
		if id == c.head.Execution {
			continue
		}
		for _, h := range nodes {
			helps := slices.ContainsFunc(contention.short, func(axis int) bool { return h.demand.on(axis) > 0 })
			if helps && h.expendable() && s.isBelow(h.level, a) && !s.isBelow(h.level, child) {
				list = append(list, h)
			}
		}
	}
	slices.SortFunc(list, byExpendability)
	return list
}

// expendable reports whether h may be stopped. Nodes are stopped, executions are not.
func (h *holding) expendable() bool { return h.Preemptible && !h.Ending && h.Node != ExecutionItself }

// byExpendability orders holdings: lowest priority first, then newest.
func byExpendability(x, y *holding) int {
	return cmp.Or(cmp.Compare(x.Priority, y.Priority), y.Granted.Compare(x.Granted), compareKeys(y.Key, x.Key))
}

// canPreempt reports whether every level on the path of h below a that has a limit
// holds at least that without h, on the contested axes that h holds. Simulated starts
// do not count as held.
func (s *state) canPreempt(h *holding, a int, contention contention) bool {
	levels := s.tree().levels
	for _, axis := range contention.rules {
		n := h.demand.on(axis)
		if n == 0 {
			continue
		}
		for l := h.level; l != a; l = levels[l].parent {
			if limit := levels[l].limitOn(axis); limit != noLimit && s.real.used[l].at(axis)-n < limit {
				return false
			}
		}
	}
	return true
}

// victim returns the victim h with the reason that it ends for e.
func (s *state) victim(h *holding, e *entitled) Victim {
	axis := e.contention.short[0]
	for _, x := range e.contention.short {
		if h.demand.on(x) > 0 {
			axis = x
			break
		}
	}
	r := s.ledger.axes.names[axis]
	i, j := s.tree().fork(h.level, e.line.level)
	owner, lender := s.tree().levels[i].Ref(), s.tree().levels[j].Ref()
	v := Victim{Held: h.Held, For: e.head.Key, Level: owner, Resource: r}
	v.Reason = Reason{
		Code: Preempted, Resource: r, Unit: r.Unit(), Requested: h.demand.on(axis), Missing: h.demand.on(axis), Level: &owner,
		Message: fmt.Sprintf("Stopped because %s had borrowed %s from %s, which has reclaimed its guarantee. It restarts when capacity is available.",
			owner, r.Format(h.demand.on(axis)), lender.toRelatives()),
	}
	return v
}
