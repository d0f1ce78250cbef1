package fair

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
)

// Limits are what one level may use, borrow and lend.
type Limits struct {
	Weight float64 `json:"weight"` // share among siblings; 0 means 1
	Limit  Vector  `json:"limit"`  // its guarantee; absent: no bound of its own and no guarantee
	Borrow Vector  `json:"borrow"` // above Limit, from idle relatives; absent: nothing
	Lend   Vector  `json:"lend"`   // of Limit, to relatives while idle; absent: all of it
	// Default is the CPU and memory of each pod of a task at or below the level that
	// requests none; absent: the default of the level above.
	Default Vector `json:"default,omitempty"`
}

// Level is a node of the tenancy tree. Parent of the root is uuid.Nil; Limit of the
// root is the capacity of the cluster. UsedOutside is the current use by workloads outside
// this scheduler: it is not free now, but may become free.
type Level struct {
	ID, Parent  uuid.UUID
	Kind, Name  string
	Limits      Limits
	UsedOutside Vector
}

// Ref returns the name of l.
func (l Level) Ref() LevelRef { return LevelRef{l.ID, l.Kind, l.Name} }

// Tree is an immutable tree of levels with valid limits.
type Tree struct {
	axes   axes
	levels []node // parents before children
	index  map[uuid.UUID]int
}

// node is a Level with its position in the tree and its limits by axis.
type node struct {
	Level

	parent   int // -1: the root
	depth    int // 0: the root
	children []int
	limit    []int64 // absent: noLimit
	borrow   []int64
	lend     []int64 // at most limit
	taken    []int64
	pool     []float64 // the amount that children share: the denominator of their shares
}

// noLimit represents an absent limit. It is small enough that sums do not overflow.
const noLimit = math.MaxInt64 / 4

// NewTree returns the tree of levels. Errors are apperr.Invalid with one field per
// problem; the path of a field is "<level id>.<limit|borrow|lend|weight>.<resource>".
func NewTree(levels []Level) (*Tree, error) {
	t := &Tree{axes: newAxes(), index: make(map[uuid.UUID]int, len(levels))}
	if err := t.arrange(levels); err != nil {
		return nil, err
	}
	var faults []apperr.Field
	for i := range t.levels {
		faults = append(faults, t.limits(i)...)
	}
	if len(faults) > 0 {
		return nil, apperr.InvalidFields(faults[0].Message, faults)
	}
	for i := range t.levels {
		t.share(i)
	}
	return t, nil
}

// arrange orders levels from the root down.
func (t *Tree) arrange(levels []Level) error {
	children := map[uuid.UUID][]Level{}
	known := make(map[uuid.UUID]bool, len(levels))
	for _, l := range levels {
		if known[l.ID] {
			return apperr.New(apperr.Invalid, "The level %s appears twice in the tree.", l.Ref())
		}
		known[l.ID] = true
		children[l.Parent] = append(children[l.Parent], l)
	}
	if len(children[uuid.Nil]) != 1 {
		return apperr.New(apperr.Invalid, "A tree must have one root, not %d.", len(children[uuid.Nil]))
	}
	for _, l := range levels {
		if l.Parent != uuid.Nil && !known[l.Parent] {
			return apperr.New(apperr.Invalid, "The parent of %s is unknown.", l.Ref())
		}
	}
	t.add(children[uuid.Nil][0], -1)
	for i := 0; i < len(t.levels); i++ { //nolint:intrange // the loop appends to the list
		below := children[t.levels[i].ID]
		slices.SortFunc(below, func(a, b Level) int { return cmp.Or(cmp.Compare(a.Name, b.Name), bytes.Compare(a.ID[:], b.ID[:])) })
		for _, l := range below {
			t.add(l, i)
		}
	}
	if deepest := t.levels[len(t.levels)-1].depth; deepest >= maxDepth {
		return apperr.New(apperr.Invalid, "The tree is %d levels deep; at most %d are allowed.", deepest, maxDepth-1)
	}
	if len(t.levels) != len(levels) {
		return apperr.New(apperr.Invalid, "%d levels are their own ancestors.", len(levels)-len(t.levels))
	}
	return nil
}

