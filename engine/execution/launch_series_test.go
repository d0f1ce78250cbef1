package execution_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/enginetest"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
)

// TestHeldExecutionsStartLater: executions of a series can start after all of them are launched. Others
// start meanwhile.
func TestHeldExecutionsStartLater(t *testing.T) {
	t.Parallel()
	e := enginetest.New(t)
	e.Register(`{name: quick, version: 1.0.0, operators: [{name: one, type: noop}]}`)
	e.Run()
	request := execution.LaunchRequest{Workflow: "quick", Priority: query.Normal}
	until := make(chan struct{})
	series := e.Service.Launches.Series()
	series.HoldStarts(until)
	first := series.Launch(e.Ctx, execution.LaunchGroup{Requests: []execution.LaunchRequest{request, request}})
	second := series.Launch(e.Ctx, execution.LaunchGroup{Requests: []execution.LaunchRequest{request}})
	held := slices.Concat(first, second)
	other, _, err := e.Service.Launches.Launch(e.Ctx, request)
	require.NoError(t, err)
	ended := func(id execution.LaunchOutcome) func() bool {
		return func() bool {
			now, err := e.Service.Get(e.Ctx, id.ID)
			return err == nil && now.Status == query.Succeeded
		}
	}
	require.Eventually(t, ended(execution.LaunchOutcome{ID: other.ID}), time.Minute, 5*time.Millisecond)
	for _, outcome := range held {
		require.NoError(t, outcome.Err)
		now, err := e.Service.Get(e.Ctx, outcome.ID)
		require.NoError(t, err)
		require.Equal(t, query.Pending, now.Status)
	}
	close(until)
	series.Close()
	for _, outcome := range held {
		require.Eventually(t, ended(outcome), time.Minute, 5*time.Millisecond)
	}
}

// TestChecksOfASeries: requests can be checked before they are written, and only the first ones launched.
func TestChecksOfASeries(t *testing.T) {
	t.Parallel()
	e := enginetest.New(t)
	e.Register(`{name: counts, version: 1.0.0, inputs: [{name: n, type: "Integer(max=3)"}], operators: [{name: one, type: noop}]}`)
	series := e.Service.Launches.Series()
	defer series.Close()
	var requests []execution.LaunchRequest
	for _, n := range []json.Number{"1", "4", "2", "3"} {
		requests = append(requests, execution.LaunchRequest{Workflow: "counts", Inputs: map[string]any{"n": n}})
	}
	checked := series.Check(e.Ctx, requests)
	var launched int
	require.NoError(t, e.Pool.QueryRow(e.Ctx, "SELECT count(*) FROM executions").Scan(&launched))
	require.Zero(t, launched)
	require.NoError(t, checked.Err(0))
	require.Error(t, checked.Err(1))
	outcomes := series.Write(e.Ctx, checked.First(3), nil)
	require.Len(t, outcomes, 3)
	require.NoError(t, outcomes[0].Err)
	require.Equal(t, checked.Err(1), outcomes[1].Err)
	require.NoError(t, outcomes[2].Err)
	require.NoError(t, e.Pool.QueryRow(e.Ctx, "SELECT count(*) FROM executions").Scan(&launched))
	require.Equal(t, 2, launched)
	require.NoError(t, e.Pool.QueryRow(e.Ctx, "SELECT count(DISTINCT execution_id) FROM execution_changes").Scan(&launched))
	require.Equal(t, 2, launched, "the index of values follows")
}

// TestASeriesOutlivesItsConnection: after its connection broke, the next group has another one.
func TestASeriesOutlivesItsConnection(t *testing.T) {
	t.Parallel()
	e := enginetest.New(t)
	e.Register(`{name: quick, version: 1.0.0, operators: [{name: one, type: noop}]}`)
	series := e.Service.Launches.Series()
	defer series.Close()
	database, err := series.Database(e.Ctx)
	require.NoError(t, err)
	var pid int
	require.NoError(t, database.QueryRow(e.Ctx, "SELECT pg_backend_pid()").Scan(&pid))
	_, err = e.Pool.Exec(e.Ctx, "SELECT pg_terminate_backend($1)", pid)
	require.NoError(t, err)
	group := execution.LaunchGroup{Requests: []execution.LaunchRequest{{Workflow: "quick", Priority: query.Normal}}}
	require.Error(t, series.Launch(e.Ctx, group)[0].Err, "the group that meets the failure")
	require.NoError(t, series.Launch(e.Ctx, group)[0].Err)
}
