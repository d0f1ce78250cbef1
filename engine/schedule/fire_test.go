package schedule_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/schedule"
)

var noon = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// TestFires: each hour launches one execution with the times of its interval, and looking again
// launches nothing.
func TestFires(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sc := b.create(hourly("quick", func(sp *schedule.Spec) {
		sp.Overlap, sp.Timezone = schedule.OverlapAllow, "Asia/Tokyo"
		sp.Inputs = map[string]any{"day": `{{ data_interval_start | date }}`}
	}))
	require.Equal(t, noon, *sc.NextAt)
	b.fire(noon.Add(-time.Second))
	require.Empty(t, b.occurrences(sc.ID))
	b.fire(noon.Add(time.Second))
	b.fire(noon.Add(2 * time.Second))
	b.fire(noon.Add(time.Hour))
	list := b.occurrences(sc.ID)
	require.Len(t, list, 2)
	require.Equal(t, 2, b.executions())
	for i, o := range list {
		require.Equal(t, schedule.Launched, o.State)
		require.Equal(t, noon.Add(time.Duration(i)*time.Hour), o.FireAt)
		require.Equal(t, noon.Add(time.Duration(i-1)*time.Hour), o.IntervalStart)
	}
	e, err := b.engine.Get(b.ctx, *list[0].ExecutionID)
	require.NoError(t, err)
	require.Equal(t, "quick hourly, 2026-11-24 21:00", e.Name)
	require.Equal(t, "2026-11-24", e.Inputs["day"])
	b.ended(list[1], "SUCCEEDED")
}

// TestKilled: a stop at any point launches each fire once, and cancels the execution that it replaces.
func TestKilled(t *testing.T) {
	t.Parallel()
	for _, point := range schedule.Points() {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			sc := b.create(hourly("gate", func(sp *schedule.Spec) { sp.Overlap, sp.Misfire = schedule.OverlapCancel, schedule.MisfireSkip }))
			b.fire(noon)
			require.Equal(t, []schedule.State{schedule.Launched}, b.states(sc.ID))
			config, died := b.config, false
			config.Crash = func(at string) {
				if at == point {
					died = true
					panic("stopped at " + at)
				}
			}
			// The fire of 13:00 is missed, and that of 15:00 is on time.
			later := []time.Time{noon.Add(2*time.Hour - time.Minute), noon.Add(3 * time.Hour)}
			for _, at := range later {
				b.clock.set(at)
				func() {
					defer func() { _ = recover() }()
					_ = schedule.New(config).FireOne(auth.AsSystem(b.ctx), sc.ID)
				}()
			}
			require.True(t, died, "%s was not reached", point)
			b.fire(noon.Add(3*time.Hour + time.Second))
			launched := 0
			for _, o := range b.occurrences(sc.ID) {
				if o.State == schedule.Launched {
					launched++
				}
			}
			require.Equal(t, 2, launched)
			require.Equal(t, 2, b.executions(), "each execution has its occurrence")
			b.ended(b.occurrences(sc.ID)[0], "CANCELLED")
		})
	}
}

// TestTwoServers: two loops on one database launch each fire once.
func TestTwoServers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const n, fires = 6, 5
	var ids []uuid.UUID
	for i := range n {
		ids = append(ids, b.create(hourly("quick", func(sp *schedule.Spec) {
			sp.Name, sp.Overlap = sp.Name+string(rune('a'+i)), schedule.OverlapAllow
		})).ID)
	}
	ctx, cancel := context.WithCancel(b.ctx)
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() { schedule.New(b.config).Run(ctx) })
	}
	for i := range fires {
		b.clock.set(noon.Add(time.Duration(i) * time.Hour))
		require.Eventually(t, func() bool { return b.executions() == n*(i+1) }, time.Minute, 10*time.Millisecond)
	}
	cancel()
	all.Wait()
	require.Equal(t, n*fires, b.executions())
	for _, id := range ids {
		require.Equal(t, slices.Repeat([]schedule.State{schedule.Launched}, fires), b.states(id))
	}
}

