package dag

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// randomPlan returns an acyclic plan of n nodes.
func randomPlan(t *testing.T, rng *rand.Rand, n int) *Plan {
	t.Helper()
	specs := make([]Spec, n)
	for i := range specs {
		specs[i].Name = fmt.Sprintf("n%d", i)
		for d := range i {
			if rng.IntN(i+1) < 2 {
				specs[i].Dependencies = append(specs[i].Dependencies, Dependency{Name: fmt.Sprintf("n%d", d)})
			}
		}
	}
	plan, problems := Compile(specs)
	require.Empty(t, problems)
	return plan
}

// simulation plays the world around Next: it starts, fails, retries and stops.
type simulation struct {
	t       *testing.T
	rng     *rand.Rand
	run     *Run
	started []int
	active  map[int]bool
	stop    map[int]bool
	done    bool
}

// settle carries out actions until there are none.
func (s *simulation) settle(changed []int) {
	for !s.done {
		actions := Next(s.run, changed)
		if len(actions) == 0 {
			return
		}
		changed = []int{}
		for _, a := range actions {
			switch a.Kind {
			case MakeReady:
				require.Equal(s.t, Pending, s.run.State(a.Node))
				for _, d := range s.run.Plan().Nodes[a.Node].Dependencies {
					require.Equal(s.t, Succeeded, s.run.State(d), "a dependency has to succeed first")
				}
				s.run.Set(a.Node, Ready)
				changed = append(changed, a.Node)
			case SkipNode:
				s.run.Set(a.Node, Skipped)
				changed = append(changed, a.Node)
			case CancelNode:
				require.False(s.t, s.active[a.Node], "no attempt may be alive")
				s.run.Set(a.Node, Cancelled)
				changed = append(changed, a.Node)
			case StopNode:
				require.True(s.t, s.active[a.Node])
				s.stop[a.Node] = true
			case HaltRun:
				require.False(s.t, s.run.Halted())
				s.run.Halt()
				changed = nil
			case FinishRun:
				s.done = true
			}
		}
		if changed != nil && len(changed) == 0 {
			return
		}
	}
}

// step moves one waiting or active node at random.
func (s *simulation) step() {
	var open []int
	for i := range s.run.Plan().Nodes {
		if st := s.run.State(i); !st.Ended() && st != Pending {
			open = append(open, i)
		}
	}
	require.NotEmpty(s.t, open, "the run is stuck")
	i := open[s.rng.IntN(len(open))]
	switch s.run.State(i) {
	case Ready, Retrying:
		require.False(s.t, s.active[i], "started twice")
		s.started[i]++
		s.active[i] = true
		s.run.Set(i, Running)
	case Queued, Running:
		delete(s.active, i)
		switch {
		case s.stop[i]:
			s.run.Set(i, Cancelled)
		case s.rng.IntN(8) == 0:
			s.run.Set(i, Failed)
		case s.rng.IntN(6) == 0:
			s.run.Set(i, Retrying)
		default:
			s.run.Set(i, Succeeded)
		}
	case Pending, Succeeded, Failed, Skipped, Cancelled:
	}
	s.settle([]int{i})
}

func TestNextAlwaysEnds(t *testing.T) {
	t.Parallel()
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 1))
		plan := randomPlan(t, rng, 1+rng.IntN(40))
		n := len(plan.Nodes)
		states := make([]State, n)
		for i := range states {
			states[i] = Pending
		}
		run := NewRun(plan, states, func(i int) bool { return (uint64(i)+seed)%5 == 0 })
		s := &simulation{t: t, rng: rng, run: run, started: make([]int, n), active: map[int]bool{}, stop: map[int]bool{}}
		s.settle(nil)
		cancelAt := rng.IntN(200)
		for step := 0; !s.done; step++ {
			require.Less(t, step, 100*n+100, "seed %d does not end", seed)
			if step == cancelAt && !run.Halted() {
				run.Halt()
				s.settle(nil)
				continue
			}
			s.step()
			if rng.IntN(10) == 0 { // a restart decides the same from all states
				s.settle(nil)
			}
		}
		require.True(t, run.Ended())
		require.Equal(t, len(plan.Levels), run.LevelsDone())
		checkEnd(t, run)
	}
}

// checkEnd: what ended well had all it needed, what was skipped had not.
func checkEnd(t *testing.T, run *Run) {
	t.Helper()
	for i, node := range run.Plan().Nodes {
		bad := 0
		for _, d := range node.Dependencies {
			if run.State(d) != Succeeded {
				bad++
			}
		}
		switch run.State(i) {
		case Succeeded, Failed:
			require.Zero(t, bad)
		case Skipped:
			require.NotZero(t, bad)
		case Cancelled:
			require.True(t, run.Halted())
		case Pending, Ready, Queued, Running, Retrying:
			t.Fatalf("node %d is still %s", i, run.State(i))
		}
	}
}

// TestNextNamesOnlyWhatChanged: one change of a large plan decides on that node's
// dependents alone.
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
	states := make([]State, len(specs))
	for i := range states {
		states[i] = Pending
	}
	run := NewRun(plan, states, func(int) bool { return false })
	run.Set(0, Succeeded)
	require.Equal(t, []Action{{Kind: MakeReady, Node: 1, Cause: -1}, {Kind: MakeReady, Node: 2, Cause: -1}}, Next(run, []int{0}))
}
