package fair

import (
	"container/heap"
	"time"
)

const (
	maxSteps    = 4000 // maximum starts and ends of a simulation
	preemptTime = 30 * time.Second
)

// startRange is the range of start times: if all running and waiting work takes as long as
// the fastest tenth of its kind, the median, and the slowest tenth.
type startRange struct {
	from, typical, to time.Time
	basis             int // earlier attempts behind the least certain estimate
}

// forecaster starts and ends work on a copy of the state, as if nothing else happened.
type forecaster struct{ s *state }

// startRange simulates the queue three times until all of keys have started. It returns false
// when work whose end they depend on has no history, or when the simulation takes too
// long. It does not change s.
func (m forecaster) startRange(keys []Key) (b startRange, ok bool) {
	for _, scenario := range []struct {
		at   *time.Time
		took func(Estimate) time.Duration
	}{
		{&b.from, func(e Estimate) time.Duration { return e.Low }},
		{&b.typical, func(e Estimate) time.Duration { return e.Typical }},
		{&b.to, func(e Estimate) time.Duration { return e.High }},
	} {
		var basis int
		if *scenario.at, basis, ok = (forecaster{m.s.clone()}).startsAt(keys, scenario.took); !ok {
			return startRange{}, false
		}
		b.basis = minPositive(b.basis, basis)
	}
	// The fast simulation need not have the earliest start: the order of ends decides
	// the order of starts. The band covers all three.
	if b.typical.Before(b.from) {
		b.from = b.typical
	}
	if b.to.Before(b.from) {
		b.from, b.to = b.to, b.from
	}
	if b.to.Before(b.typical) {
		b.to = b.typical
	}
	return b, true
}

// minPositive returns the smaller count; 0 is none.
func minPositive(a, b int) int {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// ending is when a holding ends in a simulation.
type ending struct {
	at time.Time
	h  *holding
}

// endings is a heap of holdings by their end.
type endings []ending

// Len, Less, Swap, Push and Pop make endings a heap.Interface.
func (e endings) Len() int { return len(e) }
func (e endings) Less(i, j int) bool {
	if !e[i].at.Equal(e[j].at) {
		return e[i].at.Before(e[j].at)
	}
	return compareKeys(e[i].h.Key, e[j].h.Key) < 0
}
func (e endings) Swap(i, j int) { e[i], e[j] = e[j], e[i] }

// Push is for container/heap.
func (e *endings) Push(x any) { *e = append(*e, x.(ending)) }

// Pop is for container/heap.
func (e *endings) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	*e = (*e)[:last]
	return x
}

// startsAt simulates s until all of keys have started. It returns when the last of them
// started and the smallest number of attempts behind an estimate. It changes the state.
func (m forecaster) startsAt(keys []Key, took func(Estimate) time.Duration) (last time.Time, basis int, ok bool) {
	missing := make(map[Key]struct{}, len(keys))
	for _, key := range keys {
		missing[key] = struct{}{}
	}
	basis = m.simulate(took, func(key Key) bool {
		delete(missing, key)
		return len(missing) > 0
	})
	return m.s.now, basis, len(missing) == 0
}

// startTimes simulates s and returns when each of keys typically starts; keys that
// start beyond the simulated period are absent. It changes the state.
func (m forecaster) startTimes(keys []Key) map[Key]time.Time {
	starts := map[Key]time.Time{}
	pending := make(map[Key]struct{}, len(keys))
	for _, key := range keys {
		pending[key] = struct{}{}
	}
	m.simulate(func(e Estimate) time.Duration { return e.Typical }, func(key Key) bool {
		if _, ok := pending[key]; ok {
			starts[key] = m.s.now
		}
		return len(starts) < len(pending)
	})
	return starts
}

// simulate starts and ends running and waiting work until begun returns true or no further
// end is known: work without a history never ends. It returns the smallest number of
// attempts behind an estimate.
func (m forecaster) simulate(took func(Estimate) time.Duration, started func(Key) bool) (basis int) {
	var ends endings
	enter := func(h *holding) {
		switch {
		case h.Ending:
			heap.Push(&ends, ending{m.s.now.Add(preemptTime), h})
		case h.Expected.Known() && !h.Granted.IsZero():
			heap.Push(&ends, ending{h.endsAt(took(h.Expected), m.s.now), h})
		}
	}
	for execution := range m.s.offers {
		m.s.grant(execution)
	}
	for _, nodes := range m.s.held {
		for _, h := range nodes {
			enter(h)
		}
	}
	for range maxSteps {
		if c, ok := m.s.choose(); ok {
			key := c.head.Key
			enter(m.s.begin(c))
			if !started(key) {
				return basis
			}
			continue
		}
		if len(ends) == 0 {
			return basis
		}
		next := heap.Pop(&ends).(ending)
		m.s.tick(next.at)
		if m.s.held[next.h.Execution][next.h.Node] == next.h {
			m.s.release(next.h.Key)
			basis = minPositive(basis, next.h.Expected.From)
		}
	}
	return basis
}
