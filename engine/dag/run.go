package dag

import "slices"

// State is the state of a node.
type State string

// The states. docs/states.md draws the transitions.
const (
	Pending   State = "PENDING"   // waits for its dependencies
	Ready     State = "READY"     // may start; waits for capacity
	Queued    State = "QUEUED"    // claimed; its attempt is being started
	Running   State = "RUNNING"   // its attempt runs, or the nodes that it expanded into run
	Retrying  State = "RETRYING"  // waits for the time of its next attempt
	Succeeded State = "SUCCEEDED" // finished successfully
	Failed    State = "FAILED"    // failed, and no retry is left
	Skipped   State = "SKIPPED"   // never runs: its condition is false, or its dependencies ended in other states
	Cancelled State = "CANCELLED" // stopped, or not begun, because its scope was halted
)

// Ended reports whether s is a final state.
func (s State) Ended() bool {
	return s == Succeeded || s == Failed || s == Skipped || s == Cancelled
}

// Active reports whether an attempt of a node in s may be alive.
func (s State) Active() bool { return s == Queued || s == Running }

// active reports whether a node in s counts towards the limit of its scope.
func (s State) active() bool { return s != Pending && !s.Ended() }

// Root is the scope of the plan itself, and NoNode no node at all.
const (
	Root   = 0
	NoNode = -1
)

// Run is the state of all nodes of an execution. It begins with one scope, the plan; a
// node that expands adds another, whose nodes follow all earlier ones. It keeps the
// number of open dependencies and the counts up to date, so that the cost of a decision
// depends on the number of changes, not on the size of the run.
type Run struct {
	nodes  []member
	scopes []scope
	counts map[State]int
	levels []int // open nodes of each level of the plan
	done   int   // levels without open nodes

	paused  bool
	limit   int // of working, 0: no limit
	working int // nodes of the run that have begun, have not expanded and do not serve
	held    waitlist
}

// member is one node of a run.
type member struct {
	state   State
	scope   int
	inner   int // the scope that it last expanded into, or NoNode
	pending int // dependencies that have not ended as required, and are not read while they run; with a rule, that have not ended
	omitted bool
	active  bool // it has been active at least once
	errored bool
	passed  bool // its condition was true
	serving bool
	waits   waitKind
}

// waitKind describes what a node that could begin waits for.
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
	parent int // the node that expanded into this scope, or NoNode

	open      int // nodes that have not ended and are not final
	finals    int // final nodes that have not ended
	succeeded int
	failed    int
	cancelled int
	serving   int // open nodes that serve others
	active    int // nodes that use a slot: they have begun and not ended, and do not serve

	limit    int
	held     waitlist
	partial  bool
	shared   bool // its nodes use the slots of the scope around it
	halted   bool
	outside  bool // halted from outside the scope
	draining bool
	cause    int // the node whose failure halts or drains it
}

// Expansion describes the nodes that a node expands into: the nodes of Plan, or Items
// independent nodes, each with the traits Item.
type Expansion struct {
	Plan    *Plan
	Items   int
	Item    Traits
	Limit   int  // how many of the nodes may be active at once; 0: no limit
	Partial bool // failed items do not make it fail, unless none succeeded
}

// NewRun returns a run of plan in which nothing has begun. At most limit of its nodes
// are active at once; 0 means no limit.
func NewRun(plan *Plan, limit int) *Run {
	r := &Run{counts: map[State]int{}, limit: limit}
	r.add(scope{plan: plan, size: len(plan.Nodes), parent: NoNode, cause: NoNode})
	r.levels = make([]int, len(plan.Levels))
	for i := range plan.Nodes {
		r.levels[plan.Nodes[i].Level]++
	}
	return r
}

