package dag

import "slices"

// State is where a node stands.
type State string

// The states. docs/states.md draws the transitions.
const (
	Pending   State = "PENDING"   // waits for its dependencies
	Ready     State = "READY"     // may start; waits for capacity
	Queued    State = "QUEUED"    // claimed; its attempt is being started
	Running   State = "RUNNING"   // its attempt runs, or the nodes that it became do
	Retrying  State = "RETRYING"  // waits for the time of its next attempt
	Succeeded State = "SUCCEEDED" // ended well
	Failed    State = "FAILED"    // ended badly, no retry is left
	Skipped   State = "SKIPPED"   // never runs: its condition is false, or what it depends on ended otherwise
	Cancelled State = "CANCELLED" // stopped, or not begun, because its scope was halted
)

// Ended reports whether a node in s never changes again.
func (s State) Ended() bool {
	return s == Succeeded || s == Failed || s == Skipped || s == Cancelled
}

// Active reports whether an attempt of a node in s may be alive.
func (s State) Active() bool { return s == Queued || s == Running }

// begun reports whether a node in s takes one of the places of its scope.
func (s State) begun() bool { return s != Pending && !s.Ended() }

// Root is the scope of the plan itself, and NoNode no node at all.
const (
	Root   = 0
	NoNode = -1
)

// Run is the state of all nodes of an execution. It begins with one scope, the
// plan; a node that expands adds another, whose nodes follow all earlier ones. It
// keeps the number of open dependencies and the counts up to date, so that deciding
// costs as much as what changed and not as much as there is.
type Run struct {
	nodes  []member
	scopes []scope
	counts map[State]int
	levels []int // open nodes of each level of the plan
	done   int   // levels without open nodes

	paused  bool
	limit   int // of working, 0: none
	working int // nodes of the run that have begun, become no others and do not serve
	held    waitlist
}

// member is one node of a run.
type member struct {
	state   State
	scope   int
	inner   int // the scope that it became last, or NoNode
	pending int // dependencies that have not ended as they should, nor are read while they run; with a rule, that have not ended
	omitted bool
	errored bool
	passed  bool // its condition was true
	serving bool
	waits   waitKind
}

// waitKind is what a node that could begin waits for.
type waitKind int

const (
	noPlace waitKind = iota
	inScope
	inRun
)

// scope is one instance of a plan, or the items of a fan-out.
type scope struct {
	plan   *Plan // nil: items
	item   Traits
	base   int
	size   int
	parent int // the node that became this, or NoNode

	open      int // nodes that have not ended and are not final
	finals    int // final nodes that have not ended
	succeeded int
	failed    int
	cancelled int
	serving   int // of those that are open, nodes that serve others
	active    int // nodes that have begun and not ended, and do not serve

	limit    int
	held     waitlist
	partial  bool
	halted   bool
	outside  bool // halted from outside of it
	draining bool
	cause    int // the node whose failure halts or drains it
}

// Expansion is what a node becomes: the nodes of Plan, or Items nodes that do not
// depend on each other, each with the traits Item.
type Expansion struct {
	Plan    *Plan
	Items   int
	Item    Traits
	Limit   int  // how many of the nodes may be at work at once; 0: any number
	Partial bool // failed items do not make it fail, unless none succeeded
}

// NewRun returns a run of plan in which nothing has begun. At most limit of its
// nodes work at once; 0 is any number.
func NewRun(plan *Plan, limit int) *Run {
	r := &Run{counts: map[State]int{}, limit: limit}
	r.add(scope{plan: plan, size: len(plan.Nodes), parent: NoNode, cause: NoNode})
	r.levels = make([]int, len(plan.Levels))
	for i := range plan.Nodes {
		r.levels[plan.Nodes[i].Level]++
	}
	return r
}

// Expand makes of node i the scope e and returns the index of its first node. The
// state of i is the caller's matter. A node may be expanded again, for another try.
func (r *Run) Expand(i int, e Expansion) int {
	s := scope{plan: e.Plan, item: e.Item, size: e.Items, parent: i, limit: e.Limit, partial: e.Partial, cause: NoNode}
	if e.Plan != nil {
		s.size = len(e.Plan.Nodes)
	}
	r.nodes[i].inner = len(r.scopes)
	return r.add(s)
}

func (r *Run) add(s scope) int {
	s.base = len(r.nodes)
	index := len(r.scopes)
	r.nodes = slices.Grow(r.nodes, s.size)
	for k := range s.size {
		m := member{state: Pending, scope: index, inner: NoNode}
		if s.plan != nil {
			m.pending = len(s.plan.Nodes[k].Dependencies)
		}
		r.nodes = append(r.nodes, m)
		if s.traits(k).Final {
			s.finals++
		} else {
			s.open++
		}
	}
	r.counts[Pending] += s.size
	r.scopes = append(r.scopes, s)
	return s.base
}

func (s *scope) traits(k int) Traits {
	if s.plan != nil {
		return s.plan.Nodes[k].Traits
	}
	return s.item
}

// ended reports whether nothing in s can change any more.
func (s *scope) ended() bool { return s.open == 0 && s.finals == 0 }

