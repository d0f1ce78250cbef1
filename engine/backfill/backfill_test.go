package backfill_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/backfill"
	"github.com/flowforge/flowforge/engine/retention"
	"github.com/flowforge/flowforge/engine/schedule"
)

// withDay passes the day of the previous run as an input.
func withDay(sp *schedule.Spec) {
	sp.Inputs = map[string]any{"day": "{{ data_interval_start | date }}"}
}

// TestABackfillLaunchesEachTime: every day of the range has one execution with the dates that it would
// have had, also across the change of the clocks, and a second backfill finds them.
func TestABackfillLaunchesEachTime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sc := b.daily("quick", withDay)
	dry, err := b.backfills.Preview(b.ctx, b.spec(sc, 31))
	require.NoError(t, err)
	require.Equal(t, 31, dry.Runs)
	require.Zero(t, b.executions(), "a dry run launches nothing")

	f := b.create(b.spec(sc, 31))
	require.Equal(t, 31, f.Counts.Pending)
	require.Equal(t, "1.0.0", f.Version)
	done := b.ends(f.ID, backfill.Finished)
	require.Equal(t, backfill.Counts{Total: 31, Succeeded: 31}, done.Counts)
	require.Equal(t, 31, b.executions())
	for i, s := range b.slots(f.ID) {
		require.Equal(t, 2, s.Fire.In(berlin(t)).Hour())
		e, err := b.engine.Get(b.ctx, *s.ExecutionID)
		require.NoError(t, err)
		require.Equal(t, time.Date(2026, 9, 30+i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly), e.Inputs["day"])
		require.Equal(t, "quick daily, "+s.Fire.In(berlin(t)).Format("2006-01-02 15:04"), e.Name)
	}

	dry, err = b.backfills.Preview(b.ctx, b.spec(sc, 32))
	require.NoError(t, err)
	require.Equal(t, 1, dry.Runs)
	require.Equal(t, 31, dry.Kept)
	_, err = b.backfills.Create(b.ctx, b.spec(sc, 31))
	require.Equal(t, "rerun", apperr.FieldsOf(err)[0].Path)
	again := b.spec(sc, 2)
	again.Rerun = backfill.RerunAll
	b.ends(b.create(again).ID, backfill.Finished)
	require.Equal(t, 33, b.executions())
}

// TestAManualRunIsOfNoFire: a run that a person launches in the second of a fire does not stand for the fire.
func TestAManualRunIsOfNoFire(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sc := b.daily("quick", nil)
	b.clock.set(time.Date(2026, 10, 1, 2, 0, 0, 300_000_000, berlin(t)))
	_, err := b.schedules.RunNow(b.ctx, sc.ID)
	require.NoError(t, err)
	b.clock.set(start)
	dry, err := b.backfills.Preview(b.ctx, b.spec(sc, 2))
	require.NoError(t, err)
	require.Equal(t, 2, dry.Runs)
	require.Nil(t, dry.Slots[0].ExecutionID)
}

func berlin(t *testing.T) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	return zone
}

// TestTheOrderAndTheParallelism: no more executions run than may, in the chosen order, and a pause
// keeps the next from being launched.
func TestTheOrderAndTheParallelism(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sp := b.spec(b.daily("gate", nil), 5)
	sp.Parallelism, sp.NewestFirst = 2, true
	f := b.create(sp)
	b.look()
	b.look()
	slots := b.slots(f.ID)
	require.Equal(t, []backfill.State{"PENDING", "PENDING", "PENDING", "LAUNCHED", "LAUNCHED"}, states(slots))

	paused, err := b.backfills.Pause(b.ctx, f.ID)
	require.NoError(t, err)
	require.Equal(t, backfill.Paused, paused.Status)
	require.NoError(t, b.engine.Commands.Cancel(b.ctx, *slots[4].ExecutionID, "make room"))
	b.hasEnded(*slots[4].ExecutionID)
	b.look()
	require.Len(t, b.launched(f.ID), 2)
	_, err = b.backfills.Resume(b.ctx, f.ID)
	require.NoError(t, err)
	b.look()
	require.Equal(t, []backfill.State{"PENDING", "PENDING", "LAUNCHED", "LAUNCHED", "LAUNCHED"}, states(b.slots(f.ID)))

	cancelled, err := b.backfills.Cancel(b.ctx, f.ID, true)
	require.NoError(t, err)
	require.Equal(t, backfill.Cancelled, cancelled.Status)
	for _, s := range b.launched(f.ID) {
		b.hasEnded(*s.ExecutionID)
	}
	b.look()
	cancelled, err = b.backfills.Get(b.ctx, f.ID)
	require.NoError(t, err)
	require.Equal(t, backfill.Counts{Total: 5, Cancelled: 5}, cancelled.Counts)
	require.Equal(t, 3, b.executions())
	_, err = b.backfills.Resume(b.ctx, f.ID)
	require.Equal(t, apperr.Conflict, apperr.CodeOf(err))
}

