package dag

// Past is the result of a node in an earlier run, and whether the node has changed
// since. The zero Past is that of a node that the earlier run did not have.
type Past struct {
	State   State
	Omitted bool // SKIPPED because of its dependencies
	Errored bool // FAILED because of the system, not its task
	Changed bool // its code or inputs changed, or a user requested a rerun
}

// RunReason explains why a node runs in a resumed run, or that its result is reused.
type RunReason int

// The reasons.
const (
	Reused     RunReason = iota // it does not run: its result is reused
	Changed                     // its code or inputs changed
	Unfinished                  // it failed, was cancelled, or never ran
	Downstream                  // it depends on Cause, which runs
	Final                       // it is final: it runs whenever any other node runs
	Serving                     // it serves Cause, which runs
)

// Verdict is the decision about one node. Cause is the position of the node that
// made it necessary, or NoNode.
type Verdict struct {
	RunReason RunReason
	Cause     int
}

// Resume decides which nodes of plan run again and which results are reused, given the
// past of each node. A result is reused when the node succeeded, or ended in another
// way that its plan provides for, and neither the node nor anything upstream of it
// changes. Resume is pure, like Next; the reused results together are a state from
// which Next continues.
func Resume(plan *Plan, past []Past) []Verdict {
	verdicts := make([]Verdict, len(plan.Nodes))
	run := NewRun(plan, 0)
	for _, level := range plan.Levels {
		for _, k := range level {
			p := served(&plan.Nodes[k], past[k])
			v := resumed(run, plan, p, verdicts, k)
			verdicts[k] = v
			if v.RunReason == Reused {
				run.preset(k, p)
			}
		}
	}
	serves(plan, past, verdicts)
	return verdicts
}

// preset gives node k its end state of the earlier run.
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

// resumed decides about node k once all its dependencies are decided.
func resumed(run *Run, plan *Plan, p Past, verdicts []Verdict, k int) Verdict {
	node := &plan.Nodes[k]
	if node.Final {
		return Verdict{Final, NoNode}
	}
	if p.Changed {
		return Verdict{Changed, NoNode}
	}
	for _, d := range node.Dependencies {
		if verdicts[d].RunReason != Reused {
			return Verdict{Downstream, d}
		}
	}
	if settled(run, node, p, k) {
		return Verdict{Reused, NoNode}
	}
	return Verdict{Unfinished, NoNode}
}

// settled reports whether node k, whose dependencies are all reused, ended in a state
// that Next would reach again or accept. A failed node that expanded into others is
// never settled: only the rows of those nodes specify which of them succeeded.
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

// Runs reports whether verdicts let any node run that is not final.
func Runs(verdicts []Verdict) bool {
	for _, v := range verdicts {
		if v.RunReason != Reused && v.RunReason != Final {
			return true
		}
	}
	return false
}