// TestClockJumps: a clock that goes back fires nothing twice; one that jumps ahead misses fires, and
// the rule for misfires applies.
func TestClockJumps(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sc := b.create(hourly("quick", func(sp *schedule.Spec) { sp.Overlap = schedule.OverlapAllow }))
	b.fire(noon)
	b.fire(noon.Add(-3 * time.Hour))
	b.fire(noon)
	require.Equal(t, []schedule.State{schedule.Launched}, b.states(sc.ID))
	b.fire(noon.Add(5*time.Hour + 30*time.Minute))
	list := b.occurrences(sc.ID)
	require.Equal(t, []schedule.State{schedule.Launched, schedule.Skipped, schedule.Launched}, b.states(sc.ID))
	require.Equal(t, int64(4), list[1].Fires)
	require.Equal(t, schedule.ReasonMissed, list[1].Reason)
	require.Equal(t, noon.Add(5*time.Hour), list[2].FireAt, "the latest")
}

// TestOverlaps: what happens while the execution before still runs.
func TestOverlaps(t *testing.T) {
	t.Parallel()
	const l, q, s = schedule.Launched, schedule.Queued, schedule.Skipped
	for overlap, want := range map[schedule.Overlap][]schedule.State{
		schedule.OverlapSkip: {l, s, s}, schedule.OverlapQueueOne: {l, q, s}, schedule.OverlapQueueAll: {l, q, q},
		schedule.OverlapCancel: {l, l, l}, schedule.OverlapAllow: {l, l, l},
	} {
		t.Run(string(overlap), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			sc := b.create(hourly("gate", func(sp *schedule.Spec) { sp.Overlap = overlap }))
			for i := range 3 {
				b.fire(noon.Add(time.Duration(i) * time.Hour))
			}
			require.Equal(t, want, b.states(sc.ID))
			first := b.occurrences(sc.ID)[0]
			if overlap == schedule.OverlapCancel {
				b.ended(first, "CANCELLED")
				return
			}
			require.NoError(t, b.engine.Commands.Cancel(b.ctx, *first.ExecutionID, "done"))
			b.ended(first, "CANCELLED")
			b.fire(noon.Add(2*time.Hour + time.Minute))
			if want[1] == q {
				want = slices.Clone(want)
				want[1] = l
			}
			require.Equal(t, want, b.states(sc.ID), "the first of the queue is launched")
		})
	}
}

// TestQueueKeepsTheLimit: a poll that found room launches nothing after another one took it.
func TestQueueKeepsTheLimit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sc := b.create(hourly("gate", func(sp *schedule.Spec) { sp.Overlap = schedule.OverlapQueueAll }))
	b.fire(noon)
	b.fire(noon.Add(time.Hour))
	want := []schedule.State{schedule.Launched, schedule.Queued}
	require.Equal(t, want, b.states(sc.ID))
	require.NoError(t, b.schedules.LaunchQueued(auth.AsSystem(b.ctx), sc.ID))
	require.Equal(t, want, b.states(sc.ID))
	require.Equal(t, 1, b.executions())
}

// TestRefusedLaunchesPause: inputs that a newer version rejects are failures.
func TestRefusedLaunchesPause(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sc := b.create(hourly("quick", func(sp *schedule.Spec) {
		sp.PauseAfter, sp.Inputs = 2, map[string]any{"n": 4}
	}))
	_, _, err := b.workflows.Register(b.ctx, []byte(`{name: quick, version: 2.0.0, inputs: [{name: n, type: "Integer(max=3)"}], operators: [{name: one, type: noop}]}`))
	require.NoError(t, err)
	for i := range 2 {
		require.NoError(t, b.schedules.PauseFailing(auth.AsSystem(b.ctx)))
		b.fire(noon.Add(time.Duration(i) * time.Hour))
	}
	require.Equal(t, []schedule.State{schedule.Refused, schedule.Refused}, b.states(sc.ID))
	require.Contains(t, b.occurrences(sc.ID)[0].Message, "inputs.n")
	require.NoError(t, b.schedules.PauseFailing(auth.AsSystem(b.ctx)))
	sc, err = b.schedules.Get(b.ctx, sc.ID)
	require.NoError(t, err)
	require.True(t, sc.Paused)
	require.Equal(t, schedule.PausedByFailures, sc.Reason)
	sc, err = b.schedules.Resume(b.ctx, sc.ID, false)
	require.NoError(t, err)
	require.NoError(t, b.schedules.PauseFailing(auth.AsSystem(b.ctx)))
	sc, err = b.schedules.Get(b.ctx, sc.ID)
	require.NoError(t, err)
	require.False(t, sc.Paused, "failures before the resume do not count")
}

