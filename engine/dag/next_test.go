package dag

import (
	"flag"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	runs = flag.Uint64("runs", 10_000, "random runs of TestNextAlwaysEnds")
	seed = flag.Uint64("seed", 0, "the first seed; -runs 1 -seed N replays one run")
)

// TestNextAlwaysEnds plays random plans with rules, conditions, fan-outs, limits,
// failures, retries, cancellations, pauses and crashes until they end.
func TestNextAlwaysEnds(t *testing.T) {
	t.Parallel()
	overlaps, recalls, serves, undrained, outlasted, watched, succeeded, halted := 0, 0, 0, 0, 0, 0, 0, 0
	for n := *seed; n < *seed+*runs && !t.Failed(); n++ {
		s := playRun(t, n)
		overlaps, recalls, serves = overlaps+s.overlaps, recalls+s.recalls, serves+s.serves
		undrained, outlasted, watched = undrained+s.undrained, outlasted+s.outlasted, watched+s.watched
		succeeded, halted = succeeded+s.succeeded, halted+s.halted
	}
	if *runs >= 1000 {
		require.Greater(t, overlaps, int(*runs)/10, "too few outputs were read while they were written: the test covers too little")
		require.Greater(t, recalls, int(*runs)/50, "too few nodes were recalled: the test covers too little")
		require.Greater(t, serves, int(*runs)/10, "too few nodes served: the test covers too little")
		require.Greater(t, undrained, int(*runs)/200, "too few nodes began while their scope drained: the test covers too little")
		require.Greater(t, outlasted, int(*runs)/500, "too few nodes began in a halted scope: the test covers too little")
		require.Greater(t, watched, int(*runs)/10, "too few nodes watched: the test covers too little")
		require.Greater(t, succeeded, int(*runs)/10, "too few runs succeeded: the test covers too little")
		require.Greater(t, halted, int(*runs)/20, "too few runs were halted by a failure: the test covers too little")
	}
}

func playRun(t *testing.T, seed uint64) *simulation {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("to replay: go test ./engine/dag -run TestNextAlwaysEnds -runs 1 -seed %d", seed)
		}
	}()
	s := newSimulation(t, seed)
	s.settle(nil)
	cancelAt, pauseAt, crashes := s.rng.IntN(120), s.rng.IntN(60), s.rng.IntN(20)
	for step := 0; !s.done; step++ {
		require.Less(t, step, 100*s.run.Size()+1000, "the run never ended")
		switch {
		case step == cancelAt:
			s.cancelled = true
			s.settle(s.run.Halt(Root, true))
		case step == pauseAt:
			s.run.Pause(true)
		case s.rng.IntN(15) == 0:
			s.reopen()
		default:
			s.step()
		}
		if crashes > 0 && s.rng.IntN(crashes) == 0 && !s.done {
			s.crash()
		}
	}
	require.True(t, s.run.Ended())
	require.Equal(t, len(s.plan.Levels), s.run.LevelsDone())
	require.Zero(t, s.run.working)
	for i := range s.run.nodes {
		checkEnd(t, s, i)
	}
	s.watchersCountNothing()
	s.concludes()
	return s
}

// checkEnd checks that every node that ran had its inputs, and every other node a
// reason not to run.
func checkEnd(t *testing.T, s *simulation, i int) {
	t.Helper()
	r := s.run
	state, traits, node := r.State(i), r.traits(i), r.planned(i)
	require.True(t, state.Ended())
	scope := &r.scopes[r.ScopeOf(i)]
	switch {
	case state == Cancelled && !r.Halted(i):
		cancelled := false
		for _, d := range r.DependenciesOf(i) {
			cancelled = cancelled || r.State(d) == Cancelled
		}
		inner := r.Inner(i) != NoNode && r.Outcome(r.Inner(i)) == Cancelled
		require.True(t, cancelled || inner, "node %d was cancelled without a reason", i)
	case state == Skipped && !r.Omitted(i):
		require.True(t, traits.Conditional && !s.conditions[i] || s.empty[i])
	case state == Skipped:
		if node != nil && node.rule == nil && !scope.draining && !scope.halted {
			bad := 0
			for _, d := range r.DependenciesOf(i) {
				if r.State(d) != Succeeded {
					bad++
				}
			}
			require.NotZero(t, bad)
		}
	case state == Succeeded && !traits.Expands && !traits.Waits:
		require.NotZero(t, s.attempts[i])
		for d, attempt := range s.read[i] {
			require.Equal(t, Succeeded, r.State(d), "a reader succeeds only after the node it reads")
			require.Equal(t, s.attempts[d], attempt, "it read the attempt that succeeded")
		}
	}
}

// TestNextNamesOnlyWhatChanged: one change in a large plan decides only about that
// node's dependents.
func TestNextNamesOnlyWhatChanged(t *testing.T) {
	t.Parallel()
	specs := make([]Spec, 10_000)
	for i := range specs {
		specs[i].Name = fmt.Sprintf("n%d", i)
		if i > 0 {
			specs[i].Dependencies = []Dependency{{Name: fmt.Sprintf("n%d", (i-1)/2)}}
		}
	}
	plan, problems := Compile(specs)
	require.Empty(t, problems)
	run := NewRun(plan, 0)
	run.Set(0, Succeeded)
	require.Equal(t, []Action{{Kind: MakeReady, Node: 1, Cause: NoNode}, {Kind: MakeReady, Node: 2, Cause: NoNode}}, Next(run, []int{0}))
}
