package dag

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// mayOmit checks that a node that may begin while its scope drains is omitted because
// of its dependencies, and not because the scope drains.
func (s *simulation) mayOmit(i int) {
	r := s.run
	if !r.traits(i).Undrained {
		return
	}
	node := r.planned(i)
	require.NotNil(s.t, node, "an item depends on nothing")
	base := r.around(i).base
	if node.rule != nil {
		require.False(s.t, node.rule.holds(func(d int, status Status) bool { return r.is(base+d, status) }))
		return
	}
	bad := false
	for _, d := range r.DependenciesOf(i) {
		bad = bad || r.State(d) == Failed || r.State(d) == Skipped
	}
	require.True(s.t, bad, "a dependency did not succeed")
}

// watchersCountNothing checks that the result of the run does not depend on the end
// states of watching nodes.
func (s *simulation) watchersCountNothing() {
	if s.run.Count(Cancelled) > 0 {
		return // its failure counts in any case
	}
	for _, state := range []State{Succeeded, Failed, Skipped} {
		other := NewRun(s.plan, 0)
		for i := range s.plan.Nodes {
			p := Past{State: s.run.State(i), Omitted: s.run.Omitted(i), Errored: s.run.nodes[i].errored}
			if s.plan.Nodes[i].Watches {
				p = Past{State: state, Omitted: state == Skipped}
				s.watched++
			}
			other.preset(i, p)
		}
		want := s.run.Outcome(Root)
		require.Equal(s.t, want, other.Outcome(Root))
		require.Equal(s.t, want == Failed, other.FailureSource(Root, false) != NoNode)
		require.Equal(s.t, want == Failed, other.FailureSource(Root, true) != NoNode)
	}
}

// watched compiles bad, slow, a node after slow, and a hook for each.
func watched(t *testing.T) *Run {
	t.Helper()
	ended := func(name string) *Rule {
		rule, err := ParseRule(name+".Succeeded || "+name+".Failed || "+name+".Errored", HasSucceeded)
		require.NoError(t, err)
		return rule
	}
	hook := Traits{Watches: true, Undrained: true}
	drains := Traits{OnFailure: Drain}
	plan, problems := Compile([]Spec{
		{Name: "bad", Traits: drains}, {Name: "slow", Traits: drains},
		{Name: "after", Traits: drains, Dependencies: []Dependency{{Name: "slow"}}},
		{Name: "bad-exit", Rule: ended("bad"), Traits: hook},
		{Name: "slow-exit", Rule: ended("slow"), Traits: hook},
		{Name: "after-exit", Rule: ended("after"), Traits: hook},
	})
	require.Empty(t, problems)
	return NewRun(plan, 0)
}

// TestHooksRunWhileTheirScopeDrains: hooks run for nodes that have begun, and for no
// others.
func TestHooksRunWhileTheirScopeDrains(t *testing.T) {
	t.Parallel()
	r := watched(t)
	r.Set(0, Running)
	r.Set(1, Running)
	require.Empty(t, Next(r, nil))
	r.Fail(0, false)
	require.Equal(t, []Action{
		{Kind: DrainScope, Node: 0, Cause: 0},
		{Kind: MakeReady, Node: 3, Cause: NoNode},
	}, Next(r, []int{0}))
	r.RecordCause(Root, 0)
	r.Set(3, Running)
	require.Equal(t, []Action{{Kind: OmitNode, Node: 2, Cause: 0}}, Next(r, r.Drain(Root)))
	r.Omit(2)
	require.Equal(t, []Action{{Kind: OmitNode, Node: 5, Cause: 2}}, Next(r, []int{2}))
	r.Omit(5)
	r.Set(1, Succeeded)
	require.Equal(t, []Action{{Kind: MakeReady, Node: 4, Cause: NoNode}}, Next(r, []int{1}))
	r.Set(4, Running)
	r.Fail(4, false)
	require.Empty(t, Next(r, []int{4}), "the failure of a hook does not affect other nodes")
	r.Set(3, Succeeded)
	require.Equal(t, []Action{{Kind: FinishRun, Node: NoNode, Cause: NoNode}}, Next(r, []int{3}))
	require.Equal(t, Failed, r.Outcome(Root))
}

