package fair

import (
	"container/heap"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// simulation runs a Scheduler on a virtual clock: granted requests run for as long as
// runs says and are released.
type simulation struct {
	*bundle

	ends    endings
	started map[Key]time.Time
	ended   func(Request)
	running map[uuid.UUID]map[int]time.Duration // by execution and node
	seconds map[uuid.UUID]float64               // of one pod, by project, from zero on
	zero    time.Time
}

func play(b *bundle) *simulation {
	return &simulation{
		bundle: b, started: map[Key]time.Time{}, ended: func(Request) {}, running: map[uuid.UUID]map[int]time.Duration{},
		seconds: map[uuid.UUID]float64{}, zero: b.clock.now,
	}
}

// submit requests nodes of one size that run for a time.
func (g *simulation) submit(project string, execution uuid.UUID, amount Amount, took time.Duration, nodes ...int) {
	if g.running[execution] == nil {
		g.running[execution] = map[int]time.Duration{}
	}
	var want []Request
	for _, n := range nodes {
		g.running[execution][n] = took
		want = append(want, g.request(project, execution, n, amount))
	}
	g.start(g.Admit(execution, nil, want))
	g.wake()
}

func (g *simulation) start(granted []Grant, refused []Refusal) {
	for _, r := range refused {
		require.NotEmpty(g.t, r.Reason.Message)
	}
	for _, grant := range granted {
		g.started[grant.Key] = g.clock.now
		h := &holding{Held: Held{Request: grant.Request, Granted: g.clock.now}}
		heap.Push(&g.ends, ending{g.clock.now.Add(g.running[grant.Execution][grant.Node]), h})
	}
}

// wake lets woken executions claim their offers.
func (g *simulation) wake() {
	for len(g.woken) > 0 {
		e := g.woken[0]
		g.woken = g.woken[1:]
		g.start(g.Admit(e, nil, nil))
	}
}

// until advances to a time or until nothing runs.
func (g *simulation) until(end time.Time) {
	for len(g.ends) > 0 && !g.ends[0].at.After(end) {
		next := heap.Pop(&g.ends).(ending)
		g.clock.now = next.at
		r := next.h.Request
		if from := later(next.h.Granted, g.zero); next.at.After(from) {
			g.seconds[r.Project] += next.at.Sub(from).Seconds()
		}
		g.start(g.Admit(r.Execution, []int{r.Node}, nil))
		g.ended(r)
		g.wake()
	}
	g.clock.now = end
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// TestSharesFollowWeights: ten teams of weights 1 to 10 that always have work get their
// shares of a full cluster within 2 %, with current use only and with history; within 5
// % when their tasks have different sizes.
func TestSharesFollowWeights(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		history float64
		cpu     func(team int) int
		within  float64
	}{
		"present use":  {-1, func(int) int { return 1000 }, 0.02},
		"with history": {0.5, func(int) int { return 1000 }, 0.02},
		// Capacity that is freed in small pieces goes to small requests.
		"different sizes": {0.5, func(team int) int { return 500 * (1 + team%3) }, 0.05},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := grow(Vector{CPU: 220_000}).tenant("a", Limits{})
			for i := range 10 {
				team := fmt.Sprintf("a/t%d", i)
				f.team(team, Limits{Weight: float64(i + 1)}).project(team+"/p", Limits{})
			}
			g := play(f.schedule(t, func(c2 *Config) { c2.HistoryWeight = c.history }))
			node := 0
			size := map[uuid.UUID]float64{}
			team := map[uuid.UUID]int{}
			more := func(i int) {
				project := fmt.Sprintf("a/t%d/p", i)
				cpu := c.cpu(i)
				team[g.ids[project]], size[g.ids[project]] = i, float64(cpu)
				node++
				took := time.Duration(40+(node*37)%41) * time.Second
				g.submit(project, uuid.NewSHA1(uuid.NameSpaceOID, fmt.Append(nil, node)), Amount{CPUMillis: cpu}, took, 0)
			}
			g.ended = func(r Request) { more(team[r.Project]) }
			for i := range 10 {
				for range 100 {
					more(i)
				}
			}
			g.until(g.clock.now.Add(5 * time.Minute))
			g.zero, g.seconds = g.clock.now, map[uuid.UUID]float64{}
			g.until(g.clock.now.Add(15 * time.Minute))
			total := 0.0
			for id, s := range g.seconds {
				total += s * size[id]
			}
			for id, s := range g.seconds {
				want, got := float64(team[id]+1)/55, s*size[id]/total
				require.LessOrEqual(t, math.Abs(got-want)/want, c.within, "team of weight %d: %.4f instead of %.4f", team[id]+1, got, want)
			}
		})
	}
}

