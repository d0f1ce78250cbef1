package inbox_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/message"
	"github.com/flowforge/flowforge/db/dbtest"
	"github.com/flowforge/flowforge/engine/inbox"
	"github.com/flowforge/flowforge/engine/notify"
)

func TestWhatILaunched(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, mei := b.person("ada", auth.ProjectDev), b.person("mei", auth.ProjectDev)
	id := b.ran(ada, "SUCCEEDED")
	b.receive()
	for _, status := range []string{"FAILED", "FAILED", "SUCCEEDED", "CANCELLED"} {
		b.ran(ada, status)
		b.receive()
	}
	require.Equal(t, []notify.Event{notify.Succeeded, notify.FirstFailure, notify.Failed, notify.Recovered}, b.events(ada), "cancelled executions are off by default")
	require.Empty(t, b.items(mei))
	first := b.items(ada)[0]
	require.Equal(t, "digits.train succeeded", first.Message.Title)
	require.Equal(t, "/executions/"+id.String(), first.Path)
	require.Equal(t, "train failed: out of memory", b.items(ada)[1].Message.Text)
	b.receive()
	require.Len(t, b.items(ada), 4, "a second poll returns no new events")

	id = b.launched(ada)
	b.exec("UPDATE executions SET name = 'best run' WHERE id = $1", id)
	b.ends(id, "FAILED", time.Minute)
	b.receive()
	require.Contains(t, b.items(ada)[4].Message.Title, "digits.train “best run” ")
}

// TestShortExecutions: their success needs no notification, but a recovery and a failure do.
func TestShortExecutions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.person("ada", auth.ProjectDev)
	for _, status := range []string{"SUCCEEDED", "FAILED", "SUCCEEDED", "SUCCEEDED"} {
		b.ends(b.launched(ada), status, 4*time.Minute)
		b.receive()
	}
	require.Equal(t, []notify.Event{notify.FirstFailure, notify.Recovered}, b.events(ada))
}

func TestSlowerThanUsual(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.person("ada", auth.ProjectDev)
	b.set(ada, func(s *inbox.Settings) { s.Modes[notify.Succeeded] = inbox.Mode{} })
	for range 6 {
		b.ran(ada, "SUCCEEDED")
	}
	id := b.launched(ada)
	b.ends(id, "SUCCEEDED", 5*time.Minute)
	b.receive()
	items := b.items(ada)
	require.Len(t, items, 1)
	require.Equal(t, "digits.train took 5 min, usually 1 min", items[0].Message.Title)
}

// TestAnAnswerSettlesAnApproval: an approval waits for all who can answer it, and no one else; an answer
// makes it read for all of them.
func TestAnAnswerSettlesAnApproval(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, mei, viewer, stranger := b.person("ada", auth.ProjectDev), b.person("mei", auth.TeamAdmin), b.person("vic", auth.Viewer), b.person("sam", "")
	id := b.launched(ada)
	b.event(id, "node.waiting", "Publish the model?", map[string]any{"code": "APPROVAL"})
	b.event(id, "node.waiting", "No capacity.", map[string]any{"code": "CPU"})
	b.receive()
	for _, who := range []someone{ada, mei} {
		items := b.items(who)
		require.Len(t, items, 1)
		require.Equal(t, "digits.train needs an approval: review", items[0].Message.Title)
		require.Equal(t, "/executions/"+id.String()+"/nodes/review/answer", items[0].Path)
		require.False(t, items[0].Read())
	}
	require.Empty(t, b.items(viewer))
	require.Empty(t, b.items(stranger))

	b.clock.add(time.Minute)
	b.event(id, "node.approved", "Approved by mei.", nil)
	b.receive()
	for _, who := range []someone{ada, mei} {
		items := b.items(who)
		require.True(t, items[0].Read())
		require.Equal(t, "Approved by mei.", items[0].Resolution)
		bell, err := b.service.Bell(who)
		require.NoError(t, err)
		require.Zero(t, bell.Unread)
	}
}

