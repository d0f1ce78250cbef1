package fair

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func (c *clock) pass(d time.Duration) { c.now = c.now.Add(d) }

// bundle is a Scheduler over a forest that records the executions it wakes.
type bundle struct {
	*Scheduler

	*forest

	t     require.TestingT
	clock *clock
	woken []uuid.UUID
}

// schedule returns a Scheduler of a forest, with a changed configuration.
func (f *forest) schedule(t require.TestingT, configure ...func(*Config)) *bundle {
	b := &bundle{t: t, forest: f, clock: &clock{time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}}
	c := Config{Tree: f.tree(t), Now: b.clock.Now, Wake: func(id uuid.UUID) { b.woken = append(b.woken, id) }}
	for _, change := range configure {
		change(&c)
	}
	b.Scheduler = NewScheduler(c)
	return b
}

// one is a cluster of 4 cores, 1000 MiB and 10 pods with one project, as a
// machine without quotas has.
func one(t require.TestingT) *bundle {
	return grow(Vector{CPU: 4000, Memory: 1000, Pods: 10}).tenant("a", Limits{}).team("a/t", Limits{}).project("a/t/p", Limits{}).schedule(t)
}

// request returns a request for a preemptible node of a project.
func (b *bundle) request(project string, execution uuid.UUID, node int, amount Amount) Request {
	return Request{
		Key: Key{execution, node}, Project: b.ids[project], Amount: amount, Priority: 50,
		Since: b.clock.now, Preemptible: true,
	}
}

// admit requests nodes of one size, a second apart, and returns those granted.
func (b *bundle) admit(project string, execution uuid.UUID, amount Amount, nodes ...int) (granted []int, refused []Refusal) {
	var want []Request
	for _, n := range nodes {
		b.clock.pass(time.Second)
		want = append(want, b.request(project, execution, n, amount))
	}
	grants, refused := b.Admit(execution, nil, want)
	return nodesOf(grants), refused
}

func (b *bundle) release(execution uuid.UUID, nodes ...int) []int {
	grants, _ := b.Admit(execution, nodes, nil)
	return nodesOf(grants)
}

func nodesOf(grants []Grant) (nodes []int) {
	for _, g := range grants {
		nodes = append(nodes, g.Node)
	}
	return nodes
}

// used is the use of a resource in the cluster.
func (b *bundle) used(r Resource) int64 { return b.state.ledger.Used(b.ids[""])[r] }

func TestAdmitUntilFull(t *testing.T) {
	t.Parallel()
	b, e := one(t), uuid.New()
	granted, refused := b.admit("a/t/p", e, Amount{CPUMillis: 1500, Pods: 1}, 0, 1, 2)
	require.Equal(t, []int{0, 1}, granted)
	require.Len(t, refused, 1)
	reason := refused[0].Reason
	require.Equal(t, CPUUnavailable, reason.Code)
	require.Equal(t, "Waiting for CPU: requests 1.5 cores; the cluster has 1 core left of 4 cores.", reason.Message)
	require.Equal(t, 1, reason.Position)
	require.Equal(t, int64(500), reason.Missing)
	require.Nil(t, reason.Holders, "this reason is stored with each node")
	require.Nil(t, reason.Score)
	reason, waits := b.Why(refused[0].Key)
	require.True(t, waits)
	require.Len(t, reason.Holders, 1)
	require.Equal(t, Holder{
		Execution: e, Node: 0, Nodes: 2, Amount: 3000,
		Project: LevelRef{b.ids["a/t/p"], "project", "p"}, Owner: LevelRef{b.ids["a"], "tenant", "a"},
	}, reason.Holders[0])
	require.NotNil(t, reason.Score)
	require.Equal(t, []int{2}, b.release(e, 0), "freed capacity goes to the next request")
	b.release(e, 1, 2)
	require.Zero(t, b.used(CPU))
	b.release(e, 1, 2)
	require.Zero(t, b.used(CPU), "a release is idempotent")
}

func TestOfferWakesTheNextAlone(t *testing.T) {
	t.Parallel()
	b, a, low, high := one(t), uuid.New(), uuid.New(), uuid.New()
	all := Amount{CPUMillis: 4000, Pods: 1}
	want := func(execution uuid.UUID, priority, node int) []Grant {
		b.clock.pass(time.Second)
		r := b.request("a/t/p", execution, node, all)
		r.Priority = priority
		granted, _ := b.Admit(execution, nil, []Request{r})
		return granted
	}
	want(a, 50, 0)
	want(low, 25, 0)
	want(high, 75, 0)
	require.Empty(t, b.release(a, 0))
	require.Equal(t, []uuid.UUID{high}, b.woken)
	require.Empty(t, want(a, 90, 1), "no other request can claim an offer")
	require.Equal(t, []int{0}, b.release(high), "the offer is claimed")

	b.clock.pass(time.Minute)
	b.release(high, 0)
	require.Equal(t, []uuid.UUID{high, a}, b.woken, "priority before age")
	b.clock.pass(time.Minute)
	b.Sweep()
	require.Equal(t, []uuid.UUID{high, a, low}, b.woken, "an unclaimed offer goes to the next request")
}

