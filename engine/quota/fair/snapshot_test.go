package fair

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestSnapshot(t *testing.T) {
	t.Parallel()
	b := shared(t)
	b.fill(vision, 6)
	b.fill(speech, 1)
	s := b.Snapshot()
	require.Equal(t, []Resource{GPU}, s.Resources)
	require.Equal(t, []string{"installation", "product", "research", "ranking", "speech", "vision", "p", "p", "p"}, names(s))
	at := func(path string) ResourceState { return s.Find(b.ids[path]).Resources[GPU] }
	four, eight, twelve := int64(4), int64(8), int64(12)
	five := int64(5)
	require.Equal(t, ResourceState{
		Limit: &four, Borrow: 8, Lend: &four, Used: 6, Guaranteed: 4, Borrowed: 2, Available: &five,
	}, at("research/vision"))
	require.Equal(t, ResourceState{
		Limit: &four, Borrow: 8, Lend: &four, Used: 1, Guaranteed: 1, Lent: 2, Free: 1, Available: &five,
	}, at("research/speech"))
	require.Equal(t, ResourceState{Limit: &eight, Borrow: 4, Lend: &eight, Used: 7, Guaranteed: 7, Free: 1, Available: &five}, at("research"))
	require.Equal(t, ResourceState{Limit: &twelve, Lend: &twelve, Used: 7, Guaranteed: 7, Free: 5, Available: &five}, at(""))
	require.Equal(t, ResourceState{Used: 6, Guaranteed: 6, Available: &five}, at(vision))
	require.Nil(t, s.Find(uuid.New()))
	require.Empty(t, s.Pairs)
	require.Nil(t, s.Longest)

	// Research borrows 3 from product: the loan counts at the team below.
	b.fill(vision, 4)
	s = b.Snapshot()
	require.Equal(t, int64(3), at("research").Borrowed)
	require.Equal(t, int64(3), at("product").Lent)
	require.Equal(t, int64(3), at("product/ranking").Lent)
	require.Equal(t, int64(1), at("product/ranking").Free)
	require.Equal(t, int64(3), at("research/speech").Lent)
}

func names(s Snapshot) (list []string) {
	for _, l := range s.Levels {
		list = append(list, l.Name)
	}
	return list
}

func TestStarvedAndBorrower(t *testing.T) {
	t.Parallel()
	b := shared(t)
	b.fill(vision, 8)
	b.fill(ranking, 4)
	_, refused := b.admit(speech, uuid.New(), Amount{GPUs: 1}, 0, 1)
	s := b.Snapshot()
	require.Equal(t, []Pair{{
		Resource: GPU, Starved: LevelRef{b.ids["research/speech"], "team", "speech"}, Demand: 2, Guaranteed: true,
		Other: LevelRef{b.ids["research/vision"], "team", "vision"}, Amount: 4, First: refused[0].Key,
	}}, s.Pairs)
	require.Equal(t, 2, s.Find(b.ids["research"]).Waiting)
	require.Equal(t, int64(2), s.Find(b.ids["research"]).Resources[GPU].Waiting)
	require.Equal(t, refused[0].Key, s.Longest.Key)
	b.Victims()
	require.Equal(t, int64(2), b.Snapshot().Find(b.ids["research/vision"]).Resources[GPU].Ending)
}

func TestWhoDoesNotLendIsNamed(t *testing.T) {
	t.Parallel()
	b := grow(gpus(8)).tenant("a", Limits{Limit: gpus(4), Borrow: gpus(4)}).project("a/p", Limits{}).
		tenant("miser", Limits{Limit: gpus(4), Lend: gpus(1)}).project("miser/p", Limits{}).schedule(t)
	b.admit("a/p", uuid.New(), Amount{GPUs: 1}, 0, 1, 2, 3, 4, 5)
	pairs := b.Snapshot().Pairs
	require.Len(t, pairs, 1)
	require.Equal(t, "miser", pairs[0].Other.Name)
	require.Equal(t, int64(3), pairs[0].Amount)
	require.Equal(t, int64(1), pairs[0].Demand)
	require.False(t, pairs[0].Guaranteed)
}

