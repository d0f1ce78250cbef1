package fair

import (
	"slices"

	"github.com/google/uuid"
)

// Edit is a change of the limits of one level.
type Edit struct {
	Level  uuid.UUID
	Limits Limits
}

// Preview is what edits would do at once.
type Preview struct {
	// Excess has to stop so that every level is within its ceiling; Reclaimed
	// would be stopped by requests that come within their guarantee.
	Excess    []Victim
	Reclaimed []Victim
	// OverCeiling are levels that stay above their ceiling until work ends that
	// is not preemptible.
	OverCeiling []Shortfall
	Admitted    []Waiting // start once the others have ended
	Blocked     []Waiting // wait now and could never start afterwards
	StillWait   int       // the others that wait before and after
	Before      Snapshot
	After       Snapshot // once all that has happened
}

// Shortfall is how much a level holds of a resource above its ceiling.
type Shortfall struct {
	Level    LevelRef
	Resource Resource
	Used     int64
	Ceiling  int64
}

// Preview says what edits would do. It changes nothing. Its errors are those of
// NewTree, and apperr.NotFound for a level that is not in the tree.
func (s *Scheduler) Preview(edits []Edit) (Preview, error) {
	limits := make(map[uuid.UUID]Limits, len(edits))
	for _, e := range edits {
		limits[e.Level] = e.Limits
	}
	s.mu.Lock()
	s.state.tick(s.config.Now())
	before := s.state.snapshot(s.config.IdleAfter)
	sim, machines := s.state.clone(), slices.Clone(s.machines)
	s.mu.Unlock()
	tree, err := sim.tree().With(limits)
	if err != nil {
		return Preview{}, err
	}
	out := sim.preview(tree, machines)
	out.Before = before
	return out, nil
}

// preview changes s.
func (s *state) preview(tree *Tree, machines []Machine) (out Preview) {
	could := map[*line]bool{}
	for _, l := range s.queue.lines {
		could[l] = !l.never
	}
	s.rebuild(tree, machines)
	out.Excess = s.trim()
	out.OverCeiling = s.shortfalls()
	waiting := s.queue.requests()
	out.Reclaimed = s.reclaim()
	for _, r := range waiting {
		_, still := s.queue.find(r.Key)
		l := s.queue.lines[sizeOf(r)]
		switch {
		case !still:
			out.Admitted = append(out.Admitted, Waiting{Request: r, Path: s.path(r.Project), Reason: about()})
		case l.never && could[l]:
			out.Blocked = append(out.Blocked, Waiting{Request: r, Path: s.path(r.Project), Reason: s.why(l, &r, maxHolders)})
		default:
			out.StillWait++
		}
	}
	out.After = s.snapshot(0)
	return out
}
