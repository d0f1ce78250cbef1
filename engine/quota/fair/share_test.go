package fair

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// order returns the projects of waiting requests in the order of admission.
func (b *bundle) order() (projects []string) {
	for _, w := range b.Queue(Filter{}) {
		for path, id := range b.ids {
			if id == w.Project {
				projects = append(projects, path)
			}
		}
	}
	return projects
}

// TestFairTree: a busy project affects its sibling's rank among other teams only
// through the use of the whole team.
func TestFairTree(t *testing.T) {
	t.Parallel()
	b := grow(Vector{CPU: 10_000, GPU: 10}).tenant("a", Limits{}).tenant("b", Limits{Weight: 2}).
		project("a/busy", Limits{}).project("a/calm", Limits{}).project("b/p", Limits{}).schedule(t)
	hold := func(project string, amount Amount) {
		granted, _ := b.admit(project, uuid.New(), amount, 0)
		require.Len(t, granted, 1)
	}
	hold("a/busy", Amount{CPUMillis: 3000})
	hold("b/p", Amount{CPUMillis: 1000, GPUs: 5}) // its dominant resource is GPU: 50 % of weight 2
	hold("a/busy", Amount{GPUs: 5})
	for _, project := range []string{"b/p", "a/busy", "a/calm"} {
		b.admit(project, uuid.New(), Amount{GPUs: 1}, 0)
	}
	require.Equal(t, []string{"b/p", "a/calm", "a/busy"}, b.order())
	queue := b.Queue(Filter{})
	score := queue[0].Reason.Score
	require.Equal(t, "tenant b", score.Levels[0].Level.String())
	require.Equal(t, GPU, score.Levels[0].Dominant)
	require.InDelta(t, 0.5, score.Levels[0].Share, 1e-9)
	require.Len(t, score.Levels, 2)
	require.Equal(t, 1, queue[0].Position)
	require.Equal(t, []LevelRef{{b.ids["b"], "tenant", "b"}, {b.ids["b/p"], "project", "p"}}, queue[0].Path)
	require.Len(t, b.Queue(Filter{Level: b.ids["a"], Limit: 1}), 1)
	require.Equal(t, 2, b.Queue(Filter{Level: b.ids["a"], Limit: 1})[0].Position)
	require.Len(t, b.Queue(Filter{Execution: queue[2].Execution}), 1)
}

// TestGuaranteeBeforeShare: a request within its guarantee goes before one with a
// smaller share.
func TestGuaranteeBeforeShare(t *testing.T) {
	t.Parallel()
	b := grow(gpus(8)).
		tenant("owner", Limits{Limit: gpus(6)}).project("owner/p", Limits{}).
		tenant("guest", Limits{Limit: gpus(1), Borrow: gpus(7), Weight: 100}).project("guest/p", Limits{}).schedule(t)
	b.admit("guest/p", uuid.New(), Amount{GPUs: 1}, 0, 1, 2)
	b.admit("owner/p", uuid.New(), Amount{GPUs: 1}, 0, 1, 2, 3, 4)
	b.admit("guest/p", uuid.New(), Amount{GPUs: 1}, 0)
	b.admit("owner/p", uuid.New(), Amount{GPUs: 1}, 0)
	require.Equal(t, []string{"owner/p", "guest/p"}, b.order())
	queue := b.Queue(Filter{})
	require.Equal(t, []int{0, 2}, []int{queue[0].Reason.Score.Distance, queue[1].Reason.Score.Distance})
}

func TestEffectivePriorityInsideAProject(t *testing.T) {
	t.Parallel()
	b := grow(Vector{CPU: 1000}).tenant("a", Limits{Limit: Vector{CPU: 1000}}).project("a/p", Limits{Weight: 2}).schedule(t)
	b.admit("a/p", uuid.New(), Amount{CPUMillis: 900}, 0)
	waited := func(d time.Duration) Key {
		r := b.request("a/p", uuid.New(), 0, Amount{CPUMillis: 500})
		r.Priority, r.Since = 45, b.clock.now.Add(-d)
		b.Admit(r.Execution, nil, []Request{r})
		return r.Key
	}
	longest, long := waited(36*time.Minute), waited(24*time.Minute)
	b.admit("a/p", uuid.New(), Amount{CPUMillis: 500}, 0)
	queue := b.Queue(Filter{})
	require.Equal(t, longest, queue[0].Key, "half an hour of waiting makes up for a priority lower by 5")
	require.Equal(t, long, queue[2].Key)
	score := queue[0].Reason.Score
	require.InDelta(t, 45, score.Base, 1e-9)
	require.InDelta(t, 40, score.Weight, 1e-9)
	require.InDelta(t, 6, score.Waiting, 0.01)
	require.InDelta(t, 2.5, score.Utilisation, 1e-9, "90 % is in the middle of 80 % and all")
	require.InDelta(t, 45+40+6-2.5, score.Effective, 0.01)
	b.clock.pass(10 * time.Hour)
	require.InDelta(t, 10, b.Queue(Filter{})[0].Reason.Score.Waiting, 1e-9)
}

