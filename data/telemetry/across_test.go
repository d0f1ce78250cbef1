package telemetry

import (
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
)

// several runs a test on the metrics of two executions in the spool, in ClickHouse and in both.
func several(t *testing.T, points func(b *testBundle, other uuid.UUID) []Point, check func(*testing.T, *testBundle, []Place)) {
	t.Helper()
	for _, where := range []string{"spool", "ClickHouse", "both"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			b := setup(t, func(c *Config) {
				if where != "ClickHouse" {
					c.FlushInterval = time.Hour
				}
			})
			b.flushed(t)
			other := uuid.Must(uuid.NewV7())
			all := points(b, other)
			half := 0
			if where == "both" {
				half = len(all) / 2
				require.NoError(t, b.AppendMetrics(b.ctx, all[:half]))
				require.NoError(t, b.flush(b.ctx))
			}
			require.NoError(t, b.AppendMetrics(b.ctx, all[half:]))
			if where == "ClickHouse" {
				b.flushed(t)
			}
			check(t, b, []Place{{b.execution, auth.LocalProject}, {other, auth.LocalProject}})
		})
	}
}

// TestTotals: the totals of several executions contain the lowest, the highest and the last
// value of each series, wherever its points are.
func TestTotals(t *testing.T) {
	t.Parallel()
	several(t, func(b *testBundle, other uuid.UUID) []Point {
		odd := b.point(1, math.NaN())
		odd.Name = "odd"
		points := []Point{b.point(2, 5), b.point(3, 9), odd}
		usage := b.point(4, 1)
		usage.Name = machinePrefix + "cpu"
		for i, v := range []float64{7, 1, 4} {
			p := b.point(int64(5+i), v)
			p.ExecutionID = other
			points = append(points, p)
		}
		nan := b.point(9, math.NaN())
		inf := b.point(8, math.Inf(1))
		nan.ExecutionID, inf.ExecutionID = other, other
		return append(points, usage, b.point(10, 3), inf, nan)
	}, func(t *testing.T, b *testBundle, places []Place) {
		read, err := b.Totals(b.ctx, TotalsQuery{Places: places, Limit: 10})
		require.NoError(t, err)
		require.Empty(t, read.Cut)
		require.False(t, read.Partial)
		totals := read.List
		require.Len(t, totals, 3)
		require.Equal(t, "loss", totals[0].Name)
		require.Equal(t, []Number{3, 9, 3}, []Number{totals[0].Min, totals[0].Max, totals[0].Last})
		require.Equal(t, "odd", totals[1].Name)
		for _, v := range []Number{totals[1].Min, totals[1].Max, totals[1].Last} {
			require.True(t, math.IsNaN(float64(v)))
		}
		require.Equal(t, places[1].ExecutionID, totals[2].ExecutionID)
		require.Equal(t, Number(1), totals[2].Min)
		require.Equal(t, Number(math.Inf(1)), totals[2].Max)
		require.True(t, math.IsNaN(float64(totals[2].Last)))

		read, err = b.Totals(b.ctx, TotalsQuery{Places: places, Limit: 1})
		require.NoError(t, err)
		require.Len(t, read.List, 2)
		require.Equal(t, []uuid.UUID{b.execution}, read.Cut)

		read, err = b.Totals(b.ctx, TotalsQuery{Places: places, Name: "odd", Limit: 1})
		require.NoError(t, err)
		require.Len(t, read.List, 1)
		require.Equal(t, "odd", read.List[0].Name)
		require.Empty(t, read.Cut, "series of other metrics do not count")
	})
}