// TestOwnerWithoutRights: the schedule is paused and explains why.
func TestOwnerWithoutRights(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sc := b.create(hourly("quick", nil))
	b.denied.Store(true)
	b.fire(noon)
	sc, err := b.schedules.Get(b.ctx, sc.ID)
	require.NoError(t, err)
	require.True(t, sc.Paused)
	require.Equal(t, schedule.PausedByAccess, sc.Reason)
	require.Zero(t, b.executions())
	require.Equal(t, []schedule.State{schedule.Refused}, b.states(sc.ID))
}

// TestPauseAndResume: a resumed schedule forgets what it missed, or catches up.
func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, catchUp := range []bool{false, true} {
		b.clock.set(start)
		sc := b.create(hourly("quick", func(sp *schedule.Spec) {
			sp.Name, sp.Overlap = map[bool]string{true: "a", false: "b"}[catchUp], schedule.OverlapAllow
		}))
		_, err := b.schedules.Pause(b.ctx, sc.ID)
		require.NoError(t, err)
		b.fire(noon.Add(3*time.Hour + 10*time.Minute))
		require.Empty(t, b.states(sc.ID))
		_, err = b.schedules.Resume(b.ctx, sc.ID, catchUp)
		require.NoError(t, err)
		b.fire(noon.Add(3*time.Hour + 11*time.Minute))
		if catchUp {
			require.Equal(t, []schedule.State{schedule.Skipped, schedule.Launched}, b.states(sc.ID))
		} else {
			require.Empty(t, b.states(sc.ID))
		}
		require.NoError(t, b.schedules.Delete(b.ctx, sc.ID))
	}
}

// TestRunNow launches alongside the schedule.
func TestRunNow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sc := b.create(hourly("gate", nil))
	id, err := b.schedules.RunNow(b.ctx, sc.ID)
	require.NoError(t, err)
	list := b.occurrences(sc.ID)
	require.Len(t, list, 1)
	require.Equal(t, id, *list[0].ExecutionID)
	after, err := b.schedules.Get(b.ctx, sc.ID)
	require.NoError(t, err)
	require.Equal(t, sc.NextAt, after.NextAt)
}

