package sweep_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/sweep"
)

// TestAPanicPausesOneSweep: the others continue, and so does the sweep when a user resumes it.
func TestAPanicPausesOneSweep(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var panicked atomic.Bool
	b.config.Crash = func(point string) {
		if point == "propose.begin" && panicked.CompareAndSwap(false, true) {
			panic("a fault of the test")
		}
	}
	b.sweeps = sweep.New(b.config)
	sw := b.create(spec(3, sweep.Random))
	b.drive()
	paused := b.until(sw.ID, "it to pause", func(sw sweep.Sweep) bool { return sw.State == sweep.Paused })
	require.Equal(t, sweep.ReasonFault, paused.Reason)
	require.Contains(t, paused.Message, "Resume it to try again")
	require.Equal(t, sweep.Succeeded, b.ended(b.create(spec(2, sweep.Random)).ID).State)
	require.NoError(t, b.sweeps.Resume(b.ctx, sw.ID))
	require.Equal(t, sweep.Succeeded, b.ended(sw.ID).State)
}

// TestASweepWithoutItsVersionPauses: retrying would not bring the version back.
func TestASweepWithoutItsVersionPauses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sw := b.create(spec(3, sweep.Random))
	_, err := b.pool.Exec(b.ctx, "UPDATE input_sweeps SET version_id = gen_random_uuid() WHERE id = $1", sw.ID)
	require.NoError(t, err)
	b.drive()
	paused := b.until(sw.ID, "it to pause", func(sw sweep.Sweep) bool { return sw.State == sweep.Paused })
	require.Equal(t, sweep.ReasonFault, paused.Reason)
	require.Contains(t, paused.Message, "The next runs cannot be chosen.")
}

// TestVersionsOfOpenSweepsAreKept: the retention deletes versions that nothing uses.
func TestVersionsOfOpenSweepsAreKept(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sw := b.create(spec(3, sweep.Random))
	_, _, err := b.workflows.Register(b.ctx, []byte(strings.Replace(square, "1.0.0", "2.0.0", 1)))
	require.NoError(t, err)
	q, ids := db.New(b.pool), []uuid.UUID{sw.VersionID}
	deleted, err := q.DeleteUnusedVersions(b.ctx, ids, time.Now())
	require.NoError(t, err)
	require.Zero(t, deleted)
	require.NoError(t, b.sweeps.Stop(b.ctx, sw.ID, false))
	b.drive()
	b.ended(sw.ID)
	deleted, err = q.DeleteUnusedVersions(b.ctx, ids, time.Now())
	require.NoError(t, err)
	require.Equal(t, int64(1), deleted)
}

// TestACompleteSweepSucceeds, whatever its budget: there is nothing left to stop.
func TestACompleteSweepSucceeds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.drive()
	sw, runs := b.waiting(2, func(s *sweep.Spec) { s.GPUHours = 1.5 })
	b.hours(runs...)
	b.until(sw.ID, "the budget to be spent", func(sw sweep.Sweep) bool { return sw.UsedGPUHours >= 2 })
	b.answer(sw.ID)
	ended := b.ended(sw.ID)
	require.Equal(t, sweep.Succeeded, ended.State)
	require.Empty(t, ended.Reason)
}
