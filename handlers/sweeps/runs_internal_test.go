package sweeps

import (
	"encoding/json"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/sweep"
	"github.com/flowforge/flowforge/engine/sweep/space"
	"github.com/flowforge/flowforge/views"
)

// TestAxesShowTheWholeSpace: an axis does not depend on which values the runs have so far.
func TestAxesShowTheWholeSpace(t *testing.T) {
	t.Parallel()
	rows := []sweep.Run{{Values: space.Combination{"x": json.Number("16")}}}
	c := parameterColumn(space.Parameter{Path: "x", Kind: space.Values, Values: []any{json.Number("32"), json.Number("8"), json.Number("16")}}, rows)
	require.Equal(t, []float64{8, 32}, c.Range)
	require.Equal(t, []float64{8, 16, 32}, c.Ticks)
	c = parameterColumn(space.Parameter{Path: "x", Kind: space.LogUniform, From: new(0.001), To: new(0.5)}, rows)
	require.Equal(t, []float64{0.001, 0.5}, c.Range)
	require.Empty(t, c.Ticks)
	c = parameterColumn(space.Parameter{Path: "x", Kind: space.Normal, Mean: new(1.0), Deviation: new(1.0)}, rows)
	require.Empty(t, c.Range)
	c = parameterColumn(space.Parameter{Path: "x", Kind: space.Values, Values: []any{"mlp", "softmax"}}, []sweep.Run{{Values: space.Combination{"x": "softmax"}}})
	require.Empty(t, c.Range)
	require.Equal(t, []string{"mlp", "softmax"}, c.Categories)
	require.Equal(t, []float64{1}, []float64(c.Values))
}

// TestSilentRunsAreNamed: a sweep whose runs end without the objective says so, and promises no result
// after its end.
func TestSilentRunsAreNamed(t *testing.T) {
	t.Parallel()
	s := sweep.Sweep{State: sweep.Running, Objective: &sweep.Objective{Metric: "acuracy"}}
	require.Equal(t, "No run has a result yet.", figures(s)[0].Note)
	s.Counts.Succeeded = 3
	require.Equal(t, "3 runs ended without reporting “acuracy”.", figures(s)[0].Note)
	s.State, s.Counts.Succeeded = sweep.Succeeded, 1
	require.Equal(t, "1 run ended without reporting “acuracy”.", figures(s)[0].Note)
	s.Counts.Succeeded = 0
	require.Equal(t, "No run has a result.", figures(s)[0].Note)
}

// TestTheRunTableShowsTheSameResults: the table of the runs has the values by which the page of the sweep
// ranks them, in its order, and their curves.
func TestTheRunTableShowsTheSameResults(t *testing.T) {
	t.Parallel()
	s := sweep.Sweep{Space: []space.Parameter{{Path: "lr"}}, Counts: sweep.Counts{Created: 1}, Best: &sweep.Run{}}
	for _, c := range []struct {
		objective     *sweep.Objective
		columns, sort string
	}{
		{nil, "inputs.lr,tags,duration", ""},
		{&sweep.Objective{Metric: "accuracy", Goal: sweep.Maximize, Value: sweep.BestValue}, "inputs.lr,metrics.accuracy.max,tags,duration,metrics.accuracy~chart", "-metrics.accuracy.max"},
		{&sweep.Objective{Metric: "loss", Goal: sweep.Minimize, Value: sweep.LastValue}, "inputs.lr,metrics.loss,tags,duration,metrics.loss~chart", "metrics.loss"},
		{&sweep.Objective{Output: "score", Goal: sweep.Maximize}, "inputs.lr,outputs.score,tags,duration", "-outputs.score"},
	} {
		s.Objective = c.objective
		u, err := url.Parse(runTableURL(s))
		require.NoError(t, err)
		require.Equal(t, c.columns, u.Query().Get("columns"))
		require.Equal(t, c.sort, u.Query().Get("sort"))
	}
	columns := func() string {
		u, err := url.Parse(runTableURL(s))
		require.NoError(t, err)
		require.Empty(t, u.Query().Get("sort"))
		return u.Query().Get("columns")
	}
	s.Best = nil
	require.Equal(t, "inputs.lr,tags,duration", columns(), "no run has a result")
	s.Inputs = map[string]any{"net": map[string]any{"layers": []any{map[string]any{"width": json.Number("8")}}}}
	s.Space = []space.Parameter{{Path: "net.layers.0.width"}, {Path: "net.rate"}, {Path: "data", Values: []any{map[string]any{"$artifact": "x"}}}}
	require.Equal(t, "inputs.net.layers,inputs.net.rate,tags,duration", columns(), "the table has lists as a whole")
	s.Counts.Waiting = 1
	require.Equal(t, "tags,duration", columns(), "no run has started")
}

// TestResultsDoNotMoveRows: while a page is open, rows stay where they are, new ones follow, and the page
// offers to sort them.
func TestResultsDoNotMoveRows(t *testing.T) {
	t.Parallel()
	table := func(indexes ...int) *views.SweepRuns {
		m := &views.SweepRuns{}
		for _, i := range indexes {
			m.Rows = append(m.Rows, views.SweepRunRow{Index: i})
		}
		return m
	}
	u, err := url.Parse(streamURL("x", url.Values{"sort": {"objective"}}, views.SweepView{Runs: *table(3, 1, 2)}))
	require.NoError(t, err)
	require.Equal(t, "objective", u.Query().Get("sort"))
	order := orderOf(u.Query())

	same := table(3, 1, 2)
	order = keepOrder(same, order)
	require.Equal(t, table(3, 1, 2), same)

	better := table(4, 2, 3, 1) // run 2 is now better than run 3, and run 4 is new
	order = keepOrder(better, order)
	require.Equal(t, table(3, 1, 2, 4).Rows, better.Rows)
	require.True(t, better.Moved)
	require.Equal(t, []int{3, 1, 2, 4}, order)
	require.Empty(t, orderOf(url.Values{}))
}

// TestTheReasonOfARunDoesNotRepeatItsState, which the table shows next to it.
func TestTheReasonOfARunDoesNotRepeatItsState(t *testing.T) {
	t.Parallel()
	require.Equal(t, "Below the median at step 2 (0.1, median of 4 other runs 0.5).",
		reasonOf(sweep.Run{State: sweep.RunStoppedEarly, Message: "Stopped early: below the median at step 2 (0.1, median of 4 other runs 0.5)."}))
	require.Equal(t, "x failed.", reasonOf(sweep.Run{State: sweep.RunFailed, Message: "x failed."}))
}