func states(slots []backfill.Slot) (out []backfill.State) {
	for _, s := range slots {
		out = append(out, s.State)
	}
	return out
}

// TestOneBackfillAtATimeLaunchesATime: a second backfill of the same times is refused until the first
// has ended, and what failed runs again on request.
func TestOneBackfillAtATimeLaunchesATime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sc := b.daily("gate", nil)
	first := b.create(b.spec(sc, 3))
	_, err := b.backfills.Create(b.ctx, b.spec(sc, 5))
	require.Equal(t, apperr.Conflict, apperr.CodeOf(err), "%v", err)
	b.look()
	for _, s := range b.launched(first.ID) {
		require.NoError(t, b.engine.Commands.Cancel(b.ctx, *s.ExecutionID, "they fail"))
	}
	b.ends(first.ID, backfill.Finished)
	sp := b.spec(sc, 3)
	sp.Rerun = backfill.RerunFailed
	second := b.create(sp)
	require.Equal(t, 3, second.Counts.Pending)
}

// TestARemovedExecutionHasAnOutcome: times whose failed execution was removed run again on request, and
// the backfill still counts them as failed.
func TestARemovedExecutionHasAnOutcome(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sp := b.spec(b.daily("gate", nil), 2)
	f := b.create(sp)
	b.look()
	for _, s := range b.launched(f.ID) {
		require.NoError(t, b.engine.Commands.Cancel(b.ctx, *s.ExecutionID, "not needed"))
	}
	b.ends(f.ID, backfill.Finished)
	_, err := b.pool.Exec(b.ctx, "UPDATE executions SET status = 'FAILED', expires_at = $1", start)
	require.NoError(t, err)
	store, err := artifact.OpenStore(t.TempDir())
	require.NoError(t, err)
	removal := retention.New(retention.Config{Pool: b.pool, Store: store, Free: func(context.Context, *db.Queries, uuid.UUID, int64) error { return nil }})
	require.Eventually(t, func() bool { // the engine may still report their end
		_, err := removal.Sweep(b.ctx, false)
		return err == nil && b.executions() == 0
	}, time.Minute, 50*time.Millisecond)
	f, err = b.backfills.Get(b.ctx, f.ID)
	require.NoError(t, err)
	require.Equal(t, backfill.Counts{Total: 2, Failed: 2}, f.Counts)
	dry, err := b.backfills.Preview(b.ctx, sp)
	require.NoError(t, err)
	require.Zero(t, dry.Runs)
	require.Empty(t, dry.Slots[0].Status)
	sp.Rerun = backfill.RerunFailed
	dry, err = b.backfills.Preview(b.ctx, sp)
	require.NoError(t, err)
	require.Equal(t, 2, dry.Runs)
}

// TestACrashLaunchesNoTimeTwice: two loops that are killed at every point, again and again, launch each
// time once.
func TestACrashLaunchesNoTimeTwice(t *testing.T) {
	t.Parallel()
	b := setup(t)
	f := b.create(b.spec(b.daily("quick", withDay), 24))
	type crash struct{ point string }
	for _, point := range []string{"launch.begin", "launch.within", "launch.committed"} {
		for n := range 4 {
			config := b.config
			var seen atomic.Int32
			config.Crash = func(at string) {
				if at == point && seen.Add(1) > int32(n) {
					panic(crash{at})
				}
			}
			var both sync.WaitGroup
			for range 2 {
				killed := backfill.New(config)
				both.Go(func() {
					defer func() {
						if r := recover(); r != nil {
							if _, ours := r.(crash); !ours {
								panic(r)
							}
						}
					}()
					_ = killed.Look(auth.AsSystem(b.ctx))
				})
			}
			both.Wait()
		}
	}
	done := b.ends(f.ID, backfill.Finished)
	require.Equal(t, 24, done.Counts.Succeeded)
	require.Equal(t, 24, b.executions())
}

