// Package dag turns the operators of a workflow into a plan (a compiled directed
// acyclic graph with levels, entry and exit nodes) and decides, from a plan and
// the states of its nodes, what happens next. It is pure: no I/O, no clock.
package dag

import "slices"

// Spec is one operator, the input of Compile. Path is its path in the document
// ("operators[2]"), for error messages.
type Spec struct {
	Name         string
	Path         string
	Dependencies []Dependency
	// Rule specifies when the node may begin; nil: when all its dependencies have succeeded.
	// Dependencies that it does not name must succeed as well.
	Rule *Rule
	Traits
}

// Dependency names an operator that must end first, or, when it Streams, that must run.
// Label describes what flows along the edge, "" when only the order matters; Path is for
// error messages.
type Dependency struct {
	Name    string
	Label   string
	Path    string
	Streams bool
}

// Traits are the properties of a node other than its dependencies.
type Traits struct {
	Conditional bool     // it has a condition: Next requests Evaluate before it begins
	Expands     bool     // it expands into other nodes, and ends with them
	Waits       bool     // it ends from outside, such as by an approval: it never has an attempt
	Final       bool     // it begins when all other nodes of its plan have ended, in any state
	MayFail     Failures // failures of these kinds fail no other node
	Serves      bool     // once it runs, it may serve other nodes, which do not wait for its end (see Serve)
	Watches     bool     // it observes other nodes without affecting them: its rule handles no failure, and its own end state is ignored
	Shares      bool     // its items use the slots of its own scope, in which it uses none itself
	Undrained   bool     // it may begin while its scope drains: only its dependencies decide
	Outlasts    bool     // a halt around it neither stops it nor keeps it from beginning; it must have a rule, for which a stopped node counts as failed
	OnFailure   Policy
}

// Failures are kinds of failure.
type Failures uint8

// The kinds of failure.
const (
	OfTask     Failures = 1 << iota // the task failed: HasFailed
	OfSystem                        // the system failed, not the task: HasErrored
	AnyFailure          = OfTask | OfSystem
	NoFailure  Failures = 0
)

// Policy describes how the failure of a node affects the other nodes of its scope when no
// rule handles it.
type Policy int

// The policies.
const (
	Continue Policy = iota // only its dependents do not run
	Drain                  // no node begins; running nodes finish
	Stop                   // no node begins; running nodes are stopped
)

// Node is one operator of a plan. Dependencies and Dependents are ascending indexes
// into Plan.Nodes without repetition. Depends is the text of its rule, "" for the
// default rule. Reads lists the Dependencies that it reads while they run, and Readers
// the Dependents that read it while it runs.
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
	handled Failures // the kinds that a rule handles
}

// Edge indicates that To waits until From has ended, or, when the edge Streams, until From
// runs. Label lists what flows, comma-separated.
type Edge struct {
	From    int
	To      int
	Label   string
	Streams bool
}

// Plan is a compiled graph; it is immutable. Nodes are in the order of the document,
// Index is the position. Edges are ordered by To and then From, one for each pair of
// nodes. Levels holds node indexes: a node's level is the length of the longest path
// that leads to it.
type Plan struct {
	Nodes  []Node
	Edges  []Edge
	Levels [][]int
	Entry  []int
	Exit   []int

	byName map[string]int
	ends   []int // nodes whose only dependents are watching nodes
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

// reach visits only the nodes it returns, so a small result stays cheap in a large
// plan.
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