// TestMetricNames: metrics that more executions report come first, wherever their points are. Resource
// usage is not a metric of tasks.
func TestMetricNames(t *testing.T) {
	t.Parallel()
	several(t, func(b *testBundle, other uuid.UUID) []Point {
		named := func(step int64, name string, execution uuid.UUID) Point {
			p := b.point(step, 1)
			p.Name, p.ExecutionID = name, execution
			return p
		}
		return []Point{
			named(1, "accuracy", b.execution), named(2, "zeta", b.execution), named(3, machinePrefix+"cpu", other), named(4, "zeta", other), named(5, "zeta", other),
		}
	}, func(t *testing.T, b *testBundle, places []Place) {
		names, partial, err := b.MetricNames(b.ctx, places)
		require.NoError(t, err)
		require.False(t, partial)
		require.Equal(t, []MetricName{{"zeta", 2}, {"accuracy", 1}}, names)
		none, _, err := b.MetricNames(b.ctx, nil)
		require.NoError(t, err)
		require.Empty(t, none)
	})
}

// TestCurvesKeepExtremes: thinned curves of several executions keep every peak, on one grid.
func TestCurvesKeepExtremes(t *testing.T) {
	t.Parallel()
	const n = 5000
	several(t, func(b *testBundle, other uuid.UUID) []Point {
		var points []Point
		for i := range int64(n) {
			a, c := b.point(i+1, 0), b.point(i+1, 1)
			c.ExecutionID = other
			switch i {
			case 1234:
				a.Value = 100
			case 4321:
				c.Value = -100
			}
			points = append(points, a, c)
		}
		return points
	}, func(t *testing.T, b *testBundle, places []Place) {
		q := CurveQuery{Places: places, Name: "loss", Axis: AxisStep, Buckets: 50, Series: []SeriesRef{{places[0].ExecutionID, 1, 1}, {places[1].ExecutionID, 1, 1}}}
		curves, partial, err := b.Curves(b.ctx, q)
		require.NoError(t, err)
		require.False(t, partial)
		require.Len(t, curves, 2)
		for i, want := range []Extreme{{1235, 100}, {4322, -100}} {
			require.Equal(t, places[i].ExecutionID, curves[i].ExecutionID)
			require.LessOrEqual(t, len(curves[i].Points), 100)
			require.Contains(t, curves[i].Points, want)
			require.IsIncreasing(t, xs(curves[i]))
		}

		q.Axis, q.Buckets = AxisRelative, 2*n
		q.Origins = []time.Time{time.Unix(1_790_000_000, 0), time.Unix(1_790_000_001, 0)}
		curves, _, err = b.Curves(b.ctx, q)
		require.NoError(t, err)
		require.Len(t, curves[0].Points, n)
		first := b.point(1, 0).Time.Sub(q.Origins[0]).Microseconds()
		require.InDelta(t, first, curves[0].Points[0].X, 0)
		require.InDelta(t, first-time.Second.Microseconds(), curves[1].Points[0].X, 0)

		q.Name, q.Axis = "absent", AxisTime
		curves, _, err = b.Curves(b.ctx, q)
		require.NoError(t, err)
		require.Empty(t, curves)
	})
}

func xs(c Curve) []float64 {
	var out []float64
	for _, p := range c.Points {
		out = append(out, p.X)
	}
	return out
}

// TestCurvesWithoutSteps: a value without a step is at step 0, and not at its large sequence.
func TestCurvesWithoutSteps(t *testing.T) {
	t.Parallel()
	several(t, func(b *testBundle, other uuid.UUID) []Point {
		a, c := b.point(1_700_000_000_000, 3), b.point(1_800_000_000_000, 4)
		c.ExecutionID, a.Step, c.Step = other, nil, nil
		a.Time, c.Time = time.Unix(1_790_000_000, 0), time.Unix(1_790_000_001, 0)
		return []Point{a, c}
	}, func(t *testing.T, b *testBundle, places []Place) {
		curves, _, err := b.Curves(b.ctx, CurveQuery{Places: places, Name: "loss", Axis: AxisStep, Buckets: 50, Series: []SeriesRef{{places[0].ExecutionID, 1, 1}, {places[1].ExecutionID, 1, 1}}})
		require.NoError(t, err)
		require.Equal(t, []Extreme{{0, 3}}, curves[0].Points)
		require.Equal(t, []Extreme{{0, 4}}, curves[1].Points)
	})
}

