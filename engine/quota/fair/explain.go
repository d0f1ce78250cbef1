package fair

import "slices"

// NeverFits returns why a request can never start in its project, even if nothing
// else runs, or nil.
func (s *Scheduler) NeverFits(r Request) *Reason {
	s.mu.Lock()
	defer s.mu.Unlock()
	reason, _ := s.state.neverFits(r)
	return reason
}

// Position returns the current position of a waiting node, 1 is next. It returns 0 when
// the node does not wait here, has an offer, or is not among the first thousand.
func (s *Scheduler) Position(key Key) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, waits := s.state.queue.find(key); !waits {
		return 0
	}
	s.state.tick(s.config.Now())
	return s.admissionOrder(fresh).positions[key]
}

// Queue returns waiting requests in the order of admission: first those with a current
// or recently expired offer, with Position 0.
func (s *Scheduler) Queue(f Filter) []Waiting {
	s.mu.Lock()
	s.state.tick(s.config.Now())
	st := s.state.clone()
	s.mu.Unlock()
	return explainer{st}.list(f)
}

// explainer describes why requests wait.
type explainer struct{ s *state }

func (e explainer) list(f Filter) (list []Waiting) {
	for _, nodes := range e.s.offers {
		for _, o := range nodes {
			if e.s.tree().selects(f, &o.Request) {
				list = append(list, Waiting{Request: o.Request, Path: e.s.tree().refs(o.Project), Offered: true, Reason: aboutToStart()})
			}
		}
	}
	for _, m := range e.s.missed {
		if e.s.tree().selects(f, &m.request) {
			list = append(list, Waiting{Request: m.request, Path: e.s.tree().refs(m.request.Project), Reason: offerExpired()})
		}
	}
	slices.SortFunc(list, func(a, b Waiting) int { return byAge(&a.Request, &b.Request) })
	limit := f.Limit
	if limit <= 0 {
		limit = e.s.queue.count + len(list)
	}
	list = list[:min(len(list), limit)]
	order := e.s.rank(limit-len(list), func(r *Request) bool { return e.s.tree().selects(f, r) })
	reasons := map[*line]Reason{}
	for _, key := range order.keys {
		r, _ := e.s.queue.find(key)
		l := e.s.queue.lines[sizeOf(r)]
		reason, ok := reasons[l]
		if !ok {
			reason = e.why(l, &r, maxHolders)
			reasons[l] = reason
		}
		reason.Position = order.positions[key]
		reason.Ahead = reason.Position - 1
		list = append(list, Waiting{Request: r, Position: reason.Position, Path: e.s.tree().refs(r.Project), Reason: reason})
	}
	return list
}

// aboutToStart is the reason of a request with an offer.
func aboutToStart() Reason {
	return Reason{Code: BehindInFairShare, Message: "Capacity is reserved for it: it is about to start."}
}

// offerExpired is the reason of a request that did not claim its offer.
func offerExpired() Reason {
	return Reason{Code: BehindInFairShare, Message: "The capacity reserved for it was not claimed in time. The request is repeated."}
}

// Why returns the current reason of a waiting node with all its numbers, or false when
// it does not wait here.
func (s *Scheduler) Why(key Key) (Reason, bool) {
	s.mu.Lock()
	st := s.state
	st.tick(s.config.Now())
	if _, offered := st.offers[key.Execution][key.Node]; offered {
		s.mu.Unlock()
		return aboutToStart(), true
	}
	if _, ok := st.missed[key]; ok {
		s.mu.Unlock()
		return offerExpired(), true
	}
	if _, ok := st.queue.find(key); !ok {
		s.mu.Unlock()
		return Reason{}, false
	}
	st = st.clone()
	s.mu.Unlock()
	return explainer{st}.explain(key), true
}

// explain is why with the queue position and the band in which the request of key
// starts. It changes s.
func (e explainer) explain(key Key) Reason {
	r, _ := e.s.queue.find(key)
	l := e.s.queue.lines[sizeOf(r)]
	reason := e.why(l, &r, allHolders)
	if l.never || l.level < 0 {
		return reason
	}
	order := e.s.rank(maxRanked, nil)
	reason.Position = order.positions[key]
	reason.Ahead = e.ahead(order, key, reason)
	if band, ok := forecaster(e).startRange([]Key{key}); ok {
		reason.StartsFrom, reason.StartsTo, reason.Basis = &band.from, &band.to, band.basis
	}
	return reason
}

// ahead counts the requests before key for the resource that it lacks, below the level
// that lacks it.
func (e explainer) ahead(order admissionOrder, key Key, reason Reason) (n int) {
	level := 0
	if reason.Level != nil {
		level = e.s.tree().index[reason.Level.ID]
	}
	for _, other := range order.keys {
		if other == key {
			break
		}
		r, _ := e.s.queue.find(other)
		i, ok := e.s.tree().index[r.Project]
		if !ok || !e.s.tree().isBelow(i, level) {
			continue
		}
		if reason.Resource == "" || r.Amount.Vector()[reason.Resource] > 0 {
			n++
		}
	}
	return n
}
