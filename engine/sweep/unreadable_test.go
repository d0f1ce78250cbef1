package sweep_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/sweep"
	"github.com/flowforge/flowforge/platform/testlog"
)

// TestAnUnreadableSweepIsSetAside: it says so, hides no other sweep, is logged once and is left alone
// until a user resumes it.
func TestAnUnreadableSweepIsSetAside(t *testing.T) {
	t.Parallel()
	b := setup(t)
	log := &testlog.Buffer{}
	b.config.Logger = slog.New(slog.NewTextHandler(log, nil))
	b.sweeps = sweep.New(b.config)
	sw := b.create(spec(3, sweep.Random))
	_, err := b.pool.Exec(b.ctx, `UPDATE input_sweeps SET space = '{"of": "another version"}' WHERE id = $1`, sw.ID)
	require.NoError(t, err)
	b.drive()
	aside := b.until(sw.ID, "it to be set aside", func(sw sweep.Sweep) bool { return sw.State == sweep.Paused })
	require.Equal(t, sweep.ReasonUnreadable, aside.Reason)
	require.Contains(t, aside.Message, `This server cannot read the stored field "space"`)
	open, err := db.New(b.pool).OpenInputSweeps(b.ctx)
	require.NoError(t, err)
	require.Empty(t, open, "the driver leaves it alone")
	other := b.ended(b.create(spec(2, sweep.Random)).ID)
	list, _, err := b.sweeps.List(b.ctx, sweep.Listed{})
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Equal(t, sweep.Succeeded, other.State)
	require.Equal(t, 1, strings.Count(log.String(), "a sweep cannot be read"))
	_, err = b.sweeps.Change(b.ctx, sw.ID, sweep.Edit{Parallelism: new(2)})
	require.Equal(t, apperr.Conflict, apperr.CodeOf(err))
	require.Contains(t, apperr.MessageOf(err), `"space"`)

	_, err = b.pool.Exec(b.ctx, "UPDATE input_sweeps SET space = (SELECT space FROM input_sweeps WHERE id = $2) WHERE id = $1", sw.ID, other.ID)
	require.NoError(t, err)
	require.NoError(t, b.sweeps.Resume(b.ctx, sw.ID))
	require.Equal(t, sweep.Succeeded, b.ended(sw.ID).State)
}

// TestAnUnreadableRunIsNamed: the other runs are listed, and the sweep can still be stopped.
func TestAnUnreadableRunIsNamed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	stop := b.drive()
	sw, runs := b.waiting(2, func(*sweep.Spec) {})
	stop()
	_, err := b.pool.Exec(b.ctx, `UPDATE input_sweep_runs SET rungs = '[]', chosen = '[]' WHERE sweep_id = $1 AND number = 1`, sw.ID)
	require.NoError(t, err)
	b.drive()
	b.until(sw.ID, "it to be set aside", func(sw sweep.Sweep) bool { return sw.Reason == sweep.ReasonUnreadable })
	now, _, err := b.sweeps.Runs(b.ctx, sw.ID, sweep.Filter{})
	require.NoError(t, err)
	require.Len(t, now, 2)
	require.Equal(t, runs[0].Values, now[0].Values)
	require.Contains(t, now[1].Message, `"values"`)
	require.NoError(t, b.sweeps.Stop(b.ctx, sw.ID, true))
	b.until(sw.ID, "it to be set aside again", func(sw sweep.Sweep) bool {
		return sw.State == sweep.Stopping && sw.Reason == sweep.ReasonUnreadable
	})
	_, err = b.pool.Exec(b.ctx, `UPDATE input_sweep_runs SET rungs = '{}', chosen = '{"x": 1}' WHERE sweep_id = $1 AND number = 1`, sw.ID)
	require.NoError(t, err)
	require.NoError(t, b.sweeps.Stop(b.ctx, sw.ID, false), "stopping again tries again")
	require.Equal(t, sweep.Stopped, b.ended(sw.ID).State)
}