// TestAnEndSettlesApprovals: also one of the same step through the feed, and one whose node waited again.
func TestAnEndSettlesApprovals(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.person("ada", auth.ProjectDev)
	id := b.launched(ada)
	ask := func() {
		b.clock.add(time.Second)
		b.event(id, "node.waiting", "Publish the model?", map[string]any{"code": "APPROVAL"})
	}
	ask()
	b.clock.add(time.Second)
	b.event(id, "node.failed", "No answer within 1 h.", nil)
	ask()
	b.receive()
	items := b.items(ada)
	require.Len(t, items, 2)
	require.True(t, items[0].Read())
	require.Equal(t, "No longer waits for an approval.", items[0].Resolution)
	require.False(t, items[1].Read(), "the node waits again")
	b.ends(id, "CANCELLED", time.Minute)
	b.receive()
	require.True(t, b.items(ada)[1].Read())
}

// TestPausesAreNoWait: an execution that was paused waits since it was continued.
func TestPausesAreNoWait(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.person("ada", auth.ProjectDev)
	short, long := b.launched(ada), b.launched(ada)
	b.clock.add(20 * time.Minute)
	b.event(short, "execution.unpaused", "", nil)
	b.event(long, "execution.unpaused", "", nil)
	b.clock.add(time.Minute)
	b.event(short, "node.started", "", nil)
	b.clock.add(11 * time.Minute)
	b.event(long, "node.started", "", nil)
	b.receive()
	items := b.items(ada)
	require.Len(t, items, 1)
	require.Equal(t, "digits.train started after waiting for 12 min", items[0].Message.Title)
}

func TestCapacity(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.person("ada", auth.ProjectDev)
	id, quick := b.launched(ada), b.launched(ada)
	b.event(quick, "node.started", "", nil)
	b.exec("UPDATE nodes SET started_at = $2 WHERE execution_id = $1", quick, b.clock.now())
	b.clock.add(11 * time.Minute)
	for range 2 {
		b.event(id, "node.started", "", nil)
		b.event(quick, "node.started", "", nil)
	}
	b.receive()
	require.Equal(t, "digits.train started after waiting for 11 min", b.items(ada)[0].Message.Title)
	for range 2 {
		b.event(id, "node.preempted", "team vision needs its 4 GPUs.", nil)
	}
	b.receive()
	items := b.items(ada)
	require.Len(t, items, 2, "one for each execution")
	require.Equal(t, inbox.Reclaimed, items[1].Event)
	require.Equal(t, "team vision needs its 4 GPUs.", items[1].Message.Text)
}

