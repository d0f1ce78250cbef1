package fair

import (
	"fmt"
	"time"
)

const (
	maxHolders    = 3               // holders that lists name
	allHolders    = 25              // holders that Why names
	maxRanked     = 1000            // positions of the queue that are computed
	rankOften     = 64              // a queue up to this length is ranked after every change
	fresh         = time.Second     // maximum age of a ranking for pages
	stored        = 5 * time.Second // and for stored reasons
	preemptSuffix = " %d running %s preempted for it."
)

// refuse gives every request of want that still waits its reason. Requests of one line
// have the same reason, except for the position in the queue. These reasons are stored with
// each node, so they have no holders and no score, which Why returns.
func (s *Scheduler) refuse(want []Request) (refused []Refusal) {
	reasons := map[*line]Reason{}
	for _, r := range want {
		e, waits := s.state.queue.entries[r.Execution][r.Node]
		if !waits {
			continue
		}
		l := s.state.queue.lines[sizeOf(e.request)]
		reason, ok := reasons[l]
		if !ok {
			reason, _ = explainer{s.state}.cause(l, l.head())
			reasons[l] = reason
		}
		reason.Position = s.admissionOrder(stored).positions[r.Key]
		refused = append(refused, Refusal{r.Key, reason})
	}
	return refused
}

// admissionOrder is the order of admission at a time.
type admissionOrder struct {
	at        time.Time
	changes   int
	keys      []Key
	positions map[Key]int
}

// admissionOrder returns the order of admission: exact for a short queue, otherwise at most as
// old as age.
func (s *Scheduler) admissionOrder(age time.Duration) *admissionOrder {
	known := s.positions.positions != nil
	recent := s.state.queue.count > rankOften && s.state.now.Sub(s.positions.at) < age
	if !known || s.positions.changes != s.changes && !recent {
		s.positions = s.state.rank(maxRanked, nil)
		s.positions.changes = s.changes
	}
	return &s.positions
}

// rank simulates the admission of requests as if all fit and none ended, until limit
// wanted requests have been found. A nil wanted selects all.
func (s *state) rank(limit int, include func(*Request) bool) admissionOrder {
	sim := s.cloneForPlanning()
	out := admissionOrder{at: s.now, positions: map[Key]int{}}
	list := make([]candidate, 0, len(sim.queue.lines))
	for _, l := range sim.queue.lines {
		if l.level >= 0 {
			list = append(list, sim.candidate(l, fit{}))
		}
	}
	root := sim.ranked(list)
	for place := 1; len(out.keys) < limit; place++ {
		c := root.head()
		if c == nil {
			break
		}
		key, l := c.head.Key, c.line
		if include == nil || include(c.head) {
			out.keys = append(out.keys, key)
			out.positions[key] = place
		}
		sim.ledger.add(l.level, l.demand, 1)
		sim.queue.remove(key)
		sim.rerank(root, l.level)
	}
	return out
}

// why returns the reason of a waiting request of l, with the score of the request and with
// executions that hold what it lacks.
func (e explainer) why(l *line, r *Request, holders int) Reason {
	reason, lacks := e.cause(l, r)
	if lacks != nil {
		reason.Holders = e.s.holders(lacks.level, lacks.axis, holders)
	}
	if lacks != nil || reason.Code == BehindInFairShare {
		reason.Score = e.s.scoreOf(r, e.s.ledger.distance(l.level, l.demand))
	}
	return reason
}

// cause returns the reason of a waiting request of l, and which resource it lacks at which level,
// if that is the reason.
func (e explainer) cause(l *line, r *Request) (reason Reason, lacks *shortage) {
	if l.level < 0 {
		return *unknownProject(), nil
	}
	if reason, never := e.s.neverFits(*r); never {
		return *reason, nil
	}
	if reason := e.s.ledger.storageFull(l.level); reason != nil {
		return *reason, nil
	}
	switch f := e.s.tryFit(l); {
	case !f.blocked:
		reason = e.behind(l)
	case f.scattered:
		reason, lacks = e.scatteredReason(l), &shortage{level: 0, axis: f.short.axis}
	default:
		reason, lacks = e.s.ledger.reason(f.short), &f.short
	}
	if victims := len(e.s.covered[r.Key]); victims > 0 {
		word := "attempts were"
		if victims == 1 {
			word = "attempt was"
		}
		reason.Message += fmt.Sprintf(preemptSuffix, victims, word)
		reason.Preempting = victims
	}
	return reason, lacks
}

