package fair

import (
	"slices"

	"github.com/google/uuid"
)

// isBelow reports whether level i is at or below level above.
func (t *Tree) isBelow(i, above int) bool {
	levels := t.levels
	for levels[i].depth > levels[above].depth {
		i = levels[i].parent
	}
	return i == above
}

// branch is the level directly below above on the path to i, or i itself.
func (t *Tree) branch(i, above int) int {
	levels := t.levels
	for i != above && levels[i].parent != above {
		i = levels[i].parent
	}
	return i
}

// refs returns the names from the tenant to a project.
func (t *Tree) refs(project uuid.UUID) (path []LevelRef) {
	i, ok := t.index[project]
	for ; ok && i > 0; i = t.levels[i].parent {
		path = append(path, t.levels[i].Ref())
	}
	slices.Reverse(path)
	return path
}

// selects reports whether f selects a request at a level of the tree.
func (t *Tree) selects(f Filter, r *Request) bool {
	if f.Execution != uuid.Nil && r.Execution != f.Execution {
		return false
	}
	if f.Level == uuid.Nil {
		return true
	}
	above, known := t.index[f.Level]
	i, ok := t.index[r.Project]
	return known && ok && t.isBelow(i, above)
}

// hasLimit reports whether the path of level i below a has a limit on axis.
func (t *Tree) hasLimit(i, a, axis int) bool {
	for l := i; l != a; l = t.levels[l].parent {
		if t.levels[l].limitOn(axis) != noLimit {
			return true
		}
	}
	return false
}

// members returns the levels that draw on level i for an axis: the topmost levels with
// a limit below it, and projects without one.
func (t *Tree) members(i, axis int) (list []int) {
	for _, c := range t.levels[i].children {
		n := &t.levels[c]
		if n.limitOn(axis) != noLimit || len(n.children) == 0 {
			list = append(list, c)
		} else {
			list = append(list, t.members(c, axis)...)
		}
	}
	return list
}

// sum adds n times k to level i and all above it.
func (t *Tree) sum(rows []amounts, i int, k demand, n int64) {
	for ; i >= 0; i = t.levels[i].parent {
		for _, q := range k {
			rows[i] = rows[i].plus(q.axis, n*q.n)
		}
	}
}
