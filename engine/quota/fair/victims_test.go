package fair

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// shared is a cluster of 12 GPUs: vision and speech of research with 4 each and ranking
// of product with 4, all lent and borrowed without limit.
func shared(t require.TestingT) *bundle {
	return grow(gpus(12)).
		tenant("research", Limits{Limit: gpus(8), Borrow: gpus(4)}).
		team("research/vision", Limits{Limit: gpus(4), Borrow: gpus(8)}).project("research/vision/p", Limits{}).
		team("research/speech", Limits{Limit: gpus(4), Borrow: gpus(8)}).project("research/speech/p", Limits{}).
		tenant("product", Limits{Limit: gpus(4), Borrow: gpus(8)}).
		team("product/ranking", Limits{Limit: gpus(4), Borrow: gpus(8)}).project("product/ranking/p", Limits{}).
		schedule(t)
}

const (
	vision  = "research/vision/p"
	speech  = "research/speech/p"
	ranking = "product/ranking/p"
)

// fill starts n attempts of one GPU, a second apart, each its own execution.
func (b *bundle) fill(project string, n int, change ...func(*Request)) (executions []uuid.UUID) {
	for range n {
		b.clock.pass(time.Second)
		e := uuid.New()
		r := b.request(project, e, 0, Amount{GPUs: 1})
		for _, c := range change {
			c(&r)
		}
		granted, _ := b.Admit(e, nil, []Request{r})
		require.Len(b.t, granted, 1)
		executions = append(executions, e)
	}
	return executions
}

func executionsOf(victims []Victim) (ids []uuid.UUID) {
	for _, v := range victims {
		ids = append(ids, v.Execution)
	}
	return ids
}

func TestGuaranteeIsTakenBackFromNearestRelatives(t *testing.T) {
	t.Parallel()
	b := shared(t)
	own := b.fill(ranking, 6)
	near := b.fill(speech, 6)
	_, refused := b.admit(vision, uuid.New(), Amount{GPUs: 3}, 0)
	require.Len(t, refused, 1)
	victims := b.Victims()
	require.Equal(t, []uuid.UUID{near[5], near[4], own[5]}, executionsOf(victims), "the newest of the next team, then those further away")
	v := victims[0]
	require.Equal(t, "team speech", v.Level.String())
	require.Equal(t, Preempted, v.Reason.Code)
	require.Equal(t, "Stopped because team speech had borrowed 1 GPU from team vision, which has reclaimed its guarantee. It restarts when capacity is available.", v.Reason.Message)
	require.Equal(t, refused[0].Key, v.For)
	require.Empty(t, b.Victims(), "not again while they are ending")

	reason, ok := b.Why(refused[0].Key)
	require.True(t, ok)
	require.Equal(t, 3, reason.Preempting)
	require.Contains(t, reason.Message, "3 running attempts were preempted for it.")

	// The capacity is freed step by step; no other request claims it.
	other := uuid.New()
	b.admit(ranking, other, Amount{GPUs: 1}, 0)
	for i, v := range victims {
		require.Empty(t, b.woken, i)
		b.release(v.Execution, 0)
	}
	require.Equal(t, []uuid.UUID{refused[0].Key.Execution}, b.woken)
	require.Len(t, b.release(refused[0].Key.Execution), 1)
	require.Empty(t, b.Victims())
}

