package fair

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

// Edit is a change of the limits of one level.
type Edit struct {
	Level  uuid.UUID
	Limits Limits
}

// Preview describes the immediate effects of edits.
type Preview struct {
	// Excess must stop so that every level is within its ceiling; Reclaimed would be
	// stopped by requests within their guarantee.
	Excess    []Victim
	Reclaimed []Victim
	// OverCeiling are levels that stay above their ceiling until work ends that
	// is not preemptible.
	OverCeiling []Shortfall
	Admitted    []Waiting // start once the stopped attempts have ended
	Blocked     []Waiting // wait now and could never start with the edits
	StillWait   int       // the others that wait before and after
	Shifted     []Shift   // waiting requests that would start much sooner or later
	Before      Snapshot
	After       Snapshot // after all these effects
}

// Shift is a waiting request whose typical start time changes with the edits.
type Shift struct {
	Waiting

	Before, After *time.Time // nil: beyond the forecast
}

// Later is how much later it starts; negative is sooner, 0 when a time is missing.
func (s Shift) Later() time.Duration {
	if s.Before == nil || s.After == nil {
		return 0
	}
	return s.After.Sub(*s.Before)
}

const (
	shiftsOf  = 20 // the first requests of the queue are compared
	muchShift = time.Minute
)

// Shortfall is the amount of a resource that a level holds above its ceiling.
type Shortfall struct {
	Level    LevelRef
	Resource Resource
	Used     int64
	Ceiling  int64
}

// Preview predicts the effects of edits. It changes nothing. Its errors are those of
// NewTree, and apperr.NotFound for a level that is not in the tree.
func (s *Scheduler) Preview(edits []Edit) (Preview, error) {
	limits := make(map[uuid.UUID]Limits, len(edits))
	for _, e := range edits {
		limits[e.Level] = e.Limits
	}
	s.mu.Lock()
	s.state.tick(s.config.Now())
	before := snapshotter{s.state}.snapshot(s.config.IdleAfter)
	sim, machines := s.state.clone(), slices.Clone(s.machines)
	s.mu.Unlock()
	tree, err := sim.tree().With(limits)
	if err != nil {
		return Preview{}, err
	}
	first := sim.rank(shiftsOf, nil).keys
	without := forecaster{sim.clone()}.startTimes(first)
	out := forecaster{sim}.preview(tree, machines)
	out.Shifted = forecaster{sim}.shifts(first, without)
	out.Before = before
	return out, nil
}

// shifts compares the start times of requests without edits with those in s, the state
// after edits in which immediate starts have happened.
func (m forecaster) shifts(keys []Key, without map[Key]time.Time) (list []Shift) {
	with := forecaster{m.s.clone()}.startTimes(keys)
	for _, key := range keys {
		before, hadEstimate := without[key]
		after, hasEstimate := with[key]
		if !hadEstimate && !hasEstimate || hadEstimate && hasEstimate && after.Sub(before).Abs() < muchShift {
			continue
		}
		r, waits := m.s.queue.find(key)
		if !waits {
			continue
		}
		shift := Shift{Waiting: Waiting{Request: r, Path: m.s.tree().refs(r.Project)}}
		if hadEstimate {
			shift.Before = &before
		}
		if hasEstimate {
			shift.After = &after
		}
		list = append(list, shift)
	}
	return list
}

// preview changes s.
func (m forecaster) preview(tree *Tree, machines []Machine) (out Preview) {
	could := map[*line]bool{}
	for _, l := range m.s.queue.lines {
		could[l] = !l.never
	}
	m.s.rebuild(tree, machines)
	out.Excess = excess(m).end()
	out.OverCeiling = m.s.ledger.shortfalls()
	waiting := m.s.queue.requests()
	out.Reclaimed = (&reclaimer{s: m.s}).run()
	for _, r := range waiting {
		_, still := m.s.queue.find(r.Key)
		l := m.s.queue.lines[sizeOf(r)]
		switch {
		case !still:
			out.Admitted = append(out.Admitted, Waiting{Request: r, Path: m.s.tree().refs(r.Project), Reason: aboutToStart()})
		case l.never && could[l]:
			out.Blocked = append(out.Blocked, Waiting{Request: r, Path: m.s.tree().refs(r.Project), Reason: explainer(m).why(l, &r, maxHolders)})
		default:
			out.StillWait++
		}
	}
	out.After = snapshotter(m).snapshot(0)
	return out
}