// Expand expands node i into the scope e and returns the index of its first node. The
// caller sets the state of i. A node may be expanded again for a retry.
func (r *Run) Expand(i int, e Expansion) int {
	s := scope{plan: e.Plan, item: e.Item, size: e.Items, parent: i, limit: e.Limit, partial: e.Partial, cause: NoNode}
	if e.Plan != nil {
		s.size = len(e.Plan.Nodes)
	} else {
		s.shared = r.traits(i).Shares
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

// ended reports whether all nodes of s have ended.
func (s *scope) ended() bool { return s.open == 0 && s.finals == 0 }

// traits returns the traits of node i.
func (r *Run) traits(i int) Traits {
	s := &r.scopes[r.nodes[i].scope]
	return s.traits(i - s.base)
}

// planned returns node i of its plan; nil for an item.
func (r *Run) planned(i int) *Node {
	s := &r.scopes[r.nodes[i].scope]
	if s.plan == nil {
		return nil
	}
	return &s.plan.Nodes[i-s.base]
}

// Set moves node i to state s. Set ignores invalid transitions: out of a final state,
// and out of serving into anything but a final state.
func (r *Run) Set(i int, s State) {
	n := &r.nodes[i]
	from := n.state
	if from == s || from.Ended() || n.serving && !s.Ended() {
		return
	}
	r.counts[from]--
	r.counts[s]++
	n.state = s
	n.active = n.active || s.Active()
	in, t := &r.scopes[n.scope], r.traits(i)
	r.stream(i, in, from)
	if active := s.active(); active != from.active() && !n.serving {
		by := 1
		if !active {
			by = -1
		}
		if !t.Shares {
			r.slots(i).active += by
		}
		if !t.Expands && !t.Waits {
			r.working += by
		}
	}
	if n.waits != noPlace {
		n.waits = noPlace
		r.slots(i).held.clean(r, inScope)
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

// Omit skips node i because of its dependencies; Set(i, Skipped) skips it because its
// condition is false.
func (r *Run) Omit(i int) {
	r.nodes[i].omitted = !r.nodes[i].state.Ended()
	r.Set(i, Skipped)
}

// Begin records that an attempt of node i was active earlier, such as before a restart.
func (r *Run) Begin(i int) { r.nodes[i].active = true }

// Fail ends node i as failed. errored means that the system failed, not the task.
func (r *Run) Fail(i int, errored bool) {
	r.nodes[i].errored = errored && !r.nodes[i].state.Ended()
	r.Set(i, Failed)
}

// Pass records that the condition of node i is true.
func (r *Run) Pass(i int) { r.nodes[i].passed = true }

// Hold makes node i wait for a free slot of its scope, or else of the run.
func (r *Run) Hold(i int, scope bool) {
	n := &r.nodes[i]
	if n.state != Pending {
		return
	}
	if scope {
		n.waits = inScope
		in := r.slots(i)
		in.held = append(in.held, i)
		return
	}
	n.waits = inRun
	r.held = append(r.held, i)
}

// slotsOf is the scope whose slots node i uses, and slots is that scope.
func (r *Run) slotsOf(i int) int {
	s := r.nodes[i].scope
	for r.scopes[s].shared {
		s = r.nodes[r.scopes[s].parent].scope
	}
	return s
}

func (r *Run) slots(i int) *scope { return &r.scopes[r.slotsOf(i)] }

func (s *scope) full(starting int) bool { return s.limit > 0 && s.active+starting >= s.limit }

func (r *Run) full(starting int) bool { return r.limit > 0 && r.working+starting >= r.limit }

// waitlist is a queue of nodes. A node that no longer waits is removed when it reaches
// the front.
type waitlist []int

func (w *waitlist) clean(r *Run, kind waitKind) {
	for len(*w) > 0 && r.nodes[(*w)[0]].waits != kind {
		*w = (*w)[1:]
	}
}

// Halt makes Next end all open nodes of a scope except its final nodes. outside means
// that the cause lies outside the scope. It returns the nodes to pass to Next, and
// cannot be undone.
func (r *Run) Halt(s int, outside bool) []int {
	in := &r.scopes[s]
	in.halted, in.outside = true, in.outside || outside
	return r.openOf(in)
}

// Drain prevents nodes of a scope from beginning, except its final nodes. It returns
// the nodes to pass to Next.
func (r *Run) Drain(s int) []int {
	r.scopes[s].draining = true
	return r.openOf(&r.scopes[s])
}

// RecordCause records the node that caused Halt or Drain of a scope; the first one is
// kept.
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

// Pause prevents Next from beginning nodes until it is called with false; the caller
// then passes nil to Next.
func (r *Run) Pause(paused bool) { r.paused = paused }
