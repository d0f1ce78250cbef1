package notify_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/message"
	"github.com/flowforge/flowforge/engine/notify"
)

func TestFailureIsDelivered(t *testing.T) {
	t.Parallel()
	b, r := setup(t), newReceiver(t)
	b.webhook("portal", r)
	b.rule(notify.Rule{Name: "failures", Events: []notify.Event{notify.Failed}, Channels: []string{"portal"}})
	id := b.ended("FAILED", time.Minute)
	require.NoError(t, b.service.ExecutionEnded(b.system, id), "the job that reports the end can run twice")
	b.ended("SUCCEEDED", time.Minute)
	list := b.send()
	require.Len(t, list, 1)
	require.Equal(t, notify.Delivered, list[0].State)
	require.Contains(t, list[0].Reason, "204")

	got := r.requests()
	require.Len(t, got, 1)
	require.Equal(t, "execution.failed", got[0].body.Type)
	require.Equal(t, "digits.train failed", got[0].body.Data["title"])
	require.Equal(t, "train failed: out of memory", got[0].body.Data["error"])
	require.Equal(t, "https://flowforge.example/executions/"+id.String(), got[0].body.Data["url"])
	require.Equal(t, list[0].ID.String(), got[0].id)
	require.Equal(t, "v1,"+message.Sign(signing, got[0].id, got[0].at, got[0].raw), got[0].signature)
}

func TestMostSpecificEvent(t *testing.T) {
	t.Parallel()
	b, r := setup(t), newReceiver(t)
	b.webhook("portal", r)
	all := []notify.Event{notify.Failed, notify.FirstFailure, notify.Recovered, notify.Slow, notify.Succeeded, notify.Cancelled}
	b.rule(notify.Rule{Name: "all", Events: all, Channels: []string{"portal"}})
	b.rule(notify.Rule{Name: "changes", Events: []notify.Event{notify.FirstFailure, notify.Recovered}, Channels: []string{"portal"}})
	b.rule(notify.Rule{Name: "others", Events: all, Channels: []string{"portal"}, Workflows: []string{"vision.*"}})
	for _, status := range []string{"SUCCEEDED", "FAILED", "FAILED", "SUCCEEDED", "CANCELLED"} {
		b.ended(status, time.Minute)
	}
	var events []string
	for _, n := range b.messages() {
		events = append(events, n.Rule+" "+string(n.Event))
	}
	require.ElementsMatch(t, []string{
		"all execution.succeeded", "all execution.first_failure", "changes execution.first_failure", "all execution.failed",
		"all execution.recovered", "changes execution.recovered", "all execution.cancelled",
	}, events)
}

func TestSlowerThanUsual(t *testing.T) {
	t.Parallel()
	b, r := setup(t), newReceiver(t)
	b.webhook("portal", r)
	b.rule(notify.Rule{Name: "slow", Events: []notify.Event{notify.Slow}, Channels: []string{"portal"}, SlowFactor: 3})
	for range 4 {
		b.ended("SUCCEEDED", time.Minute)
	}
	b.ended("SUCCEEDED", time.Hour) // too little history
	b.ended("SUCCEEDED", 3*time.Minute)
	require.Empty(t, b.messages())
	b.ended("SUCCEEDED", 4*time.Minute)
	list := b.messages()
	require.Len(t, list, 1)
	require.Equal(t, "digits.train took 4 min, usually 1 min", list[0].Message.Title)
}