// TestExitHooksOutlastAHalt: they run for nodes that a halt stopped, and for no others.
func TestExitHooksOutlastAHalt(t *testing.T) {
	t.Parallel()
	r := watched(t)
	for i := 3; i < 6; i++ {
		r.shapes[Root].plan.Nodes[i].Outlasts = true
	}
	r.Set(0, Succeeded)
	r.Set(3, Running)
	r.Set(1, Running)
	require.Equal(t, []Action{
		{Kind: StopNode, Node: 1, Cause: NoNode}, {Kind: CancelNode, Node: 2, Cause: NoNode},
	}, Next(r, r.Halt(Root, true)), "a hook that runs is not stopped")
	r.Set(2, Cancelled)
	require.Equal(t, []Action{{Kind: CancelNode, Node: 5, Cause: 2}}, Next(r, []int{2}), "its node had not begun")
	r.Set(5, Cancelled)
	r.Set(1, Cancelled)
	require.Equal(t, []Action{{Kind: MakeReady, Node: 4, Cause: NoNode}}, Next(r, []int{1}))
	r.Set(4, Succeeded)
	r.Set(3, Succeeded)
	require.Equal(t, []Action{{Kind: FinishRun, Node: NoNode, Cause: NoNode}}, Next(r, []int{3, 4}))
	require.Equal(t, Cancelled, r.Conclude(ByPerson))
}

// TestHooksCountForNothing when they fail, or when they do not run although the node
// that they watch was omitted and a rule handles that.
func TestHooksCountForNothing(t *testing.T) {
	t.Parallel()
	r := watched(t)
	for i, state := range []State{Succeeded, Succeeded, Succeeded, Failed, Failed, Cancelled} {
		if i < 5 {
			r.Set(i, state)
		} else {
			r.Omit(i)
		}
	}
	require.Equal(t, Succeeded, r.Outcome(Root))

	rule, err := ParseRule("after.Omitted", HasSucceeded)
	require.NoError(t, err)
	ended, err := ParseRule("after.Failed", HasSucceeded)
	require.NoError(t, err)
	takesUp, err := ParseRule("bad.Succeeded", HasSucceeded)
	require.NoError(t, err)
	plan, problems := Compile([]Spec{
		{Name: "bad"}, {Name: "after", Rule: takesUp}, {Name: "instead", Rule: rule}, {Name: "after-exit", Rule: ended, Traits: Traits{Watches: true}},
	})
	require.Empty(t, problems)
	r = NewRun(plan, 0)
	r.Fail(0, false)
	r.Omit(1)
	r.Set(2, Succeeded)
	r.Omit(3)
	require.Equal(t, Succeeded, r.Outcome(Root))
}

func TestFailureSource(t *testing.T) {
	t.Parallel()
	plan, problems := Compile([]Spec{
		{Name: "a"}, {Name: "b"}, {Name: "of-b", Dependencies: []Dependency{{Name: "b"}}}, {Name: "many", Traits: Traits{Expands: true}},
	})
	require.Empty(t, problems)
	r := NewRun(plan, 0)
	require.Equal(t, NoNode, r.FailureSource(Root, false))
	r.Fail(0, false)
	r.Fail(1, true)
	r.Omit(2)
	first := r.Expand(3, Expansion{Items: 4})
	r.Fail(first+1, false)
	r.Fail(first+2, false)
	require.Equal(t, first+1, r.FailureSource(r.Inner(3), false))
	require.Equal(t, first+2, r.FailureSource(r.Inner(3), true))
	r.Set(3, Succeeded)
	require.Equal(t, 0, r.FailureSource(Root, false))
	require.Equal(t, 1, r.FailureSource(Root, true), "it made one of the ends be omitted")
}
