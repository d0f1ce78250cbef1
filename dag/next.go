package dag

// State is where a node stands.
type State string

// The states. docs/states.md draws the transitions.
const (
	Pending   State = "PENDING"   // waits for its dependencies
	Ready     State = "READY"     // may start; waits for capacity
	Queued    State = "QUEUED"    // claimed; its attempt is being started
	Running   State = "RUNNING"   // its attempt runs
	Retrying  State = "RETRYING"  // waits for the time of its next attempt
	Succeeded State = "SUCCEEDED" // ended well
	Failed    State = "FAILED"    // ended badly, no retry is left
	Skipped   State = "SKIPPED"   // can never run: something it depends on did not succeed
	Cancelled State = "CANCELLED" // stopped, or not begun, because the execution was halted
)

// Ended reports whether a node in s never changes again.
func (s State) Ended() bool {
	return s == Succeeded || s == Failed || s == Skipped || s == Cancelled
}

// Active reports whether an attempt of a node in s may be alive.
func (s State) Active() bool { return s == Queued || s == Running }

// Run is a plan and the state of each of its nodes. It keeps the number of
// unfinished dependencies and the counts up to date, so that deciding costs as
// much as what changed and not as much as the plan.
type Run struct {
	plan     *Plan
	failFast func(node int) bool
	states   []State
	pending  []int
	counts   map[State]int
	levels   []int // unfinished nodes of each level
	open     int   // nodes that have not ended
	done     int   // levels without unfinished nodes
	halted   bool
}

// NewRun returns the run of plan whose nodes are in states (copied). failFast
// says of which nodes the final failure halts the whole run.
func NewRun(plan *Plan, states []State, failFast func(node int) bool) *Run {
	r := &Run{
		plan:     plan,
		failFast: failFast,
		states:   make([]State, len(states)),
		pending:  make([]int, len(states)),
		counts:   map[State]int{Pending: len(states)},
		levels:   make([]int, len(plan.Levels)),
		open:     len(states),
	}
	for i := range plan.Nodes {
		r.states[i] = Pending
		r.pending[i] = len(plan.Nodes[i].Dependencies)
		r.levels[plan.Nodes[i].Level]++
	}
	for i, s := range states {
		r.Set(i, s)
	}
	return r
}

// Set moves node i to state s. Leaving an ended state is a mistake of the caller
// and is ignored.
func (r *Run) Set(i int, s State) {
	from := r.states[i]
	if from == s || from.Ended() {
		return
	}
	r.counts[from]--
	r.counts[s]++
	r.states[i] = s
	if !s.Ended() {
		return
	}
	r.open--
	level := r.plan.Nodes[i].Level
	if r.levels[level]--; r.levels[level] == 0 {
		r.done++
	}
	if s == Succeeded {
		for _, d := range r.plan.Nodes[i].Dependents {
			r.pending[d]--
		}
	}
}

// Halt makes Next end everything that has not ended. It cannot be undone.
func (r *Run) Halt() { r.halted = true }

// Halted reports whether Halt was called.
func (r *Run) Halted() bool { return r.halted }

// Plan returns the plan of the run.
func (r *Run) Plan() *Plan { return r.plan }

// State returns the state of node i.
func (r *Run) State(i int) State { return r.states[i] }

// Pending returns how many dependencies of node i have not succeeded.
func (r *Run) Pending(i int) int { return r.pending[i] }

// Count returns how many nodes are in s.
func (r *Run) Count(s State) int { return r.counts[s] }

// LevelsDone returns how many levels have no unfinished node.
func (r *Run) LevelsDone() int { return r.done }

// Ended reports whether every node has ended.
func (r *Run) Ended() bool { return r.open == 0 }

// ActionKind says what is to be done.
type ActionKind int

// The actions that Next asks for.
const (
	MakeReady  ActionKind = iota + 1 // PENDING → READY
	SkipNode                         // → SKIPPED
	CancelNode                       // → CANCELLED; no attempt of it is alive
	StopNode                         // stop the attempt; the state follows when it has ended
	HaltRun                          // call Halt, then Next for all nodes
	FinishRun                        // every node has ended
)

// Action is one decision. Cause is the node that made it necessary, or -1.
type Action struct {
	Kind  ActionKind
	Node  int
	Cause int
}

