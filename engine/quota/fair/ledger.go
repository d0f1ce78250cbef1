package fair

import (
	"math/bits"
	"slices"

	"github.com/google/uuid"
)

// Ledger holds the use of each level of a Tree, and decides what more may be used: the
// effective limit of a level is its own limit plus what it may borrow, as far as all
// levels above have it left.
//
// A level above its limit, or without one, draws on its parent. The parent reserves for
// each other child the part of that child's limit that it neither uses nor lends. A
// Ledger is not safe for concurrent use.
type Ledger struct {
	tree  *Tree
	axes  axes
	alone bool      // ignore the use by other workloads
	used  []amounts // by level: the use at or below it
	// unused sums the unused parts of the limits of a level's children, and unlent the
	// part of it that they do not lend. A child without a limit contributes the sums of
	// its own children.
	unlent []amounts
	unused []amounts
}

// NewLedger returns an empty Ledger of tree.
func NewLedger(t *Tree) *Ledger {
	n := len(t.levels)
	b := &Ledger{tree: t, axes: t.axes.clone(), used: make([]amounts, n), unlent: make([]amounts, n), unused: make([]amounts, n)}
	for i := n - 1; i > 0; i-- {
		parent := t.levels[i].parent
		for a := range t.axes.count() {
			b.unlent[parent] = b.unlent[parent].plus(a, b.reservedFor(i, a, false))
			b.unused[parent] = b.unused[parent].plus(a, b.reservedFor(i, a, true))
		}
	}
	return b
}

// newFullCapacityLedger returns a Ledger of the whole capacity of tree, to find requests that never
// fit.
func newFullCapacityLedger(t *Tree) *Ledger {
	b := NewLedger(t)
	b.alone = true
	return b
}

// taken is the use by other workloads of level i on axis a.
func (b *Ledger) taken(i, a int) int64 {
	if b.alone {
		return 0
	}
	return b.tree.levels[i].takenOn(a)
}

func (b *Ledger) clone() *Ledger {
	rows := func(list []amounts) []amounts {
		out := make([]amounts, len(list))
		for i, v := range list {
			out[i] = slices.Clone(v)
		}
		return out
	}
	return &Ledger{tree: b.tree, axes: b.axes.clone(), alone: b.alone, used: rows(b.used), unlent: rows(b.unlent), unused: rows(b.unused)}
}

// reservedFor is the amount that the parent of level i reserves for it on axis a: the part that it
// neither uses nor lends, or, with all, everything it does not use.
func (b *Ledger) reservedFor(i, a int, all bool) int64 {
	n := &b.tree.levels[i]
	limit := n.limitOn(a)
	switch {
	case limit == noLimit && all:
		return b.unused[i].at(a)
	case limit == noLimit:
		return b.unlent[i].at(a)
	case all:
		return max(0, limit-b.used[i].at(a))
	default:
		return max(0, limit-n.lendOn(a)-b.used[i].at(a))
	}
}

// reservedForOthers is the amount that level parent reserves for its children except child.
func (b *Ledger) reservedForOthers(parent, child, a int, all bool) int64 {
	sums := b.unlent
	if all {
		sums = b.unused
	}
	return sums[parent].at(a) - b.reservedFor(child, a, all)
}

// change adds n on axis a to level i and to those above it, up to and including
// top; -1 is all of them.
func (b *Ledger) change(i, a int, n int64, top int) {
	var unlent, unused int64 // change of what is reserved for the level below
	for ; i >= 0; i = b.tree.levels[i].parent {
		unlent, unused = b.changeOne(i, a, n, unlent, unused)
		if i == top {
			return
		}
	}
}

// changeOne adds n to level i only, and adds the change of a level below to its sums.
// It returns the change of what is reserved for level i.
func (b *Ledger) changeOne(i, a int, n, unlent, unused int64) (moreUnlent, moreUnused int64) {
	unlentBefore, unusedBefore := b.reservedFor(i, a, false), b.reservedFor(i, a, true)
	b.unlent[i] = b.unlent[i].plus(a, unlent)
	b.unused[i] = b.unused[i].plus(a, unused)
	b.used[i] = b.used[i].plus(a, n)
	return b.reservedFor(i, a, false) - unlentBefore, b.reservedFor(i, a, true) - unusedBefore
}

// add adds sign times k to level i and all levels above it.
func (b *Ledger) add(i int, k demand, sign int64) {
	for _, q := range k {
		b.change(i, q.axis, sign*q.n, -1)
	}
}

// shortage is a level that lacks a resource.
type shortage struct {
	level, axis     int
	requested, free int64
	capacity        int64 // free of it is left: the ceiling of level
	kept            int64 // part of capacity that level reserves for others
	top             int   // the highest level that lacks the same resource
	limitedByItself bool  // the request is not preemptible, and may not borrow
}

// shortageOn returns the level nearest to i that lacks capacity for q at level i. A
// guaranteed request may not borrow, nor use what relatives leave idle.
func (b *Ledger) shortageOn(i int, q quantity, guaranteed bool) (short shortage, found bool) {
	var kept int64
	draws := false
	for l, child := i, -1; l >= 0; l, child = b.tree.levels[l].parent, l {
		n := &b.tree.levels[l]
		if draws {
			kept += b.reservedForOthers(l, child, q.axis, guaranteed)
		} else {
			kept = 0
		}
		limit := n.limitOn(q.axis)
		if limit == noLimit {
			draws = true
			continue
		}
		ceiling := limit + n.borrowOn(q.axis)
		if guaranteed {
			ceiling = limit
		}
		used := b.used[l].at(q.axis) + b.taken(l, q.axis)
		needs := used + q.n + kept
		draws = needs > limit
		if needs <= ceiling {
			continue
		}
		if !found {
			short, found = shortage{
				level: l, axis: q.axis, requested: q.n, free: max(0, ceiling-used-kept),
				capacity: ceiling, kept: kept, limitedByItself: guaranteed,
			}, true
		}
		short.top = l
	}
	return short, found
}

