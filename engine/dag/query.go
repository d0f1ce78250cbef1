package dag

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

// is reports whether node i, which has ended, has the status.
func (r *Run) is(i int, status Status) bool {
	n, inner := &r.nodes[i], r.places[i].inner
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
		return n.state == Succeeded && inner == NoNode || inner != NoNode && r.scopes[inner].succeeded > 0
	case AllFailed:
		return n.state == Failed && inner == NoNode || inner != NoNode && r.shapes[inner].size > 0 && r.scopes[inner].failed == r.shapes[inner].size
	case IsDaemoned:
		return n.serving
	}
	return false
}
