package dag

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// simulation plays the environment of Next: it starts, fails, retries, expands,
// cancels, pauses and crashes.
type simulation struct {
	t          *testing.T
	rng        *rand.Rand
	run        *Run
	plan       *Plan
	limit      int
	expansions []expanded
	conditions map[int]bool
	empty      map[int]bool // nodes that expanded into nothing and were skipped
	attempts   map[int]int  // attempts that a node has begun
	alive      map[int]bool // nodes with a live attempt
	stopped    map[int]bool
	recalled   map[int]bool        // nodes whose attempt is being stopped, and that then become PENDING
	read       map[int]map[int]int // which attempts of others the attempt of a node reads
	overlaps   int                 // attempts that began while the node they read was running
	recalls    int
	serves     int
	undrained  int // nodes that began while their scope drained
	outlasted  int // nodes that began although their scope was halted
	watched    int // ends that were checked without watching nodes
	succeeded  int // scopes that succeeded
	halted     int // scopes that failed and in which something was cancelled
	dismissed  map[int]bool
	cancelled  bool
	done       bool
}

type expanded struct {
	node int
	e    Expansion
}

func newSimulation(t *testing.T, seed uint64) *simulation {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	s := &simulation{
		t: t, rng: rng, plan: randomPlan(t, rng, 1+rng.IntN(12), 2), limit: rng.IntN(6),
		conditions: map[int]bool{}, empty: map[int]bool{}, attempts: map[int]int{}, alive: map[int]bool{}, stopped: map[int]bool{}, recalled: map[int]bool{}, read: map[int]map[int]int{}, dismissed: map[int]bool{},
	}
	s.run = NewRun(s.plan, s.limit)
	return s
}

// crash drops all state that is not in the database, and restores the rest.
func (s *simulation) crash() {
	before := s.run
	s.recalled = map[int]bool{}
	s.run = NewRun(s.plan, s.limit)
	for _, x := range s.expansions {
		s.run.Expand(x.node, x.e)
	}
	for i := range before.nodes {
		if before.nodes[i].active {
			s.run.Begin(i)
		}
		switch {
		case before.Omitted(i):
			s.run.Omit(i)
		case before.State(i) == Failed:
			s.run.Fail(i, before.nodes[i].errored)
		default:
			s.run.Set(i, before.State(i))
		}
		if before.Serving(i) {
			s.run.Serve(i)
		}
	}
	s.run.Pause(before.paused)
	for i := range before.nodes {
		if before.State(i) == Pending {
			require.Equal(s.t, before.Pending(i), s.run.Pending(i))
		}
	}
	for _, state := range []State{Pending, Ready, Queued, Running, Retrying, Succeeded, Failed, Skipped, Cancelled} {
		require.Equal(s.t, before.Count(state), s.run.Count(state), state)
	}
	require.Equal(s.t, before.working, s.run.working)
	require.Equal(s.t, before.LevelsDone(), s.run.LevelsDone())
	if s.cancelled {
		s.run.Halt(Root, true)
	}
	s.settle(nil)
}

// settle carries out actions until there are none.
func (s *simulation) settle(changed []int) {
	for rounds := 0; !s.done; rounds++ {
		require.Less(s.t, rounds, 10_000, "Next does not settle")
		actions := Next(s.run, changed)
		changed = []int{}
		for _, a := range actions {
			changed = append(changed, s.carryOut(a)...)
		}
		if len(changed) == 0 {
			s.readersSettled()
			return
		}
	}
}