// traits are those of node i.
func (r *Run) traits(i int) Traits {
	s := &r.scopes[r.nodes[i].scope]
	return s.traits(i - s.base)
}

// planned is node i in its plan; nil for an item.
func (r *Run) planned(i int) *Node {
	s := &r.scopes[r.nodes[i].scope]
	if s.plan == nil {
		return nil
	}
	return &s.plan.Nodes[i-s.base]
}

// Set moves node i to state s. Leaving an ended state, or to serve otherwise than by an
// end, is a mistake of the caller and is ignored.
func (r *Run) Set(i int, s State) {
	n := &r.nodes[i]
	from := n.state
	if from == s || from.Ended() || n.serving && !s.Ended() {
		return
	}
	r.counts[from]--
	r.counts[s]++
	n.state = s
	in, t := &r.scopes[n.scope], r.traits(i)
	r.stream(i, in, from)
	if begun := s.begun(); begun != from.begun() && !n.serving {
		by := 1
		if !begun {
			by = -1
		}
		in.active += by
		if !t.Expands && !t.Waits {
			r.working += by
		}
	}
	if n.waits != noPlace {
		n.waits = noPlace
		in.held.clean(r, inScope)
		r.held.clean(r, inRun)
	}
	if s.Ended() {
		r.end(i, in, t)
	}
}

func (r *Run) end(i int, in *scope, t Traits) {
	n := &r.nodes[i]
	s, served := n.state, n.serving
	if served {
		n.serving = false
		in.serving--
	}
	if t.Final {
		in.finals--
	} else {
		in.open--
	}
	switch s {
	case Succeeded:
		in.succeeded++
	case Failed:
		in.failed++
	case Cancelled:
		in.cancelled++
	case Pending, Ready, Queued, Running, Retrying, Skipped:
	}
	node := r.planned(i)
	if node == nil {
		return
	}
	if r.nodes[i].scope == Root {
		if r.levels[node.Level]--; r.levels[node.Level] == 0 {
			r.done++
		}
	}
	for _, d := range node.Dependents {
		if served || len(node.Readers) > 0 && in.plan.Nodes[d].reads(node.Index) {
			continue // see Serve and stream
		}
		if s == Succeeded || in.plan.Nodes[d].rule != nil {
			r.nodes[in.base+d].pending--
		}
	}
}

// Omit skips node i because of what it depends on; Set(i, Skipped) because its
// condition is false.
func (r *Run) Omit(i int) {
	r.nodes[i].omitted = !r.nodes[i].state.Ended()
	r.Set(i, Skipped)
}

// Fail ends node i badly. errored says that not its task failed but something
// around it.
func (r *Run) Fail(i int, errored bool) {
	r.nodes[i].errored = errored && !r.nodes[i].state.Ended()
	r.Set(i, Failed)
}

// Pass notes that the condition of node i is true.
func (r *Run) Pass(i int) { r.nodes[i].passed = true }

// Hold lets node i wait until its scope, or else the run, has a place for it.
func (r *Run) Hold(i int, scope bool) {
	n := &r.nodes[i]
	if n.state != Pending {
		return
	}
	if scope {
		n.waits = inScope
		r.scopes[n.scope].held = append(r.scopes[n.scope].held, i)
		return
	}
	n.waits = inRun
	r.held = append(r.held, i)
}

func (s *scope) full(starting int) bool { return s.limit > 0 && s.active+starting >= s.limit }

func (r *Run) full(starting int) bool { return r.limit > 0 && r.working+starting >= r.limit }

// waitlist holds nodes in the order in which they came. Those that wait no more
// are taken away when they come to the front.
type waitlist []int

func (w *waitlist) clean(r *Run, kind waitKind) {
	for len(*w) > 0 && r.nodes[(*w)[0]].waits != kind {
		*w = (*w)[1:]
	}
}

// Halt makes Next end everything in a scope that has not ended, but for its final
// nodes. outside says that the reason lies outside of the scope. It returns the
// nodes that Next has to look at, and cannot be undone.
func (r *Run) Halt(s int, outside bool) []int {
	in := &r.scopes[s]
	in.halted, in.outside = true, in.outside || outside
	return r.openOf(in)
}

// Drain keeps everything in a scope from beginning that has not begun, but for its
// final nodes. It returns the nodes that Next has to look at.
func (r *Run) Drain(s int) []int {
	r.scopes[s].draining = true
	return r.openOf(&r.scopes[s])
}

// RecordCause says which node made Halt or Drain of a scope necessary; the first stays.
func (r *Run) RecordCause(s, node int) {
	if r.scopes[s].cause == NoNode {
		r.scopes[s].cause = node
	}
}

func (r *Run) openOf(s *scope) []int {
	open := make([]int, 0, s.open+s.finals)
	for i := s.base; i < s.base+s.size; i++ {
		if !r.nodes[i].state.Ended() {
			open = append(open, i)
		}
	}
	return open
}

// Pause keeps Next from beginning anything until it is called with false; then
// Next has to look at all nodes.
func (r *Run) Pause(paused bool) { r.paused = paused }
