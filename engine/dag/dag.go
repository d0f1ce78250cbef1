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
	// Rule says when the node may begin; nil: when all that it depends on has
	// succeeded. Dependencies that it does not name have to succeed beside it.
	Rule *Rule
	Traits
}

// Dependency names an operator that has to end first, or, when it Streams, that has to
// run. Label says what flows along the edge, "" when only the order matters; Path is
// for problems.
type Dependency struct {
	Name    string
	Label   string
	Path    string
	Streams bool
}

// Traits are what is special about a node beside what it waits for.
type Traits struct {
	Conditional bool     // it has a condition: Next asks for Evaluate before it begins
	Expands     bool     // it begins by becoming other nodes, and ends with them
	Waits       bool     // somebody ends it from outside: no attempt of it is ever alive
	Final       bool     // it begins when all others of its plan have ended, however that was
	MayFail     Failures // its failures of these kinds fail nothing else
	Serves      bool     // once it runs it may serve others, which need not wait for its end (see Serve)
	Watches     bool     // it looks at others and changes nothing for them: its rule takes up no failure, and how it ends counts for nothing
	Undrained   bool     // it may begin while its scope drains: what it depends on alone says whether it does
	OnFailure   Policy
}

// Failures are kinds of failure.
type Failures uint8

// The kinds of failure.
const (
	OfTask     Failures = 1 << iota // the task ended badly: HasFailed
	OfSystem                        // something around the task went wrong: HasErrored
	AnyFailure          = OfTask | OfSystem
	NoFailure  Failures = 0
)

// Policy says what the failure of a node means for the others of its scope, when
// no rule takes the failure up.
type Policy int

// The policies.
const (
	Continue Policy = iota // only what depends on it does not run
	Drain                  // nothing new begins; what runs goes on to its end
	Stop                   // nothing new begins; what runs is stopped
)

// Node is one operator of a plan. Dependencies and Dependents are ascending
// indexes into Plan.Nodes without repetition. Depends is its rule in words, "" for
// the usual one. Reads are those of the Dependencies that it reads while they run, and
// Readers those of the Dependents that read it so.
type Node struct {
	Name         string
	Index        int
	Level        int
	Dependencies []int
	Dependents   []int
	Reads        []int
	Readers      []int
	Depends      string
	Traits

	rule    *term
	handled Failures // those that a rule takes up
}

// Edge says that To waits for From to end, or, when it Streams, to run. Label lists
// what flows, comma-separated.
type Edge struct {
	From    int
	To      int
	Label   string
	Streams bool
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
	ends   []int // nodes on which only nodes that watch depend
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