func TestSmallOnesPassForAWhileOnly(t *testing.T) {
	t.Parallel()
	b, e := one(t), uuid.New()
	b.admit("a/t/p", e, Amount{CPUMillis: 2000, Pods: 1}, 0)
	_, refused := b.admit("a/t/p", e, Amount{CPUMillis: 3000, Pods: 1}, 1)
	require.Len(t, refused, 1)
	granted, _ := b.admit("a/t/p", e, Amount{CPUMillis: 500, Pods: 1}, 2)
	require.Equal(t, []int{2}, granted, "a small request overtakes")
	b.clock.pass(time.Minute)
	granted, refused = b.admit("a/t/p", e, Amount{CPUMillis: 500, Pods: 1}, 3)
	require.Empty(t, granted, "the large request has waited long enough")
	require.Equal(t, BehindInFairShare, refused[0].Reason.Code)
	require.Contains(t, refused[0].Reason.Message, "a larger request of the same project")
	require.Equal(t, []int{1, 3}, b.release(e, 0))
}

// TestReservedCapacityIsReleased: capacity reserved on some levels for one request and on
// all levels for another is released completely.
func TestReservedCapacityIsReleased(t *testing.T) {
	t.Parallel()
	b := grow(Vector{CPU: 12, GPU: 4, Memory: 10}).
		tenant("a", Limits{Limit: Vector{CPU: 8, GPU: 2}, Lend: Vector{CPU: 0}}).project("a/p", Limits{}).
		tenant("b", Limits{}).project("b/p", Limits{}).schedule(t)
	b.admit("a/p", uuid.New(), Amount{CPUMillis: 1, GPUs: 1}, 0)
	b.admit("b/p", uuid.New(), Amount{CPUMillis: 1, MemoryMiB: 4}, 0)
	b.admit("a/p", uuid.New(), Amount{CPUMillis: 5, GPUs: 2}, 0)
	b.admit("a/p", uuid.New(), Amount{CPUMillis: 7, MemoryMiB: 10}, 0)
	b.clock.pass(time.Minute)
	granted, _ := b.admit("a/p", uuid.New(), Amount{MemoryMiB: 1}, 0)
	require.Empty(t, granted, "capacity is reserved for two other requests")
	fresh := NewLedger(b.Tree())
	for _, h := range b.HeldBy(uuid.Nil) {
		fresh.Add(h.Project, h.Amount.Vector())
	}
	require.Equal(t, fresh.unlent, b.state.ledger.unlent)
	require.Equal(t, fresh.unused, b.state.ledger.unused)
	require.Equal(t, fresh.used, b.state.ledger.used)
}

// TestOneThatNeverFitsHoldsNobodyUp: no capacity is reserved for a request that cannot
// start, as after a limit was lowered.
func TestOneThatNeverFitsHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	b, e := one(t), uuid.New()
	_, refused := b.admit("a/t/p", e, Amount{CPUMillis: 5000, Pods: 1}, 0)
	require.Equal(t, "Cannot run here: requests 5 cores; the cluster has 4 cores.", refused[0].Reason.Message)
	b.clock.pass(time.Hour)
	granted, _ := b.admit("a/t/p", e, Amount{CPUMillis: 4000, Pods: 1}, 1)
	require.Equal(t, []int{1}, granted)
}

func TestUndoAndWithdraw(t *testing.T) {
	t.Parallel()
	b, e := one(t), uuid.New()
	amount := Amount{MemoryMiB: 600, Pods: 1}
	b.admit("a/t/p", e, amount, 0)
	g, _ := b.Admit(e, []int{0}, []Request{b.request("a/t/p", e, 1, amount)})
	require.Len(t, g, 1)
	b.Undo(e, []int{0}, g)
	require.Equal(t, int64(600), b.used(Memory))
	require.Len(t, b.HeldBy(b.ids["a"]), 1)
	require.Equal(t, Key{e, 0}, b.HeldBy(uuid.Nil)[0].Key)
	b.admit("a/t/p", e, amount, 2)
	b.Withdraw(e, nil)
	require.Empty(t, b.release(e, 0))
	require.Zero(t, b.used(Memory))
}