func (s *simulation) carryOut(a Action) []int {
	r := s.run
	switch a.Kind {
	case MakeReady:
		s.begin(a.Node)
		if r.traits(a.Node).Expands {
			return append(s.expand(a.Node), a.Node)
		}
	case Evaluate:
		require.Equal(s.t, Pending, r.State(a.Node))
		if _, known := s.conditions[a.Node]; !known {
			s.conditions[a.Node] = s.rng.IntN(3) > 0
		}
		if s.conditions[a.Node] {
			r.Pass(a.Node)
		} else {
			r.Set(a.Node, Skipped)
		}
	case HoldNode:
		r.Hold(a.Node, a.InScope)
		return nil
	case OmitNode:
		require.Equal(s.t, Pending, r.State(a.Node))
		s.mayOmit(a.Node)
		r.Omit(a.Node)
	case CancelNode:
		require.False(s.t, s.alive[a.Node], "the node still has a live attempt")
		r.Set(a.Node, Cancelled)
	case StopNode:
		require.True(s.t, s.alive[a.Node])
		s.stopped[a.Node] = true
		return nil
	case DismissNode:
		require.True(s.t, s.alive[a.Node])
		s.othersServe(a.Node)
		s.dismissed[a.Node] = true
		return nil
	case RecallNode:
		require.Contains(s.t, r.planned(a.Node).Reads, r.Position(a.Cause))
		if s.alive[a.Node] {
			s.recalled[a.Node] = true
			return nil
		}
		s.recalls++
		r.Set(a.Node, Pending)
	case HaltScope:
		r.RecordCause(a.Scope, a.Cause)
		return r.Halt(a.Scope, r.ScopeOf(a.Node) != a.Scope)
	case DrainScope:
		r.RecordCause(a.Scope, a.Cause)
		return r.Drain(a.Scope)
	case EndGroup:
		s.endGroup(a)
	case FinishRun:
		s.done = true
		return nil
	}
	return []int{a.Node}
}

// begin checks that the dependencies of node i allow it to begin.
func (s *simulation) begin(i int) {
	r := s.run
	require.Equal(s.t, Pending, r.State(i))
	require.False(s.t, r.Paused())
	scope := &r.scopes[r.ScopeOf(i)]
	node := r.planned(i)
	if node != nil && node.Final {
		require.Zero(s.t, scope.open, "a final node begins last")
	} else {
		require.False(s.t, r.Halted(i))
		require.True(s.t, !scope.draining || r.traits(i).Undrained, "nothing else begins while its scope drains")
	}
	if scope.draining && r.traits(i).Undrained {
		s.undrained++
	}
	if node != nil && node.rule == nil {
		for _, d := range r.DependenciesOf(i) {
			if r.Reads(i, d) && r.State(d) == Running {
				require.True(s.t, s.alive[d], "a node that is read has a live attempt")
				s.overlaps++
				continue
			}
			require.True(s.t, r.State(d) == Succeeded || s.alive[d] && r.Serving(d), "a dependency must succeed or serve first")
		}
	}
	if node != nil && node.rule != nil {
		for _, d := range r.DependenciesOf(i) {
			require.True(s.t, r.State(d).Ended() || r.Serving(d), "a rule sees only ended and serving nodes")
		}
		require.True(s.t, r.satisfied(i))
		if scope.halted && node.Outlasts {
			s.outlasted++
		}
	}
	if r.traits(i).Conditional {
		require.True(s.t, s.conditions[i])
	}
	r.Set(i, Ready)
	if places := r.slots(i); places.limit > 0 && !r.traits(i).Shares {
		require.LessOrEqual(s.t, places.active, places.limit)
	}
	if s.limit > 0 {
		require.LessOrEqual(s.t, r.working, s.limit)
	}
}

// expand expands node i, which is READY.
func (s *simulation) expand(i int) []int {
	depth := 0
	for p := i; p != NoNode; p = s.run.Parent(p) {
		depth++
	}
	e := Expansion{Limit: s.rng.IntN(4)}
	if s.rng.IntN(2) == 0 || s.run.traits(i).Shares {
		e.Items, e.Item, e.Partial = s.rng.IntN(6), randomTraits(s.rng, 2-depth), s.rng.IntN(3) == 0
	} else {
		e.Plan = randomPlan(s.t, s.rng, 1+s.rng.IntN(5), 2-depth)
	}
	if e.Plan == nil && e.Items == 0 && s.rng.IntN(2) == 0 {
		s.empty[i] = true
		s.run.Set(i, Skipped) // the caller may skip a node that expands into nothing
		return nil
	}
	s.expansions = append(s.expansions, expanded{i, e})
	first := s.run.Expand(i, e)
	s.run.Set(i, Running)
	_, size := s.run.Members(s.run.Inner(i))
	nodes := make([]int, size)
	for k := range nodes {
		nodes[k] = first + k
	}
	return nodes
}

