package dag

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// concludes checks the result of the run against the states of its nodes, forwards from
// the failures, whereas Outcome searches backwards from the ends.
func (s *simulation) concludes() {
	for index := range s.run.scopes {
		if s.run.shapes[index].plan == nil || s.run.scopes[index].outside {
			continue
		}
		s.concludesAs(index, s.run.Outcome(index))
	}
	if !s.cancelled {
		require.NotEqual(s.t, Cancelled, s.run.Conclude(Uninterrupted), "the run was not cancelled")
	}
	if s.run.Count(Cancelled) > 0 {
		require.Equal(s.t, Cancelled, s.run.Conclude(ByPerson))
		require.Equal(s.t, Failed, s.run.Conclude(ByTimeout))
	}
}

func (s *simulation) concludesAs(index int, got State) {
	in, unhandled, kept := &s.run.shapes[index], false, false
	because := make([]bool, in.size) // omitted because of a failure
	for _, level := range in.plan.Levels {
		for _, k := range level {
			i, node := in.base+k, &in.plan.Nodes[k]
			n := &s.run.nodes[i]
			if node.Watches {
				continue
			}
			end := !slices.ContainsFunc(node.Dependents, func(d int) bool { return !in.plan.Nodes[d].Watches })
			if n.state == Failed && s.run.Unhandled(i) {
				unhandled = unhandled || end || node.OnFailure != Continue && !node.Final
			}
			if n.state != Cancelled && !n.omitted {
				continue
			}
			because[k] = slices.ContainsFunc(node.Dependencies, func(d int) bool {
				return because[d] || s.run.State(in.base+d) == Failed && s.run.kept(in, node, d) && !in.plan.Nodes[d].Watches
			})
			kept = kept || end && because[k]
		}
	}
	switch {
	case unhandled:
		require.Equal(s.t, Failed, got, "an unhandled failure")
	case kept:
		require.Equal(s.t, Failed, got, "a failure kept an end from running")
	default:
		require.NotEqual(s.t, Failed, got, "no failure counts")
	}
	if got == Succeeded {
		s.succeeded++
	}
	if got == Failed && s.run.scopes[index].cancelled > 0 {
		s.halted++
	}
}

// ends drives r until it has ended: nodes fail with failing, the others succeed. Nodes
// end in the order of the document, or in reverse.
func ends(t *testing.T, r *Run, failing func(name string) bool, last bool) {
	t.Helper()
	changed := []int(nil)
	for range 1000 {
		actions := Next(r, changed)
		changed = []int{}
		for _, a := range actions {
			switch a.Kind {
			case MakeReady:
				r.Set(a.Node, Running)
			case OmitNode:
				r.Omit(a.Node)
			case CancelNode, StopNode:
				r.Set(a.Node, Cancelled)
			case HaltScope:
				changed = append(changed, r.Halt(a.Scope, false)...)
			case DrainScope:
				changed = append(changed, r.Drain(a.Scope)...)
			case FinishRun:
				return
			case Evaluate, HoldNode, EndGroup, DismissNode, RecallNode:
				t.Fatalf("unexpected action %+v", a)
			}
			changed = append(changed, a.Node)
		}
		if len(changed) > 0 {
			continue
		}
		for k := range r.Size() {
			i := k
			if last {
				i = r.Size() - 1 - k
			}
			if r.State(i) != Running {
				continue
			}
			if failing(r.planned(i).Name) {
				r.Fail(i, false)
			} else {
				r.Set(i, Succeeded)
			}
			changed = []int{i}
			break
		}
	}
	t.Fatal("the run never ended")
}

// TestFailureIsNoCancellation: an execution whose first task fails is FAILED,
// regardless of the number of later nodes, of parallel nodes and of the policy.
func TestFailureIsNoCancellation(t *testing.T) {
	t.Parallel()
	after := func(names ...string) []Dependency {
		var all []Dependency
		for _, n := range names {
			all = append(all, Dependency{Name: n})
		}
		return all
	}
	shapes := map[string][]Spec{
		"diamond":   {{Name: "bad"}, {Name: "left", Dependencies: after("bad")}, {Name: "right", Dependencies: after("bad")}, {Name: "join", Dependencies: after("left", "right")}, {Name: "end", Dependencies: after("join")}},
		"two roots": {{Name: "bad"}, {Name: "other"}, {Name: "a", Dependencies: after("other")}, {Name: "b", Dependencies: after("a", "bad")}, {Name: "c", Dependencies: after("b")}},
		"apart":     {{Name: "bad"}, {Name: "other"}, {Name: "a", Dependencies: after("other")}, {Name: "b", Dependencies: after("a")}},
	}
	for n := 1; n <= 8; n++ {
		chain := []Spec{{Name: "bad"}}
		for k := 1; k < n; k++ {
			chain = append(chain, Spec{Name: fmt.Sprint(k), Dependencies: after(chain[k-1].Name)})
		}
		shapes[fmt.Sprintf("chain of %d", n)] = chain
	}
	for name, specs := range shapes {
		for _, policy := range []Policy{Continue, Drain, Stop} {
			for _, last := range []bool{false, true} {
				specs := slices.Clone(specs)
				for i := range specs {
					specs[i].OnFailure = policy
				}
				plan, problems := Compile(specs)
				require.Empty(t, problems)
				r := NewRun(plan, 0)
				ends(t, r, func(name string) bool { return name == "bad" }, last)
				require.Equal(t, Failed, r.Conclude(Uninterrupted), "%s, policy %d, last first: %v", name, policy, last)
				require.Equal(t, 0, r.FailureSource(Root, false), name)
			}
		}
	}
}

// TestAllowedFailures: MayFail tolerates the failures it names, but not that such a
// failure kept another node from running.
func TestAllowedFailures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		allows  Failures
		errored bool
		rule    string // of the next node; "" for no next node
		want    State
	}{
		{OfTask, false, "", Succeeded},
		{OfTask, true, "", Failed},
		{OfSystem, true, "", Succeeded},
		{OfSystem, false, "", Failed},
		{AnyFailure, true, "", Succeeded},
		{OfSystem, false, "bad.Succeeded || bad.Errored", Failed},
		{OfSystem, true, "bad.Succeeded || bad.Errored", Succeeded},
		{OfTask, true, "bad.Succeeded || bad.Failed", Failed},
		{AnyFailure, false, "bad.Succeeded", Failed},
		{NoFailure, true, "bad.Succeeded || bad.Failed", Failed},
		{NoFailure, false, "bad.Succeeded || bad.Failed", Succeeded},
	} {
		for _, policy := range []Policy{Continue, Drain, Stop} {
			specs := []Spec{{Name: "bad", Traits: Traits{MayFail: c.allows, OnFailure: policy}}}
			if c.rule != "" {
				rule, err := ParseRule(c.rule, HasSucceeded)
				require.NoError(t, err)
				specs = append(specs, Spec{Name: "after", Rule: rule}, Spec{Name: "end", Dependencies: []Dependency{{Name: "after"}}})
			}
			plan, problems := Compile(specs)
			require.Empty(t, problems)
			r := NewRun(plan, 0)
			r.Fail(0, c.errored)
			ends(t, r, func(string) bool { return false }, false)
			require.Equal(t, c.want, r.Conclude(Uninterrupted), "%+v", c)
		}
	}
}