func TestPastUseDecays(t *testing.T) {
	t.Parallel()
	b := grow(Vector{CPU: 4000}).tenant("a", Limits{}).project("a/p", Limits{}).tenant("b", Limits{}).project("b/p", Limits{}).
		schedule(t, func(c *Config) { c.HalfLife, c.EntryPenalty = time.Hour, -1 })
	e := uuid.New()
	b.admit("a/p", e, Amount{CPUMillis: 4000}, 0)
	past := func(path string) float64 {
		_, history := b.History()
		return history[b.ids[path]][CPU]
	}
	b.clock.pass(time.Hour)
	require.InDelta(t, 2000, past("a"), 1)
	b.clock.pass(time.Hour)
	require.InDelta(t, 3000, past("a"), 1)
	require.InDelta(t, 3000, past(""), 1)
	b.release(e, 0)
	b.clock.pass(time.Hour)
	require.InDelta(t, 1500, past("a"), 1)
	b.admit("b/p", e, Amount{CPUMillis: 4000}, 1)
	b.admit("a/p", uuid.New(), Amount{CPUMillis: 4000}, 2)
	b.admit("b/p", uuid.New(), Amount{CPUMillis: 4000}, 3)
	b.release(e, 1)
	require.Equal(t, []string{"b/p", "a/p"}, b.order(), "there is no current use, but a has past use")

	at, history := b.History()
	other := b.forest.schedule(t, func(c *Config) { c.HalfLife = time.Hour })
	other.clock.now = at.Add(time.Hour)
	other.SetHistory(at, history)
	_, restored := other.History()
	require.InDelta(t, history[b.ids["a"]][CPU]/2, restored[b.ids["a"]][CPU], 1)
	tree, err := other.Tree().With(nil)
	require.NoError(t, err)
	other.SetTree(tree)
	_, moved := other.History()
	require.Equal(t, restored, moved)
}

// TestEntryPenalty: work too short for the samples counts by its starts.
func TestEntryPenalty(t *testing.T) {
	t.Parallel()
	b := grow(Vector{CPU: 1000}).tenant("a", Limits{}).project("a/p", Limits{}).tenant("b", Limits{}).project("b/p", Limits{}).schedule(t)
	flood := uuid.New()
	all := Amount{CPUMillis: 1000}
	for n := range 50 {
		granted, _ := b.Admit(flood, []int{n - 1}, []Request{b.request("a/p", flood, n, all)})
		require.Len(t, granted, 1)
	}
	b.admit("a/p", uuid.New(), all, 0)
	b.admit("b/p", uuid.New(), all, 0)
	b.release(flood, 49)
	require.Equal(t, []string{"b/p", "a/p"}, b.order(), "a requested before b")
}

func TestLevelScoreIsOneAtItsShare(t *testing.T) {
	t.Parallel()
	f := grow(gpus(12))
	for i := range 3 {
		f.tenant(fmt.Sprintf("t%d", i), Limits{Weight: float64(i + 1)}).project(fmt.Sprintf("t%d/p", i), Limits{})
	}
	b := f.schedule(t, func(c *Config) { c.HistoryWeight = -1 })
	for i := range 3 {
		b.admit(fmt.Sprintf("t%d/p", i), uuid.New(), Amount{GPUs: 2 * (i + 1)}, 0)
	}
	for _, l := range b.Snapshot().Levels {
		if l.Kind == "tenant" {
			require.InDelta(t, 1, l.Standing.Score, 1e-9)
		}
	}
}
