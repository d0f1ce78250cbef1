package dag

// Depends returns the text of the rule of node i; "" for the default rule.
func (r *Run) Depends(i int) string {
	if node := r.planned(i); node != nil {
		return node.Depends
	}
	return ""
}

// Size returns how many nodes the run has.
func (r *Run) Size() int { return len(r.nodes) }

// State returns the state of node i.
func (r *Run) State(i int) State { return r.nodes[i].state }

// Omitted reports whether node i was skipped because of its dependencies.
func (r *Run) Omitted(i int) bool { return r.nodes[i].omitted }

// Pending returns how many dependencies of node i are open. It is meaningful only until
// the node begins.
func (r *Run) Pending(i int) int {
	switch n := &r.nodes[i]; n.state {
	case Pending, Skipped, Cancelled:
		return max(n.pending, 0)
	case Ready, Queued, Running, Retrying, Succeeded, Failed:
	}
	return 0
}

// Count returns how many nodes are in s.
func (r *Run) Count(s State) int { return r.counts[s] }

// LevelsDone returns how many levels of the plan have no open node.
func (r *Run) LevelsDone() int { return r.done }

// Ended reports whether every node has ended.
func (r *Run) Ended() bool { return r.scopes[Root].ended() }

// Paused reports whether the run is paused.
func (r *Run) Paused() bool { return r.paused }

// ScopeOf returns the scope of node i.
func (r *Run) ScopeOf(i int) int { return r.nodes[i].scope }

// Inner returns the scope that node i last expanded into, or NoNode.
func (r *Run) Inner(i int) int { return r.nodes[i].inner }

// Parent returns the node that expanded into the scope of node i, or NoNode.
func (r *Run) Parent(i int) int { return r.scopes[r.nodes[i].scope].parent }

// Members returns the index of the first node of a scope, and how many it has.
func (r *Run) Members(s int) (base, size int) { return r.scopes[s].base, r.scopes[s].size }

// Position returns the position of node i in its scope.
func (r *Run) Position(i int) int { return i - r.scopes[r.nodes[i].scope].base }

// Halted reports whether the scope of node i, or one around it, was halted. Final
// nodes, those that outlast a halt, and those they expand into are not halted.
func (r *Run) Halted(i int) bool {
	w := pass{run: r}
	return w.halted(i)
}

// Stopped reports whether node i was cancelled after it had begun.
func (r *Run) Stopped(i int) bool { return r.nodes[i].state == Cancelled && r.nodes[i].active }

// RootHalted reports whether the whole run was halted.
func (r *Run) RootHalted() bool { return r.scopes[Root].halted }

// Cause returns the node whose failure halted or drains a scope, or NoNode.
func (r *Run) Cause(s int) int { return r.scopes[s].cause }

// DependenciesOf returns the nodes that node i depends on.
func (r *Run) DependenciesOf(i int) []int {
	node := r.planned(i)
	if node == nil {
		return nil
	}
	base := r.scopes[r.nodes[i].scope].base
	all := make([]int, len(node.Dependencies))
	for k, d := range node.Dependencies {
		all[k] = base + d
	}
	return all
}

// Sibling returns the node called name of the scope s; false when it has none.
func (r *Run) Sibling(s int, name string) (int, bool) {
	in := &r.scopes[s]
	if in.plan == nil {
		return NoNode, false
	}
	k, ok := in.plan.Lookup(name)
	return in.base + k, ok
}

// is reports whether node i, which has ended, has the status.
func (r *Run) is(i int, status Status) bool {
	n := &r.nodes[i]
	switch status {
	case HasSucceeded:
		return n.state == Succeeded
	case HasFailed:
		return n.state == Failed && !n.errored
	case HasErrored:
		return n.state == Failed && n.errored
	case WasSkipped:
		return n.state == Skipped && !n.omitted
	case WasOmitted:
		return n.state == Skipped && n.omitted
	case HasEnded:
		return n.state.Ended()
	case AnySucceeded:
		return n.state == Succeeded && n.inner == NoNode || n.inner != NoNode && r.scopes[n.inner].succeeded > 0
	case AllFailed:
		return n.state == Failed && n.inner == NoNode || n.inner != NoNode && r.scopes[n.inner].size > 0 && r.scopes[n.inner].failed == r.scopes[n.inner].size
	case IsDaemoned:
		return n.serving
	}
	return false
}
