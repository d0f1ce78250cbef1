package sweep_test

import (
	"encoding/json"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/sweep"
	"github.com/flowforge/flowforge/engine/sweep/space"
)

// TestRunsAreLaunchedTogether: the runs that may run concurrently are launched in one transaction.
func TestRunsAreLaunchedTogether(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sp := spec(20, sweep.Random)
	sp.Parallelism, sp.Tags, sp.Note = 20, []string{"night"}, "together"
	sw := b.create(sp)
	b.drive()
	require.Equal(t, sweep.Succeeded, b.ended(sw.ID).State)
	b.once(sw.ID, 20)
	var transactions, tagged int
	require.NoError(t, b.pool.QueryRow(b.ctx, `SELECT count(DISTINCT xmin::text), (SELECT count(*) FROM execution_tags WHERE tag = 'night') FROM audit_log WHERE action = 'execution.launch'`).Scan(&transactions, &tagged))
	require.Equal(t, 1, transactions)
	require.Equal(t, 20, tagged)
}

// TestRefusedRunsOfAGroup: runs that are refused do not prevent the others, until several in a row pause
// the sweep. No run after them is launched.
func TestRefusedRunsOfAGroup(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, _, err := b.workflows.Register(b.ctx, []byte(`{name: strict, version: 1.0.0, inputs: [{name: x, type: Integer, max: most}, {name: most, type: Integer}],
		operators: [{name: wait, type: approval}]}`))
	require.NoError(t, err)
	sw := b.create(sweep.Spec{
		Workflow: "strict", Method: sweep.Grid, Parallelism: 20, Priority: query.Declared, Inputs: map[string]any{"most": json.Number("5")},
		Space: space.Space{{Path: "x", Kind: space.Values, Values: numbers(1, 9, 8, 2, 10, 7, 3, 11, 12, 13, 14, 15, 4)}},
	})
	b.drive()
	sw = b.until(sw.ID, "it to pause", func(sw sweep.Sweep) bool { return sw.State == sweep.Paused })
	require.Equal(t, sweep.ReasonAllRefused, sw.Reason)
	runs, _, err := b.sweeps.Runs(b.ctx, sw.ID, sweep.Filter{Limit: sweep.MaxRuns})
	require.NoError(t, err)
	var states []sweep.RunState
	for _, r := range runs {
		states = append(states, r.State)
	}
	const l, r, w = sweep.RunRunning, sweep.RunRefused, sweep.RunProposed
	require.Equal(t, []sweep.RunState{l, r, r, l, r, r, l, r, r, r, r, r, w}, states)
}

func numbers(values ...float64) (list []any) {
	for _, v := range values {
		list = append(list, v)
	}
	return list
}

// TestAStopWithinAGroup: a panic at any point of a launch pauses the sweep. Resumed, it launches each run
// once.
func TestAStopWithinAGroup(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"launch.begin", "launch.linked", "launch.done"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			var stopped atomic.Bool
			b.config.Crash = func(at string) {
				if at == point && stopped.CompareAndSwap(false, true) {
					panic("stopped at " + at)
				}
			}
			b.sweeps = sweep.New(b.config)
			sw := b.create(spec(8, sweep.Random))
			b.drive()
			b.until(sw.ID, "it to pause", func(sw sweep.Sweep) bool { return sw.State == sweep.Paused })
			require.NoError(t, b.sweeps.Resume(b.ctx, sw.ID))
			require.Equal(t, sweep.Succeeded, b.ended(sw.ID).State)
			b.once(sw.ID, 8)
		})
	}
}

// TestAPauseWaitsForAGroup: no run is launched after a pause was confirmed.
func TestAPauseWaitsForAGroup(t *testing.T) {
	t.Parallel()
	b := setup(t)
	changed := make(chan error, 1)
	b.config.Crash = func(at string) {
		if at == "launch.linked" {
			_, err := b.pool.Exec(b.ctx, "SELECT FROM input_sweeps FOR NO KEY UPDATE NOWAIT")
			select {
			case changed <- err:
			default:
			}
		}
	}
	b.sweeps = sweep.New(b.config)
	sw := b.create(spec(3, sweep.Random))
	b.drive()
	require.Equal(t, sweep.Succeeded, b.ended(sw.ID).State)
	require.ErrorContains(t, <-changed, "could not obtain lock", "the sweep cannot change")
}