// TestOtherProjectsStayHidden: metrics of a project that the caller may not read are absent.
func TestOtherProjectsStayHidden(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	ctx := auth.WithSubject(t.Context(), auth.Subject{ID: uuid.Must(uuid.NewV7()), Role: auth.RoleUser, ProjectID: auth.LocalProject})
	places := []Place{{b.execution, auth.LocalProject}}
	_, err := b.Totals(ctx, TotalsQuery{Places: places, Limit: 10})
	require.True(t, apperr.Is(err, apperr.NotFound), "%v", err)
	_, _, err = b.Curves(ctx, CurveQuery{Places: places, Name: "loss", Series: []SeriesRef{{b.execution, 1, 1}}})
	require.True(t, apperr.Is(err, apperr.NotFound), "%v", err)
	_, _, err = b.MetricNames(ctx, places)
	require.True(t, apperr.Is(err, apperr.NotFound), "%v", err)
}

// TestAcrossWithoutClickHouse: while ClickHouse does not respond, readers get what is in the spool,
// and learn that it is not everything.
func TestAcrossWithoutClickHouse(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config) { c.ClickHouseURL = "http+unix://" + filepath.Join(t.TempDir(), "none.sock") })
	require.NoError(t, b.AppendMetrics(b.ctx, []Point{b.point(1001, 2), b.point(2000, 3), b.point(3000, 4)}))
	b.store.migrated.Store(true) // it answered before
	places := []Place{{b.execution, auth.LocalProject}}
	totals, err := b.Totals(b.ctx, TotalsQuery{Places: places, Limit: 10})
	require.NoError(t, err)
	require.True(t, totals.Partial)
	require.Equal(t, Number(4), totals.List[0].Max)
	names, partial, err := b.MetricNames(b.ctx, places)
	require.NoError(t, err)
	require.True(t, partial)
	require.Equal(t, []MetricName{{"loss", 1}}, names)
	curves, partial, err := b.Curves(b.ctx, CurveQuery{Places: places, Name: "loss", Axis: AxisStep, Buckets: 10, Series: []SeriesRef{{b.execution, 1, 1}}})
	require.NoError(t, err)
	require.True(t, partial)
	require.Equal(t, []Extreme{{1001, 2}, {2000, 3}, {3000, 4}}, curves[0].Points, "each point has its bucket")
}

// TestCurvesByTags: series of an attempt that differ in their tags are different curves, and keep
// their tags when only one of them is left.
func TestCurvesByTags(t *testing.T) {
	t.Parallel()
	several(t, func(b *testBundle, other uuid.UUID) []Point {
		var points []Point
		for i, fold := range []string{"1", "2"} {
			p, alone := b.point(int64(10+i), float64(i)), b.point(int64(20+i), float64(10+i))
			p.Tags = map[string]string{"fold": fold}
			alone.Tags = map[string]string{"fold": "1"}
			alone.ExecutionID = other
			points = append(points, p, alone)
		}
		return points
	}, func(t *testing.T, b *testBundle, places []Place) {
		q := CurveQuery{Places: places, Name: "loss", Axis: AxisStep, Buckets: 50, Series: []SeriesRef{{places[0].ExecutionID, 1, 1}, {places[1].ExecutionID, 1, 1}}}
		curves, _, err := b.Curves(b.ctx, q)
		require.NoError(t, err)
		require.Len(t, curves, 3)
		for i, want := range []Curve{{Tags: map[string]string{"fold": "1"}, Points: []Extreme{{10, 0}}}, {Tags: map[string]string{"fold": "2"}, Points: []Extreme{{11, 1}}}} {
			require.Equal(t, want.Tags, curves[i].Tags)
			require.Equal(t, want.Points, curves[i].Points)
		}
		require.Len(t, curves[2].Points, 2)

		q.Places, q.Series = q.Places[1:], q.Series[1:]
		curves, _, err = b.Curves(b.ctx, q)
		require.NoError(t, err)
		require.Len(t, curves, 1)
		require.Equal(t, map[string]string{"fold": "1"}, curves[0].Tags)
		require.Equal(t, []Extreme{{20, 10}, {21, 11}}, curves[0].Points)
	})
}
