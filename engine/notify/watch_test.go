package notify_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/notify"
)

func (b *bundle) exec(sql string, args ...any) {
	b.t.Helper()
	_, err := b.pool.Exec(b.system, sql, args...)
	require.NoError(b.t, err)
}

// watched looks once, and returns how many messages there are.
func (b *bundle) watched() int {
	b.t.Helper()
	require.NoError(b.t, b.service.Watch(b.system))
	return len(b.messages())
}

// TestAnApprovalIsReportedOnce: also one that waits for longer than messages are kept.
func TestAnApprovalIsReportedOnce(t *testing.T) {
	t.Parallel()
	b, r := setup(t), newReceiver(t)
	b.webhook("portal", r)
	b.rule(notify.Rule{Name: "approvals", Events: []notify.Event{notify.Approval}, Channels: []string{"portal"}})
	b.clock.add(time.Second)
	id := uuid.Must(uuid.NewV7())
	b.exec(`INSERT INTO executions (id, tenant_id, project_id, workflow_id, version_id, workflow_name, version, status, priority, inputs,
			submitted_by, submitted_by_name, created_at, total, pending, ready, running, levels)
		VALUES ($1, $2, $3, $4, $4, 'digits.train', '1.0.0', 'RUNNING', 50, '{}', $4, 'ada', $5, 1, 0, 0, 1, 1)`,
		id, auth.LocalTenant, auth.LocalProject, uuid.New(), b.clock.now())
	b.exec(`INSERT INTO nodes (execution_id, node_index, name, level, state, pending_dependencies, attempt, reason, started_at)
		VALUES ($1, 0, 'review', 0, 'RUNNING', 0, 1, '{"code": "APPROVAL", "message": "Release the model?"}', $2)`, id, b.clock.now())
	require.Equal(t, 1, b.watched())
	require.Equal(t, "Release the model?", b.messages()[0].Message.Text)
	b.clock.add(notify.KeepMessages + time.Hour)
	b.exec("DELETE FROM notifications") // as the loop does with old ones
	require.Zero(t, b.watched())
}

// TestChangesOfRulesAreRecorded: the audit log has the old and the new value of each setting.
func TestChangesOfRulesAreRecorded(t *testing.T) {
	t.Parallel()
	b, r := setup(t), newReceiver(t)
	b.webhook("portal", r)
	rule := b.rule(notify.Rule{Name: "late", Events: []notify.Event{notify.Overdue}, Channels: []string{"portal"}, Deadline: time.Hour})
	rule.Deadline, rule.Timezone, rule.Waiting, rule.SlowFactor = 2*time.Hour, "Europe/Berlin", time.Hour, 3
	_, err := b.service.Put(b.admin, "late", rule)
	require.NoError(t, err)
	var changed []string
	require.NoError(t, b.pool.QueryRow(b.system, `SELECT array_agg(n.key ORDER BY n.key) FROM audit_log a, jsonb_each(a.new_value) n
		WHERE a.action = 'notification_rule.update' AND a.old_value -> n.key IS DISTINCT FROM n.value`).Scan(&changed))
	require.Equal(t, []string{"deadline_seconds", "slow_factor", "timezone", "waiting_seconds"}, changed)
}

