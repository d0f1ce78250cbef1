package local

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

// bundle is a Local of 4 cores, 1000 MiB and 10 slots that notes whom it wakes.
type bundle struct {
	*Local
	t     *testing.T
	clock *clock
	woken []uuid.UUID
}

func setup(t *testing.T) *bundle {
	b := &bundle{t: t, clock: &clock{time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}}
	b.Local = NewLocal(Config{
		Capacity: Amount{CPUMillis: 4000, MemoryMiB: 1000, Slots: 10}, Now: b.clock.Now,
		Wake: func(id uuid.UUID) { b.woken = append(b.woken, id) },
	})
	return b
}

// ask asks for nodes of one size, a second apart.
func (b *bundle) ask(execution uuid.UUID, priority int, amount Amount, nodes ...int) (granted []int, refused []Refusal) {
	b.t.Helper()
	var want []Request
	for _, n := range nodes {
		b.clock.now = b.clock.now.Add(time.Second)
		want = append(want, Request{Key: Key{execution, n}, Amount: amount, Priority: priority, Since: b.clock.now})
	}
	g, refused, err := b.Admit(b.t.Context(), nil, execution, nil, want)
	require.NoError(b.t, err)
	for _, r := range g {
		granted = append(granted, r.Key.Node)
	}
	return granted, refused
}

func (b *bundle) release(execution uuid.UUID, nodes ...int) (granted []int) {
	b.t.Helper()
	g, _, err := b.Admit(b.t.Context(), nil, execution, nodes, nil)
	require.NoError(b.t, err)
	for _, r := range g {
		granted = append(granted, r.Key.Node)
	}
	return granted
}

func TestAdmitUntilFull(t *testing.T) {
	t.Parallel()
	b, e := setup(t), uuid.New()
	granted, refused := b.ask(e, 50, Amount{CPUMillis: 1500, Slots: 1}, 0, 1, 2)
	require.Equal(t, []int{0, 1}, granted)
	require.Len(t, refused, 1)
	require.Equal(t, Reason{
		Code: CPUUnavailable, Message: "Waits for cpu: asks for 1500m, 1000m of 4000m are free.", Resource: "cpu", Unit: "m",
		Asked: 1500, Free: 1000, Capacity: 4000, Holders: []Holder{{Execution: e, Nodes: 2, Amount: 3000}}, Position: 1,
	}, refused[0].Reason)
	require.Equal(t, 1, b.Position(e, 2))
	require.Equal(t, []int{2}, b.release(e, 0), "what comes free goes to the next")
	require.Zero(t, b.Position(e, 2))
	b.release(e, 1, 2)
	require.Equal(t, b.Capacity(), b.Free())
}

func TestOfferWakesTheNextAlone(t *testing.T) {
	t.Parallel()
	b, a, low, high := setup(t), uuid.New(), uuid.New(), uuid.New()
	all := Amount{CPUMillis: 4000, Slots: 1}
	b.ask(a, 50, all, 0)
	b.ask(low, 25, all, 0)
	b.ask(high, 75, all, 0)
	require.Empty(t, b.release(a, 0))
	require.Equal(t, []uuid.UUID{high}, b.woken)
	granted, refused := b.ask(a, 90, all, 1)
	require.Empty(t, granted, "an offer is not taken away")
	require.NotEmpty(t, refused)
	require.Equal(t, []int{0}, b.release(high), "the offer is taken")

	b.clock.now = b.clock.now.Add(time.Minute)
	b.release(high, 0)
	require.Equal(t, []uuid.UUID{high, a}, b.woken, "priority before age")
	b.clock.now = b.clock.now.Add(time.Minute)
	b.Sweep()
	require.Equal(t, []uuid.UUID{high, a, low}, b.woken, "an offer that nobody takes goes to the next")
}

func TestSmallOnesPassForAWhileOnly(t *testing.T) {
	t.Parallel()
	b, e := setup(t), uuid.New()
	b.ask(e, 50, Amount{CPUMillis: 2000, Slots: 1}, 0)
	_, refused := b.ask(e, 50, Amount{CPUMillis: 3000, Slots: 1}, 1)
	require.Len(t, refused, 1)
	granted, _ := b.ask(e, 50, Amount{CPUMillis: 500, Slots: 1}, 2)
	require.Equal(t, []int{2}, granted, "a small one passes")
	b.clock.now = b.clock.now.Add(time.Minute)
	granted, refused = b.ask(e, 50, Amount{CPUMillis: 500, Slots: 1}, 3)
	require.Empty(t, granted, "the large one has waited long enough")
	require.Equal(t, BehindOthers, refused[0].Reason.Code)
	require.Equal(t, []int{1, 3}, b.release(e, 0))
}

func TestUndoAndWithdraw(t *testing.T) {
	t.Parallel()
	b, e := setup(t), uuid.New()
	amount := Amount{MemoryMiB: 600, Slots: 1}
	b.ask(e, 50, amount, 0)
	g, _, err := b.Admit(t.Context(), nil, e, []int{0}, []Request{{Key: Key{e, 1}, Amount: amount}})
	require.NoError(t, err)
	require.Len(t, g, 1)
	b.Undo(e, map[int]Amount{0: amount}, g)
	require.Equal(t, 400, b.Free().MemoryMiB)
	b.ask(e, 50, amount, 2)
	b.Withdraw(e, nil)
	require.Empty(t, b.release(e, 0))
	require.Equal(t, b.Capacity(), b.Free())
}

func TestNeverFits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.Nil(t, b.NeverFits(Amount{CPUMillis: 4000, MemoryMiB: 1000, Slots: 10}))
	require.Equal(t, MemoryUnavailable, b.NeverFits(Amount{MemoryMiB: 1001}).Code)
}

// TestNothingGetsLost plays many executions against the capacity: it is never
// exceeded, and all of it is free at the end.
func TestNothingGetsLost(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	b := setup(t)
	held := map[Key]Amount{}
	executions := []uuid.UUID{uuid.New(), uuid.New(), uuid.New()}
	node := 0
	for range 5000 {
		e := executions[rng.IntN(len(executions))]
		var want []Request
		for range rng.IntN(3) {
			node++
			want = append(want, Request{
				Key: Key{e, node}, Since: b.clock.now, Priority: rng.IntN(3),
				Amount: Amount{CPUMillis: 500 * rng.IntN(8), MemoryMiB: 100 * rng.IntN(10), Slots: 1},
			})
		}
		var release []int
		for key := range held {
			if key.Execution == e && rng.IntN(2) == 0 {
				release = append(release, key.Node)
				delete(held, key)
			}
		}
		b.clock.now = b.clock.now.Add(time.Duration(rng.IntN(20)) * time.Second)
		granted, _, err := b.Admit(t.Context(), nil, e, release, want)
		require.NoError(t, err)
		for _, r := range granted {
			_, twice := held[r.Key]
			require.False(t, twice, "granted twice")
			held[r.Key] = r.Amount
		}
		sum := Amount{}
		for _, a := range held {
			sum = sum.plus(a)
		}
		require.True(t, b.Capacity().fits(sum), "%+v is more than there is", sum)
	}
	for _, e := range executions {
		b.Withdraw(e, nil)
	}
	for key := range held {
		b.Admit(t.Context(), nil, key.Execution, []int{key.Node}, nil) //nolint:errcheck // never fails
	}
	require.Equal(t, b.Capacity(), b.Free())
}