// storageFull returns why nothing starts at level i: a level of its path has used all
// of its storage. The caller of Admit enforces that, because requests do not describe how
// much they will store.
func (b *Ledger) storageFull(i int) *Reason {
	for ; i >= 0; i = b.tree.levels[i].parent {
		n := &b.tree.levels[i]
		limit := n.limitOn(storageAxis)
		used, ceiling := b.used[i].at(storageAxis), limit+n.borrowOn(storageAxis)
		if limit == noLimit || used < ceiling {
			continue
		}
		ref := n.Ref()
		return &Reason{
			Code: StorageLimit, Resource: Storage, Unit: Storage.Unit(), Capacity: ceiling, Level: &ref,
			Message: fmt.Sprintf("Waiting for storage: %s has used %s of %s. It starts when artifacts are deleted or the limit is raised.",
				ref, Storage.Format(used), Storage.Format(ceiling)),
		}
	}
	return nil
}

// behind is the reason of a request that would fit: capacity is reserved for an earlier
// one.
func (e explainer) behind(l *line) Reason {
	var list []candidate
	for _, other := range e.s.queue.lines {
		if other == l || other.level >= 0 && !other.never && e.s.reservesCapacity(other.head()) && e.s.tryFit(other).blocked {
			list = append(list, e.s.candidate(other, fit{}))
		}
	}
	ranked := e.s.ranked(list)
	first := ranked.head()
	reason := Reason{Code: BehindInFairShare, Message: "Capacity is available; waiting for its turn."}
	if first.line == l {
		return reason
	}
	i, j := e.s.tree().fork(l.level, first.line.level)
	mine, other := e.s.tree().levels[i].Ref(), e.s.tree().levels[j].Ref().toRelatives()
	depth := e.s.tree().levels[i].depth - 1
	me := e.s.candidate(l, fit{})
	switch {
	case i == j:
		reason.Message = "It fits, but capacity is reserved for a larger request of the same project, which goes first."
	case first.covered:
		reason.Message = fmt.Sprintf("It fits, but the capacity is being freed for %s, which is entitled to it.", other)
	case first.borrowDistance(depth) < me.borrowDistance(depth):
		reason.Message = fmt.Sprintf("It fits, but capacity is reserved for %s, which is within its guarantee.", other)
	default:
		reason.Message = fmt.Sprintf("It fits, but capacity is reserved for %s, which has used less of its fair share than %s.", other, mine)
	}
	return reason
}

// scatteredReason is the reason of a request that lacks enough free GPUs on one
// machine.
func (e explainer) scatteredReason(l *line) Reason {
	r := e.s.ledger.axes.names[l.gpuAxis()]
	total, most := e.s.gpuPool.together(l.amount.GPUType)
	root := e.s.tree().levels[0].Ref()
	n := int64(l.amount.GPUs)
	message := fmt.Sprintf("Waiting for %s on one machine: %d are free, at most %d of them together, and the operator does not set spread.",
		r.Format(n), total, most)
	if l.spread {
		message = fmt.Sprintf("Waiting for %s: %d are free on the machines.", r.Format(n), total)
	}
	return Reason{
		Code: GPUUnavailable, Message: message, Resource: r, Requested: n, Free: int64(most),
		Capacity: e.s.gpuPool.capacity(l.amount.GPUType), Missing: n - int64(most), Level: &root,
	}
}

// tooLarge is the reason of a request for more GPUs than the machines have.
func (s *state) tooLarge(r Request) Reason {
	resource, root := GPU, s.tree().levels[0].Ref()
	if r.Amount.GPUType != "" {
		resource = OfType(r.Amount.GPUType)
	}
	largest := 0
	for i := range s.gpuPool.machines {
		largest = max(largest, s.gpuPool.machines[i].free(r.Amount.GPUType, true))
	}
	n, total := int64(r.Amount.GPUs), s.gpuPool.capacity(r.Amount.GPUType)
	reason := Reason{
		Code: GPUUnavailable, Resource: resource, Requested: n, Level: &root, Free: total, Capacity: total, Missing: n - total,
		Message: fmt.Sprintf("Cannot run here: requests %s; the machines have %d.", resource.Format(n), total),
	}
	if !r.Spread && total >= n {
		reason.Capacity, reason.Free, reason.Missing = int64(largest), int64(largest), n-int64(largest)
		reason.Message = fmt.Sprintf("Cannot run here: requests %s on one machine; the largest has %d. Set spread in the operator to use several machines.", resource.Format(n), largest)
	}
	return reason
}