// TestAPausedScheduleIsReportedOnce: a change of a paused schedule, such as of its calendar, is no pause.
func TestAPausedScheduleIsReportedOnce(t *testing.T) {
	t.Parallel()
	b, r := setup(t), newReceiver(t)
	b.webhook("portal", r)
	b.rule(notify.Rule{Name: "paused", Events: []notify.Event{notify.SchedulePaused}, Channels: []string{"portal"}})
	resumed := b.clock.now()
	b.clock.add(time.Second)
	b.exec(`INSERT INTO workflows (id, project_id, name, owner_team, created_at, updated_at) VALUES ($1, $2, 'digits.train', 'local', now(), now())`, b.workflow, auth.LocalProject)
	b.exec(`INSERT INTO schedules (id, tenant_id, project_id, workflow_id, workflow_name, name, expressions, timezone, anchor, gap, fold, version, inputs, priority, misfire, catch_up, catch_up_max,
			overlap, max_running, jitter, pause_after, paused, reason, message, owner_id, owner_name, created_at, updated_at, resumed_at)
		VALUES ($1, $2, $3, $4, 'digits.train', 'nightly', '{0 2 * * *}', 'UTC', $5, 'skip', 'first', '', '{}', -1, 'skip', 0, 1,
			'skip', 1, 0, 3, true, 'failures', 'Paused after 3 consecutive failures.', $4, 'ada', $5, $6, $5)`,
		uuid.New(), auth.LocalTenant, auth.LocalProject, b.workflow, resumed, b.clock.now())
	require.Equal(t, 1, b.watched())
	b.clock.add(time.Minute)
	b.exec("UPDATE schedules SET updated_at = $1", b.clock.now())
	require.Equal(t, 1, b.watched())
	b.clock.add(time.Minute)
	b.exec("UPDATE schedules SET updated_at = $1, resumed_at = $1", b.clock.now())
	require.Equal(t, 2, b.watched(), "it was resumed and paused again")
	b.clock.add(time.Minute)
	b.exec("UPDATE schedules SET updated_at = $1, resumed_at = $1, reason = 'workflow'", b.clock.now())
	require.Equal(t, 2, b.watched(), "a person registered a definition that declares it as paused")
}

// TestAdditionsToARuleStartWithTheChange: an event, a workflow or a channel that a user adds to a rule causes no
// messages about what happened before, and the parts that the rule had lose none.
func TestAdditionsToARuleStartWithTheChange(t *testing.T) {
	t.Parallel()
	b, r := setup(t), newReceiver(t)
	b.webhook("portal", r)
	b.webhook("oncall", r)
	refused := func(workflow string) {
		b.clock.add(time.Minute)
		b.exec(`INSERT INTO audit_log (id, tenant_id, project_id, actor_kind, actor, action, object_kind, object_id, object_name, new_value, at)
			VALUES ($1, $2, $3, 'system', 'system', 'schedule.refuse', 'schedule', $4, 'nightly', jsonb_build_object('workflow', $5::text), $6)`,
			uuid.Must(uuid.NewV7()), auth.LocalTenant, auth.LocalProject, uuid.NewString(), workflow, b.clock.now())
	}
	rule := b.rule(notify.Rule{Name: "nights", Events: []notify.Event{notify.Failed}, Workflows: []string{"a"}, Channels: []string{"portal"}})
	change := func(do func(*notify.Rule)) {
		t.Helper()
		b.clock.add(time.Minute)
		do(&rule)
		var err error
		rule, err = b.service.Put(b.admin, "nights", rule)
		require.NoError(t, err)
	}
	sent := func() (list []string) {
		b.watched()
		for _, n := range b.messages() {
			list = append(list, n.Channel+" "+n.Message.Title)
		}
		return list
	}
	refused("a")
	change(func(r *notify.Rule) { r.Events = append(r.Events, notify.ScheduleRefused) })
	require.Empty(t, sent(), "the event was added later")
	refused("a")
	first := sent()
	require.Len(t, first, 1)
	refused("b")
	change(func(r *notify.Rule) { r.Workflows = nil })
	require.Equal(t, first, sent(), "the workflow was added later")
	change(func(r *notify.Rule) { r.Channels = append(r.Channels, "oncall") })
	require.Equal(t, first, sent(), "the channel was added later")
	refused("b")
	require.Len(t, sent(), 3, "one message to each channel")
	change(func(r *notify.Rule) { r.Channels, r.SlowFactor = []string{"oncall", "portal"}, 3 })
	require.Len(t, sent(), 3)
	change(func(r *notify.Rule) { r.Enabled = false })
	refused("a")
	change(func(r *notify.Rule) { r.Enabled = true })
	require.Len(t, sent(), 3, "the rule was off")
}
