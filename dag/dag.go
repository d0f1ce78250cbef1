// Package dag turns the operators of a workflow into a plan (a compiled directed
// acyclic graph with levels, entry and exit nodes) and decides, from a plan and
// the states of its nodes, what happens next. It is pure: no I/O, no clock.
package dag

import "slices"

// Spec is one operator as Compile takes it. Path is where it stands in the
// document ("operators[2]"), for problems.
type Spec struct {
	Name         string
	Path         string
	Dependencies []Dependency
}

// Dependency names an operator that has to succeed first. Label says what flows
// along the edge, "" when only the order matters; Path is for problems.
type Dependency struct {
	Name  string
	Label string
	Path  string
}

// Node is one operator of a plan. Dependencies and Dependents are ascending
// indexes into Plan.Nodes without repetition.
type Node struct {
	Name         string
	Index        int
	Level        int
	Dependencies []int
	Dependents   []int
}

// Edge says that To waits for From. Label lists what flows, comma-separated.
type Edge struct {
	From  int
	To    int
	Label string
}

// Plan is a compiled graph; nobody changes it once it is built. Nodes stand in
// the order of the document, Index is the position. Edges are ordered by To and
// then From, one for each pair of nodes. Levels holds node indexes: a node's
// level is the length of the longest path that leads to it.
type Plan struct {
	Nodes  []Node
	Edges  []Edge
	Levels [][]int
	Entry  []int
	Exit   []int

	byName map[string]int
}

// Lookup returns the index of the node called name.
func (p *Plan) Lookup(name string) (int, bool) {
	i, ok := p.byName[name]
	return i, ok
}

// Downstream returns every node that depends on node i, directly or not, ascending.
func (p *Plan) Downstream(i int) []int {
	return p.reach(i, func(n *Node) []int { return n.Dependents })
}

// Upstream returns every node that node i depends on, directly or not, ascending.
func (p *Plan) Upstream(i int) []int {
	return p.reach(i, func(n *Node) []int { return n.Dependencies })
}

// reach walks only what it returns, so a small answer stays cheap in a large plan.
func (p *Plan) reach(start int, next func(*Node) []int) []int {
	seen := map[int]struct{}{start: {}}
	var found []int
	for queue := []int{start}; len(queue) > 0; queue = queue[1:] {
		for _, n := range next(&p.Nodes[queue[0]]) {
			if _, ok := seen[n]; ok {
				continue
			}
			seen[n] = struct{}{}
			found = append(found, n)
			queue = append(queue, n)
		}
	}
	slices.Sort(found)
	return found
}
