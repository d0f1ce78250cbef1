package sweep_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/engine/sweep"
)

// TestMissingPointsDecideNothing: while ClickHouse is away, earlier points are unknown, so that no
// objective is taken from the others and no run is stopped.
func TestMissingPointsDecideNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	unreachable, err := telemetry.New(telemetry.Config{SpoolDir: t.TempDir(), ClickHouseURL: "http://127.0.0.1:1", Log: b.config.Logger, Now: time.Now})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unreachable.Close()) })
	near := b.telemetry
	b.telemetry, b.config.Telemetry = unreachable, unreachable
	b.sweeps = sweep.New(b.config)
	stop := b.drive()
	sw, runs := b.waiting(2, func(s *sweep.Spec) {
		s.EarlyStopping = sweep.EarlyStopping{Rule: sweep.Median, MinStep: 1, MinRuns: 1}
	})
	b.report(*runs[0].ExecutionID, 0.9)
	b.report(*runs[1].ExecutionID, 0.1)
	b.hours(runs...) // what the driver writes after it has read the points
	now := b.until(sw.ID, "a poll", func(sw sweep.Sweep) bool { return sw.UsedGPUHours >= 2 })
	require.Nil(t, now.Best)
	require.Equal(t, 2, now.Counts.Running)
	stop()

	b.telemetry, b.config.Telemetry = near, near
	b.sweeps = sweep.New(b.config)
	b.drive()
	b.report(*runs[0].ExecutionID, 0.9)
	b.report(*runs[1].ExecutionID, 0.95)
	b.until(sw.ID, "the objectives", func(sw sweep.Sweep) bool { return sw.Best != nil && sw.Best.Index == 1 })
	b.answer(sw.ID)
	require.Equal(t, 2, b.ended(sw.ID).Counts.Succeeded)
}

// TestRunsThatEndedCountForTheOthers: a run that ended between two looks is compared with.
func TestRunsThatEndedCountForTheOthers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	stop := b.drive()
	sw, runs := b.waiting(2, func(s *sweep.Spec) {
		s.EarlyStopping = sweep.EarlyStopping{Rule: sweep.Median, MinStep: 1, MinRuns: 1}
	})
	stop()
	b.report(*runs[0].ExecutionID, 0.9)
	b.approve(runs[0])
	require.Eventually(t, func() bool {
		e, err := b.engine.Get(b.ctx, *runs[0].ExecutionID)
		return err == nil && e.Status.Ended()
	}, time.Minute, 20*time.Millisecond)
	b.drive()
	b.until(sw.ID, "the first to end", func(sw sweep.Sweep) bool { return sw.Counts.Succeeded == 1 })
	b.report(*runs[1].ExecutionID, 0.1)
	b.until(sw.ID, "the second to stop early", func(sw sweep.Sweep) bool { return sw.Counts.StoppedEarly == 1 })
	require.Equal(t, sweep.Succeeded, b.ended(sw.ID).State)
}
