package dag

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// pastOf returns the results of the nodes of plan in run.
func pastOf(run *Run, plan *Plan) []Past {
	past := make([]Past, len(plan.Nodes))
	for k := range plan.Nodes {
		past[k] = Past{State: run.State(k), Omitted: run.Omitted(k), Errored: run.nodes[k].errored}
	}
	return past
}

// endedRun plays a whole random run and returns it.
func endedRun(t *testing.T, seed uint64) *simulation {
	t.Helper()
	s := newSimulation(t, seed)
	s.settle(nil)
	for cancelAt := s.rng.IntN(40); cancelAt > 0 && !s.done; cancelAt-- {
		if s.step(); cancelAt == 1 && !s.done && seed%3 == 0 {
			s.cancelled = true
			s.settle(s.run.Halt(Root, true))
		}
	}
	s.play()
	return s
}

// play steps until the run has ended.
func (s *simulation) play() {
	for !s.done {
		s.step()
	}
}

func TestResumeProperties(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3000) {
		s := endedRun(t, seed)
		rng := rand.New(rand.NewPCG(seed, 7))
		past := pastOf(s.run, s.plan)
		for k := range past {
			past[k].Changed = rng.IntN(8) == 0
		}
		verdicts := Resume(s.plan, past)
		checkVerdicts(t, seed, s.plan, past, verdicts)

		// More changes never run fewer nodes.
		more := append([]Past(nil), past...)
		more[rng.IntN(len(more))].Changed = true
		for k, v := range Resume(s.plan, more) {
			if v.RunReason == Reused {
				require.Equal(t, Reused, verdicts[k].RunReason, "seed %d node %d", seed, k)
			}
		}
		carryOver(t, seed, s.plan, past, verdicts)
	}
}

// checkVerdicts checks that a node runs exactly when it has a reason, and that the
// reason is true.
func checkVerdicts(t *testing.T, seed uint64, plan *Plan, past []Past, verdicts []Verdict) {
	t.Helper()
	for k, v := range verdicts {
		at := fmt.Sprintf("seed %d node %d %+v %+v", seed, k, v, past[k])
		node := &plan.Nodes[k]
		upstream := false
		for _, d := range plan.Upstream(k) {
			again := verdicts[d].RunReason == Serving || plan.Nodes[d].Serves && past[d].State == Cancelled
			upstream = upstream || verdicts[d].RunReason != Reused && !again
		}
		switch v.RunReason {
		case Reused:
			require.False(t, upstream, at)
			require.False(t, past[k].Changed || node.Final, at)
			require.True(t, past[k].State == Succeeded || past[k].State == Skipped || past[k].State == Failed && (node.Watches || failureOf(past[k].Errored)&(node.MayFail|node.handled) != 0), at)
		case Changed:
			require.True(t, past[k].Changed, at)
		case Unfinished:
			require.False(t, upstream, at)
			require.NotEqual(t, Succeeded, past[k].State, at)
		case Downstream:
			require.Contains(t, node.Dependencies, v.Cause, at)
			require.NotEqual(t, Reused, verdicts[v.Cause].RunReason, at)
		case Serving:
			require.True(t, node.Serves, at)
			require.Contains(t, plan.Downstream(k), v.Cause, at)
			require.NotContains(t, []RunReason{Reused, Final}, verdicts[v.Cause].RunReason, at)
		case Final:
			require.True(t, node.Final, at)
		}
	}
}

// carryOver runs Next from the reused results: no reused node begins again, and the run
// ends.
func carryOver(t *testing.T, seed uint64, plan *Plan, past []Past, verdicts []Verdict) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 9))
	s := &simulation{
		t: t, rng: rng, plan: plan, run: NewRun(plan, 0),
		conditions: map[int]bool{}, empty: map[int]bool{}, attempts: map[int]int{}, alive: map[int]bool{}, stopped: map[int]bool{}, recalled: map[int]bool{}, read: map[int]map[int]int{}, dismissed: map[int]bool{},
	}
	for k, v := range verdicts {
		if v.RunReason == Reused {
			s.run.preset(k, past[k])
		}
	}
	s.settle(nil)
	s.play()
	require.True(t, s.run.Ended(), "seed %d", seed)
	for k, v := range verdicts {
		if v.RunReason == Reused {
			require.Zero(t, s.attempts[k], "seed %d node %d began again", seed, k)
			require.Equal(t, past[k].State, s.run.State(k), "seed %d node %d", seed, k)
		}
	}
}

// TestResumeOfNothing: when all nodes succeeded and nothing changed, only final nodes
// run.
func TestResumeOfNothing(t *testing.T) {
	t.Parallel()
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 3))
		plan := randomPlan(t, rng, 1+rng.IntN(12), 0)
		past := make([]Past, len(plan.Nodes))
		for k := range past {
			past[k].State = Succeeded
		}
		require.False(t, Runs(Resume(plan, past)), seed)
		k := rng.IntN(len(past))
		past[k].Changed = true
		if plan.Nodes[k].Final {
			continue
		}
		want := map[int]bool{k: true}
		for _, d := range plan.Downstream(k) {
			want[d] = true
		}
		for i := range plan.Nodes {
			for _, d := range plan.Downstream(i) {
				want[i] = want[i] || plan.Nodes[i].Serves && want[d] && !plan.Nodes[d].Final
			}
		}
		for i, v := range Resume(plan, past) {
			if !plan.Nodes[i].Final {
				require.Equal(t, want[i], v.RunReason != Reused, "seed %d node %d", seed, i)
			}
		}
	}
}
