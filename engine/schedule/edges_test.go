package schedule_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/retention"
	"github.com/flowforge/flowforge/engine/schedule"
)

// jittered creates an hourly schedule whose fires are at least ten minutes late.
func (b *bundle) jittered() schedule.Schedule {
	b.t.Helper()
	for {
		sc := b.create(hourly("quick", func(sp *schedule.Spec) { sp.Jitter, sp.Overlap = 50*time.Minute, schedule.OverlapAllow }))
		if sc.Delay >= 10*time.Minute {
			return sc
		}
		require.NoError(b.t, b.schedules.Delete(b.ctx, sc.ID)) // the delay depends on the ID
	}
}

// TestEditsKeepJitteredFires: a fire that the jitter makes later stays when the schedule is edited, or
// paused and resumed, in between.
func TestEditsKeepJitteredFires(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"edit", "resume", "edit that resumes"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			sc := b.jittered()
			b.fire(noon.Add(5 * time.Minute))
			require.Empty(t, b.states(sc.ID))
			spec := sc.Spec
			if how != "edit" {
				_, err := b.schedules.Pause(b.ctx, sc.ID)
				require.NoError(t, err)
			}
			var err error
			if how == "resume" {
				_, err = b.schedules.Resume(b.ctx, sc.ID, false)
			} else {
				spec.PauseAfter = 3
				_, err = b.schedules.Replace(b.ctx, sc.ID, spec)
			}
			require.NoError(t, err, "%v", apperr.FieldsOf(err))
			b.fire(noon.Add(sc.Delay))
			require.Len(t, b.occurrences(sc.ID), 1)
			require.Equal(t, noon, b.occurrences(sc.ID)[0].FireAt)
			// More jitter does not fire what was launched again.
			spec.Jitter = 59 * time.Minute
			_, err = b.schedules.Replace(b.ctx, sc.ID, spec)
			require.NoError(t, err)
			b.fire(noon.Add(sc.Delay + time.Minute))
			require.Len(t, b.occurrences(sc.ID), 1)
		})
	}
}

// TestEditsKeepDueFires: a fire that no server has seen yet stays when the schedule is edited.
func TestEditsKeepDueFires(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sc := b.create(hourly("quick", nil))
	b.clock.set(noon.Add(time.Second))
	_, err := b.schedules.Replace(b.ctx, sc.ID, sc.Spec)
	require.NoError(t, err)
	b.fire(noon.Add(2 * time.Second))
	require.Equal(t, []schedule.State{schedule.Launched}, b.states(sc.ID))
}

// TestMissedFiresWaitForEachOther: all missed fires are launched one after the other, although fires
// on time are skipped while an execution runs.
func TestMissedFiresWaitForEachOther(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sc := b.create(hourly("gate", func(sp *schedule.Spec) { sp.Misfire = schedule.MisfireAll }))
	b.fire(noon.Add(2*time.Hour + 30*time.Minute))
	const l, q, s = schedule.Launched, schedule.Queued, schedule.Skipped
	require.Equal(t, []schedule.State{l, q, q}, b.states(sc.ID))
	b.fire(noon.Add(3 * time.Hour))
	require.Equal(t, []schedule.State{l, q, q, s}, b.states(sc.ID))
	for i := range 2 {
		require.NoError(t, b.engine.Commands.Cancel(b.ctx, *b.occurrences(sc.ID)[i].ExecutionID, "done"))
		b.ended(b.occurrences(sc.ID)[i], "CANCELLED")
		b.fire(noon.Add(3*time.Hour + time.Duration(i+1)*time.Minute))
	}
	require.Equal(t, []schedule.State{l, l, l, s}, b.states(sc.ID))
}

// TestQueueIsBounded: a fire for which the queue has no room is skipped and says so.
func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sc := b.create(hourly("gate", func(sp *schedule.Spec) { sp.Overlap = schedule.OverlapQueueAll }))
	b.fire(noon)
	_, err := b.pool.Exec(b.ctx, `INSERT INTO schedule_occurrences (schedule_id, fire_at, last_fire_at, interval_start, state, decided_at)
		SELECT $1, $2::timestamptz - make_interval(secs => n), $2, $2, 'QUEUED', $2 FROM generate_series(1, $3) n`, sc.ID, noon, schedule.MaxQueued)
	require.NoError(t, err)
	b.fire(noon.Add(time.Hour))
	list := b.occurrences(sc.ID)
	last := list[len(list)-1]
	require.Equal(t, schedule.Skipped, last.State)
	require.Equal(t, schedule.ReasonFull, last.Reason)
	require.Contains(t, last.Message, "1000 runs are already waiting")
}

