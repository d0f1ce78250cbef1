package fair

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

// Snapshot is the state of the tree for pages.
type Snapshot struct {
	At        time.Time
	Levels    []LevelState // parents before children, siblings by name
	Resources []Resource   // that any level limits, uses or waits for, in display order
	Pairs     []Pair
	Idle      []Idle
	// Longest is the request that has waited longest; nil when nothing waits.
	Longest *Waiting
}

// Find returns the state of one level, or nil.
func (s Snapshot) Find(id uuid.UUID) *LevelState {
	for i := range s.Levels {
		if s.Levels[i].ID == id {
			return &s.Levels[i]
		}
	}
	return nil
}

// LevelState is one level of a Snapshot.
type LevelState struct {
	Level

	Depth     int
	Resources map[Resource]ResourceState
	// Waiting counts requests at or below the level.
	Waiting int
	// Standing is its rank among its siblings.
	Standing LevelScore
	// History is the decayed average of what it used, as of Snapshot.At.
	History map[Resource]float64
}

// ResourceState is the limit and use of one resource at a level, including everything
// below it. Guaranteed + Borrowed = Used. Guaranteed + Lent + Free = Limit, when there
// is one.
type ResourceState struct {
	Limit   *int64 // nil: no own limit
	Borrow  int64  // at most
	Lend    *int64 // at most; nil without a limit
	Used    int64  // by what runs, and by offers
	Offered int64  // part of Used that is offered and has not started
	Ending  int64  // part of Used that is being preempted

	Guaranteed int64
	Borrowed   int64
	Lent       int64
	Free       int64
	// Available is the amount that a request below it could get now, including
	// borrowing; nil when no level on its path limits it.
	Available *int64
	Waiting   int64 // requested by waiting requests
}

// Pair is a level with requests that wait within its guarantee or its borrowing limit,
// and a relative that could help.
type Pair struct {
	Resource Resource
	Starved  LevelRef
	Demand   int64 // of the waiting requests, within its guarantee when Guaranteed
	// Guaranteed: Starved is below its guarantee, and Other borrows from it. Otherwise
	// Starved would borrow, and Other does not lend its idle guarantee.
	Guaranteed bool
	Other      LevelRef
	Amount     int64 // that Other borrows, or leaves idle without lending
	First      Key   // the request of Starved that goes first
}

// Idle is a guarantee that its owner has not used for a while.
type Idle struct {
	Level    LevelRef
	Resource Resource
	Amount   int64
	Of       int64
	Lent     int64 // part of Amount that relatives use now
	Since    time.Time
}

// Snapshot returns the state of the tree for pages.
func (s *Scheduler) Snapshot() Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.tick(s.config.Now())
	return snapshotter{s.state}.snapshot(s.config.IdleAfter)
}

// snapshotter describes the state of the tree for pages.
type snapshotter struct{ s *state }

func (p snapshotter) snapshot(idleAfter time.Duration) Snapshot {
	c := p.totals()
	out := Snapshot{At: p.s.now, Levels: make([]LevelState, len(p.s.tree().levels))}
	var axes []int
	for axis, r := range p.s.ledger.axes.names {
		if c.isRelevant(p.s, axis) {
			axes = append(axes, axis)
			out.Resources = append(out.Resources, r)
		}
	}
	slices.SortFunc(out.Resources, Resource.Compare)
	lent := p.s.ledger.lent()
	for i := range out.Levels {
		n := &p.s.tree().levels[i]
		state := LevelState{
			Level: n.Level, Depth: n.depth, Waiting: c.requests[i], Standing: p.s.shares().levelScore(i),
			Resources: make(map[Resource]ResourceState, len(axes)), History: map[Resource]float64{},
		}
		for _, axis := range axes {
			r := p.s.ledger.axes.names[axis]
			state.Resources[r] = p.s.ledger.resource(i, axis, c, lent[i].at(axis))
			if past := p.s.history.on(i, axis); past > 0 {
				state.History[r] = past
			}
		}
		out.Levels[i] = state
	}
	out.Pairs = p.s.ledger.pairs(c)
	out.Idle = p.idleGuarantees(idleAfter, lent)
	if r := p.s.queue.oldest(); r != nil {
		l := p.s.queue.lines[sizeOf(*r)]
		out.Longest = &Waiting{Request: *r, Path: p.s.tree().refs(r.Project), Reason: explainer(p).why(l, r, maxHolders)}
	}
	return out
}

// resource is the state of level i on one axis.
func (b *Ledger) resource(i, axis int, c *totals, lent int64) ResourceState {
	n := &b.tree.levels[i]
	used := b.used[i].at(axis) + n.takenOn(axis)
	out := ResourceState{
		Borrow: n.borrowOn(axis), Used: used, Guaranteed: used,
		Offered: c.offered[i].at(axis), Ending: c.ending[i].at(axis), Waiting: c.waiting[i].at(axis),
	}
	if limit := n.limitOn(axis); limit != noLimit {
		lend := n.lendOn(axis)
		out.Limit, out.Lend = &limit, &lend
		out.Guaranteed = min(used, limit)
		out.Borrowed = used - out.Guaranteed
		out.Lent = lent
		out.Free = limit - out.Guaranteed - lent
	}
	if available := b.available(i, axis); available != noLimit {
		out.Available = &available
	}
	return out
}