// TestTwoLoopsLaunchEachTimeOnce: servers that both believe to lead.
func TestTwoLoopsLaunchEachTimeOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sp := b.spec(b.daily("gate", nil), 20)
	sp.Parallelism = 7
	f := b.create(sp)
	var loops sync.WaitGroup
	for range 4 {
		other := backfill.New(b.config)
		loops.Go(func() { _ = other.Look(auth.AsSystem(b.ctx)) })
	}
	loops.Wait()
	b.look()
	require.Len(t, b.launched(f.ID), 7)
	require.Equal(t, 7, b.executions())
}

// TestAnOwnerWithoutRightsPausesTheBackfill and says so; refused inputs fail one time.
func TestAnOwnerWithoutRightsPausesTheBackfill(t *testing.T) {
	t.Parallel()
	b := setup(t)
	f := b.create(b.spec(b.daily("quick", nil), 2))
	b.denied.Store(true)
	b.look()
	got, err := b.backfills.Get(b.ctx, f.ID)
	require.NoError(t, err)
	require.Equal(t, backfill.Paused, got.Status)
	require.Contains(t, got.Message, "cannot launch the workflow")
	require.Zero(t, b.executions())
	b.denied.Store(false)
	_, err = b.backfills.Resume(b.ctx, f.ID)
	require.NoError(t, err)
	b.ends(f.ID, backfill.Finished)

	// February has 28 days, so the last three days are refused.
	sc := b.daily("quick", func(sp *schedule.Spec) {
		sp.Name, sp.Inputs = "in February", map[string]any{"day": `2026-02-{{ scheduled_time | date:"02" }}`}
	})
	done := b.ends(b.create(b.spec(sc, 31)).ID, backfill.Finished)
	require.Equal(t, backfill.Counts{Total: 31, Succeeded: 28, Refused: 3}, done.Counts)
}

// TestRefusedBackfills: every wrong value names its field.
func TestRefusedBackfills(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sc := b.daily("quick", nil)
	once := b.daily("quick", func(sp *schedule.Spec) {
		sp.Name, sp.Expressions, sp.At = "once", nil, new(start.Add(time.Hour))
	})
	for path, change := range map[string]func(*backfill.Spec){
		"until":       func(sp *backfill.Spec) { sp.Until = sp.From },
		"from":        func(sp *backfill.Spec) { sp.From = time.Time{} },
		"rerun":       func(sp *backfill.Spec) { sp.Rerun = "some" },
		"parallelism": func(sp *backfill.Spec) { sp.Parallelism = 101 },
		"version":     func(sp *backfill.Spec) { sp.Version = "9.9.9" },
		"schedule":    func(sp *backfill.Spec) { sp.Schedule = once.ID },
		"priority":    func(sp *backfill.Spec) { sp.Priority = 101 },
	} {
		sp := b.spec(sc, 3)
		change(&sp)
		_, err := b.backfills.Create(b.ctx, sp)
		require.True(t, slices.ContainsFunc(apperr.FieldsOf(err), func(f apperr.Field) bool { return f.Path == path }), "%s: %v %v", path, err, apperr.FieldsOf(err))
	}
	today := b.spec(sc, 3)
	today.Until = start.Add(24 * time.Hour)
	dry, err := b.backfills.Preview(b.ctx, today)
	require.NoError(t, err, "an end that is a day ahead means now")
	require.True(t, dry.Slots[len(dry.Slots)-1].Fire.Before(start.Add(time.Second)))
	late := b.spec(sc, 3)
	late.Until = start.AddDate(0, 0, 2)
	_, err = b.backfills.Create(b.ctx, late)
	require.Contains(t, fmt.Sprint(apperr.FieldsOf(err)), "not in the future")
	frequent := b.daily("quick", func(sp *schedule.Spec) { sp.Name, sp.Expressions = "frequent", []string{"* * * * *"} })
	_, err = b.backfills.Create(b.ctx, b.spec(frequent, 8))
	require.Contains(t, fmt.Sprint(apperr.FieldsOf(err)), "more than 10000 runs")
}

