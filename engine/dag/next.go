package dag

// ActionKind is the kind of an Action.
type ActionKind int

// The actions that Next requests.
const (
	MakeReady   ActionKind = iota + 1 // PENDING → READY; a node that expands starts to expand
	Evaluate                          // evaluate the condition; then call Pass, or Set to Skipped
	HoldNode                          // call Hold: its scope or the run has reached its limit
	OmitNode                          // call Omit
	CancelNode                        // → CANCELLED; it has no live attempt
	StopNode                          // stop the attempt; the state changes when the attempt has ended
	HaltScope                         // call Halt of Scope, and Next with what it returns
	DrainScope                        // call Drain of Scope, and Next with what it returns
	EndGroup                          // all nodes that Node expanded into have ended: it ends as State
	FinishRun                         // every node has ended
	DismissNode                       // no node needs what Node serves any more: stop its attempt; it ends as SUCCEEDED
	RecallNode                        // the node that Node reads no longer runs: stop its attempt, if it has one; → PENDING once that has ended
)

// Action is one decision. Cause is the node that made it necessary, or NoNode.
type Action struct {
	Kind    ActionKind
	Node    int
	Cause   int
	Scope   int   // of HaltScope and DrainScope
	State   State // of EndGroup
	InScope bool  // of HoldNode: the limit of the scope is reached
}

// Next alone decides what happens in a run. changed lists the nodes whose state changed
// since the last call, and those that an expansion, a condition, Halt or Drain
// returned; nil means all, as after a restart. The caller carries the actions out and
// calls Next again with the nodes that this changed, until Next returns no action. A
// node becomes ready only from PENDING, so it never starts twice, and every run whose
// active and retrying nodes end reaches FinishRun. Next does not change the run.
func Next(r *Run, changed []int) []Action {
	if r.Ended() {
		return []Action{{Kind: FinishRun, Node: NoNode, Cause: NoNode}}
	}
	w := &pass{run: r, seen: map[int]struct{}{}, stopping: map[int]ActionKind{}, starting: map[int]int{}}
	if changed == nil {
		for i := range r.nodes {
			w.fails(i)
		}
		for i := range r.nodes {
			if !r.nodes[i].state.Ended() {
				w.consider(i)
			}
		}
		return w.actions
	}
	for _, i := range changed {
		w.fails(i)
	}
	for _, i := range changed {
		w.look(i)
	}
	w.release()
	return w.actions
}

// pass is one call of Next.
type pass struct {
	run      *Run
	actions  []Action
	seen     map[int]struct{}
	stopping map[int]ActionKind // scopes that this call halts or drains
	starting map[int]int        // nodes that this call begins, by scope
	begun    int                // those of them that have an attempt of their own
	freed    []int              // scopes whose number of active nodes may have dropped below the limit
}

func (w *pass) add(a Action) { w.actions = append(w.actions, a) }

// fails halts or drains the scope of a node that has failed, when its policy says so.
func (w *pass) fails(i int) {
	home := w.run.places[i].scope
	s := &w.run.scopes[home]
	if w.run.nodes[i].state != Failed || s.halted || w.stopping[home] == HaltScope {
		return
	}
	t := w.run.traits(i)
	if !w.run.stops(i) {
		return
	}
	switch {
	case t.OnFailure == Stop:
		w.stopping[home] = HaltScope
		w.add(Action{Kind: HaltScope, Node: i, Cause: i, Scope: home})
	case t.OnFailure == Drain && !s.draining && w.stopping[home] == 0:
		w.stopping[home] = DrainScope
		w.add(Action{Kind: DrainScope, Node: i, Cause: i, Scope: home})
	}
}

// look decides about a node that changed, and about the nodes that this affects.
func (w *pass) look(i int) {
	n, home := &w.run.nodes[i], w.run.places[i].scope
	if !n.state.Ended() {
		w.consider(i)
		w.readers(i)
		if n.serving {
			w.dependents(i)
			w.servers(home)
		}
		if n.state == Pending || n.serving {
			w.freed = append(w.freed, w.run.slotsOf(i)) // it may have been recalled, or only now serve
		}
		return
	}
	w.dependents(i)
	w.readers(i)
	if w.run.scopes[home].open == 0 {
		w.endOf(home)
	}
	w.servers(home)
	w.freed = append(w.freed, w.run.slotsOf(i))
}

