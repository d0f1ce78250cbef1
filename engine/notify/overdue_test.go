package notify_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/notify"
)

// sweeps makes an execution a run of a sweep.
func (b *bundle) sweeps(id uuid.UUID) {
	b.t.Helper()
	require.NoError(b.t, pgx.BeginFunc(b.system, b.pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(b.system, "SET LOCAL session_replication_role = replica") // without a row of its sweep
		require.NoError(b.t, err)
		_, err = tx.Exec(b.system, `INSERT INTO input_sweep_runs (sweep_id, number, state, chosen, space_version, execution_id, created_at)
			VALUES ($1, 0, 'RUNNING', '{}', 1, $2, now())`, uuid.New(), id)
		return err
	}))
}

// lists makes an execution one that lists the options of an input.
func (b *bundle) lists(id uuid.UUID) {
	b.t.Helper()
	b.exec("UPDATE executions SET purpose = 'OPTIONS' WHERE id = $1", id)
}

// TestOtherPurposesCauseNoMessages: the end of a sweep run, or of an execution that lists options, causes no message and
// does not change what the next failure or success means.
func TestOtherPurposesCauseNoMessages(t *testing.T) {
	t.Parallel()
	b, r := setup(t), newReceiver(t)
	b.webhook("portal", r)
	b.ended("SUCCEEDED", time.Minute)
	swept, listing := b.ended("FAILED", time.Minute), b.ended("FAILED", time.Minute)
	b.sweeps(swept)
	b.lists(listing)
	b.rule(notify.Rule{Name: "changes", Events: []notify.Event{notify.FirstFailure, notify.Recovered, notify.Failed}, Channels: []string{"portal"}})
	b.clock.add(time.Second)
	b.exec("UPDATE executions SET finished_at = $1", b.clock.now())
	for _, id := range []uuid.UUID{swept, listing} {
		require.NoError(t, b.service.ExecutionEnded(b.system, id))
	}
	require.Empty(t, b.messages())
	b.ended("FAILED", time.Minute)
	for _, mark := range []func(uuid.UUID){b.sweeps, b.lists} {
		mark(b.ended("CANCELLED", time.Minute))
	}
	b.exec("UPDATE executions SET status = 'SUCCEEDED' WHERE status = 'CANCELLED'")
	b.ended("SUCCEEDED", time.Minute)
	var events []notify.Event
	for _, n := range b.messages() {
		events = append(events, n.Event)
	}
	require.Equal(t, []notify.Event{notify.FirstFailure, notify.Recovered}, events)
}

// TestOverdue: an execution that has not ended by its deadline causes one message. The deadline counts
// from the scheduled time if there is one. Runs of sweeps and executions that list options cause none.
func TestOverdue(t *testing.T) {
	t.Parallel()
	b, r := setup(t), newReceiver(t)
	b.webhook("portal", r)
	start := b.clock.now()
	b.rule(notify.Rule{Name: "by 06:00", Events: []notify.Event{notify.Overdue, notify.Waiting}, Channels: []string{"portal"}, Deadline: 4 * time.Hour, Waiting: time.Hour, Timezone: "Europe/Berlin"})
	b.clock.add(time.Second)
	insert := func(name, status string, scheduled *time.Time) uuid.UUID {
		id := uuid.Must(uuid.NewV7())
		_, err := b.pool.Exec(b.system, `INSERT INTO executions (id, tenant_id, project_id, workflow_id, version_id, workflow_name, version, name, status, priority, inputs,
				submitted_by, submitted_by_name, created_at, scheduled_at, total, pending, ready, running, succeeded, levels)
			VALUES ($1, $2, $3, $4, $4, 'digits.train', '1.0.0', $5, $6, 50, '{}', $4, 'ada', $7, $8, 3, 1, 0, 1, 1, 1)`,
			id, auth.LocalTenant, auth.LocalProject, uuid.New(), name, status, b.clock.now(), scheduled)
		require.NoError(t, err)
		return id
	}
	scheduled := start.Add(-2 * time.Hour)
	insert("nightly", "RUNNING", &scheduled)
	insert("by hand", "PAUSED", nil)
	b.ended("SUCCEEDED", 0)
	before := start.Add(-5 * time.Hour)
	insert("overdue before the rule existed", "RUNNING", &before)
	swept, listing := insert("swept", "RUNNING", nil), insert("listing", "RUNNING", nil)
	b.exec(`UPDATE executions SET running = 0, ready = 1, succeeded = 0, pending = 2 WHERE id IN ($1, $2)`, swept, listing)
	b.sweeps(swept)
	b.lists(listing)
	titles := func() (list []string) {
		require.NoError(t, b.service.Watch(b.system))
		for _, n := range b.messages() {
			list = append(list, n.Message.Title)
		}
		return list
	}
	b.clock.add(2*time.Hour - 2*time.Second)
	require.Empty(t, titles())
	b.clock.add(2 * time.Second)
	require.Equal(t, []string{"digits.train “nightly” is overdue"}, titles())
	deadline := scheduled.Add(4 * time.Hour)
	zone, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	require.Equal(t, "The deadline was "+deadline.In(zone).Format("2006-01-02 15:04 MST")+". 1 of 3 nodes have ended.", b.messages()[0].Message.Text)
	require.Equal(t, deadline, b.messages()[0].Message.At.UTC())
	b.clock.add(2 * time.Hour)
	require.ElementsMatch(t, []string{"digits.train “nightly” is overdue", "digits.train “by hand” is overdue"}, titles())
}