// TestATimeThatWasJustLaunchedIsNotLaunchedAgain: the schedule launches a time after the backfill was planned.
func TestATimeThatWasJustLaunchedIsNotLaunchedAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sc := b.daily("quick", withDay)
	sp := b.spec(sc, 2)
	dry, err := b.backfills.Preview(b.ctx, sp)
	require.NoError(t, err)
	require.Equal(t, 2, dry.Runs)
	tx, err := b.pool.Begin(b.ctx)
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(b.ctx) }()
	_, err = tx.Exec(b.ctx, "SELECT 1 FROM tenancy_nodes WHERE id = $1 FOR UPDATE", auth.LocalProject)
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() {
		_, err := b.backfills.Create(b.ctx, sp)
		done <- err
	}()
	require.Eventually(t, func() bool {
		var waits bool
		err := b.pool.QueryRow(b.ctx, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')").Scan(&waits)
		return err == nil && waits
	}, 20*time.Second, 5*time.Millisecond)
	_, err = tx.Exec(b.ctx, `INSERT INTO schedule_occurrences (schedule_id, fire_at, last_fire_at, fires, interval_start, state, reason, message, execution_id, decided_at)
		VALUES ($1, $2, $2, 1, $2, 'LAUNCHED', '', '', $3, $2)`, sc.ID, dry.Slots[0].Fire, uuid.New())
	require.NoError(t, err)
	require.NoError(t, tx.Commit(b.ctx))
	require.True(t, apperr.Is(<-done, apperr.Conflict))
	dry, err = b.backfills.Preview(b.ctx, sp)
	require.NoError(t, err)
	require.Equal(t, 1, dry.Runs)
}

// TestACancelledBackfillStopsItsExecutionsLater: a first request to stop them may have failed in between.
func TestACancelledBackfillStopsItsExecutionsLater(t *testing.T) {
	t.Parallel()
	b := setup(t)
	f := b.create(b.spec(b.daily("gate", nil), 1))
	b.look()
	_, err := b.backfills.Cancel(b.ctx, f.ID, false)
	require.NoError(t, err)
	_, err = b.backfills.Cancel(b.ctx, f.ID, false)
	require.Equal(t, apperr.Conflict, apperr.CodeOf(err))
	cancelled, err := b.backfills.Cancel(b.ctx, f.ID, true)
	require.NoError(t, err)
	require.Equal(t, backfill.Cancelled, cancelled.Status)
	b.hasEnded(*b.launched(f.ID)[0].ExecutionID)
}

// TestTimesThatTheScheduleLaunches: a backfill leaves out the times that the schedule itself is about to launch.
func TestTimesThatTheScheduleLaunches(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sc := b.daily("gate", func(sp *schedule.Spec) { sp.Paused, sp.Overlap = false, schedule.OverlapQueueAll })
	b.clock.set(time.Date(2026, 11, 25, 2, 1, 0, 0, berlin(t))) // the time of 02:00 is due and not launched yet
	sp := b.spec(sc, 1)
	sp.From, sp.Until, sp.Rerun = time.Date(2026, 11, 23, 0, 0, 0, 0, berlin(t)), b.clock.now(), backfill.RerunAll
	runs := func() (out []bool) {
		dry, err := b.backfills.Preview(b.ctx, sp)
		require.NoError(t, err)
		for _, s := range dry.Slots {
			out = append(out, s.Runs)
		}
		return out
	}
	require.Equal(t, []bool{true, true, false}, runs())
	queue := func(at time.Time) {
		_, err := b.pool.Exec(b.ctx, `INSERT INTO schedule_occurrences (schedule_id, fire_at, last_fire_at, interval_start, state, decided_at)
			VALUES ($1, $2, $2, $2, 'QUEUED', $2)`, sc.ID, at)
		require.NoError(t, err)
	}
	queue(time.Date(2026, 11, 23, 2, 0, 0, 0, berlin(t)))
	require.Equal(t, []bool{false, true, false}, runs())
	f := b.create(sp)
	require.Equal(t, backfill.Counts{Total: 3, Pending: 1, Kept: 2}, f.Counts)
	require.Nil(t, b.slots(f.ID)[0].ExecutionID)
	_, err := b.backfills.Cancel(b.ctx, f.ID, false)
	require.NoError(t, err)
	queue(time.Date(2026, 11, 24, 2, 0, 0, 0, berlin(t)))
	_, err = b.backfills.Create(b.ctx, sp)
	require.Len(t, apperr.FieldsOf(err), 1, "%v", err)
	require.Equal(t, "until", apperr.FieldsOf(err)[0].Path)
}