// Next is the one place that decides what happens in a run. changed names the
// nodes whose state changed since the last call; nil means all, as after a
// restart or a halt. The caller carries the actions out with Set and calls Next
// again with the nodes it changed, until there is no action. A node is made
// ready only from PENDING, so it never starts twice, and every run whose active
// and retrying nodes end comes to FinishRun. Next changes nothing.
func Next(r *Run, changed []int) []Action {
	if r.open == 0 {
		return []Action{{Kind: FinishRun, Node: -1, Cause: -1}}
	}
	if changed == nil {
		return nextOfAll(r)
	}
	var actions []Action
	seen := map[int]struct{}{}
	for _, i := range changed {
		if r.states[i] == Failed && !r.halted && r.failFast(i) {
			return append(actions, Action{Kind: HaltRun, Node: i, Cause: i})
		}
		if a, ok := haltNode(r, i, r.states[i]); ok {
			actions = append(actions, a)
		}
		if !r.states[i].Ended() {
			continue
		}
		for _, d := range r.plan.Nodes[i].Dependents {
			if _, ok := seen[d]; ok || r.states[d] != Pending {
				continue
			}
			if a, ok := decideAfter(r, d, i); ok {
				seen[d] = struct{}{}
				actions = append(actions, a)
			}
		}
	}
	return actions
}

// nextOfAll walks the levels downwards and counts what it has decided, so that
// one pass also settles what lies behind a skipped node.
func nextOfAll(r *Run) []Action {
	var actions []Action
	decided := map[int]State{}
	state := func(i int) State {
		if s, ok := decided[i]; ok {
			return s
		}
		return r.states[i]
	}
	for _, level := range r.plan.Levels {
		for _, i := range level {
			if r.states[i] == Failed && !r.halted && r.failFast(i) {
				return []Action{{Kind: HaltRun, Node: i, Cause: i}}
			}
			a, ok := decidePending(r, i, state)
			if !ok {
				a, ok = haltNode(r, i, r.states[i])
			}
			if !ok {
				continue
			}
			actions = append(actions, a)
			switch a.Kind {
			case SkipNode:
				decided[i] = Skipped
			case CancelNode:
				decided[i] = Cancelled
			case MakeReady, StopNode, HaltRun, FinishRun:
			}
		}
	}
	return actions
}

// decidePending decides for a PENDING node by the states of all its dependencies.
func decidePending(r *Run, i int, state func(int) State) (Action, bool) {
	if r.states[i] != Pending {
		return Action{}, false
	}
	if r.pending[i] > 0 {
		for _, d := range r.plan.Nodes[i].Dependencies {
			if a, ok := blockedBy(i, d, state(d)); ok {
				return a, true
			}
		}
	}
	return unblocked(r, i)
}

// decideAfter decides for a PENDING node after its dependency d has ended. It
// looks at d alone: a node with a thousand dependencies is cheap a thousand times.
func decideAfter(r *Run, i, d int) (Action, bool) {
	if a, ok := blockedBy(i, d, r.states[d]); ok {
		return a, true
	}
	return unblocked(r, i)
}

// blockedBy decides for node i whose dependency d is in s and may never succeed.
func blockedBy(i, d int, s State) (Action, bool) {
	switch s {
	case Failed, Skipped:
		return Action{Kind: SkipNode, Node: i, Cause: d}, true
	case Cancelled:
		return Action{Kind: CancelNode, Node: i, Cause: d}, true
	case Pending, Ready, Queued, Running, Retrying, Succeeded:
	}
	return Action{}, false
}

func unblocked(r *Run, i int) (Action, bool) {
	if r.halted {
		return Action{Kind: CancelNode, Node: i, Cause: -1}, true
	}
	if r.pending[i] == 0 {
		return Action{Kind: MakeReady, Node: i, Cause: -1}, true
	}
	return Action{}, false
}

// haltNode decides for a node that waits or runs while the run is halted.
func haltNode(r *Run, i int, s State) (Action, bool) {
	if !r.halted {
		return Action{}, false
	}
	switch s {
	case Ready, Retrying:
		return Action{Kind: CancelNode, Node: i, Cause: -1}, true
	case Queued, Running:
		return Action{Kind: StopNode, Node: i, Cause: -1}, true
	case Pending, Succeeded, Failed, Skipped, Cancelled:
	}
	return Action{}, false
}