// shortage returns the level nearest to i that lacks capacity for k; top is the highest
// such level over all resources of k.
func (b *Ledger) shortage(i int, k demand, guaranteed bool) (worst shortage, found bool) {
	top := len(b.tree.levels)
	for _, q := range k {
		s, ok := b.shortageOn(i, q, guaranteed)
		if !ok {
			continue
		}
		top = min(top, s.top)
		if !found || b.moreSpecific(s, worst) {
			worst, found = s, true
		}
	}
	worst.top = top
	return worst, found
}

// moreSpecific reports whether a shortage says more than another: it is at a lower level, or about one
// type of GPUs instead of all.
func (b *Ledger) moreSpecific(s, than shortage) bool {
	depth, other := b.tree.levels[s.level].depth, b.tree.levels[than.level].depth
	return depth > other || depth == other && b.axes.names[s.axis].GPUType() != "" && b.axes.names[than.axis] == GPU
}

// fits reports whether all levels have capacity for k at level i.
func (b *Ledger) fits(i int, k demand, guaranteed bool) bool {
	for _, q := range k {
		if _, short := b.shortageOn(i, q, guaranteed); short {
			return false
		}
	}
	return true
}

// over returns the levels that a request for k at level i would take above their
// limits, a bit for each depth. The root cannot borrow and is not one of them.
func (b *Ledger) over(i int, k demand) (depths uint32) {
	for ; i > 0; i = b.tree.levels[i].parent {
		n := &b.tree.levels[i]
		for _, q := range k {
			if limit := n.limitOn(q.axis); limit != noLimit && b.used[i].at(q.axis)+q.n > limit {
				depths |= 1 << n.depth
				break
			}
		}
	}
	return depths
}

// distance is the number of levels across which a request for k at level i would
// borrow: 0 is within every limit on its path, 1 is beyond that of level i, and so on.
func (b *Ledger) distance(i int, k demand) int {
	over := b.over(i, k)
	if over == 0 {
		return 0
	}
	return b.tree.levels[i].depth - bits.TrailingZeros32(over) + 1
}

// available is the largest amount of axis a that a request at level i could get now;
// noLimit when there is no limit.
func (b *Ledger) available(i, a int) int64 {
	low, high := int64(0), int64(noLimit)
	for l := i; l >= 0; l = b.tree.levels[l].parent {
		n := &b.tree.levels[l]
		if limit := n.limitOn(a); limit != noLimit {
			high = min(high, limit+n.borrowOn(a)+1)
		}
	}
	if high == noLimit {
		return noLimit
	}
	fits := func(n int64) bool {
		_, short := b.shortageOn(i, quantity{a, n}, false)
		return !short
	}
	for low+1 < high {
		if middle := low + (high-low)/2; fits(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// utilisation is the highest used fraction of a limit on the path of level i below the
// root.
func (b *Ledger) utilisation(i int) float64 {
	greatest := 0.0
	for ; i > 0; i = b.tree.levels[i].parent {
		n := &b.tree.levels[i]
		for a, used := range b.used[i] {
			if limit := n.limitOn(a); limit > 0 && limit != noLimit && a != storageAxis {
				greatest = max(greatest, float64(used)/float64(limit))
			}
		}
	}
	return greatest
}

// SetUsed sets the use at or below one level, as stored in the rows; other levels are
// unchanged. Before a Check, set the path of the project and the children of every
// level on it. It reports whether the level is in the tree.
func (b *Ledger) SetUsed(level uuid.UUID, used Vector) bool {
	i, ok := b.tree.index[level]
	if !ok {
		return false
	}
	k := b.axes.demand(used)
	for a := range b.axes.count() {
		var unlent, unused int64
		n := k.on(a) - b.used[i].at(a)
		for l := i; l >= 0; l = b.tree.levels[l].parent {
			unlent, unused = b.changeOne(l, a, n, unlent, unused)
			n = 0
		}
	}
	return true
}

// Used returns what is used at or below a level.
func (b *Ledger) Used(level uuid.UUID) Vector {
	i, ok := b.tree.index[level]
	if !ok {
		return Vector{}
	}
	return b.axes.vector(b.used[i])
}

// Add adds v to a level and to all levels above it. It reports whether the level is in
// the tree.
func (b *Ledger) Add(level uuid.UUID, v Vector) bool { return b.addVector(level, v, 1) }

// Subtract subtracts v from a level and from all levels above it. It reports whether
// the level is in the tree.
func (b *Ledger) Subtract(level uuid.UUID, v Vector) bool { return b.addVector(level, v, -1) }

func (b *Ledger) addVector(level uuid.UUID, v Vector, sign int64) bool {
	i, ok := b.tree.index[level]
	if ok {
		b.add(i, b.axes.demand(v), sign)
	}
	return ok
}

// Check returns why v cannot be added to a project, or nil. A request that is not
// preemptible must fit in the guarantee.
func (b *Ledger) Check(project uuid.UUID, v Vector, preemptible bool) *Reason {
	i, ok := b.tree.index[project]
	if !ok {
		return unknownProject()
	}
	short, found := b.shortage(i, b.axes.demand(v), !preemptible)
	if !found {
		return nil
	}
	reason := b.reason(short)
	return &reason
}
