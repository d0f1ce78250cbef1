package sweep_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/sweep"
	"github.com/flowforge/flowforge/engine/sweep/space"
)

// TestAnEndedSweepStaysEnded: a change without runs launches none.
func TestAnEndedSweepStaysEnded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sw := b.create(spec(5, sweep.Random))
	require.NoError(t, b.sweeps.Stop(b.ctx, sw.ID, false))
	b.drive()
	require.Equal(t, sweep.Stopped, b.ended(sw.ID).State)
	for what, e := range map[string]sweep.Edit{
		"name": {Name: new(strings.Repeat("名", sweep.MaxName))}, "parallelism": {Parallelism: new(2)}, "gpu_hours": {GPUHours: new(5.0)},
		"early_stopping": {EarlyStopping: &sweep.EarlyStopping{Rule: sweep.NoRule}}, "space": {Space: spec(1, sweep.Random).Space[:1]},
	} {
		changed, err := b.sweeps.Change(b.ctx, sw.ID, e)
		require.NoError(t, err, what)
		require.Equal(t, sweep.Stopped, changed.State, what)
		require.Equal(t, sweep.ReasonPerson, changed.Reason, what)
	}
	more, err := b.sweeps.Change(b.ctx, sw.ID, sweep.Edit{AddRuns: new(1)})
	require.NoError(t, err)
	require.Equal(t, sweep.Running, more.State)
	require.Equal(t, 1, b.ended(sw.ID).Counts.Succeeded)
}

// TestAGridGrows: a value that is added gives new combinations, and those that ran are not repeated.
func TestAGridGrows(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.drive()
	grid := func(values ...any) space.Space {
		return space.Space{{Path: "x", Kind: space.Values, Values: values}, {Path: "mode", Kind: space.Values, Values: []any{"fast", "slow"}}}
	}
	s := spec(0, sweep.Grid)
	s.Space = grid(json.Number("1"), json.Number("3.50"))
	sw := b.create(s)
	b.ended(sw.ID)
	_, err := b.sweeps.Change(b.ctx, sw.ID, sweep.Edit{AddRuns: new(1)})
	require.Contains(t, apperr.FieldsOf(err)[0].Message, "0 combinations that the sweep has not tried, so the sweep can have at most 4 runs")
	_, err = b.sweeps.Change(b.ctx, sw.ID, sweep.Edit{Space: grid(json.Number("3.5"), json.Number("1"))})
	require.Equal(t, []apperr.Field{{Path: "space", Message: "All combinations of this grid have run. Add values to the space."}}, apperr.FieldsOf(err))
	more, err := b.sweeps.Change(b.ctx, sw.ID, sweep.Edit{Space: grid(json.Number("1"), json.Number("2"), json.Number("3.5")), Runs: new(6)})
	require.NoError(t, err)
	require.Equal(t, 6, more.Planned)
	require.Equal(t, sweep.Succeeded, b.ended(sw.ID).State)
	runs := b.once(sw.ID, 6)
	for _, r := range runs {
		require.Equal(t, r.Index >= 4, space.Text(r.Values["x"]) == "2", "run %d: %v", r.Index, r.Values)
	}
}

// TestLargeWholeNumbersAreDifferentCombinations: as floating-point numbers, they would be equal.
func TestLargeWholeNumbersAreDifferentCombinations(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.drive()
	s := sweep.Spec{Workflow: "square", Method: sweep.Grid, Parallelism: 4, Priority: query.Declared, Inputs: map[string]any{"x": json.Number("1")}}
	s.Space = space.Space{{Path: "limit", Kind: space.Values, Values: []any{json.Number("9007199254740992")}}}
	sw := b.create(s)
	b.ended(sw.ID)
	wider := space.Space{{Path: "limit", Kind: space.Values, Values: []any{json.Number("9007199254740992"), json.Number("9007199254740993")}}}
	more, err := b.sweeps.Change(b.ctx, sw.ID, sweep.Edit{Space: wider})
	require.NoError(t, err, "%v", apperr.FieldsOf(err))
	require.Equal(t, 2, more.Planned)
	b.ended(sw.ID)
	require.Equal(t, json.Number("9007199254740993"), b.once(sw.ID, 2)[1].Values["limit"])
}

// TestASweepExpiresByItsDefinition: the time counts from its end, and continuing it revokes it.
func TestASweepExpiresByItsDefinition(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, _, err := b.workflows.Register(b.ctx, []byte(strings.Replace(square, "version: 1.0.0", "version: 2.0.0, ttl: {after_success: 7d, after_failure: 90d}", 1)))
	require.NoError(t, err)
	expiry := func(id uuid.UUID) (ended, expires *time.Time) {
		require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT ended_at, expires_at FROM input_sweeps WHERE id = $1", id).Scan(&ended, &expires))
		return ended, expires
	}
	done, stopped := b.create(spec(2, sweep.Random)), b.create(spec(2, sweep.Random))
	require.NoError(t, b.sweeps.Stop(b.ctx, stopped.ID, false))
	b.drive()
	for id, kept := range map[uuid.UUID]time.Duration{done.ID: 7 * 24 * time.Hour, stopped.ID: 90 * 24 * time.Hour} {
		b.ended(id)
		ended, expires := expiry(id)
		require.Equal(t, kept, expires.Sub(*ended))
	}
	_, err = b.sweeps.Change(b.ctx, done.ID, sweep.Edit{AddRuns: new(1)})
	require.NoError(t, err)
	b.ended(done.ID)
	again, expires := expiry(done.ID)
	require.Equal(t, 7*24*time.Hour, expires.Sub(*again))
}
