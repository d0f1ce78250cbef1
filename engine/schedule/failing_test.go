package schedule_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/schedule"
)

// TestFailuresWait: while launches fail and are retried, the loop looks only as often as Every says.
func TestFailuresWait(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sc := b.create(hourly("quick", nil))
	available := false
	config := b.config
	config.Every = time.Minute
	config.Acting = func(uuid.UUID, string, uuid.UUID) (auth.Subject, error) {
		if available {
			return auth.Local(), nil
		}
		return auth.Subject{}, apperr.New(apperr.Unavailable, "The directory does not respond.")
	}
	schedules, ctx := schedule.New(config), auth.AsSystem(b.ctx)
	b.clock.set(noon.Add(-10 * time.Second))
	require.Equal(t, 10*time.Second, schedules.Look(ctx), "the next fire")
	b.clock.set(noon)
	require.Equal(t, config.Every, schedules.Look(ctx), "the fire is still due")
	require.Empty(t, b.occurrences(sc.ID))
	available = true
	require.Equal(t, db.Safety, schedules.Look(ctx), "nothing is due soon")
	require.Equal(t, []schedule.State{schedule.Launched}, b.states(sc.ID), "the next attempt retries them")
}

// TestQueueAfterEdit: a queued fire is not launched with what a schedule said before an edit.
func TestQueueAfterEdit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	queueing := hourly("gate", func(sp *schedule.Spec) { sp.Overlap = schedule.OverlapQueueAll })
	sc := b.create(queueing)
	b.fire(noon)
	b.fire(noon.Add(time.Hour))
	require.NoError(t, b.engine.Commands.Cancel(b.ctx, *b.occurrences(sc.ID)[0].ExecutionID, "done"))
	b.ended(b.occurrences(sc.ID)[0], "CANCELLED")
	b.clock.set(noon.Add(time.Hour + time.Minute))
	config := b.config
	config.Crash = func(at string) {
		if at == "launch.begin" {
			_, err := b.schedules.Replace(b.ctx, sc.ID, queueing)
			require.NoError(t, err)
		}
	}
	require.NoError(t, schedule.New(config).LaunchQueued(auth.AsSystem(b.ctx), sc.ID))
	require.Equal(t, []schedule.State{schedule.Launched, schedule.Queued}, b.states(sc.ID))
	require.NoError(t, b.schedules.LaunchQueued(auth.AsSystem(b.ctx), sc.ID))
	require.Equal(t, []schedule.State{schedule.Launched, schedule.Launched}, b.states(sc.ID))
}

// TestFailuresPauseAtOnce: of many fires in one look, none follows the failures that pause a schedule.
func TestFailuresPauseAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sc := b.create(hourly("quick", func(sp *schedule.Spec) {
		sp.PauseAfter, sp.Inputs, sp.Misfire, sp.Overlap = 2, map[string]any{"n": 4}, schedule.MisfireAll, schedule.OverlapAllow
	}))
	_, _, err := b.workflows.Register(b.ctx, []byte(`{name: quick, version: 2.0.0, inputs: [{name: n, type: "Integer(max=3)"}], operators: [{name: one, type: noop}]}`))
	require.NoError(t, err)
	b.fire(noon.Add(4 * time.Hour))
	require.Equal(t, []schedule.State{schedule.Refused, schedule.Refused}, b.states(sc.ID))
	sc, err = b.schedules.Get(b.ctx, sc.ID)
	require.NoError(t, err)
	require.Equal(t, schedule.PausedByFailures, sc.Reason)
}

// TestAResumedScheduleIsNotPaused: it was resumed after the loop had found its failures.
func TestAResumedScheduleIsNotPaused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sc := b.create(hourly("quick", func(sp *schedule.Spec) {
		sp.PauseAfter, sp.Inputs, sp.Misfire, sp.Overlap = 2, map[string]any{"n": 4}, schedule.MisfireAll, schedule.OverlapAllow
	}))
	_, _, err := b.workflows.Register(b.ctx, []byte(`{name: quick, version: 2.0.0, inputs: [{name: n, type: "Integer(max=3)"}], operators: [{name: one, type: noop}]}`))
	require.NoError(t, err)
	b.fire(noon.Add(time.Hour))
	require.Equal(t, []schedule.State{schedule.Refused, schedule.Refused}, b.states(sc.ID))
	tx, err := b.pool.Begin(b.ctx)
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(b.ctx) }()
	_, err = tx.Exec(b.ctx, "UPDATE schedules SET resumed_at = $2 WHERE id = $1", sc.ID, noon.Add(2*time.Hour))
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- b.schedules.PauseFailing(auth.AsSystem(b.ctx)) }()
	require.Eventually(t, func() bool {
		var waits bool
		err := b.pool.QueryRow(b.ctx, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')").Scan(&waits)
		return err == nil && waits
	}, 20*time.Second, 5*time.Millisecond)
	require.NoError(t, tx.Commit(b.ctx))
	require.NoError(t, <-done)
	sc, err = b.schedules.Get(b.ctx, sc.ID)
	require.NoError(t, err)
	require.Empty(t, sc.Reason)

	// Without another change, it is paused.
	_, err = b.pool.Exec(b.ctx, "UPDATE schedules SET resumed_at = $2 WHERE id = $1", sc.ID, noon.Add(-time.Hour))
	require.NoError(t, err)
	require.NoError(t, b.schedules.PauseFailing(auth.AsSystem(b.ctx)))
	sc, err = b.schedules.Get(b.ctx, sc.ID)
	require.NoError(t, err)
	require.Equal(t, schedule.PausedByFailures, sc.Reason)
}