func TestOnlyBorrowersArePreempted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		start func(*bundle)
		ask   func(*bundle)
	}{
		"a request beyond its guarantee": {
			start: func(b *bundle) { b.fill(speech, 6); b.fill(vision, 4); b.fill(ranking, 2) },
			ask:   func(b *bundle) { b.admit(vision, uuid.New(), Amount{GPUs: 1}, 0) },
		},
		"a holder within its guarantee": {
			start: func(b *bundle) { b.fill(speech, 4); b.fill(ranking, 4); b.fill(vision, 4) },
			ask:   func(b *bundle) { b.admit(vision, uuid.New(), Amount{GPUs: 1}, 0) },
		},
		"below a guarantee": {
			start: func(b *bundle) {
				granted, _ := b.admit(speech, uuid.New(), Amount{GPUs: 8}, 0)
				require.Len(b.t, granted, 1)
				b.fill(ranking, 4)
			},
			ask: func(b *bundle) { b.admit(vision, uuid.New(), Amount{GPUs: 4}, 0) },
		},
		"not preemptible": {
			start: func(b *bundle) {
				b.fill(speech, 4)
				b.fill(ranking, 4, func(r *Request) { r.Preemptible = false })
				b.fill(speech, 4)
				for _, h := range b.HeldBy(b.ids[speech]) {
					h.Preemptible = false
					b.state.restore(h)
				}
			},
			ask: func(b *bundle) { b.admit(vision, uuid.New(), Amount{GPUs: 1}, 0) },
		},
		"can never fit": {
			start: func(b *bundle) { b.fill(speech, 8); b.fill(ranking, 4) },
			ask:   func(b *bundle) { b.admit(vision, uuid.New(), Amount{GPUs: 13}, 0) },
		},
		"it fits already": {
			start: func(b *bundle) { b.fill(speech, 8) },
			ask:   func(b *bundle) { b.admit(vision, uuid.New(), Amount{GPUs: 1}, 0) },
		},
	} {
		b := shared(t)
		c.start(b)
		c.ask(b)
		require.Empty(t, b.Victims(), name)
	}
}

func TestNeverInsideTheSameExecution(t *testing.T) {
	t.Parallel()
	b := shared(t)
	e := uuid.New()
	b.admit(speech, e, Amount{GPUs: 1}, 0, 1, 2, 3, 4, 5, 6, 7)
	b.fill(ranking, 4)
	b.admit(vision, e, Amount{GPUs: 1}, 8)
	require.Empty(t, b.Victims())
}

func TestLowestPriorityThenNewestAndNoMoreThanNeeded(t *testing.T) {
	t.Parallel()
	b := shared(t)
	b.fill(ranking, 4)
	low := b.fill(speech, 1, func(r *Request) { r.Priority = 10 })
	b.fill(speech, 4)
	big, refused := b.admit(speech, uuid.New(), Amount{GPUs: 3}, 0)
	require.Empty(t, refused)
	require.Len(t, big, 1)
	b.admit(vision, uuid.New(), Amount{GPUs: 1}, 0)
	require.Equal(t, low, executionsOf(b.Victims()))
	b.admit(vision, uuid.New(), Amount{GPUs: 3}, 0)
	victims := b.Victims()
	require.Len(t, victims, 1, "the newest alone is enough")
	require.Equal(t, 3, victims[0].Amount.GPUs)
}

func TestExemptAttemptKeepsRunning(t *testing.T) {
	t.Parallel()
	b := shared(t)
	b.fill(ranking, 4)
	b.fill(speech, 8)
	_, refused := b.admit(vision, uuid.New(), Amount{GPUs: 1}, 0)
	victims := b.Victims()
	require.Len(t, victims, 1)
	b.CancelPreemption([]Key{victims[0].Key})
	require.Equal(t, executionsOf(victims), executionsOf(b.Victims()))
	b.Restore(b.HeldBy(uuid.Nil))
	require.Empty(t, b.Victims(), "a restored one is still ending")
	b.Withdraw(refused[0].Key.Execution, nil)
	require.Empty(t, b.Victims())
}

