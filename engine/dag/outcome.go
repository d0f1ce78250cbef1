package dag

import (
	"iter"
	"slices"
)

// Interruption describes what ended a run before all its nodes had ended.
type Interruption int

// The interruptions.
const (
	Uninterrupted Interruption = iota
	ByPerson                   // a user cancelled the execution
	ByTimeout                  // the execution exceeded its timeout
)

// Conclude returns the final state of the run, or the one it would have if only its
// final nodes are open: Cancelled only when a user cancelled it, or one of its nodes,
// and that stopped something; Failed after any unhandled failure. It depends only on
// the states of the nodes, not on their order.
func (r *Run) Conclude(by Interruption) State {
	switch {
	case r.counts[Cancelled] == 0, by == Uninterrupted:
		return r.Outcome(Root)
	case by == ByPerson:
		return Cancelled
	}
	return Failed
}

// Outcome returns the result of a scope whose nodes, or all but the final ones, have
// ended. It is Failed when one of these failed:
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

// FailureSource returns the node of scope s whose failure reached the first of its ends
// that a failure reached, or the last such end; of a fan-out, the first or last item
// that failed. It returns NoNode when the scope has not failed.
func (r *Run) FailureSource(s int, last bool) int {
	for k := range r.failures(s, last) {
		return r.shapes[s].base + k
	}
	return NoNode
}

// Unhandled reports whether a failure of node i counts as far as is known: MayFail does
// not allow it, and no rule handles it.
func (r *Run) Unhandled(i int) bool {
	node, t := r.planned(i), r.traits(i)
	kind := failureOf(r.nodes[i].errored)
	return kind&t.MayFail == 0 && !t.Watches && !r.around(i).partial && (node == nil || kind&node.handled == 0)
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

// failures returns the positions of the nodes whose failures make a scope fail: first
// those that reached its ends, in the order of the ends or, with backwards, in reverse;
// then those that halted or drained it.
func (r *Run) failures(s int, backwards bool) iter.Seq[int] {
	in := &r.shapes[s]
	switch {
	case r.scopes[s].failed == 0, in.partial && r.scopes[s].succeeded > 0:
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
	in    *shape
	seen  []bool
	found func(k int) bool
}

// follow visits node k, which is an end or kept another node from running. It continues
// past nodes that did not run, and returns false when the search is over.
func (t *trail) follow(k int, end bool) bool {
	n, node := &t.run.nodes[t.in.base+k], &t.in.plan.Nodes[k]
	if t.seen[k] || node.Watches {
		return true
	}
	switch {
	case n.state == Failed:
		if end && failureOf(n.errored)&node.MayFail != 0 {
			return true // not yielded: it may have kept other nodes from running
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
// MayFail names did so only when node would have run without such failures. The end
// states of watching nodes do not count.
func (r *Run) kept(in *shape, node *Node, d int) bool {
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

func (r *Run) failedItems(in *shape, backwards bool) iter.Seq[int] {
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