// TestRunNowAtAFire: launches by a person at the time of a fire, and at the same time as another one,
// are occurrences of their own.
func TestRunNowAtAFire(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sc := b.create(hourly("quick", func(sp *schedule.Spec) { sp.Overlap = schedule.OverlapAllow }))
	b.clock.set(noon)
	for range 2 {
		_, err := b.schedules.RunNow(b.ctx, sc.ID)
		require.NoError(t, err)
	}
	b.fire(noon)
	_, err := b.schedules.RunNow(b.ctx, sc.ID)
	require.NoError(t, err)
	list := b.occurrences(sc.ID)
	require.Len(t, list, 4)
	require.Equal(t, 4, b.executions())
	require.Equal(t, noon, list[0].FireAt)
	require.Empty(t, list[0].Reason)
	for _, o := range list[1:] {
		require.Equal(t, schedule.ReasonManual, o.Reason)
	}
}

// TestClockComesBack: after a clock was a year ahead, schedules fire again as soon as it is right, and
// no fire is launched twice.
func TestClockComesBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sc := b.create(hourly("quick", func(sp *schedule.Spec) { sp.Overlap = schedule.OverlapAllow }))
	b.fire(noon)
	b.fire(noon.AddDate(1, 0, 0))
	const l, s = schedule.Launched, schedule.Skipped
	require.Equal(t, []schedule.State{l, s, l}, b.states(sc.ID))
	b.clock.set(noon.Add(10 * time.Minute))
	require.NoError(t, b.schedules.FollowClock(auth.AsSystem(b.ctx)))
	after, err := b.schedules.Get(b.ctx, sc.ID)
	require.NoError(t, err)
	require.Equal(t, noon.Add(time.Hour), *after.NextAt)
	b.fire(noon.Add(time.Hour))
	list := b.occurrences(sc.ID)
	require.Len(t, list, 3)
	require.Equal(t, l, list[1].State, "it was skipped by the wrong clock only")
	require.Equal(t, noon.Add(time.Hour), list[1].FireAt)
	// The clock goes back to before a fire that was launched.
	b.clock.set(noon.Add(-10 * time.Hour))
	require.NoError(t, b.schedules.FollowClock(auth.AsSystem(b.ctx)))
	b.fire(noon.Add(-9 * time.Hour))
	for i := range 12 {
		b.fire(noon.Add(time.Duration(i-8) * time.Hour))
	}
	seen := map[time.Time]bool{}
	for _, o := range b.occurrences(sc.ID) {
		require.False(t, seen[o.FireAt])
		seen[o.FireAt] = true
	}
	require.Len(t, seen, b.executions(), "each execution has one fire")
}

// TestOwnerOfResumed: the owner stays when another person resumes a schedule, unless the owner cannot
// launch the workflow.
func TestOwnerOfResumed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sc := b.create(hourly("quick", nil))
	b.denied.Store(true)
	b.fire(noon)
	b.denied.Store(false)
	sc, err := b.schedules.Resume(b.ctx, sc.ID, false)
	require.NoError(t, err)
	require.Equal(t, auth.LocalAdmin, sc.Owner.ID)
	var n int
	require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT count(*) FROM audit_log WHERE action = 'schedule.own'").Scan(&n))
	require.Zero(t, n, "the owner has the permissions again")
}