// TestGuaranteeByTypeAndInAll: a limit of all GPUs is a guarantee when the type is
// scarce, and victims hold that type.
func TestGuaranteeByTypeAndInAll(t *testing.T) {
	t.Parallel()
	both := func(a, h int64) Vector { return Vector{GPU: a + h, OfType("A100"): a, OfType("H100"): h} }
	b := grow(both(4, 4)).
		tenant("a", Limits{Limit: gpus(4), Borrow: gpus(4)}).project("a/p", Limits{}).
		tenant("b", Limits{Limit: gpus(4), Borrow: gpus(4)}).project("b/p", Limits{}).schedule(t)
	borrower := uuid.New()
	b.admit("b/p", borrower, Amount{GPUs: 2, GPUType: "A100"}, 0, 1)
	b.admit("b/p", borrower, Amount{GPUs: 2, GPUType: "H100"}, 2)
	b.admit("a/p", uuid.New(), Amount{GPUs: 2, GPUType: "A100"}, 0)
	victims := b.Victims()
	require.Len(t, victims, 1)
	require.Equal(t, 1, victims[0].Node)
	require.Equal(t, OfType("A100"), victims[0].Resource)
}

func TestExcessAfterALimitWasLowered(t *testing.T) {
	t.Parallel()
	b := shared(t)
	kept := b.fill(speech, 2, func(r *Request) { r.Preemptible = false })
	rest := b.fill(speech, 5)
	tree, err := b.Tree().With(map[uuid.UUID]Limits{b.ids["research/speech"]: {Limit: gpus(1), Borrow: gpus(3)}})
	require.NoError(t, err)
	b.SetTree(tree)
	victims := b.Excess()
	require.Equal(t, []uuid.UUID{rest[4], rest[3], rest[2]}, executionsOf(victims))
	require.Contains(t, victims[0].Reason.Message, "the limit of GPUs for team speech was lowered to 1 GPU")
	require.Empty(t, b.Excess(), "they are ending")
	tree, err = b.Tree().With(map[uuid.UUID]Limits{b.ids["research/speech"]: {Limit: gpus(1)}})
	require.NoError(t, err)
	b.SetTree(tree)
	require.Equal(t, []uuid.UUID{rest[1], rest[0]}, executionsOf(b.Excess()))
	require.Len(t, kept, 2)
	granted, _ := b.admit(speech, uuid.New(), Amount{GPUs: 1}, 0)
	require.Empty(t, granted)
}

// TestPreemptionBringsAnotherRequestWithinItsGuarantee: the attempt that ends for the first request also
// held CPU of the second one's team, which is within its guarantee without it.
func TestPreemptionBringsAnotherRequestWithinItsGuarantee(t *testing.T) {
	t.Parallel()
	cpu := Limits{Limit: Vector{CPU: 4000}, Borrow: Vector{CPU: 4000}}
	gpu := Limits{Limit: gpus(4), Borrow: gpus(4)}
	b := grow(Vector{CPU: 8000, GPU: 8}).
		tenant("a", cpu).team("a/p", gpu).project("a/p/p", Limits{}).team("a/q", gpu).project("a/q/q", Limits{}).
		tenant("b", cpu).project("b/p", Limits{}).
		schedule(t)
	start := func(project string, amount Amount, preemptible bool) uuid.UUID {
		b.clock.pass(time.Second)
		e := uuid.New()
		r := b.request(project, e, 0, amount)
		r.Preemptible = preemptible
		granted, _ := b.Admit(e, nil, []Request{r})
		require.Len(t, granted, 1)
		return e
	}
	start("a/p/p", Amount{GPUs: 4}, false)
	start("a/p/p", Amount{CPUMillis: 2000}, false)
	borrowed := start("a/p/p", Amount{CPUMillis: 1000, GPUs: 4}, true)
	var lent uuid.UUID
	for range 5 {
		lent = start("b/p", Amount{CPUMillis: 1000}, true)
	}
	_, refused := b.admit("a/q/q", uuid.New(), Amount{CPUMillis: 2000}, 0)
	require.Len(t, refused, 1)
	b.clock.pass(time.Second)
	_, refused = b.admit("a/q/q", uuid.New(), Amount{GPUs: 4}, 0) // admitted after the older one
	require.Len(t, refused, 1)
	require.Equal(t, []uuid.UUID{borrowed, lent}, executionsOf(b.Victims()))
	require.Empty(t, b.Victims(), "not again while they are ending")
}
