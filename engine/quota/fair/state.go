package fair

import (
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
)

// state is the state of a Scheduler. Forecasts and previews clone it and simulate the
// future. It is not safe for concurrent use.
type state struct {
	reserveAfter, offerTTL time.Duration

	now     time.Time // of the current call
	ledger  *Ledger   // of reservations, offers and other use
	empty   *Ledger   // of the whole capacity of the tree, without any use
	queue   queue
	gpuPool gpuPool
	history history
	idle    idleness
	held    map[uuid.UUID]map[int]*holding
	offers  map[uuid.UUID]map[int]*offer
	// missed are requests whose offer was not claimed in time. They return to the queue
	// when their execution calls within another OfferTTL; then they are dropped. An
	// execution that still needs them requests them again, and one that moved to
	// another server does not block others.
	missed map[Key]missedOffer
	usage  map[uuid.UUID]Vector
	// covered lists, by request, its victims that have not ended. A covered request
	// goes first when capacity is freed.
	covered map[Key][]Key

	ranker ranker // these two reuse memory between decisions
	heads  []candidate
	most   holdersOf
}

// holding is a live reservation in the ledger. Its fields do not change, except
// level and ask when the tree does.
type holding struct {
	Held

	level  int
	demand demand
	cause  Key // the request that it is preempted for, when it is ending
}

// offer is capacity that is reserved for a request.
type offer struct {
	holding

	expires time.Time
}

// missedOffer is a request that did not claim its offer.
type missedOffer struct {
	request Request
	until   time.Time
}

func (s *state) tree() *Tree { return s.ledger.tree }

// level returns the level of a project; an unknown project counts only at the root.
func (s *state) level(project uuid.UUID) int { return s.tree().index[project] }

// clone copies the mutable parts. Holdings are shared: they are replaced, never
// changed.
func (s *state) clone() *state {
	out := *s
	out.ledger, out.queue, out.gpuPool, out.history = s.ledger.clone(), s.queue.clone(), s.gpuPool.clone(), s.history.clone()
	out.idle, out.ranker, out.heads, out.most = idleness{}, ranker{}, nil, holdersOf{}
	out.held = make(map[uuid.UUID]map[int]*holding, len(s.held))
	for id, nodes := range s.held {
		out.held[id] = maps.Clone(nodes)
	}
	out.offers = make(map[uuid.UUID]map[int]*offer, len(s.offers))
	for id, nodes := range s.offers {
		out.offers[id] = maps.Clone(nodes)
	}
	out.missed = maps.Clone(s.missed)
	out.covered = make(map[Key][]Key, len(s.covered))
	for key, victims := range s.covered {
		out.covered[key] = slices.Clone(victims)
	}
	return &out
}

// cloneForPlanning copies the parts that the order of admission depends on, and shares
// the rest. On the copy, callers may choose the next request, remove requests from the
// queue and add amounts to the ledger.
func (s *state) cloneForPlanning() *state {
	out := *s
	out.ledger, out.queue = s.ledger.clone(), s.queue.clone()
	out.ranker, out.heads, out.most = ranker{}, nil, holdersOf{}
	return &out
}

// tick advances the state to now.
func (s *state) tick(now time.Time) {
	if now.After(s.now) {
		s.now = now
	}
	if s.history.advance(s.ledger.used, s.now) {
		s.idle.watch(s.ledger, s.now)
	}
}

// rebuild fills a new ledger of tree and a gpuPool of machines with the reservations,
// offers and other use.
func (s *state) rebuild(tree *Tree, machines []Machine) {
	at, past, before := s.history.at, s.shares().pastUse(), s.ledger
	s.ledger, s.empty, s.gpuPool = NewLedger(tree), newFullCapacityLedger(tree), newGPUPool(machines)
	s.idle.move(before, s.ledger)
	s.most = holdersOf{}
	s.history.average = make([][]float64, len(tree.levels))
	s.shares().setPastUse(at, past)
	for id, v := range s.usage {
		s.ledger.Add(id, v)
	}
	for _, nodes := range s.held {
		for node, h := range nodes {
			nodes[node] = s.allocate(h.Held)
			nodes[node].cause = h.cause
		}
	}
	for _, nodes := range s.offers {
		for node, o := range nodes {
			nodes[node] = &offer{*s.allocate(o.Held), o.expires}
		}
	}
	for _, l := range s.queue.lines {
		s.locate(l)
	}
}

// locate sets the level and the amount of a line, and whether it can ever fit.
func (s *state) locate(l *line) {
	l.demand = s.ledger.axes.demand(l.amount.Vector())
	l.level = -1
	if i, ok := s.tree().index[l.project]; ok {
		l.level, l.least = i, s.empty.distance(i, l.demand)
	}
	_, l.never = s.neverFits(*l.head())
}

// allocate adds a reservation to ledger and gpuPool.
func (s *state) allocate(h Held) *holding {
	out := &holding{Held: h, level: s.level(h.Project), demand: s.ledger.axes.demand(h.Amount.Vector())}
	s.ledger.add(out.level, out.demand, 1)
	s.gpuPool.take(h.Placement, 1)
	return out
}

// deallocate removes h from ledger and gpuPool.
func (s *state) deallocate(h *holding) {
	s.ledger.add(h.level, h.demand, -1)
	s.gpuPool.take(h.Placement, -1)
}

// hold makes a reservation live and replaces one with the same key.
func (s *state) hold(h Held) *holding {
	s.release(h.Key)
	nodes := s.held[h.Execution]
	if nodes == nil {
		nodes = map[int]*holding{}
		s.held[h.Execution] = nodes
	}
	nodes[h.Node] = s.allocate(h)
	return nodes[h.Node]
}

