package dag

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// daemon compiles three nodes: db serves, use depends on db, and last depends on use.
func daemon(t *testing.T, changes ...func(specs []Spec)) *Run {
	t.Helper()
	specs := []Spec{
		{Name: "db", Traits: Traits{Serves: true}}, {Name: "use", Dependencies: []Dependency{{Name: "db"}}},
		{Name: "last", Dependencies: []Dependency{{Name: "use"}}},
	}
	for _, change := range changes {
		change(specs)
	}
	plan, problems := Compile(specs)
	require.Empty(t, problems)
	return NewRun(plan, 0)
}

func TestAServerIsThereForOthersAndEndsAfterThem(t *testing.T) {
	t.Parallel()
	r := daemon(t)
	r.Set(0, Running)
	require.Empty(t, Next(r, []int{0}), "it does not serve yet")
	r.Serve(0)
	require.Equal(t, []Action{{Kind: MakeReady, Node: 1, Cause: NoNode}}, Next(r, []int{0}))
	r.Set(1, Running)
	r.Set(1, Succeeded)
	require.Equal(t, []Action{{Kind: MakeReady, Node: 2, Cause: NoNode}}, Next(r, []int{1}))
	r.Set(2, Running)
	require.Empty(t, Next(r, []int{2}))
	r.Set(2, Succeeded)
	dismiss := []Action{{Kind: DismissNode, Node: 0, Cause: NoNode}}
	require.Equal(t, dismiss, Next(r, []int{2}))
	require.Equal(t, dismiss, Next(r, nil), "a restart requests it again")
	r.Set(0, Succeeded)
	require.Equal(t, []Action{{Kind: FinishRun, Node: NoNode, Cause: NoNode}}, Next(r, []int{0}))
	require.Equal(t, Succeeded, r.Outcome(Root))
}

// TestAServerTakesNoPlace: with a limit of one, the other nodes could otherwise never
// begin.
func TestAServerTakesNoPlace(t *testing.T) {
	t.Parallel()
	plan, problems := Compile([]Spec{{Name: "db", Traits: Traits{Serves: true}}, {Name: "use"}})
	require.Empty(t, problems)
	r := NewRun(plan, 1)
	r.Set(0, Running)
	require.Equal(t, []Action{{Kind: HoldNode, Node: 1, Cause: NoNode}}, Next(r, nil))
	r.Hold(1, false)
	r.Serve(0)
	require.Equal(t, []Action{{Kind: MakeReady, Node: 1, Cause: NoNode}}, Next(r, []int{0}))
}

func TestARuleSeesAServer(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]ActionKind{"db.Daemoned": MakeReady, "db.Succeeded": OmitNode, "db.Succeeded || db.Daemoned": MakeReady, "db.Failed": OmitNode} {
		rule, err := ParseRule(text, HasSucceeded)
		require.NoError(t, err)
		r := daemon(t, func(specs []Spec) { specs[1].Rule = rule })
		r.Set(0, Running)
		require.Empty(t, Next(r, []int{0}))
		r.Serve(0)
		actions := Next(r, []int{0})
		require.Len(t, actions, 1)
		require.Equal(t, want, actions[0].Kind, text)
	}
}

// TestFinalNodesComeAfterServers: no node needs the servers by then.
func TestFinalNodesComeAfterServers(t *testing.T) {
	t.Parallel()
	r := daemon(t, func(specs []Spec) { specs[2] = Spec{Name: "last", Traits: Traits{Final: true}} })
	r.Set(0, Running)
	r.Serve(0)
	r.Set(1, Running)
	r.Fail(1, false)
	require.Equal(t, []Action{{Kind: DismissNode, Node: 0, Cause: NoNode}}, Next(r, []int{1}))
	r.Set(0, Succeeded)
	require.Equal(t, []Action{{Kind: MakeReady, Node: 2, Cause: NoNode}}, Next(r, []int{0}))
}

// TestAServerThatEndsByItself does not stop nodes that have begun.
func TestAServerThatEndsByItself(t *testing.T) {
	t.Parallel()
	r := daemon(t)
	r.Set(0, Running)
	r.Serve(0)
	r.Set(1, Running)
	r.Set(0, Succeeded)
	require.Empty(t, Next(r, []int{0}))
	require.Zero(t, r.Pending(1))
	require.Equal(t, 1, r.Pending(2))
	r.Set(1, Succeeded)
	require.Equal(t, []Action{{Kind: MakeReady, Node: 2, Cause: NoNode}}, Next(r, []int{1}))
}

// TestAServerRunsAgainForWhatItServed reopens the server with the node it served.
func TestAServerRunsAgainForWhatItServed(t *testing.T) {
	t.Parallel()
	r := daemon(t, func(specs []Spec) { specs[2] = Spec{Name: "last"} })
	r.Set(0, Running)
	r.Serve(0)
	r.Set(0, Succeeded)
	r.Set(1, Running)
	r.Fail(1, false)
	again, ok := r.Reopen(1) // last is still open
	require.True(t, ok)
	require.Equal(t, []int{1, 0}, again)
	require.Equal(t, 1, r.Pending(1))
	require.Equal(t, MakeReady, Next(r, again)[0].Kind)
}

func TestResumeBringsServersBack(t *testing.T) {
	t.Parallel()
	r := daemon(t)
	plan := r.shapes[Root].plan
	taken, unfinished := Verdict{Reused, NoNode}, Verdict{Unfinished, NoNode}
	for name, c := range map[string]struct {
		past []State
		want []Verdict
	}{
		"the node it served failed":  {[]State{Succeeded, Failed, Skipped}, []Verdict{{Serving, 1}, unfinished, {Downstream, 1}}},
		"a later node failed":        {[]State{Cancelled, Succeeded, Failed}, []Verdict{{Serving, 2}, taken, unfinished}},
		"it failed itself":           {[]State{Failed, Skipped, Skipped}, []Verdict{unfinished, {Downstream, 0}, {Downstream, 1}}},
		"it was stopped, others not": {[]State{Cancelled, Succeeded, Succeeded}, []Verdict{unfinished, taken, taken}},
		"all succeeded":              {[]State{Succeeded, Succeeded, Succeeded}, []Verdict{taken, taken, taken}},
		"none has begun":             {[]State{Pending, Pending, Pending}, []Verdict{unfinished, {Downstream, 0}, {Downstream, 1}}},
	} {
		past := make([]Past, len(c.past))
		for k, state := range c.past {
			past[k] = Past{State: state, Omitted: state == Skipped}
		}
		require.Equal(t, c.want, Resume(plan, past), name)
	}
}

// serve makes node i serve if it can, and returns whether it did.
func (s *simulation) serve(i int) bool {
	if !s.alive[i] || s.stopped[i] || s.run.Serving(i) {
		return false
	}
	s.run.Set(i, Running)
	s.run.Serve(i)
	if s.run.Serving(i) {
		s.serves++
	}
	return s.run.Serving(i)
}

// othersServe checks that no open node in the scope of node i could need it.
func (s *simulation) othersServe(i int) {
	base, size := s.run.Members(s.run.ScopeOf(i))
	for k := base; k < base+size; k++ {
		require.True(s.t, s.run.State(k).Ended() || s.run.Serving(k) || s.run.traits(k).Final, "node %d may need node %d", k, i)
	}
}
