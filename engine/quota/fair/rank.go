package fair

import (
	"cmp"
	"math/bits"
	"slices"
)

// branch is a level of the tree with the candidates below it, in the order of
// admission. Candidates of one project go by how far they would have to borrow in an
// empty cluster, then by effective priority, then by age. Where branches meet, the
// first of each are compared by how far up they would borrow below that point, and then
// the branches by their scores, as in Slurm's Fair Tree: what happens inside a branch
// never changes its standing among its siblings, and a limit above both of them does
// not affect their order. A request for which attempts were preempted goes first.
type branch struct {
	level    int
	depth    int
	score    float64
	list     []candidate // of a project
	gone     int         // of list, from its beginning
	children []*branch
	first    *branch // the child whose head goes first; nil when there is none
	grown    bool
}

// ranker reuses the branches of the last ranking.
type ranker struct {
	branches []branch // by level
	used     []int    // levels that the last ranking reached
}

// ranked returns the branch of the root over candidates. The next call overwrites it.
func (s *state) ranked(list []candidate) *branch {
	r, levels := &s.ranker, s.tree().levels
	if len(r.branches) != len(levels) {
		*r = ranker{branches: make([]branch, len(levels))}
	}
	for _, i := range r.used {
		b := &r.branches[i]
		b.list, b.children, b.first, b.gone, b.grown = b.list[:0], b.children[:0], nil, 0, false
	}
	r.used = append(r.used[:0], 0)
	r.branches[0].grown = true
	for k := range list {
		i := list[k].line.level
		r.branches[i].list = append(r.branches[i].list, list[k])
		for ; !r.branches[i].grown; i = levels[i].parent {
			b := &r.branches[i]
			b.level, b.depth, b.score, b.grown = i, levels[i].depth, s.shares().score(i), true
			r.used = append(r.used, i)
			above := &r.branches[levels[i].parent]
			above.children = append(above.children, b)
		}
	}
	root := &r.branches[0]
	root.sort()
	return root
}

// sort orders all candidates below b.
func (b *branch) sort() {
	for _, c := range b.children {
		c.sort()
	}
	b.order()
}

// order sorts the candidates of b itself and selects the child that goes first.
func (b *branch) order() {
	if len(b.list) > 1 {
		slices.SortFunc(b.list, func(x, y candidate) int { return beforeInProject(&x, &y) })
	}
	b.selectHead()
}

// rerank updates the ranking of b after the use and the queue of level i below it have
// changed. Where no level above has a limit, other levels are not affected.
func (s *state) rerank(b *branch, i int) {
	for _, c := range b.children {
		switch {
		case !s.tree().isBelow(i, c.level):
		case len(c.children) == 0 || len(s.tree().levels[c.level].Limits.Limit) > 0:
			s.refresh(c)
		default:
			c.score = s.shares().score(c.level)
			s.rerank(c, i)
		}
	}
	b.selectHead()
}

// refresh re-evaluates all candidates below b, and its score.
func (s *state) refresh(b *branch) {
	b.score = s.shares().score(b.level)
	list := b.list[:0]
	for _, c := range b.list {
		if c.line.Len() > 0 {
			list = append(list, s.candidate(c.line, c.fit))
		}
	}
	b.list = list
	for _, c := range b.children {
		s.refresh(c)
	}
	b.order()
}

// selectHead finds the child that goes first.
func (b *branch) selectHead() {
	b.first = nil
	for _, c := range b.children {
		if c.head() != nil && (b.first == nil || b.before(c, b.first)) {
			b.first = c
		}
	}
}

// head returns the candidate that goes first, or nil when there is none. A level that
// has candidates of its own is a project, which has no children; the root represents
// projects that have left the tree.
func (b *branch) head() *candidate {
	switch {
	case b.gone < len(b.list):
		return &b.list[b.gone]
	case b.first != nil:
		return b.first.head()
	default:
		return nil
	}
}

// pop removes the head and returns the next.
func (b *branch) pop() *candidate {
	if b.gone < len(b.list) {
		b.gone++
	} else if b.first != nil {
		b.first.pop()
		b.selectHead()
	}
	return b.head()
}

// before reports whether child x of b goes before child y.
func (b *branch) before(x, y *branch) bool {
	p, q := x.head(), y.head()
	return cmp.Or(
		trueFirst(p.covered, q.covered),
		cmp.Compare(p.borrowDistance(b.depth), q.borrowDistance(b.depth)),
		cmp.Compare(x.score, y.score),
		cmp.Compare(x.level, y.level),
	) < 0
}

func beforeInProject(p, q *candidate) int {
	return cmp.Or(
		trueFirst(p.covered, q.covered),
		cmp.Compare(p.least, q.least),
		cmp.Compare(q.effective, p.effective),
		byAge(p.head, q.head),
	)
}

func trueFirst(x, y bool) int {
	switch {
	case x == y:
		return 0
	case x:
		return -1
	default:
		return 1
	}
}

// borrowDistance is how far c would borrow towards a level at depth: 0 is within every limit
// below that level, and higher values are closer to it.
func (c *candidate) borrowDistance(depth int) int {
	below := c.over &^ (1<<(depth+1) - 1)
	if below == 0 {
		return 0
	}
	return maxDepth - bits.TrailingZeros32(below)
}

// maxDepth is above the depth of any tree.
const maxDepth = 32