func (s *simulation) endGroup(a Action) {
	base, size := s.run.Members(s.run.Inner(a.Node))
	for i := base; i < base+size; i++ {
		require.True(s.t, s.run.State(i).Ended(), "a group ends after its nodes")
	}
	if a.State == Failed && s.rng.IntN(4) == 0 && !s.run.Halted(a.Node) {
		s.run.Set(a.Node, Retrying)
		return
	}
	if a.State == Failed {
		s.run.Fail(a.Node, false)
		return
	}
	s.run.Set(a.Node, a.State)
}

// step moves one waiting or active node at random.
func (s *simulation) step() {
	r := s.run
	var open []int
	for i := range r.nodes {
		st, moves := r.State(i), !r.traits(i).Expands && (!r.Serving(i) || s.dismissed[i] || s.stopped[i])
		if !st.Ended() && st != Pending && (moves || st == Retrying) {
			open = append(open, i)
		}
	}
	if len(open) == 0 && r.Paused() {
		r.Pause(false)
		s.settle(nil)
		return
	}
	require.NotEmpty(s.t, open, "the run is stuck")
	i := open[s.rng.IntN(len(open))]
	changed := []int{i}
	switch r.State(i) {
	case Ready, Retrying:
		switch {
		case r.traits(i).Expands:
			changed = append(changed, s.expand(i)...)
		case r.traits(i).Waits:
			r.Set(i, Running)
		default:
			require.False(s.t, s.alive[i], "started twice")
			s.attempts[i]++
			s.alive[i] = true
			s.read[i] = map[int]int{}
			for _, d := range r.DependenciesOf(i) {
				if r.Reads(i, d) {
					s.read[i][d] = s.attempts[d]
				}
			}
			r.Set(i, []State{Queued, Running}[s.rng.IntN(2)])
		}
	case Queued, Running:
		if s.rng.IntN(2) == 0 && s.serve(i) {
			break
		}
		s.finish(i)
	case Pending, Succeeded, Failed, Skipped, Cancelled:
	}
	s.settle(changed)
}

// reopen reopens a node that did not succeed, if it can run again.
func (s *simulation) reopen() {
	i := s.rng.IntN(s.run.Size())
	state := s.run.State(i)
	if !state.Ended() || state == Succeeded || s.done {
		return
	}
	again, ok := s.run.Reopen(i)
	if !ok {
		return
	}
	require.Equal(s.t, i, again[0])
	for _, k := range again {
		require.Equal(s.t, Pending, s.run.State(k))
		delete(s.stopped, k)
		delete(s.dismissed, k)
	}
	s.settle(again)
}

func (s *simulation) finish(i int) {
	delete(s.alive, i)
	recalled := s.recalled[i]
	delete(s.recalled, i)
	reading, stale := s.reading(i)
	switch {
	case recalled:
		s.recalls++
		delete(s.stopped, i)
		s.run.Set(i, Pending)
	case s.stopped[i]:
		s.run.Set(i, Cancelled)
	case s.run.Serving(i): // dismissed, or ended on its own
		s.run.Set(i, Succeeded)
	case stale, reading && s.rng.IntN(2) == 0:
		s.run.Set(i, Retrying)
	case reading && s.rng.IntN(3) == 0:
		s.run.Fail(i, false)
	case reading:
		s.alive[i] = true // it keeps running
	default:
		switch s.rng.IntN(6) {
		case 0:
			s.run.Fail(i, s.rng.IntN(2) == 0)
		case 1:
			s.run.Set(i, Retrying)
		default:
			s.run.Set(i, Succeeded)
		}
	}
}