func TestRetriesAndCircuit(t *testing.T) {
	t.Parallel()
	b, r := setup(t), newReceiver(t)
	b.webhook("portal", r)
	b.rule(notify.Rule{Name: "failures", Events: []notify.Event{notify.Failed}, Channels: []string{"portal"}})
	r.answers(http.StatusServiceUnavailable)
	b.ended("FAILED", time.Minute)
	n := b.send()[0]
	require.Equal(t, notify.Pending, n.State)
	require.Contains(t, n.Reason, "503")
	require.Equal(t, b.clock.now().Add(10*time.Second), n.DueAt.UTC())
	require.Len(t, r.requests(), 1)
	b.send()
	require.Len(t, r.requests(), 1, "it is not due yet")

	for range 4 {
		b.clock.add(time.Hour)
		b.send()
	}
	require.Len(t, r.requests(), 5)
	channels, err := b.service.Channels(b.dev)
	require.NoError(t, err)
	require.Equal(t, 5, channels[0].Failures)
	require.NotNil(t, channels[0].OpenUntil, "the circuit is open")
	b.ended("FAILED", time.Second)
	b.send()
	require.Len(t, r.requests(), 5, "nothing is sent while the circuit is open")

	r.answers(http.StatusOK)
	b.clock.add(time.Hour)
	for _, n := range b.send() {
		require.Equal(t, notify.Delivered, n.State)
	}
	channels, err = b.service.Channels(b.dev)
	require.NoError(t, err)
	require.Zero(t, channels[0].Failures)
	require.Nil(t, channels[0].OpenUntil)
}

// TestAnOpenCircuitStopsClaimedMessages: of many messages that are due together, none is sent after the failures that
// open the circuit, except those that are being sent.
func TestAnOpenCircuitStopsClaimedMessages(t *testing.T) {
	t.Parallel()
	b, r := setup(t), newReceiver(t)
	b.webhook("portal", r)
	b.rule(notify.Rule{Name: "failures", Events: []notify.Event{notify.Failed}, Channels: []string{"portal"}})
	for range 30 {
		b.ended("FAILED", time.Second)
	}
	r.answers(http.StatusServiceUnavailable)
	attempts := 0
	for _, n := range b.send() {
		require.Equal(t, notify.Pending, n.State)
		attempts += n.Attempts
	}
	require.Less(t, len(r.requests()), 5+8)
	require.Equal(t, len(r.requests()), attempts, "the others keep their attempts")
	r.answers(http.StatusOK)
	b.clock.add(time.Hour)
	for _, n := range b.send() {
		require.Equal(t, notify.Delivered, n.State)
	}
}

func TestMessageIsDroppedAfterItsLastAttempt(t *testing.T) {
	t.Parallel()
	b, r := setup(t), newReceiver(t)
	b.webhook("portal", r)
	b.rule(notify.Rule{Name: "failures", Events: []notify.Event{notify.Failed}, Channels: []string{"portal"}})
	r.answers(http.StatusGone)
	b.ended("FAILED", time.Minute)
	n := b.send()[0]
	require.Equal(t, notify.GivenUp, n.State, "410 is final")

	_, err := b.service.Redeliver(b.dev, n.ID)
	require.True(t, apperr.Is(err, apperr.Forbidden), "%v", err)
	r.answers(http.StatusInternalServerError)
	_, err = b.service.Redeliver(b.admin, n.ID)
	require.NoError(t, err)
	_, err = b.service.Redeliver(b.admin, n.ID)
	require.True(t, apperr.Is(err, apperr.Conflict), "%v", err)
	for range 20 {
		b.clock.add(10 * time.Hour)
		b.send()
	}
	n, err = b.service.Get(b.dev, n.ID)
	require.NoError(t, err)
	require.Equal(t, notify.GivenUp, n.State)
	require.Equal(t, 11, n.Attempts)
	require.Len(t, n.Log, 12, "the log has the attempts before, too")
}

// TestCrashBetweenSendAndSettle: a server that stops after sending repeats the message with the same
// ID; one that stops before sending loses nothing.
func TestCrashBetweenSendAndSettle(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"notify.claimed", "notify.sent"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			b, r := setup(t), newReceiver(t)
			b.webhook("portal", r)
			b.rule(notify.Rule{Name: "failures", Events: []notify.Event{notify.Failed}, Channels: []string{"portal"}})
			b.ended("FAILED", time.Minute)
			ctx, kill := context.WithCancel(b.system)
			config := b.config
			config.Crash = func(at string) {
				if at == point {
					kill()
				}
			}
			_ = notify.New(config).SendDue(ctx)
			require.Equal(t, notify.Pending, b.messages()[0].State)
			b.send()
			require.Equal(t, notify.Pending, b.messages()[0].State, "the claim has not expired")
			b.clock.add(time.Minute)
			require.Equal(t, notify.Delivered, b.send()[0].State)
			got := r.requests()
			require.Equal(t, got[0].id, got[len(got)-1].id)
		})
	}
}

