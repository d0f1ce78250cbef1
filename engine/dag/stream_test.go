package dag

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// stream compiles make → read, in which read reads make while it runs, and applies
// changes to both.
func stream(t *testing.T, changes ...func(maker, reader *Spec)) *Run {
	t.Helper()
	specs := []Spec{{Name: "make"}, {Name: "read", Dependencies: []Dependency{{Name: "make", Label: "rows", Streams: true}}}}
	for _, change := range changes {
		change(&specs[0], &specs[1])
	}
	plan, problems := Compile(specs)
	require.Empty(t, problems)
	return NewRun(plan, 0)
}

// begin moves both nodes to RUNNING.
func begin(t *testing.T, r *Run) {
	t.Helper()
	require.Equal(t, []Action{{Kind: MakeReady, Node: 0, Cause: NoNode}}, Next(r, nil))
	r.Set(0, Ready)
	r.Set(0, Queued)
	require.Empty(t, Next(r, []int{0}), "an attempt that has not begun writes nothing")
	r.Set(0, Running)
	require.Equal(t, []Action{{Kind: MakeReady, Node: 1, Cause: NoNode}}, Next(r, []int{0}))
	r.Set(1, Ready)
	r.Set(1, Queued)
	r.Set(1, Running)
	require.Empty(t, Next(r, []int{1}))
}

func TestAReaderBeginsWhenItsWriterRuns(t *testing.T) {
	t.Parallel()
	r := stream(t)
	begin(t, r)
	r.Set(0, Succeeded)
	require.Empty(t, Next(r, []int{0}))
	r.Set(1, Succeeded)
	require.Equal(t, []Action{{Kind: FinishRun, Node: NoNode, Cause: NoNode}}, Next(r, []int{1}))
	require.Equal(t, Succeeded, r.Outcome(Root))
}

func TestAReaderIsRecalledWhenItsWriterIsTriedAgain(t *testing.T) {
	t.Parallel()
	r := stream(t)
	begin(t, r)
	recall := []Action{{Kind: RecallNode, Node: 1, Cause: 0}}
	r.Set(0, Retrying)
	require.Equal(t, recall, Next(r, []int{0}))
	require.Equal(t, recall, Next(r, nil), "a restart requests it again")
	r.Set(1, Pending)
	require.Empty(t, Next(r, []int{1}))
	require.Equal(t, 1, r.Pending(1))
	r.Set(0, Ready)
	r.Set(0, Running)
	require.Equal(t, []Action{{Kind: MakeReady, Node: 1, Cause: NoNode}}, Next(r, []int{0}))
}

// TestAWriterThatFailsTakesItsReaderWithIt: the failure reaches the end, whether or not
// it stops the run.
func TestAWriterThatFailsTakesItsReaderWithIt(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]Policy{"continue": Continue, "drain": Drain, "stop": Stop} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := stream(t, func(maker, _ *Spec) { maker.OnFailure = policy })
			begin(t, r)
			r.Fail(0, false)
			recalled := false
			for changed := []int{0}; len(changed) > 0; {
				actions := Next(r, changed)
				changed = nil
				for _, a := range actions {
					switch a.Kind {
					case HaltScope:
						changed = append(changed, r.Halt(a.Scope, false)...)
					case DrainScope:
						changed = append(changed, r.Drain(a.Scope)...)
					case RecallNode:
						require.Equal(t, 0, a.Cause)
						recalled = true
						r.Set(1, Pending)
						changed = append(changed, 1)
					case OmitNode:
						r.Omit(a.Node)
					default:
						t.Fatalf("unexpected %+v", a)
					}
				}
			}
			require.True(t, recalled)
			require.True(t, r.Omitted(1))
			require.Equal(t, Failed, r.Outcome(Root))
		})
	}
}

// TestARecalledReaderReleasesItsSlot: a waiting node gets the free slot.
func TestARecalledReaderReleasesItsSlot(t *testing.T) {
	t.Parallel()
	plan, problems := Compile([]Spec{{Name: "make"}, {Name: "read", Dependencies: []Dependency{{Name: "make", Streams: true}}}, {Name: "other"}})
	require.Empty(t, problems)
	r := NewRun(plan, 2)
	r.Set(0, Running)
	r.Set(1, Running)
	require.Equal(t, []Action{{Kind: HoldNode, Node: 2, Cause: NoNode}}, Next(r, nil))
	r.Hold(2, false)
	r.Set(0, Retrying)
	require.Equal(t, []Action{{Kind: RecallNode, Node: 1, Cause: 0}}, Next(r, []int{0}))
	r.Set(1, Pending)
	require.Equal(t, []Action{{Kind: MakeReady, Node: 2, Cause: NoNode}}, Next(r, []int{1}))
}

// TestAReaderRunsAgainBesideItsWriter, when it is reopened.
func TestAReaderRunsAgainBesideItsWriter(t *testing.T) {
	t.Parallel()
	r := stream(t)
	begin(t, r)
	r.Fail(1, false)
	require.Empty(t, Next(r, []int{1}))
	again, ok := r.Reopen(1)
	require.True(t, ok)
	require.Equal(t, []int{1}, again)
	require.Equal(t, []Action{{Kind: MakeReady, Node: 1, Cause: NoNode}}, Next(r, again))
}

// TestNotEveryEdgeStreams: one reason to wait for the end is enough.
func TestNotEveryEdgeStreams(t *testing.T) {
	t.Parallel()
	rule, err := ParseRule("make.Succeeded", HasSucceeded)
	require.NoError(t, err)
	for name, change := range map[string]func(maker, reader *Spec){
		"also for its end":        func(_, r *Spec) { r.Dependencies = append(r.Dependencies, Dependency{Name: "make"}) },
		"a rule":                  func(_, r *Spec) { r.Rule = rule },
		"a reader that expands":   func(_, r *Spec) { r.Expands = true },
		"a reader that waits":     func(_, r *Spec) { r.Waits = true },
		"a reader at the end":     func(_, r *Spec) { r.Final = true },
		"a writer that expands":   func(m, _ *Spec) { m.Expands = true },
		"a writer that waits":     func(m, _ *Spec) { m.Waits = true },
		"nothing that is written": func(_, r *Spec) { r.Dependencies[0].Streams = false },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := stream(t, change)
			r.Set(0, Running)
			require.Empty(t, Next(r, []int{0}))
			require.False(t, r.Reads(1, 0))
		})
	}
}

// readersSettled checks that no node keeps reading a node that no longer runs.
func (s *simulation) readersSettled() {
	for i := range s.run.nodes {
		d := s.run.CutOff(i)
		if st := s.run.State(i); d == NoNode || st == Pending || st.Ended() {
			continue
		}
		require.True(s.t, s.alive[i] && (s.recalled[i] || s.stopped[i] || s.run.Halted(i)), "node %d in %s reads node %d, which is %s", i, s.run.State(i), d, s.run.State(d))
	}
}

// reading reports whether a node that node i reads has not succeeded yet: the attempt
// of i can succeed only after it. stale means that another attempt has replaced the one
// that is read; the attempt of i detects that itself.
func (s *simulation) reading(i int) (reading, stale bool) {
	for d, attempt := range s.read[i] {
		reading = reading || s.run.State(d) != Succeeded
		stale = stale || s.attempts[d] != attempt
	}
	return reading, stale
}
