package fair

import (
	"cmp"
	"maps"
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
	victims := (&reclaimer{s: s.state.clone()}).run()
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

func isGPU(axis int) bool { return axis == gpuAxis || axis > storageAxis }

// expendable reports whether h may be stopped. Nodes are stopped, executions are not.
func (h *holding) expendable() bool { return h.Preemptible && !h.Ending && h.Node != ExecutionItself }

// byExpendability orders holdings: lowest priority first, then newest.
func byExpendability(x, y *holding) int {
	return cmp.Or(cmp.Compare(x.Priority, y.Priority), y.Granted.Compare(x.Granted), compareKeys(y.Key, x.Key))
}