func TestMuteQuietHoursAndDisabledRules(t *testing.T) {
	t.Parallel()
	b, r := setup(t), newReceiver(t)
	b.webhook("portal", r)
	rule := notify.Rule{Name: "failures", Events: []notify.Event{notify.Failed}, Channels: []string{"portal"}, MutedUntil: new(b.clock.now().Add(time.Hour))}
	b.rule(rule)
	b.ended("FAILED", time.Minute)
	require.Equal(t, notify.Muted, b.send()[0].State)

	rule.MutedUntil, rule.QuietFrom, rule.QuietTo, rule.Timezone, rule.Enabled = nil, "10:00", "14:00", "Europe/Berlin", true
	_, err := b.service.Put(b.admin, "Failures", rule)
	require.NoError(t, err)
	b.ended("FAILED", time.Minute)
	n := b.send()[1]
	require.Equal(t, notify.Pending, n.State)
	require.Equal(t, time.Date(2026, 11, 24, 13, 0, 0, 0, time.UTC), n.DueAt.UTC())
	require.Empty(t, r.requests())
	b.clock.add(time.Hour)
	require.Equal(t, notify.Delivered, b.send()[1].State)

	r.answers(http.StatusServiceUnavailable)
	b.clock.add(20*time.Hour - 2*time.Minute - 5*time.Second) // five seconds before the next quiet hours
	b.ended("FAILED", 0)
	n = b.send()[2]
	require.Equal(t, notify.Pending, n.State)
	require.Equal(t, time.Date(2026, 11, 25, 13, 0, 0, 0, time.UTC), n.DueAt.UTC(), "the second attempt waits too")
	r.answers(http.StatusOK)
	b.clock.add(5 * time.Hour)
	require.Equal(t, notify.Delivered, b.send()[2].State)

	rule.Enabled = false
	_, err = b.service.Put(b.admin, "failures", rule)
	require.NoError(t, err)
	b.ended("FAILED", time.Minute)
	require.Len(t, b.messages(), 3)
}

func TestWhatWaits(t *testing.T) {
	t.Parallel()
	b, r := setup(t), newReceiver(t)
	b.webhook("portal", r)
	b.rule(notify.Rule{Name: "waits", Events: []notify.Event{notify.Waiting, notify.Approval, notify.SchedulePaused}, Channels: []string{"portal"}, Waiting: 5 * time.Minute})
	b.clock.add(time.Second)
	insert := func(status string, running, ready int) uuid.UUID {
		id := uuid.Must(uuid.NewV7())
		_, err := b.pool.Exec(b.system, `INSERT INTO executions (id, tenant_id, project_id, workflow_id, version_id, workflow_name, version, status, priority, inputs,
				submitted_by, submitted_by_name, created_at, total, pending, ready, running, levels)
			VALUES ($1, $2, $3, $4, $4, 'digits.train', '1.0.0', $5, 50, '{}', $4, 'ada', $6, 1, 0, $7, $8, 1)`,
			id, auth.LocalTenant, auth.LocalProject, uuid.New(), status, b.clock.now(), ready, running)
		require.NoError(t, err)
		return id
	}
	insert("RUNNING", 0, 1)
	requested := insert("RUNNING", 1, 0)
	_, err := b.pool.Exec(b.system, `INSERT INTO nodes (execution_id, node_index, name, level, state, pending_dependencies, attempt, reason, started_at)
		VALUES ($1, 0, 'review', 0, 'RUNNING', 0, 1, '{"code": "APPROVAL"}', $2)`, requested, b.clock.now())
	require.NoError(t, err)
	look := func() map[notify.Event]string {
		require.NoError(t, b.service.Watch(b.system))
		found := map[notify.Event]string{}
		for _, n := range b.messages() {
			require.NotContains(t, found, n.Event, "one message for each")
			found[n.Event] = n.Message.Title
		}
		return found
	}
	require.Equal(t, map[notify.Event]string{notify.Approval: "digits.train needs an approval: review"}, look())
	b.clock.add(6 * time.Minute)
	want := map[notify.Event]string{notify.Approval: "digits.train needs an approval: review", notify.Waiting: "digits.train has waited for 6 min"}
	require.Equal(t, want, look())
	require.Equal(t, want, look(), "a second poll returns no new events")
}