// TestARefusalIsRecordedOnce: until a run launches again. Users are notified by the audit log.
func TestARefusalIsRecordedOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	repeated := hourly("quick", func(sp *schedule.Spec) { sp.Inputs, sp.Overlap = map[string]any{"n": 4}, schedule.OverlapAllow })
	sc := b.create(repeated)
	release := func(version, most string) {
		_, _, err := b.workflows.Register(b.ctx, []byte(`{name: quick, version: `+version+`, inputs: [{name: n, type: "Integer(max=`+most+`)"}], operators: [{name: one, type: noop}]}`))
		require.NoError(t, err)
	}
	recorded := func() (n int) {
		require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT count(*) FROM audit_log WHERE action = 'schedule.refuse' AND object_id = $1", sc.ID.String()).Scan(&n))
		return n
	}
	release("2.0.0", "3")
	b.fire(noon)
	require.Equal(t, 1, recorded())
	b.fire(noon.Add(time.Hour))
	require.Equal(t, 1, recorded())
	release("3.0.0", "5")
	b.fire(noon.Add(2 * time.Hour))
	release("4.0.0", "3")
	b.fire(noon.Add(3 * time.Hour))
	require.Equal(t, []schedule.State{schedule.Refused, schedule.Refused, schedule.Launched, schedule.Refused}, b.states(sc.ID))
	require.Equal(t, 2, recorded())
	var message string
	require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT message FROM events WHERE execution_id = $1 AND seq = 1", *b.occurrences(sc.ID)[2].ExecutionID).Scan(&message))
	require.Equal(t, "Launched by schedule quick hourly.", message)
}

// TestChangesAreRecorded: the audit log has the old and the new value of each setting.
func TestChangesAreRecorded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sc := b.create(hourly("quick", func(sp *schedule.Spec) { sp.PauseAfter = 3 }))
	_, err := b.schedules.Replace(b.ctx, sc.ID, hourly("quick", func(sp *schedule.Spec) {
		sp.Jitter, sp.KeepFailed, sp.MaxRunning, sp.Ends = time.Minute, new(2), 4, new(noon.Add(time.Hour))
	}))
	require.NoError(t, err)
	var changed []string
	require.NoError(t, b.pool.QueryRow(b.ctx, `SELECT array_agg(n.key ORDER BY n.key) FROM audit_log a, jsonb_each(a.new_value) n
		WHERE a.action = 'schedule.update' AND a.object_id = $1 AND a.old_value -> n.key IS DISTINCT FROM n.value`, sc.ID.String()).Scan(&changed))
	require.Equal(t, []string{"ends_at", "jitter_seconds", "keep_failed", "max_running", "pause_after_failures"}, changed)
}

func TestNamesOfFires(t *testing.T) {
	t.Parallel()
	require.Equal(t, "2026-11-24 12:00", schedule.FireName(noon))
	require.Equal(t, "2026-11-24 12:00:15", schedule.FireName(noon.Add(15*time.Second)))
}

// TestOnlyOneTime: a schedule has one of the fields for its times.
func TestOnlyOneTime(t *testing.T) {
	t.Parallel()
	list, fields := schedule.Expressions("", []string{"@daily", "@hourly"}, "", nil)
	require.Empty(t, fields)
	require.Equal(t, []string{"@daily", "@hourly"}, list)
	list, fields = schedule.Expressions("", nil, "90m", nil)
	require.Empty(t, fields)
	require.Equal(t, []string{"@every 90m"}, list)
	for want, of := range map[string]func() ([]string, []apperr.Field){
		"every: Set only one of cron, crons, every and at. cron is set too.": func() ([]string, []apperr.Field) { return schedule.Expressions("@daily", nil, "5m", nil) },
		"crons: Set only one of cron, crons, every and at. cron is set too.": func() ([]string, []apperr.Field) { return schedule.Expressions("@daily", []string{"@hourly"}, "", nil) },
		"at: Set only one of cron, crons, every and at. every is set too.":   func() ([]string, []apperr.Field) { return schedule.Expressions("", nil, "5m", &noon) },
		`every: "1d" is not a valid interval. Use 24h.`:                      func() ([]string, []apperr.Field) { return schedule.Expressions("", nil, "1d", nil) },
	} {
		_, fields := of()
		require.Len(t, fields, 1)
		require.Equal(t, want, fields[0].Path+": "+fields[0].Message)
	}
	require.Equal(t, "22:00 to 06:30 on Friday, Saturday", schedule.Window{From: "22:00", Until: "06:30", Days: []string{"FRI", "sat"}}.Words())
}
