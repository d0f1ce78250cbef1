package dag

// Past is what became of a node of a plan in an earlier run, and whether it would do
// the same again. The zero Past is of a node that the earlier run did not have.
type Past struct {
	State   State
	Omitted bool // SKIPPED because of what it depends on
	Errored bool // FAILED because of something around its task
	Changed bool // it would not do the same again, or somebody wants it to run
}

// RunReason says why a node runs in a resumed run, or that it does not.
type RunReason int

// The grounds.
const (
	Taken      RunReason = iota // it does not: what became of it is taken over
	Changed                     // it would not do the same again
	Unfinished                  // it failed, was cancelled, or never ran
	Downstream                  // it depends on Cause, which runs
	AtTheEnd                    // it is final: it runs whenever something runs
	Serving                     // it serves Cause, which runs
)

// Verdict is the decision about one node. Cause is the position of the node that
// made it necessary, or NoNode.
type Verdict struct {
	RunReason RunReason
	Cause     int
}

// Resume decides which nodes of plan run again and which keep what became of them,
// past being that of each. A node is kept when it succeeded, or ended in another way
// that its plan provides for, and neither it nor anything that it depends on changes.
// It is pure, as Next is; what is kept together is a state that Next goes on from.
func Resume(plan *Plan, past []Past) []Verdict {
	verdicts := make([]Verdict, len(plan.Nodes))
	run := NewRun(plan, 0)
	for _, level := range plan.Levels {
		for _, k := range level {
			p := served(&plan.Nodes[k], past[k])
			v := resumed(run, plan, p, verdicts, k)
			verdicts[k] = v
			if v.RunReason == Taken {
				run.preset(k, p)
			}
		}
	}
	serves(plan, past, verdicts)
	return verdicts
}

// preset gives node k the end that it had in an earlier run.
func (r *Run) preset(k int, p Past) {
	switch {
	case p.Omitted:
		r.Omit(k)
	case p.State == Failed:
		r.Fail(k, p.Errored)
	default:
		r.Set(k, p.State)
	}
}

// resumed decides about node k once all that it depends on is decided.
func resumed(run *Run, plan *Plan, p Past, verdicts []Verdict, k int) Verdict {
	node := &plan.Nodes[k]
	if node.Final {
		return Verdict{AtTheEnd, NoNode}
	}
	if p.Changed {
		return Verdict{Changed, NoNode}
	}
	for _, d := range node.Dependencies {
		if verdicts[d].RunReason != Taken {
			return Verdict{Downstream, d}
		}
	}
	if settled(run, node, p, k) {
		return Verdict{Taken, NoNode}
	}
	return Verdict{Unfinished, NoNode}
}

// settled reports whether node k, whose dependencies are all taken over, ended in a
// way that Next would come to again or accept. Of a node that became others, a failure
// never does: which of them succeeded is known to its own rows alone.
func settled(run *Run, node *Node, p Past, k int) bool {
	switch p.State {
	case Succeeded:
		return true
	case Failed:
		return (node.Watches || failureOf(p.Errored)&(node.MayFail|node.handled) != 0) && !node.Expands
	case Skipped:
		if !p.Omitted {
			return true
		}
		_, again := run.blocked(k)
		return again
	case Pending, Ready, Queued, Running, Retrying, Cancelled:
	}
	return false
}

// Runs reports whether anything but final nodes runs by verdicts.
func Runs(verdicts []Verdict) bool {
	for _, v := range verdicts {
		if v.RunReason != Taken && v.RunReason != AtTheEnd {
			return true
		}
	}
	return false
}