// TestConditions: a fire is skipped unless the condition is true, and the schedule is paused once the
// condition to stop is.
func TestConditions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sc := b.create(hourly("quick", func(sp *schedule.Spec) {
		sp.Condition, sp.StopWhen = "cronworkflow.lastScheduledTime == nil || (now() - cronworkflow.lastScheduledTime).Hours() > 1", "schedule.succeeded >= 1"
	}))
	b.fire(noon)
	require.Equal(t, []schedule.State{schedule.Launched}, b.states(sc.ID))
	b.ended(b.occurrences(sc.ID)[0], "SUCCEEDED")
	b.fire(noon.Add(time.Hour))
	sc, err := b.schedules.Get(b.ctx, sc.ID)
	require.NoError(t, err)
	require.Equal(t, schedule.PausedByStop, sc.Reason)
	require.Contains(t, sc.Message, "schedule.succeeded >= 1")

	never := b.create(hourly("quick", func(sp *schedule.Spec) { sp.Name, sp.Condition = "never", `{{=cronworkflow.failed > 0}}` }))
	b.fire(noon.Add(2 * time.Hour))
	list := b.occurrences(never.ID)
	require.Len(t, list, 1)
	require.Equal(t, schedule.ReasonWhen, list[0].Reason)

	for path, change := range map[string]func(*schedule.Spec){
		"when":           func(sp *schedule.Spec) { sp.Condition = "schedule.sucess > 1" },
		"stop_when":      func(sp *schedule.Spec) { sp.StopWhen = "1 +" },
		"keep_failed":    func(sp *schedule.Spec) { sp.KeepFailed = new(-1) },
		"keep_succeeded": func(sp *schedule.Spec) { sp.KeepSucceeded = new(1_000_000) },
		"calendar":       func(sp *schedule.Spec) { sp.Calendar = "none" },
		"exclude.0":      func(sp *schedule.Spec) { sp.Exclude = []schedule.Window{{From: "25:00", Until: "26:00"}} },
		"cron":           func(sp *schedule.Spec) { sp.Exclude = []schedule.Window{{From: "00:00", Until: "24:00"}} },
	} {
		_, err := b.schedules.Create(b.ctx, hourly("quick", func(sp *schedule.Spec) { sp.Name = "wrong"; change(sp) }))
		fields := apperr.FieldsOf(err)
		require.Len(t, fields, 1, "%s: %v", path, err)
		require.Equal(t, path, fields[0].Path)
	}
}

// TestHistory: executions beyond those that a schedule keeps expire.
func TestHistory(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sc := b.create(hourly("quick", func(sp *schedule.Spec) { sp.KeepSucceeded = new(1) }))
	for i := range 3 {
		b.fire(noon.Add(time.Duration(i) * time.Hour))
		list := b.occurrences(sc.ID)
		b.ended(list[len(list)-1], "SUCCEEDED")
	}
	require.NoError(t, b.schedules.ExpireHistory(auth.AsSystem(b.ctx)))
	var expired int
	require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT count(*) FROM executions WHERE expires_at <= $1", b.clock.now()).Scan(&expired))
	require.Equal(t, 2, expired)
}

// removed waits until all executions, which have expired, are removed.
func (b *bundle) removed() {
	b.t.Helper()
	store, err := artifact.OpenStore(b.t.TempDir())
	require.NoError(b.t, err)
	removal := retention.New(retention.Config{Pool: b.pool, Store: store, Now: b.clock.now, Free: func(context.Context, *db.Queries, uuid.UUID, int64) error { return nil }})
	require.Eventually(b.t, func() bool { // the engine may still report their end
		_, err := removal.Sweep(b.ctx, false)
		return err == nil && b.executions() == 0
	}, time.Minute, 50*time.Millisecond)
}

// TestRemovedExecutionsCount: a schedule knows how its executions ended after retention has removed them.
func TestRemovedExecutionsCount(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sc := b.create(hourly("quick", func(sp *schedule.Spec) { sp.KeepFailed, sp.PauseAfter = new(0), 2 }))
	stops := b.create(hourly("quick", func(sp *schedule.Spec) {
		sp.Name, sp.KeepSucceeded, sp.StopWhen = "stops", new(0), "schedule.succeeded >= 2"
	}))
	for i := range 2 {
		b.fire(noon.Add(time.Duration(i) * time.Hour))
		for _, id := range []uuid.UUID{sc.ID, stops.ID} {
			b.ended(b.occurrences(id)[i], "SUCCEEDED")
		}
		_, err := b.pool.Exec(b.ctx, "UPDATE executions SET status = 'FAILED' WHERE id = $1", *b.occurrences(sc.ID)[i].ExecutionID)
		require.NoError(t, err)
		require.NoError(t, b.schedules.ExpireHistory(auth.AsSystem(b.ctx)))
		b.removed()
	}
	require.NoError(t, b.schedules.PauseFailing(auth.AsSystem(b.ctx)))
	b.fire(noon.Add(2 * time.Hour))
	sc, err := b.schedules.Get(b.ctx, sc.ID)
	require.NoError(t, err)
	require.Equal(t, schedule.PausedByFailures, sc.Reason)
	stops, err = b.schedules.Get(b.ctx, stops.ID)
	require.NoError(t, err)
	require.Equal(t, schedule.PausedByStop, stops.Reason)
}
