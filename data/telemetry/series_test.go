package telemetry

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSeries: curves are distinct by name, attempt and tags, and equal when read from
// the spool, from ClickHouse or from both.
func TestSeries(t *testing.T) {
	t.Parallel()
	both(t, func(*testBundle) []LogLine { return nil }, func(t *testing.T, b *testBundle) {
		var points []Point
		for i := range int64(100) {
			points = append(points, b.point(i+1, float64(i)))
		}
		val := b.point(200, 7)
		val.Tags = map[string]string{"split": "val"}
		again := b.point(300, 8)
		again.Attempt = 2
		count := b.point(400, 9)
		count.Name, count.Kind, count.Step = "rows", Counter, nil
		nan := b.point(500, math.NaN())
		nan.Name = "odd"
		points = append(points, val, again, count, nan)
		require.NoError(t, b.AppendMetrics(b.ctx, points[:60]))
		require.NoError(t, b.flush(b.ctx))
		require.NoError(t, b.AppendMetrics(b.ctx, points))

		got, err := b.Series(b.ctx, MetricQuery{ExecutionID: b.execution})
		require.NoError(t, err)
		require.Len(t, got, 5)
		require.Equal(t, []string{"loss", "loss", "loss", "odd", "rows"}, []string{got[0].Name, got[1].Name, got[2].Name, got[3].Name, got[4].Name})
		main := got[0]
		require.Len(t, main.Points, 100)
		require.True(t, main.BySteps)
		require.Equal(t, Summary{Count: 100, Min: 0, Max: 99, Mean: 49.5, Last: 99}, main.Summary)
		for i, p := range main.Points {
			require.EqualValues(t, i+1, *p.Step)
			require.InDelta(t, i, float64(p.Value), 0)
		}
		require.Equal(t, map[string]string{"split": "val"}, got[1].Tags)
		require.Equal(t, 2, got[2].Attempt)
		require.True(t, math.IsNaN(float64(got[3].Points[0].Value)))
		require.Equal(t, Counter, got[4].Kind)
		require.False(t, got[4].BySteps)

		got, err = b.Series(b.ctx, MetricQuery{ExecutionID: b.execution, MaxSeries: 2})
		require.NoError(t, err)
		require.Len(t, got, 4)
		require.Equal(t, []string{"loss", "loss", "odd", "rows"}, []string{got[0].Name, got[1].Name, got[2].Name, got[3].Name})
		require.Equal(t, []int{3, 3, 1, 1}, []int{got[0].Of, got[1].Of, got[2].Of, got[3].Of})
		require.Len(t, got[0].Points, 100)
		require.Equal(t, "val", got[1].Tags["split"])

		one := 1
		got, err = b.Series(b.ctx, MetricQuery{ExecutionID: b.execution, Node: "train", Attempt: &one, Names: []string{"rows", "x"}, MaxPoints: 10})
		require.NoError(t, err)
		require.Len(t, got, 1)
		got, err = b.Series(b.ctx, MetricQuery{ExecutionID: b.execution, Node: "other"})
		require.NoError(t, err)
		require.Empty(t, got)
	})
}

// TestLongSeries: a long curve is downsampled to the requested points, and keeps its
// peaks, its ends and its exact summary.
func TestLongSeries(t *testing.T) {
	t.Parallel()
	for _, bySteps := range []bool{true, false} {
		b := setup(t, nil)
		points := make([]Point, 20_000)
		for i := range points {
			p := b.point(int64(i), math.Sin(float64(i)/500))
			p.Time = time.Unix(1_790_000_000, 0).Add(time.Duration(i) * time.Millisecond)
			if !bySteps {
				p.Step = nil
			}
			points[i] = p
		}
		points[12_345].Value = 50
		points[777].Value = -50
		require.NoError(t, b.AppendMetrics(b.ctx, points[:15_000]))
		b.flushed(t)
		require.NoError(t, b.AppendMetrics(b.ctx, points[15_000:]))
		got, err := b.Series(b.ctx, MetricQuery{ExecutionID: b.execution, MaxPoints: 200})
		require.NoError(t, err)
		require.Len(t, got, 1)
		s := got[0]
		require.Equal(t, bySteps, s.BySteps)
		require.Len(t, s.Points, 200)
		require.Equal(t, 20_000, s.Summary.Count)
		require.InDelta(t, -50, float64(s.Summary.Min), 0)
		require.InDelta(t, 50, float64(s.Summary.Max), 0)
		low, high := 0.0, 0.0
		for i, p := range s.Points {
			low, high = min(low, float64(p.Value)), max(high, float64(p.Value))
			require.False(t, i > 0 && p.Time.Before(s.Points[i-1].Time))
		}
		require.InDelta(t, -50, low, 0)
		require.InDelta(t, 50, high, 0)
	}
}
