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
	tree

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

// member is the state of a node.
type member struct {
	state   State
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

// scope is the state of the nodes of a scope.
type scope struct {
	open      int // nodes that have not ended and are not final
	finals    int // final nodes that have not ended
	succeeded int
	failed    int
	cancelled int
	serving   int // open nodes that serve others
	active    int // nodes that use a slot: they have begun and not ended, and do not serve

	limit    int
	held     waitlist
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
	r.add(shape{plan: plan, size: len(plan.Nodes), parent: NoNode}, 0)
	r.levels = make([]int, len(plan.Levels))
	for i := range plan.Nodes {
		r.levels[plan.Nodes[i].Level]++
	}
	return r
}

// Expand expands node i into the scope e and returns the index of its first node. The
// caller sets the state of i. A node may be expanded again for a retry.
func (r *Run) Expand(i int, e Expansion) int {
	s := shape{plan: e.Plan, item: e.Item, size: e.Items, parent: i, partial: e.Partial}
	if e.Plan != nil {
		s.size = len(e.Plan.Nodes)
	} else {
		s.shared = r.traits(i).Shares
	}
	r.places[i].inner = len(r.scopes)
	return r.add(s, e.Limit)
}

func (r *Run) add(s shape, limit int) int {
	base, in := len(r.nodes), scope{limit: limit, cause: NoNode}
	r.extend(s)
	r.nodes = slices.Grow(r.nodes, s.size)
	for k := range s.size {
		m := member{state: Pending}
		if s.plan != nil {
			m.pending = len(s.plan.Nodes[k].Dependencies)
		}
		r.nodes = append(r.nodes, m)
		if s.traits(k).Final {
			in.finals++
		} else {
			in.open++
		}
	}
	r.counts[Pending] += s.size
	r.scopes = append(r.scopes, in)
	return base
}

// ended reports whether all nodes of s have ended.
func (s *scope) ended() bool { return s.open == 0 && s.finals == 0 }

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
	t := r.traits(i)
	r.stream(i, from)
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
		r.end(i, t)
	}
}

func (r *Run) end(i int, t Traits) {
	n, in := &r.nodes[i], &r.scopes[r.places[i].scope]
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
	if r.places[i].scope == Root {
		if r.levels[node.Level]--; r.levels[node.Level] == 0 {
			r.done++
		}
	}
	around := r.around(i)
	for _, d := range node.Dependents {
		if served || len(node.Readers) > 0 && around.plan.Nodes[d].reads(node.Index) {
			continue // see Serve and stream
		}
		if s == Succeeded || around.plan.Nodes[d].rule != nil {
			r.nodes[around.base+d].pending--
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

// slots is the scope whose slots node i uses.
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
	return r.openOf(s)
}

// Drain prevents nodes of a scope from beginning, except its final nodes. It returns
// the nodes to pass to Next.
func (r *Run) Drain(s int) []int {
	r.scopes[s].draining = true
	return r.openOf(s)
}

// RecordCause records the node that caused Halt or Drain of a scope; the first one is
// kept.
func (r *Run) RecordCause(s, node int) {
	if r.scopes[s].cause == NoNode {
		r.scopes[s].cause = node
	}
}

func (r *Run) openOf(s int) []int {
	open := make([]int, 0, r.scopes[s].open+r.scopes[s].finals)
	base, size := r.Members(s)
	for i := base; i < base+size; i++ {
		if !r.nodes[i].state.Ended() {
			open = append(open, i)
		}
	}
	return open
}

// Pause prevents Next from beginning nodes until it is called with false; the caller
// then passes nil to Next.
func (r *Run) Pause(paused bool) { r.paused = paused }
