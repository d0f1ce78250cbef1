package sweep_test

import (
	"maps"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/sweep"
	"github.com/flowforge/flowforge/engine/sweep/space"
)

// TestExecutionsBySweep: the runs of a sweep are one entry of a list, on pages of any size and with
// filters, and each run is an entry of its own when the sweep is removed.
func TestExecutionsBySweep(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.drive()
	launch := func(workflow string) uuid.UUID {
		e, _, err := b.engine.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: workflow, Inputs: map[string]any{"x": 1.0}})
		require.NoError(t, err)
		return e.ID
	}
	first := launch("square")
	ended := b.create(spec(5, sweep.Random))
	b.ended(ended.ID)
	middle := launch("gate")
	live := b.create(sweep.Spec{
		Workflow: "gate", Method: sweep.Grid, Parallelism: 3, Priority: query.Declared,
		Space: space.Space{{Path: "x", Kind: space.Values, Values: []any{1, 2, 3}}},
	})
	b.until(live.ID, "three runs", func(s sweep.Sweep) bool { return s.Counts.Running == 3 })
	last := launch("square")
	for _, id := range []uuid.UUID{first, last} {
		require.Eventually(t, func() bool {
			e, err := b.engine.Get(b.ctx, id)
			return err == nil && e.Status == query.Succeeded
		}, time.Minute, 10*time.Millisecond)
	}

	list := func(f query.Filter, limit int) (places []uuid.UUID, runs map[uuid.UUID]int) {
		f.BySweep, f.Limit, runs = true, limit, map[uuid.UUID]int{}
		for {
			page, err := b.engine.List(b.ctx, f)
			require.NoError(t, err)
			require.LessOrEqual(t, len(page.Executions), limit)
			for _, e := range page.Executions {
				if e.SweepID != nil {
					places = append(places, *e.SweepID)
				} else {
					places = append(places, e.ID)
				}
			}
			maps.Copy(runs, page.Runs)
			if f.After = page.Next; f.After == "" {
				return places, runs
			}
		}
	}
	subject := b.create(sweep.Spec{Workflow: "square", Method: sweep.Grid, Parallelism: 1, Priority: query.Declared,
		Space: space.Space{{Path: "x", Kind: space.Values, Values: []any{1}}}})
	b.ended(subject.ID)
	all := []uuid.UUID{subject.ID, last, live.ID, middle, ended.ID, first}
	for limit := 1; limit <= len(all)+1; limit++ {
		places, runs := list(query.Filter{}, limit)
		require.Equal(t, all, places, "pages of %d", limit)
		require.Empty(t, runs, "all runs match")
	}
	places, runs := list(query.Filter{Status: []query.State{query.Succeeded}}, 2)
	require.Equal(t, []uuid.UUID{subject.ID, last, ended.ID, first}, places)
	require.Equal(t, map[uuid.UUID]int{ended.ID: 5, subject.ID: 1}, runs)
	places, runs = list(query.Filter{Status: []query.State{query.Running}, Workflow: "gate"}, 2)
	require.Equal(t, []uuid.UUID{live.ID, middle}, places)
	require.Equal(t, map[uuid.UUID]int{live.ID: 3}, runs)
	places, _ = list(query.Filter{Workflow: "square"}, 10)
	require.Equal(t, []uuid.UUID{subject.ID, last, ended.ID, first}, places)

	found, err := b.engine.List(b.ctx, query.Filter{BySweep: true, Query: "run 2"})
	require.NoError(t, err)
	require.Len(t, found.Executions, 2, "a text finds each run")
	each, err := b.engine.List(b.ctx, query.Filter{})
	require.NoError(t, err)
	require.Len(t, each.Executions, 12)

	_, err = b.pool.Exec(b.ctx, "DELETE FROM input_sweeps WHERE id = $1", ended.ID)
	require.NoError(t, err)
	places, _ = list(query.Filter{}, 4)
	require.Len(t, places, 10, "the five runs of the removed sweep are executions of no sweep")
}