// release ends a reservation. It returns nil when it does not exist.
func (s *state) release(key Key) *holding {
	nodes := s.held[key.Execution]
	h, ok := nodes[key.Node]
	if !ok {
		return nil
	}
	s.deallocate(h)
	delete(nodes, key.Node)
	if len(nodes) == 0 {
		delete(s.held, key.Execution)
	}
	s.clearCovered(h)
	return h
}

// clearCovered removes h, which ended or was spared, from covered.
func (s *state) clearCovered(h *holding) {
	if victims, ok := s.covered[h.cause]; ok {
		s.covered[h.cause] = slices.DeleteFunc(victims, func(k Key) bool { return k == h.Key })
	}
}

// want puts a request in the queue, unless it already has an offer.
func (s *state) want(r Request) {
	if _, offered := s.offers[r.Execution][r.Node]; offered {
		return
	}
	if l := s.queue.add(r); l != nil {
		s.locate(l)
	}
}

// grant turns the offers of an execution into reservations.
func (s *state) grant(execution uuid.UUID) []Grant {
	offers := s.offers[execution]
	granted := make([]Grant, 0, len(offers))
	for _, o := range offers {
		s.deallocate(&o.holding)
		held := o.Held
		held.Granted = s.now
		h := s.hold(held)
		s.history.charge(s.tree(), h.level, h.demand)
		granted = append(granted, Grant{held.Request, held.Placement})
	}
	delete(s.offers, execution)
	slices.SortFunc(granted, func(a, b Grant) int { return compareKeys(a.Key, b.Key) })
	return granted
}

// withdraw removes a request and the offer for it.
func (s *state) withdraw(key Key) {
	s.queue.remove(key)
	delete(s.covered, key)
	delete(s.missed, key)
	s.dropOffer(key)
}

func (s *state) dropOffer(key Key) {
	o, ok := s.offers[key.Execution][key.Node]
	if !ok {
		return
	}
	s.deallocate(&o.holding)
	delete(s.offers[key.Execution], key.Node)
	if len(s.offers[key.Execution]) == 0 {
		delete(s.offers, key.Execution)
	}
}

// expire withdraws offers that were not claimed in time, and drops missed requests
// whose execution has not called since.
func (s *state) expire() {
	maps.DeleteFunc(s.missed, func(_ Key, m missedOffer) bool { return !s.now.Before(m.until) })
	for _, nodes := range s.offers {
		for _, o := range nodes {
			if s.now.After(o.expires) {
				s.dropOffer(o.Key)
				s.missed[o.Key] = missedOffer{o.Request, s.now.Add(s.offerTTL)}
			}
		}
	}
}

// requeueMissed requeues the requests of an execution that missed their offers.
func (s *state) requeueMissed(execution uuid.UUID) {
	for key := range s.missed {
		if key.Execution == execution {
			s.requeue(key)
		}
	}
}

func (s *state) requeue(key Key) {
	r := s.missed[key].request
	delete(s.missed, key)
	s.want(r)
}

// distribute turns waiting requests into offers while they fit, and returns the
// executions other than self that got their first offer.
func (s *state) distribute(self uuid.UUID) (woken []uuid.UUID) {
	for {
		c, ok := s.choose()
		if !ok {
			return woken
		}
		r := *c.head
		s.queue.remove(r.Key)
		delete(s.covered, r.Key)
		nodes := s.offers[r.Execution]
		if nodes == nil {
			nodes = map[int]*offer{}
			s.offers[r.Execution] = nodes
			if r.Execution != self {
				woken = append(woken, r.Execution)
			}
		}
		nodes[r.Node] = &offer{*s.allocate(Held{Request: r, Placement: c.placement}), s.now.Add(s.offerTTL)}
	}
}

// neverFits returns why r does not fit in an empty cluster. It returns false for a
// project that is not known yet.
func (s *state) neverFits(r Request) (*Reason, bool) {
	i, ok := s.tree().index[r.Project]
	if !ok {
		return nil, false
	}
	if short, found := s.empty.shortage(i, s.empty.axes.demand(r.Amount.Vector()), !r.Preemptible); found {
		reason := s.empty.never(short)
		return &reason, true
	}
	if _, ok := s.gpuPool.place(r.Amount, r.Spread, true); !ok {
		reason := s.tooLarge(r)
		return &reason, true
	}
	return nil, false
}

// supersede drops a request that h already grants, because another server granted it. A
// request for a later attempt stays.
func (s *state) supersede(h Held) {
	requested := func(r Request) bool { return r.Attempt <= h.Attempt }
	if r, ok := s.queue.find(h.Key); ok && requested(r) {
		s.withdraw(h.Key)
	}
	if o, ok := s.offers[h.Execution][h.Node]; ok && requested(o.Request) {
		s.withdraw(h.Key)
	}
	if m, ok := s.missed[h.Key]; ok && requested(m.request) {
		s.withdraw(h.Key)
	}
}

// restore sets the reservation of h's key to h. A known reservation keeps its mark as
// ending and the fields that rows do not hold.
func (s *state) restore(h Held) {
	before := s.held[h.Execution][h.Node]
	if before == nil {
		s.hold(h)
		return
	}
	var cause Key
	if before.Amount == h.Amount && before.Project == h.Project {
		cause, h.Ending = before.cause, h.Ending || before.Ending
		if !h.Expected.Known() {
			h.Expected, h.Workflow, h.Operator = before.Expected, before.Workflow, before.Operator
		}
		if h.Granted.IsZero() {
			h.Granted = before.Granted
		}
	} else {
		s.clearCovered(before)
	}
	s.deallocate(before)
	after := s.allocate(h)
	after.cause = cause
	s.held[h.Execution][h.Node] = after
}
