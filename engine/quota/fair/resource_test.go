package fair

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAmountsInWords(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		"1.5 cores, 2 GiB, 8 A100 GPUs, 2 pods": Amount{CPUMillis: 1500, MemoryMiB: 2048, GPUs: 8, GPUType: "A100", Pods: 2}.String(),
		"1 core, 512 MiB, 1 GPU, 1 pod":         Amount{CPUMillis: 1000, MemoryMiB: 512, GPUs: 1, Pods: 1}.String(),
		"1 execution":                           Amount{Executions: 1}.String(),
		"1.5 GiB":                               Memory.Format(1536),
		"A100 GPUs":                             OfType("A100").Title(),
		"":                                      Amount{}.String(),
	} {
		require.Equal(t, want, got)
	}
	require.Equal(t, Vector{GPU: 2, "gpu:T4": 2}, Amount{GPUs: 2, GPUType: "T4"}.Vector())
	require.True(t, OfType("T4").Valid())
	require.False(t, OfType("").Valid())
	require.False(t, Resource("disk").Valid())
	require.Error(t, Amount{CPUMillis: -1}.Check())
	require.Error(t, Amount{GPUType: "T4"}.Check())
	require.NoError(t, Amount{GPUs: 1, GPUType: "T4"}.Check())
}

func TestVectors(t *testing.T) {
	t.Parallel()
	a := Vector{CPU: 1, GPU: 2}
	require.Equal(t, Vector{CPU: 4, GPU: 2}, a.Plus(Vector{CPU: 3}))
	require.Equal(t, Vector{GPU: 2}, a.Minus(Vector{CPU: 1}))
	require.Equal(t, Vector{CPU: 1, GPU: 2}, a, "Plus and Minus do not change a")
	require.Equal(t, Vector{CPU: 1}, Vector(nil).Plus(Vector{CPU: 1}))
	require.Equal(t, []Resource{CPU, Memory, GPU, "gpu:A", "gpu:B", Pods, Executions, Storage},
		Vector{Storage: 1, "gpu:B": 1, Executions: 1, GPU: 1, Memory: 1, "gpu:A": 1, CPU: 1, Pods: 1}.Resources())
}

func TestEstimateOfDurations(t *testing.T) {
	t.Parallel()
	var durations []time.Duration
	for i := range 11 {
		durations = append(durations, time.Duration(11-i)*time.Minute)
	}
	require.Equal(t, Estimate{Low: 2 * time.Minute, Typical: 6 * time.Minute, High: 10 * time.Minute, From: 11}, EstimateOf(durations))
	require.Equal(t, Estimate{Low: time.Minute, Typical: time.Minute, High: time.Minute, From: 1}, EstimateOf([]time.Duration{time.Minute}))
	require.False(t, EstimateOf(nil).Known())
}