// TestEveryWaitingExecutionIsFound: also those beyond the first pages of a poll, and those behind
// executions of workflows that the rule does not cover.
func TestEveryWaitingExecutionIsFound(t *testing.T) {
	t.Parallel()
	b, r := setup(t), newReceiver(t)
	b.webhook("portal", r)
	b.rule(notify.Rule{Name: "waits", Events: []notify.Event{notify.Waiting}, Channels: []string{"portal"}, Workflows: []string{"digits.*"}, Waiting: 5 * time.Minute})
	b.clock.add(time.Second)
	const covered = 1001
	for workflow, count := range map[string]int{"other": 700, "digits.train": covered} {
		ids := make([]uuid.UUID, count)
		for i := range ids {
			ids[i] = uuid.Must(uuid.NewV7())
		}
		_, err := b.pool.Exec(b.system, `INSERT INTO executions (id, tenant_id, project_id, workflow_id, version_id, workflow_name, version, status, priority, inputs,
				submitted_by, submitted_by_name, created_at, total, pending, ready, running, levels)
			SELECT id, $1, $2, $3, $3, $4, '1.0.0', 'RUNNING', 50, '{}', $3, 'ada', $5, 1, 0, 1, 0, 1 FROM unnest($6::uuid[]) AS id`,
			auth.LocalTenant, auth.LocalProject, uuid.New(), workflow, b.clock.now(), ids)
		require.NoError(t, err)
	}
	b.clock.add(6 * time.Minute)
	stored := func() (n int) {
		require.NoError(t, b.service.Watch(b.system))
		require.NoError(t, b.pool.QueryRow(b.system, "SELECT count(*) FROM notifications").Scan(&n))
		return n
	}
	require.Equal(t, covered, stored())
	require.Equal(t, covered, stored(), "a second poll returns no new events")
}

func TestRulesAreChecked(t *testing.T) {
	t.Parallel()
	b, r := setup(t), newReceiver(t)
	b.webhook("portal", r)
	good := notify.Rule{Name: "failures", Events: []notify.Event{notify.Failed}, Channels: []string{"portal"}, Enabled: true}
	for field, change := range map[string]func(*notify.Rule){
		"name":        func(r *notify.Rule) { r.Name = "a/b" },
		"events":      func(r *notify.Rule) { r.Events = []notify.Event{"execution.exploded"} },
		"channels":    func(r *notify.Rule) { r.Channels = []string{"absent"} },
		"workflows":   func(r *notify.Rule) { r.Workflows = []string{"[a"} },
		"slow_factor": func(r *notify.Rule) { r.SlowFactor = 0.5 },
		"waiting":     func(r *notify.Rule) { r.Waiting = time.Second },
		"deadline":    func(r *notify.Rule) { r.Events = []notify.Event{notify.Overdue} },
		"quiet_from":  func(r *notify.Rule) { r.QuietFrom, r.QuietTo = "25:00", "08:00" },
		"quiet_to":    func(r *notify.Rule) { r.QuietFrom = "20:00" },
		"timezone":    func(r *notify.Rule) { r.Timezone = "Mars/Base" },
		"muted_until": func(r *notify.Rule) { r.MutedUntil = new(b.clock.now().AddDate(3, 0, 0)) },
	} {
		rule := good
		change(&rule)
		_, err := b.service.Put(b.admin, "", rule)
		fields := apperr.FieldsOf(err)
		require.Len(t, fields, 1, "%s: %v", field, err)
		require.Equal(t, field, fields[0].Path)
	}
	_, err := b.service.Put(b.dev, "", good)
	require.True(t, apperr.Is(err, apperr.Forbidden), "%v", err)
	_, err = b.service.Put(b.admin, "", good)
	require.NoError(t, err)
	_, err = b.service.Put(b.admin, "", good)
	require.True(t, apperr.Is(err, apperr.Conflict), "%v", err)
	require.NoError(t, b.links.Delete(b.admin, "portal"))
	b.ended("FAILED", time.Minute)
	n := b.send()[0]
	require.Equal(t, notify.GivenUp, n.State)
	require.Equal(t, `There is no connection called "portal" in this project.`, n.Reason)
	require.NoError(t, b.service.Delete(b.admin, "failures"))
	require.True(t, apperr.Is(b.service.Delete(b.admin, "failures"), apperr.NotFound))
}