// TestReleasesAreForgotten: a release can be undone for two minutes, but not forever.
func TestReleasesAreForgotten(t *testing.T) {
	t.Parallel()
	b, e := one(t), uuid.New()
	b.admit("a/t/p", e, Amount{CPUMillis: 1000}, 0)
	b.release(e, 0)
	b.clock.pass(remember)
	b.Sweep()
	b.Undo(e, []int{0}, nil)
	require.Equal(t, int64(1000), b.used(CPU))
	b.release(e, 0)
	for range 2 {
		b.clock.pass(remember)
		b.Sweep()
	}
	b.Undo(e, []int{0}, nil)
	require.Zero(t, b.used(CPU))
}

// TestMissedOfferIsRepeated: a request that missed its offer gets another one when its
// execution calls soon, and is dropped otherwise.
func TestMissedOfferIsRepeated(t *testing.T) {
	t.Parallel()
	b, holder, e := one(t), uuid.New(), uuid.New()
	all := Amount{CPUMillis: 4000}
	b.admit("a/t/p", holder, all, 0)
	b.admit("a/t/p", e, all, 0)
	b.release(holder, 0)
	b.clock.pass(11 * time.Second)
	b.Sweep()
	reason, ok := b.Why(Key{e, 0})
	require.True(t, ok)
	require.Contains(t, reason.Message, "not claimed in time")
	require.Equal(t, []uuid.UUID{e}, b.woken)
	require.Equal(t, []int{0}, b.release(e), "its execution calls")

	b.release(e, 0)
	b.admit("a/t/p", holder, all, 0)
	b.admit("a/t/p", e, all, 1)
	b.release(holder, 0)
	for range 2 {
		b.clock.pass(11 * time.Second)
		b.Sweep()
	}
	_, ok = b.Why(Key{e, 1})
	require.False(t, ok, "its execution did not call")
	require.Empty(t, b.WaitingExecutions())
	require.Empty(t, b.release(e))
	granted, _ := b.admit("a/t/p", e, all, 1)
	require.Equal(t, []int{1}, granted, "it requests again")
}

// TestGrantedElsewhereWaitsNoMore: a reservation by another server removes the request
// from this queue; the request of a later attempt stays.
func TestGrantedElsewhereWaitsNoMore(t *testing.T) {
	t.Parallel()
	b, holder, gone, again := one(t), uuid.New(), uuid.New(), uuid.New()
	all := Amount{CPUMillis: 4000, Pods: 1}
	b.admit("a/t/p", holder, all, 0)
	attempt := func(e uuid.UUID, n int) Request {
		r := b.request("a/t/p", e, 0, all)
		r.Attempt = n
		return r
	}
	b.Admit(gone, nil, []Request{attempt(gone, 1)})
	b.Admit(again, nil, []Request{attempt(again, 2)})
	require.ElementsMatch(t, []uuid.UUID{gone, again}, b.WaitingExecutions())
	b.Refresh(b.clock.now, []Held{{Request: attempt(gone, 1)}, {Request: attempt(again, 1)}})
	require.Equal(t, []uuid.UUID{again}, b.WaitingExecutions())
}

func TestDismiss(t *testing.T) {
	t.Parallel()
	b, holder, e, next := one(t), uuid.New(), uuid.New(), uuid.New()
	all := Amount{CPUMillis: 4000, Pods: 1}
	b.admit("a/t/p", holder, all, 0)
	b.admit("a/t/p", e, all, 0, 1)
	b.admit("a/t/p", next, all, 0)
	b.release(holder, 0)
	require.Equal(t, []uuid.UUID{e}, b.woken)
	require.Equal(t, []Key{{e, 0}, {e, 1}}, b.WithdrawAll(e), "including its offers")
	require.Equal(t, []uuid.UUID{e, next}, b.woken, "the capacity goes to the next request")
}

func TestWithdrawnOfferGoesToTheNext(t *testing.T) {
	t.Parallel()
	b, a, next, last := one(t), uuid.New(), uuid.New(), uuid.New()
	all := Amount{CPUMillis: 4000, Pods: 1}
	for _, e := range []uuid.UUID{a, next, last} {
		b.admit("a/t/p", e, all, 0)
	}
	b.release(a, 0)
	b.Withdraw(next, []int{0})
	require.Equal(t, []uuid.UUID{next, last}, b.woken)
}

func TestRefreshKeepsWhatIsNewer(t *testing.T) {
	t.Parallel()
	b, e := one(t), uuid.New()
	amount := Amount{CPUMillis: 1000, Pods: 1}
	b.admit("a/t/p", e, amount, 0, 1)
	seen := b.HeldBy(uuid.Nil)
	b.clock.pass(time.Minute)
	asOf := b.clock.now
	b.release(e, 0)
	b.admit("a/t/p", e, amount, 2)
	other := Held{Request: b.request("a/t/p", uuid.New(), 0, amount)}
	b.Refresh(asOf, append(seen, other))
	var keys []Key
	for _, h := range b.HeldBy(uuid.Nil) {
		keys = append(keys, h.Key)
	}
	require.ElementsMatch(t, []Key{{e, 1}, {e, 2}, other.Key}, keys)
	require.Equal(t, int64(3000), b.used(CPU))
	b.Restore([]Held{other})
	require.Equal(t, int64(1000), b.used(CPU))
}