func TestMySchedule(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, robot := b.person("ada", auth.ProjectDev), b.person("robot", "")
	schedule := uuid.New()
	b.exec(`INSERT INTO workflows (id, project_id, name, owner_team, created_at, updated_at) VALUES ($1, $2, 'digits.train', 'local', now(), now())`, b.workflow, auth.LocalProject)
	b.exec(`INSERT INTO schedules (id, tenant_id, project_id, workflow_id, workflow_name, name, expressions, timezone, anchor, gap, fold, version, inputs, priority, misfire, catch_up, catch_up_max,
			overlap, max_running, jitter, pause_after, paused, reason, message, owner_id, owner_name, created_at, updated_at, resumed_at)
		VALUES ($1, $2, $3, $4, 'digits.train', 'nightly', '{@daily}', 'UTC', now(), 'run_after', 'first', '', '{}', -1, 'latest', 0, 0,
			'skip', 1, 0, 3, true, 'failures', 'Paused after 3 consecutive failures.', $5, 'ada', now(), now(), now())`, schedule, auth.LocalTenant, auth.LocalProject, b.workflow, ada.id)
	run := func(status string, at int) {
		id := b.launched(robot)
		b.exec(`INSERT INTO schedule_occurrences (schedule_id, fire_at, last_fire_at, interval_start, state, execution_id, decided_at) VALUES ($1, $2, $2, $2, 'LAUNCHED', $3, $2)`,
			schedule, b.clock.now().Add(time.Duration(at)*time.Second), id)
		b.ends(id, status, time.Minute)
		b.receive()
	}
	run("SUCCEEDED", 1)
	run("FAILED", 2)
	run("SUCCEEDED", 3)
	bea := b.person("bea", auth.ProjectDev)
	manual := b.launched(bea)
	b.exec(`INSERT INTO schedule_occurrences (schedule_id, fire_at, last_fire_at, interval_start, state, reason, execution_id, decided_at) VALUES ($1, $2, $2, $2, 'LAUNCHED', 'manual', $3, $2)`,
		schedule, b.clock.now(), manual)
	b.ends(manual, "SUCCEEDED", 10*time.Minute)
	b.receive()
	require.Equal(t, []notify.Event{notify.Succeeded}, b.events(bea), "who runs a schedule launches the execution")
	b.record(ada, audit.Entry{Action: "schedule.pause", Kind: "schedule", ID: schedule.String(), Name: "nightly"})
	b.record(b.system, audit.Entry{Action: "schedule.pause", Kind: "schedule", ID: schedule.String(), Name: "nightly"})
	b.receive()
	require.Equal(t, []notify.Event{inbox.ScheduleFailed, notify.Recovered, notify.SchedulePaused}, b.events(ada))
	items := b.items(ada)
	require.Equal(t, `digits.train failed, launched by the schedule "nightly"`, items[0].Message.Title)
	require.Equal(t, "Paused after 3 consecutive failures.", items[2].Message.Text)
	require.Equal(t, "/schedules/"+schedule.String(), items[2].Path)
	b.record(b.system, audit.Entry{
		Action: "schedule.refuse", Kind: "schedule", ID: schedule.String(), Name: "nightly",
		New: map[string]string{"workflow": "digits.train", "run": "2026-11-24 02:00 UTC", "message": "The inputs cannot be used."},
	})
	b.receive()
	last := b.items(ada)[3]
	require.Equal(t, []any{notify.ScheduleRefused, `Your schedule "nightly" could not launch digits.train`, "The inputs cannot be used."}, []any{last.Event, last.Message.Title, last.Message.Text})
}

func TestMySweep(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.person("ada", auth.ProjectDev)
	b.exec(`INSERT INTO workflows (id, project_id, name, owner_team, created_at, updated_at) VALUES ($1, $2, 'digits.train', 'local', now(), now())`, b.workflow, auth.LocalProject)
	ended := func(reason string) uuid.UUID {
		id := uuid.New()
		b.exec(`INSERT INTO input_sweeps (id, tenant_id, project_id, workflow_id, version_id, workflow_name, version, name, state, reason, message, method, space, space_version, space_from, inputs,
				stopping, objective, planned, created, parallelism, gpu_hours, seed, priority, refused, created_by, created_by_name, created_at, updated_at, ended_at, request_key)
			VALUES ($1, $2, $3, $4, $4, 'digits.train', '1.0.0', 'Learning rates', 'SUCCEEDED', $5, '', 'random', '[]', 1, 0, '{}',
				'{}', '{"Metric": "loss", "Output": "", "Goal": "min"}', 4, 4, 1, 0, 1, -1, 0, $6, 'ada', now(), now(), now(), '')`, id, auth.LocalTenant, auth.LocalProject, b.workflow, reason, ada.id)
		for i, objective := range []any{0.25, 0.125, nil} {
			b.exec(`INSERT INTO input_sweep_runs (sweep_id, number, state, chosen, space_version, objective, created_at, execution_id) VALUES ($1, $2, CASE WHEN $3::float8 IS NULL THEN 'FAILED' ELSE 'SUCCEEDED' END, '{}', 1, $3, now(), gen_random_uuid())`, id, i, objective)
		}
		b.exec(`INSERT INTO input_sweep_runs (sweep_id, number, state, chosen, space_version, objective, created_at, execution_id) VALUES ($1, 3, 'FAILED', '{}', 1, 0.001, now(), gen_random_uuid())`, id)
		b.record(b.system, audit.Entry{Action: "sweep.end", Kind: "sweep", ID: id.String(), Name: "Learning rates"})
		return id
	}
	ended("PERSON")
	id := ended("")
	b.receive()
	items := b.items(ada)
	require.Len(t, items, 1, "she stopped the other")
	require.Equal(t, inbox.SweepEnded, items[0].Event)
	require.Equal(t, []string{"Learning rates has ended", "2 of 4 runs succeeded.", "/sweeps/" + id.String()}, []string{items[0].Message.Title, items[0].Message.Text, items[0].Path})
	require.Equal(t, message.Fact{Name: "Best loss", Value: "0.125"}, items[0].Message.Facts[1], "a run that failed is not the best")
}