// dependents decides about the dependents of node i, which has ended or serves.
func (w *pass) dependents(i int) {
	node := w.run.planned(i)
	if node == nil {
		return
	}
	base := w.run.around(i).base
	for _, d := range node.Dependents {
		w.after(base+d, i)
	}
}

// endOf decides about a scope in which all but the final nodes have ended.
func (w *pass) endOf(index int) {
	s := &w.run.shapes[index]
	if w.run.scopes[index].finals > 0 {
		for i := s.base; i < s.base+s.size; i++ {
			if w.run.nodes[i].state == Pending {
				w.consider(i)
			}
		}
		return
	}
	if s.parent != NoNode && w.run.places[s.parent].inner == index {
		w.consider(s.parent)
	}
}

// after decides about a PENDING node once i, on which it depends, has ended. It
// looks at i alone when there is no rule: a node with a thousand dependencies is
// cheap a thousand times.
func (w *pass) after(d, i int) {
	n := &w.run.nodes[d]
	if n.state != Pending {
		return
	}
	if w.run.planned(d).rule == nil && n.pending > 0 {
		if a, ok := blockedBy(w.run, d, i); ok {
			w.once(a)
		}
		return
	}
	w.consider(d)
}

// once adds an action about a node unless the node already has one.
func (w *pass) once(a Action) {
	if _, ok := w.seen[a.Node]; ok {
		return
	}
	w.seen[a.Node] = struct{}{}
	w.add(a)
	if a.Kind == MakeReady {
		t := w.run.traits(a.Node)
		if !t.Shares {
			w.starting[w.run.slotsOf(a.Node)]++
		}
		if !t.Expands && !t.Waits {
			w.begun++
		}
	}
}

// consider decides about a node that has not ended.
func (w *pass) consider(i int) {
	if _, ok := w.seen[i]; ok {
		return
	}
	var a Action
	var ok bool
	if w.run.nodes[i].state == Pending {
		a, ok = w.pending(i)
	} else {
		a, ok = w.begins(i)
	}
	if ok {
		w.once(a)
	}
}

// pending decides about a PENDING node.
func (w *pass) pending(i int) (Action, bool) {
	r := w.run
	t, home := r.traits(i), r.places[i].scope
	s := &r.scopes[home]
	if a, ok := r.blocked(i); ok {
		return a, true
	}
	switch {
	case t.Final && s.open > 0:
		return Action{}, false
	case t.Final:
	case w.halted(i):
		return Action{Kind: CancelNode, Node: i, Cause: s.cause}, true
	case (s.draining || w.stopping[home] == DrainScope) && !t.Undrained:
		return Action{Kind: OmitNode, Node: i, Cause: s.cause}, true
	}
	if r.nodes[i].pending > 0 || r.paused {
		return Action{}, false
	}
	return w.begin(i, t)
}

// halted is Run.Halted, plus the scopes that this call halts.
func (w *pass) halted(i int) bool {
	for i != NoNode && !w.run.traits(i).Final && !w.run.traits(i).Outlasts {
		s := w.run.places[i].scope
		if w.run.scopes[s].halted || w.stopping[s] == HaltScope {
			return true
		}
		i = w.run.shapes[s].parent
	}
	return false
}

// begin decides about a PENDING node that waits only for its condition and a free slot.
func (w *pass) begin(i int, t Traits) (Action, bool) {
	n := &w.run.nodes[i]
	if t.Conditional && !n.passed {
		return Action{Kind: Evaluate, Node: i, Cause: NoNode}, true
	}
	var needs waitKind
	switch {
	case !t.Shares && w.run.slots(i).full(w.starting[w.run.slotsOf(i)]):
		needs = inScope
	case !t.Expands && !t.Waits && w.run.full(w.begun):
		needs = inRun
	default:
		return Action{Kind: MakeReady, Node: i, Cause: NoNode}, true
	}
	return Action{Kind: HoldNode, Node: i, Cause: NoNode, InScope: needs == inScope}, n.waits != needs
}