// TestFloodDelaysNobody: 10,000 tasks of one team at once delay no other team's
// work within its guarantee by more than one task.
func TestFloodDelaysNobody(t *testing.T) {
	t.Parallel()
	const task = time.Minute
	f := grow(Vector{CPU: 40_000}).tenant("a", Limits{})
	for i := range 4 {
		team := fmt.Sprintf("a/t%d", i)
		f.team(team, Limits{Limit: Vector{CPU: 10_000}, Borrow: Vector{CPU: 40_000}}).project(team+"/p", Limits{})
	}
	g := play(f.schedule(t))
	flood := uuid.New()
	nodes := make([]int, 10_000)
	for i := range nodes {
		nodes[i] = i
	}
	g.submit("a/t0/p", flood, Amount{CPUMillis: 1000}, task, nodes...)
	require.Len(t, g.ends, 40, "the flood borrows all idle capacity")
	requested := map[Key]time.Time{}
	for round := range 20 {
		g.until(g.clock.now.Add(97 * time.Second))
		for i := 1; i < 4; i++ {
			e := uuid.NewSHA1(uuid.NameSpaceOID, fmt.Append(nil, round, i))
			count := 1 + (round*7+i)%10
			for n := range count {
				requested[Key{e, n}] = g.clock.now
			}
			g.submit(fmt.Sprintf("a/t%d/p", i), e, Amount{CPUMillis: 1000}, task/2, nodes[:count]...)
		}
	}
	g.until(g.clock.now.Add(3 * task))
	for key, at := range requested {
		started, ok := g.started[key]
		require.True(t, ok)
		require.LessOrEqual(t, started.Sub(at), task)
	}
	require.Equal(t, int64(40_000), g.used(CPU), "and the flood still fills the rest")
}

// TestLargeOneIsNotStarved: small tasks of its own and of other teams keep arriving,
// and the large one still starts.
func TestLargeOneIsNotStarved(t *testing.T) {
	t.Parallel()
	f := grow(Vector{CPU: 8_000}).tenant("a", Limits{Limit: Vector{CPU: 8000}}).tenant("b", Limits{Limit: Vector{CPU: 4000}, Borrow: Vector{CPU: 4000}})
	f.project("a/large", Limits{}).project("a/small", Limits{}).project("b/small", Limits{})
	g := play(f.schedule(t))
	node := 0
	more := func(project string) {
		node++
		g.submit(project, uuid.NewSHA1(uuid.NameSpaceOID, fmt.Append(nil, node)), Amount{CPUMillis: 1000}, time.Duration(10+node%7)*time.Second, 0)
	}
	g.ended = func(r Request) {
		for _, project := range []string{"a/small", "b/small"} {
			if r.Project == g.ids[project] {
				more(project)
			}
		}
	}
	for range 16 {
		more("a/small")
		more("b/small")
	}
	g.until(g.clock.now.Add(time.Minute))
	large := uuid.New()
	g.submit("a/large", large, Amount{CPUMillis: 6000}, time.Minute, 0)
	g.until(g.clock.now.Add(10 * time.Minute))
	_, started := g.started[Key{large, 0}]
	require.True(t, started)
}