// TestProjectsComeLater: a project that the tree does not know yet waits for it.
func TestProjectsComeLater(t *testing.T) {
	t.Parallel()
	b, e := one(t), uuid.New()
	b.project("a/t/new", Limits{})
	granted, refused := b.admit("a/t/new", e, Amount{CPUMillis: 1}, 0)
	require.Empty(t, granted)
	require.Equal(t, "The scheduler has not loaded the project yet.", refused[0].Reason.Message)
	require.Empty(t, b.Queue(Filter{Level: b.ids["a"]}))
	b.SetTree(b.tree(t))
	require.Equal(t, []uuid.UUID{e}, b.woken)
}

// TestRefreshKeepsEstimates: rows do not hold estimated durations.
func TestRefreshKeepsEstimates(t *testing.T) {
	t.Parallel()
	b, e := one(t), uuid.New()
	r := b.request("a/t/p", e, 0, Amount{CPUMillis: 1000})
	r.Expected = EstimateOf([]time.Duration{time.Hour})
	b.Admit(e, nil, []Request{r})
	held := b.HeldBy(uuid.Nil)
	held[0].Expected = Estimate{}
	b.Restore(held)
	require.Equal(t, r.Expected, b.HeldBy(uuid.Nil)[0].Expected)
	require.Equal(t, int64(1000), b.used(CPU))
}

func TestUsageBesideCounts(t *testing.T) {
	t.Parallel()
	b, e := one(t), uuid.New()
	b.SetUsage(map[uuid.UUID]Vector{b.ids["a/t/p"]: {CPU: 3000, Storage: 7}})
	granted, _ := b.admit("a/t/p", e, Amount{CPUMillis: 2000, Pods: 1}, 0)
	require.Empty(t, granted)
	b.SetUsage(map[uuid.UUID]Vector{b.ids["a/t/p"]: {CPU: 1000}})
	require.Equal(t, []uuid.UUID{e}, b.woken)
	require.Equal(t, []int{0}, b.release(e))
	require.Equal(t, int64(3000), b.used(CPU))
}

// TestExecutionsAreRequests: an execution waits for a limit of executions as a node
// does for CPU, and neither blocks the other.
func TestExecutionsAreRequests(t *testing.T) {
	t.Parallel()
	b := grow(Vector{CPU: 4000}).tenant("a", Limits{Limit: Vector{Executions: 1}}).project("a/p", Limits{}).schedule(t)
	first, second := uuid.New(), uuid.New()
	granted, _ := b.admit("a/p", first, Amount{Executions: 1}, ExecutionItself)
	require.Equal(t, []int{ExecutionItself}, granted)
	_, refused := b.admit("a/p", second, Amount{Executions: 1}, ExecutionItself)
	require.Equal(t, ExecutionsLimit, refused[0].Reason.Code)
	require.Equal(t, "Waiting for executions: requests 1 execution; tenant a has 0 left of 1.", refused[0].Reason.Message)
	b.clock.pass(time.Hour)
	granted, _ = b.admit("a/p", first, Amount{CPUMillis: 4000}, 0)
	require.Equal(t, []int{0}, granted)
	b.release(first, 0, ExecutionItself)
	require.Equal(t, []uuid.UUID{second}, b.woken)
}

// TestLimitsChangeWhileRunning: raised limits wake waiting executions; lowered ones
// keep running work and start nothing new.
func TestLimitsChangeWhileRunning(t *testing.T) {
	t.Parallel()
	b := grow(gpus(8)).tenant("a", Limits{Limit: gpus(2)}).project("a/p", Limits{}).schedule(t)
	e := uuid.New()
	granted, refused := b.admit("a/p", e, Amount{GPUs: 1}, 0, 1, 2, 3)
	require.Equal(t, []int{0, 1}, granted)
	require.Equal(t, QuotaExceeded, refused[0].Reason.Code)
	limit := func(n int64) {
		tree, err := b.Tree().With(map[uuid.UUID]Limits{b.ids["a"]: {Limit: gpus(n)}})
		require.NoError(t, err)
		b.SetTree(tree)
	}
	limit(3)
	require.Equal(t, []uuid.UUID{e}, b.woken)
	require.Equal(t, []int{2}, b.release(e))
	limit(1)
	require.Equal(t, int64(3), b.used(GPU))
	require.Empty(t, b.release(e, 0, 1))
	require.Equal(t, int64(1), b.used(GPU))
	require.Equal(t, []int{3}, b.release(e, 2))
}
