package fair

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// machine has n GPUs of a type, with indexes from 0.
func machine(name, gpuType string, n int) Machine {
	m := Machine{Name: name}
	for i := range n {
		m.Devices = append(m.Devices, Device{i, gpuType})
	}
	return m
}

// gpuMachines is one project on machines of 4, 4 and 8 A100 and one of 4 T4.
func gpuMachines(t require.TestingT) *bundle {
	b := grow(Vector{GPU: 20, OfType("A100"): 16, OfType("T4"): 4}).tenant("a", Limits{}).project("a/p", Limits{}).schedule(t)
	b.SetMachines([]Machine{machine("m1", "A100", 4), machine("m2", "A100", 4), machine("m3", "A100", 8), machine("t", "T4", 4), {Name: "none"}})
	return b
}

func (b *bundle) placed(execution uuid.UUID, node int, amount Amount, spread bool) []Placement {
	r := b.request("a/p", execution, node, amount)
	r.Spread = spread
	granted, _ := b.Admit(execution, nil, []Request{r})
	require.Len(b.t, granted, 1)
	return granted[0].Placement
}

func TestTogetherOnTheFullestMachine(t *testing.T) {
	t.Parallel()
	b, e := gpuMachines(t), uuid.New()
	a100 := func(n int) Amount { return Amount{GPUs: n, GPUType: "A100"} }
	require.Equal(t, []Placement{{"m1", []int{0, 1}}}, b.placed(e, 0, a100(2), false))
	require.Equal(t, []Placement{{"m1", []int{2, 3}}}, b.placed(e, 1, a100(2), true), "together although it may be spread")
	require.Equal(t, []Placement{{"m3", []int{0, 1, 2, 3, 4, 5, 6, 7}}}, b.placed(e, 2, a100(8), false))
	require.Equal(t, []Placement{{"t", []int{0}}}, b.placed(e, 3, Amount{GPUs: 1, GPUType: "T4"}, false))
	require.Equal(t, []Placement{{"t", []int{1, 2, 3}}}, b.placed(e, 4, Amount{GPUs: 3}, false), "any type: best fit")
	b.release(e, 0)
	require.Equal(t, []Placement{{"m1", []int{0}}}, b.placed(e, 5, a100(1), false), "a device that was released")
	b.Restore(b.HeldBy(uuid.Nil))
	require.Equal(t, []Placement{{"m1", []int{1}}}, b.placed(e, 6, a100(1), false), "restored reservations hold their devices")
}

func TestSpreadWhenTheOperatorAllowsIt(t *testing.T) {
	t.Parallel()
	b, e := gpuMachines(t), uuid.New()
	b.placed(e, 0, Amount{GPUs: 6, GPUType: "A100"}, false)
	b.placed(e, 1, Amount{GPUs: 1, GPUType: "A100"}, false)
	_, refused := b.admit("a/p", e, Amount{GPUs: 5, GPUType: "A100"}, 2)
	reason := refused[0].Reason
	require.Equal(t, GPUUnavailable, reason.Code)
	require.Equal(t, "Waiting for 5 A100 GPUs on one machine: 9 are free, at most 4 of them together, and the operator does not set spread.", reason.Message)
	require.Equal(t, int64(1), reason.Missing)
	require.Equal(t, int64(16), reason.Capacity)
	require.Equal(t, []Placement{{"m1", []int{0, 1, 2, 3}}, {"m2", []int{0}}}, b.placed(e, 3, Amount{GPUs: 5, GPUType: "A100"}, true), "on as few as possible")
}

func TestPodsOfAGangStayWhole(t *testing.T) {
	t.Parallel()
	b, e := gpuMachines(t), uuid.New()
	b.placed(e, 0, Amount{GPUs: 5, GPUType: "A100"}, false) // on m3: 3 left there
	got := b.placed(e, 1, Amount{GPUs: 6, GPUType: "A100", Pods: 3}, true)
	require.Equal(t, []Placement{{"m1", []int{0, 1, 2, 3}}, {"m2", []int{0, 1}}}, got)
	b.placed(e, 2, Amount{GPUs: 4, GPUType: "A100", Pods: 2}, true)
	require.Equal(t, int64(19-4), b.used(GPU), "one GPU of m3 is left: not enough for a pod of two")
}

func TestNeverTogether(t *testing.T) {
	t.Parallel()
	b, e := gpuMachines(t), uuid.New()
	r := b.request("a/p", e, 0, Amount{GPUs: 9, GPUType: "A100"})
	require.Equal(t, "Cannot run here: requests 9 A100 GPUs on one machine; the largest has 8. Set spread in the operator to use several machines.", b.NeverFits(r).Message)
	r.Spread = true
	require.Nil(t, b.NeverFits(r))
	r.Amount.GPUType = "H100"
	require.Equal(t, "Cannot run here: requests 9 H100 GPUs; the machines have 0.", b.NeverFits(r).Message)
	r.Amount = Amount{GPUs: 21}
	require.Equal(t, "Cannot run here: requests 21 GPUs; the cluster has 20.", b.NeverFits(r).Message)
	r.Project = uuid.New()
	require.Nil(t, b.NeverFits(r), "a project that is not known yet has no answer")
	require.Equal(t, "The scheduler has not loaded the project yet.", b.Forecast([]Request{r}).Message)
}

// TestCapacityForPodsTogetherIsReserved: small requests do not prevent a machine from becoming free
// for a request that needs all of it.
func TestCapacityForPodsTogetherIsReserved(t *testing.T) {
	t.Parallel()
	b := grow(gpus(8)).tenant("a", Limits{}).project("a/p", Limits{}).schedule(t)
	b.SetMachines([]Machine{machine("m1", "A100", 4), machine("m2", "A100", 4)})
	small, large := uuid.New(), uuid.New()
	b.admit("a/p", small, Amount{GPUs: 1}, 0, 1, 2, 3, 4, 5)
	b.release(small, 0, 1)
	_, refused := b.admit("a/p", large, Amount{GPUs: 4}, 0)
	require.Equal(t, GPUUnavailable, refused[0].Reason.Code)
	b.clock.pass(time.Minute)
	granted, _ := b.admit("a/p", small, Amount{GPUs: 1}, 6, 7)
	require.Empty(t, granted, "4 are free, and reserved")
	b.release(small, 2, 3)
	require.Equal(t, []uuid.UUID{large}, b.woken)
	taken, _ := b.Admit(large, nil, nil)
	require.Equal(t, "m1", taken[0].Placement[0].Machine)
}