// TestChecked: a schedule is refused with every field that is wrong.
func TestChecked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	past := start.Add(-time.Hour)
	for path, change := range map[string]func(*schedule.Spec){
		"name":     func(sp *schedule.Spec) { sp.Name = " " },
		"timezone": func(sp *schedule.Spec) { sp.Timezone = "Mars/Base" },
		"cron":     func(sp *schedule.Spec) { sp.Expressions = []string{"0 0 30 2 *"} },
		"at":       func(sp *schedule.Spec) { sp.Expressions, sp.At = nil, new(time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)) },
		"anchor":   func(sp *schedule.Spec) { sp.Anchor = time.Date(1700, 1, 1, 0, 0, 0, 0, time.UTC) },
		"starts_at": func(sp *schedule.Spec) {
			sp.Starts = new(time.Date(9000, 1, 1, 0, 0, 0, 0, time.UTC))
			sp.Anchor = start
		},
		"ends_at": func(sp *schedule.Spec) { sp.Starts, sp.Ends = &start, &past },
		"ends_at/2200": func(sp *schedule.Spec) {
			sp.Ends = new(time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -12*3600)))
		},
		"misfire":              func(sp *schedule.Spec) { sp.Misfire = "some" },
		"overlap":              func(sp *schedule.Spec) { sp.Overlap = "some" },
		"jitter_seconds":       func(sp *schedule.Spec) { sp.Jitter = -1 },
		"pause_after_failures": func(sp *schedule.Spec) { sp.PauseAfter = -1 },
		"inputs.n":             func(sp *schedule.Spec) { sp.Inputs = map[string]any{"n": "{{scheduled_time}}"} },
		"inputs.day":           func(sp *schedule.Spec) { sp.Inputs = map[string]any{"day": "{{scheduled_tim | date}}"} },
	} {
		_, err := b.schedules.Create(b.ctx, hourly("quick", change))
		require.True(t, apperr.Is(err, apperr.Invalid), "%s: %v", path, err)
		fields := apperr.FieldsOf(err)
		require.Len(t, fields, 1, "%s: %v", path, fields)
		want, _, _ := strings.Cut(path, "/") // a field can be wrong in several ways
		require.Equal(t, want, fields[0].Path)
	}
	_, err := b.schedules.Create(b.ctx, hourly("quick", func(sp *schedule.Spec) { sp.Expressions, sp.At = nil, &past }))
	require.ErrorContains(t, err, "has invalid values")
	b.create(hourly("quick", nil))
	_, err = b.schedules.Create(b.ctx, hourly("quick", func(sp *schedule.Spec) { sp.Name = "QUICK hourly" }))
	require.True(t, apperr.Is(err, apperr.Conflict), "%v", err)
}

// TestTurns: a schedule with many fires to do does not keep others from firing.
func TestTurns(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sc := b.create(hourly("quick", func(sp *schedule.Spec) {
		sp.Expressions, sp.Overlap, sp.Misfire, sp.CatchUpMax = []string{"@every 1s"}, schedule.OverlapAllow, schedule.MisfireAll, 25
	}))
	b.fire(start.Add(time.Hour))
	first := b.executions()
	require.Positive(t, first)
	require.LessOrEqual(t, first, 10)
	b.fire(start.Add(time.Hour))
	require.Greater(t, b.executions(), first, "the next look continues")
	require.NotEmpty(t, b.states(sc.ID))
}

// TestPages: pages of a list end, whatever the case of the names.
func TestPages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	want := []string{"alpha", "Beta", "GAMMA", "Ärger"}
	for _, name := range want {
		b.create(hourly("quick", func(sp *schedule.Spec) { sp.Name = name }))
	}
	var got []string
	after := ""
	for range want {
		list, next, err := b.schedules.List(b.ctx, schedule.Filter{After: after, Limit: 1})
		require.NoError(t, err)
		require.Len(t, list, 1)
		got, after = append(got, list[0].Name), next
	}
	require.ElementsMatch(t, want, got)
	require.Empty(t, after)
}

// TestReplacedAfterLaunch: a fire that cannot be launched cancels nothing.
func TestReplacedAfterLaunch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sc := b.create(hourly("gate", func(sp *schedule.Spec) { sp.Overlap = schedule.OverlapCancel }))
	b.fire(noon)
	b.denied.Store(true)
	b.fire(noon.Add(time.Hour))
	require.Equal(t, []schedule.State{schedule.Launched, schedule.Refused}, b.states(sc.ID))
	reason := ""
	require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT coalesce(cancel_reason, '') FROM executions").Scan(&reason))
	require.Empty(t, reason)
}

// TestLongNames: a name of 100 letters that take 300 bytes is shortened in those of executions.
func TestLongNames(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sc := b.create(hourly("quick", func(sp *schedule.Spec) { sp.Name = strings.Repeat("語", schedule.MaxName) }))
	b.fire(noon)
	require.Equal(t, []schedule.State{schedule.Launched}, b.states(sc.ID))
	e, err := b.engine.Get(b.ctx, *b.occurrences(sc.ID)[0].ExecutionID)
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("語", 60)+", 2026-11-24 12:00", e.Name)
	b.clock.set(noon.Add(time.Minute)) // an occurrence of a schedule has a time of its own
	_, err = b.schedules.RunNow(b.ctx, sc.ID)
	require.NoError(t, err)
}