func TestMyTrigger(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.person("ada", auth.ProjectDev)
	trigger := uuid.New()
	b.exec(`INSERT INTO workflows (id, project_id, name, owner_team, created_at, updated_at) VALUES ($1, $2, 'digits.train', 'local', now(), now())`, b.workflow, auth.LocalProject)
	b.exec(`INSERT INTO triggers (id, tenant_id, project_id, name, kind, sources, states, signature, secret, filter, workflow_id, workflow_name, version, inputs, priority,
			enabled, enabled_at, owner_id, owner_name, created_at, updated_at, paused, settings)
		VALUES ($1, $2, $3, 'new images', 'http', '{}', '{}', '', '', '', $4, 'digits.train', '', '{}', 50, false, now(), $5, 'ada', now(), now(), 'Turned off after 20 failed polls in a row. Not found.', '{}')`,
		trigger, auth.LocalTenant, auth.LocalProject, b.workflow, ada.id)
	b.record(ada, audit.Entry{Action: "trigger.pause", Kind: "trigger", ID: trigger.String(), Name: "new images"})
	b.record(b.system, audit.Entry{Action: "trigger.pause", Kind: "trigger", ID: trigger.String(), Name: "new images"})
	b.receive()
	items := b.items(ada)
	require.Len(t, items, 1, "a person did the other")
	require.Equal(t, notify.TriggerPaused, items[0].Event)
	require.Equal(t, `Your trigger "new images" was turned off`, items[0].Message.Title)
	require.Equal(t, "Turned off after 20 failed polls in a row. Not found.", items[0].Message.Text)
	require.Equal(t, "/triggers/new%20images", items[0].Path)
	b.record(b.system, audit.Entry{
		Action: "trigger.fail", Kind: "trigger", ID: trigger.String(), Name: "new images",
		New: map[string]string{"workflow": "digits.train", "run": "images.label succeeded", "message": "The inputs cannot be used."},
	})
	b.receive()
	last := b.items(ada)[1]
	require.Equal(t, []any{notify.TriggerFailed, `Your trigger "new images" could not launch digits.train`, "The inputs cannot be used."}, []any{last.Event, last.Message.Title, last.Message.Text})
}

func TestModels(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, mei, viewer, stranger := b.person("ada", auth.ProjectDev), b.person("mei", auth.ProjectDev), b.person("vic", auth.Viewer), b.person("sam", "")
	entry := uuid.Must(uuid.NewV7())
	b.exec(`INSERT INTO catalogue_entries (id, project_id, kind, name, version, facts, created_by, created_at) VALUES ($1, $2, 'Model', 'digits', '2', '{}', 'sam', now())`, entry, auth.LocalProject)
	of := func(action, stage string) audit.Entry {
		return audit.Entry{Action: action, Kind: "model", ID: entry.String(), Name: "digits@2", New: map[string]any{"stage": stage, "reason": "Better."}}
	}
	b.record(stranger, audit.Entry{Action: "catalogue.register", Kind: "Model", ID: entry.String(), Name: "digits@2"})
	for _, action := range []string{"model.requested", "model.moved"} { // an entry that cannot be read delays no other
		b.record(ada, audit.Entry{Action: action, Kind: "model", ID: entry.String(), Name: "digits@2", New: []string{"production"}})
	}
	b.record(ada, of("model.requested", "production"))
	b.receive()
	require.Empty(t, b.items(ada), "it is her request")
	require.Empty(t, b.items(viewer), "he cannot decide")
	require.Equal(t, "ada requests to move digits@2 to production", b.items(mei)[0].Message.Title)
	b.clock.add(time.Minute)
	b.event(b.launched(ada), "node.approved", "Approved by vic.", nil)
	b.receive()
	require.False(t, b.items(mei)[0].Read(), "the answer to an approval is none to the request")
	b.record(mei, of("model.approved", "production"))
	b.record(mei, of("model.moved", "production"))
	b.receive()
	require.Equal(t, "Approved by mei.", b.items(mei)[0].Resolution)
	require.Len(t, b.items(mei), 1, "she moved it herself")
	for _, who := range []someone{ada, viewer} {
		items := b.items(who)
		require.Len(t, items, 1)
		require.Equal(t, "digits@2 is now in production", items[0].Message.Title)
		require.Equal(t, "/models/digits?version=2", items[0].Path)
	}
	require.Empty(t, b.items(stranger), "he registered it, and may no longer read the project")
}

