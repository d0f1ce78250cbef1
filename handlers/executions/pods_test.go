package executions

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/views/ui"
)

// Equal events share one row with their number and latest time. Warnings come first only until
// the pod has started.
func TestPodEventsAreListedOnce(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	events := []query.PodEvent{
		{Attempt: 1, At: at, Warning: true, Reason: "FailedScheduling", Message: "no room", Count: 2},
		{Attempt: 1, At: at.Add(time.Second), Reason: "Started", Message: "Container started", Count: 1},
		{Attempt: 1, At: at.Add(2 * time.Second), Reason: "Started", Message: "Container started"},
		{Attempt: 2, At: at, Reason: "Started", Message: "Container started"},
	}
	clock := ui.Clock{Now: at.Add(time.Minute)}
	waits, _ := podEventLines(clock, query.Attempt{Number: 1}, events)
	require.Len(t, waits, 2)
	require.Equal(t, "FailedScheduling", waits[0].Reason)
	require.Equal(t, "× 2", waits[0].Count)
	require.Equal(t, "× 2", waits[1].Count)
	require.Equal(t, "12:00:02", waits[1].At.Text)

	runs, _ := podEventLines(clock, query.Attempt{Number: 1, StartedAt: &at}, events)
	require.Equal(t, "Started", runs[0].Reason)
}

// Hints announce a next attempt only if there is one.
func TestWhatFollowsAnEndIsSo(t *testing.T) {
	t.Parallel()
	lost := query.Attempt{Number: 3, Class: "node_lost"}
	d := query.NodeDetail{Node: query.Node{State: dag.Failed, Attempt: 3}}
	require.NotContains(t, podClass(lost, d).Hint, "is retried")
	d.State = dag.Retrying
	require.Contains(t, podClass(lost, d).Hint, "FlowForge retries the attempt, and the retry limit does not apply.")

	hungry := query.Attempt{Number: 1, Class: "out_of_memory", MemoryMiB: 64}
	d = query.NodeDetail{Node: query.Node{State: dag.Running, Attempt: 2}, Attempts: []query.Attempt{hungry, {Number: 2, MemoryMiB: 256}}, Operator: &workflow.Operator{}}
	require.Equal(t, "The next attempt received 256 MiB.", podClass(hungry, d).Hint)
	d.Attempts[1].MemoryMiB = 64
	require.Contains(t, podClass(hungry, d).Hint, "Request more memory")
}

// Amounts have a readable unit and a suitable precision.
func TestUseIsDrawnInAUnitThatFits(t *testing.T) {
	t.Parallel()
	memory := usageKinds()[1]
	points := func(values ...float64) []telemetry.Series {
		s := telemetry.Series{Name: "system.memory_mib"}
		for _, v := range values {
			s.Points = append(s.Points, telemetry.SeriesPoint{Value: telemetry.Number(v)})
		}
		return []telemetry.Series{s}
	}
	small := points(26.8457, 168.4453)
	require.Equal(t, "Memory, MiB", memory.fit(small))
	require.InDelta(t, 26.8, float64(small[0].Points[0].Value), 1e-9)
	require.InDelta(t, 168, float64(small[0].Points[1].Value), 1e-9)
	large := points(512, 3072)
	require.Equal(t, "Memory, GiB", memory.fit(large))
	require.InDelta(t, 3, float64(large[0].Points[1].Value), 1e-9)
}

// An unreachable cluster has its own text. Other messages are unchanged.
func TestReasonsAreForPeople(t *testing.T) {
	t.Parallel()
	require.NotContains(t, label.ReasonText(&query.Reason{Code: "CLUSTER_AWAY", Message: `Post "https://10.0.0.1/api": EOF`}), "https")
	require.Equal(t, "4 Insufficient nvidia.com/gpu", label.ReasonText(&query.Reason{Code: "UNSCHEDULABLE", Message: "4 Insufficient nvidia.com/gpu"}))
}