func TestQuietHours(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	at := func(text string) time.Time {
		v, err := time.ParseInLocation("2006-01-02 15:04", text, berlin)
		require.NoError(t, err)
		return v
	}
	for _, c := range []struct{ now, from, to, until string }{
		{"2026-11-24 19:59", "20:00", "08:00", ""},
		{"2026-11-24 20:00", "20:00", "08:00", "2026-11-25 08:00"},
		{"2026-11-25 07:59", "20:00", "08:00", "2026-11-25 08:00"},
		{"2026-11-25 08:00", "20:00", "08:00", ""},
		{"2026-11-25 12:00", "11:00", "13:00", "2026-11-25 13:00"},
		{"2026-11-25 13:00", "11:00", "13:00", ""},
		{"2026-10-24 23:00", "22:00", "06:00", "2026-10-25 06:00"}, // clocks go back in between
		{"2026-11-25 12:00", "", "", ""},
	} {
		until, quiet := notify.QuietUntil(at(c.now), c.from, c.to, berlin)
		require.Equal(t, c.until != "", quiet, "%+v", c)
		if quiet {
			require.Equal(t, at(c.until).UTC(), until, "%+v", c)
		}
	}
}

func TestStagesOfModels(t *testing.T) {
	t.Parallel()
	b, r := setup(t), newReceiver(t)
	b.webhook("portal", r)
	b.rule(notify.Rule{Name: "models", Events: []notify.Event{notify.StageChanged}, Channels: []string{"portal"}, Workflows: []string{"digits*"}})
	b.clock.add(time.Second)
	for _, name := range []string{"digits", "other"} {
		entry := uuid.Must(uuid.NewV7())
		_, err := b.pool.Exec(b.system, `INSERT INTO catalogue_entries (id, project_id, kind, name, version, facts, created_by, created_at) VALUES ($1, $2, 'Model', $3, '2', '{}', 'ada', now())`, entry, auth.LocalProject, name)
		require.NoError(t, err)
		for action, stage := range map[string]any{"moved": "production", "alias_set": nil} {
			_, err = b.pool.Exec(b.system, `INSERT INTO model_history (id, project_id, name, entry_id, version, action, detail, reason, by_name, at, stage) VALUES ($1, $2, $3, $4, '2', $5, 'from staging to production', 'Better.', 'ada', $6, $7)`,
				uuid.Must(uuid.NewV7()), auth.LocalProject, name, entry, action, b.clock.now(), stage)
			require.NoError(t, err)
		}
	}
	require.NoError(t, b.service.Watch(b.system))
	require.NoError(t, b.service.Watch(b.system), "a second poll returns no new events")
	require.Len(t, b.send(), 1)
	got := r.requests()
	require.Len(t, got, 1)
	require.Equal(t, "model.stage_changed", got[0].body.Type)
	require.Equal(t, "digits@2 is now in production", got[0].body.Data["title"])
	require.Equal(t, []any{"digits", "2", "production", "ada"}, []any{got[0].body.Data["model"], got[0].body.Data["version"], got[0].body.Data["stage"], got[0].body.Data["changed_by"]})
	require.Equal(t, "https://flowforge.example/models/digits?version=2", got[0].body.Data["url"])
}