func TestIdleGuarantees(t *testing.T) {
	t.Parallel()
	b := shared(t)
	begin := b.clock.now
	busy := b.fill(speech, 3)
	b.Sweep()
	b.clock.pass(30 * time.Minute)
	require.Empty(t, b.Snapshot().Idle, "not for long enough")
	b.release(busy[0], 0)
	stopped := b.clock.now
	b.clock.pass(2 * time.Hour)
	b.release(busy[1], 0)
	b.clock.pass(time.Minute)
	b.fill(vision, 5)
	idle := map[string]Idle{}
	for _, i := range b.Snapshot().Idle {
		idle[i.Level.Name] = i
	}
	require.Equal(t, Idle{LevelRef{b.ids["research/speech"], "team", "speech"}, GPU, 2, 4, 1, stopped}, idle["speech"],
		"it used 2 at most in the last hour, and 3 until then")
	require.Equal(t, begin, idle["ranking"].Since)
	require.Equal(t, int64(4), idle["ranking"].Amount)
	require.NotContains(t, idle, "vision")
	tree, err := b.Tree().With(nil)
	require.NoError(t, err)
	b.SetTree(tree)
	require.Equal(t, begin, idle["ranking"].Since, "a new tree keeps the records")
}

func TestPreview(t *testing.T) {
	t.Parallel()
	b := shared(t)
	b.fill(vision, 8)
	kept := b.fill(ranking, 4)
	b.admit(speech, uuid.New(), Amount{GPUs: 4}, 0)
	b.admit(ranking, uuid.New(), Amount{GPUs: 9}, 0)
	id := b.ids["product"]
	_, err := b.Preview([]Edit{{uuid.New(), Limits{}}})
	require.Error(t, err)
	_, err = b.Preview([]Edit{{id, Limits{Limit: gpus(2)}}})
	require.ErrorContains(t, err, "exceeds the 2 GPUs of tenant product")

	p, err := b.Preview([]Edit{{id, Limits{Limit: gpus(2)}}, {b.ids["product/ranking"], Limits{Limit: gpus(2)}}})
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{kept[3], kept[2]}, executionsOf(p.Excess))
	require.Empty(t, p.OverCeiling)
	require.Len(t, p.Reclaimed, 2, "two more for speech, which gets two from product")
	require.Len(t, p.Admitted, 1)
	require.Len(t, p.Blocked, 1)
	require.Equal(t, "Cannot run here: requests 9 GPUs; the limit of team ranking is 2.", p.Blocked[0].Reason.Message)
	require.Zero(t, p.StillWait)
	require.Equal(t, int64(4), p.Before.Find(id).Resources[GPU].Used)
	require.Equal(t, int64(2), p.After.Find(id).Resources[GPU].Used)
	require.Len(t, b.Queue(Filter{}), 2, "a preview changes nothing")
	require.Len(t, b.HeldBy(uuid.Nil), 12)

	b.fill(ranking, 0)
	for _, h := range b.HeldBy(id) {
		h.Preemptible = false
		b.state.restore(h)
	}
	p, err = b.Preview([]Edit{{b.ids["product/ranking"], Limits{Limit: gpus(1)}}})
	require.NoError(t, err)
	require.Empty(t, p.Excess)
	require.Equal(t, []Shortfall{{LevelRef{b.ids["product/ranking"], "team", "ranking"}, GPU, 4, 1}}, p.OverCeiling)
}

// TestPreviewOfWaits: the preview lists how much longer or shorter requests wait.
func TestPreviewOfWaits(t *testing.T) {
	t.Parallel()
	b := shared(t)
	b.fill(vision, 4, steady(20*time.Minute))
	b.fill(vision, 4, steady(time.Hour))
	b.fill(ranking, 4, steady(2*time.Hour))
	r := b.request(vision, uuid.New(), 0, Amount{GPUs: 4})
	steady(time.Minute)(&r)
	b.Admit(r.Execution, nil, []Request{r})
	p, err := b.Preview([]Edit{{b.ids["research/vision"], Limits{Limit: gpus(4), Borrow: gpus(4)}}})
	require.NoError(t, err)
	require.Empty(t, p.Shifted, "it waits for its own team in both cases")
	p, err = b.Preview([]Edit{{b.ids["product"], Limits{Limit: gpus(4), Borrow: gpus(8), Lend: gpus(0)}}, {b.ids["research/speech"], Limits{Limit: gpus(4), Lend: gpus(0)}}})
	require.NoError(t, err)
	require.Len(t, p.Shifted, 1)
	require.Equal(t, r.Key, p.Shifted[0].Key)
	require.InDelta(t, 40, p.Shifted[0].Later().Minutes(), 1, "no level lends any more: it waits until all of its team have ended")
}