func (t *Tree) add(l Level, parent int) {
	i := len(t.levels)
	n := node{Level: l, parent: parent}
	if n.Limits.Weight == 0 {
		n.Limits.Weight = 1
	}
	if parent >= 0 {
		n.depth = t.levels[parent].depth + 1
		t.levels[parent].children = append(t.levels[parent].children, i)
	}
	t.index[l.ID] = i
	t.levels = append(t.levels, n)
	for _, v := range []Vector{l.Limits.Limit, l.Limits.Borrow, l.Limits.Lend, l.UsedOutside} {
		for r := range v {
			t.axes.of(r)
		}
	}
}

// limits checks the limits of level i and puts them on axes.
func (t *Tree) limits(i int) (faults []apperr.Field) {
	n := &t.levels[i]
	fault := func(what string, r Resource, format string, args ...any) {
		path := n.ID.String() + "." + what
		if r != "" {
			path += "." + string(r)
		}
		faults = append(faults, apperr.Field{Path: path, Message: fmt.Sprintf(format, args...)})
	}
	if w := n.Limits.Weight; !(w > 0 && w <= maxWeight) {
		fault("weight", "", "The weight of %s is %g; it must be above 0 and at most %d.", n.Ref(), w, maxWeight)
	}
	for _, given := range []struct {
		what string
		v    Vector
	}{{"limit", n.Limits.Limit}, {"borrow", n.Limits.Borrow}, {"lend", n.Limits.Lend}} {
		for _, r := range given.v.Resources() {
			if amount := given.v[r]; !r.Valid() {
				fault(given.what, r, "%q is not a resource. Remove it from %s.", r, n.Ref())
			} else if amount < 0 || amount >= noLimit {
				fault(given.what, r, "The amount of %s for %s is %d; it must be 0 or more.", r.Title(), n.Ref(), amount)
			}
		}
	}
	axis := t.axes.count()
	n.limit, n.borrow, n.lend, n.taken = make([]int64, axis), make([]int64, axis), make([]int64, axis), make([]int64, axis)
	for a, r := range t.axes.names {
		n.taken[a] = max(0, n.UsedOutside[r])
		limit, limited := n.Limits.Limit[r]
		n.borrow[a] = n.Limits.Borrow[r]
		if !limited {
			n.limit[a] = noLimit
			if n.borrow[a] > 0 {
				fault("borrow", r, "%s can borrow %s only if it has its own limit, but it has none.", n.Ref(), r.Title())
			}
			continue
		}
		n.limit[a], n.lend[a] = limit, limit
		if lend, ok := n.Limits.Lend[r]; ok {
			n.lend[a] = min(lend, limit)
			if lend > limit {
				fault("lend", r, "%s cannot lend %s: its limit is %s.", n.Ref(), r.Format(lend), r.Format(limit))
			}
		}
		if above := t.bound(n.parent, a); above >= 0 && limit > t.levels[above].limit[a] {
			fault("limit", r, "The limit of %s for %s is %s, which exceeds the %s of %s.",
				r.Title(), n.Ref(), r.Format(limit), r.Format(t.levels[above].limit[a]), t.levels[above].Ref())
		}
	}
	if n.parent < 0 {
		for _, r := range n.Limits.Borrow.Resources() {
			if n.Limits.Borrow[r] > 0 {
				fault("borrow", r, "The cluster cannot borrow %s: no level is above it.", r.Title())
			}
		}
	}
	return faults
}

const maxWeight = 1000

// bound returns i or the nearest level above that has a limit on axis a, or -1.
func (t *Tree) bound(i, a int) int {
	for ; i >= 0; i = t.levels[i].parent {
		if t.levels[i].limit[a] != noLimit {
			return i
		}
	}
	return -1
}