// TestItemsOfProjectsThatAPersonLeaves are no longer listed, counted, read or changed.
func TestItemsOfProjectsThatAPersonLeaves(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, mei := b.person("ada", auth.ProjectDev), b.person("mei", auth.ProjectDev)
	b.ran(ada, "FAILED")
	b.receive()
	item := b.items(ada)[0]
	_, err := b.service.Get(mei, item.ID)
	require.True(t, apperr.Is(err, apperr.NotFound), "%v", err)
	_, err = b.service.Mark(mei, item.ID, true)
	require.True(t, apperr.Is(err, apperr.NotFound), "%v", err)

	b.exec("DELETE FROM memberships WHERE user_id = $1", ada.id)
	b.exec("UPDATE tenancy_version SET version = version + 1")
	require.NoError(t, b.policies.Reload(b.system))
	require.Empty(t, b.items(ada))
	bell, err := b.service.Bell(ada)
	require.NoError(t, err)
	require.Zero(t, bell)
	_, err = b.service.Get(ada, item.ID)
	require.True(t, apperr.Is(err, apperr.NotFound), "%v", err)
	n, err := b.service.MarkAll(ada, nil)
	require.NoError(t, err)
	require.Zero(t, n)
	b.ran(ada, "FAILED")
	b.receive()
	var stored int
	require.NoError(t, b.pool.QueryRow(b.system, "SELECT count(*) FROM inbox_items").Scan(&stored))
	require.Equal(t, 1, stored, "no new items")

	for _, ctx := range []context.Context{b.system, auth.WithSubject(t.Context(), auth.ForTask(auth.TaskScope{}))} {
		_, err = b.service.List(ctx, inbox.Filter{})
		require.True(t, apperr.Is(err, apperr.Forbidden), "%v", err)
	}
}

// TestCrashBetweenItemsAndProgress: the events are repeated, and their items are there once.
func TestCrashBetweenItemsAndProgress(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.person("ada", auth.ProjectDev)
	b.ran(ada, "FAILED")
	_, err := b.feed.Relay(b.system)
	require.NoError(t, err)
	ctx, kill := context.WithCancel(b.system)
	config := b.config
	config.Crash = func(string) { kill() }
	_, err = inbox.New(config).Receive(ctx)
	require.Error(t, err)
	require.Empty(t, b.items(ada))
	b.receive()
	require.Len(t, b.items(ada), 1)
}

// TestReceivingNeedsOneConnection: what happened is described in the transaction that stores the items.
func TestReceivingNeedsOneConnection(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.person("ada", auth.ProjectDev)
	b.ran(ada, "FAILED")
	_, err := b.feed.Relay(b.system)
	require.NoError(t, err)
	config := b.config
	config.Pool = dbtest.NewSingle(t, b.pool)
	config.Notifications = notify.New(notify.Config{Pool: config.Pool, PublicURL: site, Now: b.clock.now})
	ctx, cancel := context.WithTimeout(b.system, 20*time.Second)
	defer cancel()
	_, err = inbox.New(config).Receive(ctx)
	require.NoError(t, err)
	require.Len(t, b.items(ada), 1)
}