// begins decides about a node that has begun and not ended.
func (w *pass) begins(i int) (Action, bool) {
	r := w.run
	n, t, inner := &r.nodes[i], r.traits(i), r.places[i].inner
	if t.Expands && n.state == Running && inner != NoNode && r.scopes[inner].ended() {
		return Action{Kind: EndGroup, Node: i, Cause: r.scopes[inner].cause, State: r.outcome(inner, w.halted(i))}, true
	}
	if d := r.CutOff(i); d != NoNode { // even if the scope is halted: d explains how it ends
		return Action{Kind: RecallNode, Node: i, Cause: d}, true
	}
	if !w.halted(i) {
		return Action{Kind: DismissNode, Node: i, Cause: NoNode}, r.Dismissed(i)
	}
	cancel := Action{Kind: CancelNode, Node: i, Cause: NoNode}
	switch {
	case n.state == Ready || n.state == Retrying || t.Waits:
		return cancel, true
	case !t.Expands:
		return Action{Kind: StopNode, Node: i, Cause: NoNode}, true
	case inner == NoNode:
		return cancel, true
	case r.scopes[inner].outside:
		return Action{}, false
	}
	return Action{Kind: HaltScope, Node: i, Cause: NoNode, Scope: inner}, true
}

// blocked decides about a PENDING node from the end states of its dependencies.
func (r *Run) blocked(i int) (Action, bool) {
	node, n := r.planned(i), &r.nodes[i]
	if node == nil || len(node.Dependencies) == 0 {
		return Action{}, false
	}
	base := r.around(i).base
	if node.rule == nil {
		for _, d := range node.Dependencies {
			if n.pending == 0 {
				break
			}
			if a, ok := blockedBy(r, i, base+d); ok {
				return a, true
			}
		}
		return Action{}, false
	}
	if n.pending > 0 || r.satisfied(i) {
		return Action{}, false
	}
	cause := base + node.Dependencies[0]
	for _, d := range node.Dependencies {
		switch r.nodes[base+d].state {
		case Cancelled:
			return Action{Kind: CancelNode, Node: i, Cause: base + d}, true
		case Failed, Skipped:
			cause = base + d
		case Pending, Ready, Queued, Running, Retrying, Succeeded:
		}
	}
	return Action{Kind: OmitNode, Node: i, Cause: cause}, true
}

// satisfied reports whether the rule of node i holds.
func (r *Run) satisfied(i int) bool {
	node, base := r.planned(i), r.around(i).base
	return node.rule.holds(func(d int, s Status) bool {
		return r.is(base+d, s) || node.Outlasts && s == HasFailed && r.Stopped(base+d)
	})
}

// blockedBy decides about node i whose dependency d may never succeed.
func blockedBy(r *Run, i, d int) (Action, bool) {
	switch r.nodes[d].state {
	case Failed, Skipped:
		return Action{Kind: OmitNode, Node: i, Cause: d}, true
	case Cancelled:
		return Action{Kind: CancelNode, Node: i, Cause: d}, true
	case Pending, Ready, Queued, Running, Retrying, Succeeded:
	}
	return Action{}, false
}

// release begins waiting nodes in scopes that have a free slot.
func (w *pass) release() {
	if w.run.paused || len(w.freed) == 0 {
		return
	}
	for _, index := range w.freed {
		s := &w.run.scopes[index]
		for _, i := range s.held {
			if s.full(w.starting[index]) {
				break
			}
			w.again(i)
		}
	}
	for _, i := range w.run.held {
		if w.run.full(w.begun) {
			break
		}
		w.again(i)
	}
}

// again reconsiders a node that waits for a slot.
func (w *pass) again(i int) {
	if n := &w.run.nodes[i]; n.waits != noPlace && n.state == Pending {
		w.consider(i)
	}
}
