package dag

import (
	"iter"
	"slices"
)

// Interruption says what ended a run before its nodes did.
type Interruption int

// The interruptions.
const (
	Uninterrupted Interruption = iota
	ByPerson                   // somebody cancelled the execution
	ByTimeout                  // it ran longer than it may
)

// Conclude returns the state in which the run ends, or would end if only its final nodes
// are open: Cancelled only when a person cancelled it, or one of its nodes, and that
// stopped something; Failed after any failure that nothing handles. It depends on the
// states of the nodes alone, not on their order.
func (r *Run) Conclude(by Interruption) State {
	switch {
	case r.counts[Cancelled] == 0, by == Uninterrupted:
		return r.Outcome(Root)
	case by == ByPerson:
		return Cancelled
	}
	return Failed
}

// Outcome returns how a scope counts whose nodes, or all but the final ones, have ended.
// It is Failed when one of these failed:
//   - a node whose failure halts or drains the scope;
//   - a node at one of the ends of the scope, or one behind which every path to an end was
//     omitted or cancelled. A failure that a rule takes up no longer counts once what
//     follows has run.
//
// Failures that MayFail names count only for what they kept from running: a scope never
// succeeds when one of its ends was left out because of a failure. Without a failure the
// scope is Cancelled when something in it was, else Succeeded.
func (r *Run) Outcome(s int) State { return r.outcome(s, false) }

func (r *Run) outcome(s int, outside bool) State {
	in := &r.scopes[s]
	switch {
	case (in.outside || outside) && in.cancelled > 0:
		return Cancelled
	case r.FailureSource(s, false) != NoNode:
		return Failed
	case in.cancelled > 0:
		return Cancelled
	}
	return Succeeded
}

// FailureSource is the node of the scope s whose failure came out at the first of its ends at
// which one did, or at the last; of a fan-out the first or last item that failed. It is
// NoNode when the scope does not count as failed.
func (r *Run) FailureSource(s int, last bool) int {
	in := &r.scopes[s]
	for k := range r.failures(in, last) {
		return in.base + k
	}
	return NoNode
}

// Unhandled reports whether the failure of node i, which has failed or might, counts as
// long as nothing else is known: nothing allows it, and no rule takes it up.
func (r *Run) Unhandled(i int) bool {
	node, t := r.planned(i), r.traits(i)
	kind := failureOf(r.nodes[i].errored)
	return kind&t.MayFail == 0 && !t.Watches && !r.scopes[r.nodes[i].scope].partial && (node == nil || kind&node.handled == 0)
}

// failureOf is the kind of a failure.
func failureOf(errored bool) Failures {
	if errored {
		return OfSystem
	}
	return OfTask
}

// stops reports whether node i has failed in a way that halts or drains its scope.
func (r *Run) stops(i int) bool {
	t := r.traits(i)
	return r.nodes[i].state == Failed && t.OnFailure != Continue && !t.Final && r.Unhandled(i)
}

// failures are the positions of the nodes whose failures make a scope fail: first those
// that came out at its ends, in the order of these or, with backwards, the other way
// round; then those that halted or drained it.
func (r *Run) failures(in *scope, backwards bool) iter.Seq[int] {
	switch {
	case in.failed == 0, in.partial && in.succeeded > 0:
		return func(func(int) bool) {}
	case in.plan == nil:
		return r.failedItems(in, backwards)
	}
	return func(yield func(int) bool) {
		t := trail{run: r, in: in, seen: make([]bool, in.size), found: yield}
		for e := range in.plan.ends {
			if backwards {
				e = len(in.plan.ends) - 1 - e
			}
			if !t.follow(in.plan.ends[e], true) {
				return
			}
		}
		for k := range in.size {
			if backwards {
				k = in.size - 1 - k
			}
			if r.stops(in.base+k) && !t.seen[k] && !yield(k) {
				return
			}
		}
	}
}

// trail looks for failures from the ends of a scope backwards.
type trail struct {
	run   *Run
	in    *scope
	seen  []bool
	found func(k int) bool
}

// follow looks at node k, which is an end or kept another from running. It goes on behind
// what did not run, and reports false when the search is over.
func (t *trail) follow(k int, end bool) bool {
	n, node := &t.run.nodes[t.in.base+k], &t.in.plan.Nodes[k]
	if t.seen[k] || node.Watches {
		return true
	}
	switch {
	case n.state == Failed:
		if end && failureOf(n.errored)&node.MayFail != 0 {
			return true // not seen: it may have kept others from running
		}
		t.seen[k] = true
		return t.found(k)
	case n.state == Cancelled, n.state == Skipped && n.omitted:
		t.seen[k] = true
		return !slices.ContainsFunc(node.Dependencies, func(d int) bool {
			return t.run.kept(t.in, node, d) && !t.follow(d, false)
		})
	}
	return true
}

// kept reports whether dependency d may have kept node from running. A failure that
// MayFail names did so only when node would have run without such failures. How nodes
// that watch ended does not count.
func (r *Run) kept(in *scope, node *Node, d int) bool {
	allowed := func(d int) bool {
		n := &r.nodes[in.base+d]
		return n.state == Failed && failureOf(n.errored)&in.plan.Nodes[d].MayFail != 0
	}
	if !allowed(d) {
		return true
	}
	watches := func(d int) bool { return in.plan.Nodes[d].Watches }
	if node.rule == nil {
		return !slices.ContainsFunc(node.Dependencies, func(d int) bool { return !watches(d) && r.is(in.base+d, WasSkipped) })
	}
	return slices.ContainsFunc(node.Dependencies, watches) || node.rule.holds(func(d int, s Status) bool {
		if allowed(d) {
			return s == HasSucceeded || s == HasEnded || s == AnySucceeded
		}
		return r.is(in.base+d, s)
	})
}

func (r *Run) failedItems(in *scope, backwards bool) iter.Seq[int] {
	return func(yield func(int) bool) {
		for k := range in.size {
			if backwards {
				k = in.size - 1 - k
			}
			n := &r.nodes[in.base+k]
			if n.state == Failed && (in.partial || failureOf(n.errored)&in.item.MayFail == 0) && !yield(k) {
				return
			}
		}
	}
}