// share sets the amount that the children of level i share: its limit, or, when that is
// absent or zero, what it may borrow, or else the amount of its parent.
func (t *Tree) share(i int) {
	n := &t.levels[i]
	n.pool = make([]float64, t.axes.count())
	for a := range n.pool {
		switch limited := n.limit[a] != noLimit; {
		case limited && n.limit[a] > 0:
			n.pool[a] = float64(n.limit[a])
		case limited && n.borrow[a] > 0:
			n.pool[a] = float64(n.borrow[a])
		case n.parent >= 0:
			n.pool[a] = t.levels[n.parent].pool[a]
		}
	}
}

// limitOn returns the limit of level i on axis a, which may be newer than the tree.
func (n *node) limitOn(a int) int64 {
	if a >= len(n.limit) {
		return noLimit
	}
	return n.limit[a]
}

func (n *node) borrowOn(a int) int64 {
	if a >= len(n.borrow) {
		return 0
	}
	return n.borrow[a]
}

func (n *node) lendOn(a int) int64 {
	if a >= len(n.lend) {
		return 0
	}
	return n.lend[a]
}

func (n *node) takenOn(a int) int64 {
	if a >= len(n.taken) {
		return 0
	}
	return n.taken[a]
}

func (n *node) poolOn(a int) float64 {
	if a >= len(n.pool) {
		return 0
	}
	return n.pool[a]
}

// fork returns the siblings, or the same level, by which levels i and j are compared:
// those directly below their nearest common ancestor.
func (t *Tree) fork(i, j int) (a, b int) {
	for t.levels[i].depth > t.levels[j].depth {
		i = t.levels[i].parent
	}
	for t.levels[j].depth > t.levels[i].depth {
		j = t.levels[j].parent
	}
	for t.levels[i].parent != t.levels[j].parent {
		i, j = t.levels[i].parent, t.levels[j].parent
	}
	return i, j
}

// Level returns a level of the tree.
func (t *Tree) Level(id uuid.UUID) (Level, bool) {
	i, ok := t.index[id]
	if !ok {
		return Level{}, false
	}
	return t.levels[i].Level, true
}

// Levels returns all levels, parents before children, siblings by name.
func (t *Tree) Levels() []Level {
	all := make([]Level, len(t.levels))
	for i := range t.levels {
		all[i] = t.levels[i].Level
	}
	return all
}

// Path returns the ids from the root to id, or nil when id is unknown. The rows of the
// levels are locked in this order.
func (t *Tree) Path(id uuid.UUID) []uuid.UUID {
	i, ok := t.index[id]
	if !ok {
		return nil
	}
	path := make([]uuid.UUID, t.levels[i].depth+1)
	for ; i >= 0; i = t.levels[i].parent {
		path[t.levels[i].depth] = t.levels[i].ID
	}
	return path
}

// Children returns the ids of the levels directly below id.
func (t *Tree) Children(id uuid.UUID) []uuid.UUID {
	i, ok := t.index[id]
	if !ok {
		return nil
	}
	ids := make([]uuid.UUID, 0, len(t.levels[i].children))
	for _, c := range t.levels[i].children {
		ids = append(ids, t.levels[c].ID)
	}
	return ids
}

// With returns a copy of the tree with new limits for some levels. Its errors are those
// of NewTree.
func (t *Tree) With(edits map[uuid.UUID]Limits) (*Tree, error) {
	levels := t.Levels()
	for id := range edits {
		if _, ok := t.index[id]; !ok {
			return nil, apperr.New(apperr.NotFound, "There is no tenant, department, team or project %s.", id)
		}
	}
	for i := range levels {
		if limits, ok := edits[levels[i].ID]; ok {
			levels[i].Limits = limits
		}
	}
	return NewTree(levels)
}
