package notify_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/message"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/notify"
)

func TestATemplateReplacesTheBuiltInMessage(t *testing.T) {
	t.Parallel()
	b, r := setup(t), newReceiver(t)
	b.webhook("portal", r)
	b.rule(notify.Rule{Name: "ends", Events: []notify.Event{notify.Failed, notify.Succeeded}, Channels: []string{"portal"}})
	put := func(event notify.Event, body string) {
		_, err := b.service.PutTemplate(b.admin, notify.Template{Kind: message.Webhook, Event: event, Body: body})
		require.NoError(t, err, "%v", apperr.FieldsOf(err))
	}
	put(notify.AnyEvent, `{"data": {"title": "{{ event }}"}}`)
	put(notify.Failed, `{"data": {"title": "{{ workflow }}: {{ error }}"}}`)
	b.ended("FAILED", time.Minute)
	b.ended("SUCCEEDED", time.Minute)
	b.send()
	got := r.requests()
	require.Len(t, got, 2)
	titles := []any{got[0].body.Data["title"], got[1].body.Data["title"]}
	require.ElementsMatch(t, []any{"digits.train: train failed: out of memory", "execution.succeeded"}, titles)
	require.Equal(t, "v1,"+message.Sign(signing, got[0].id, got[0].at, got[0].raw), got[0].signature, "the signature covers the body of the template")

	put(notify.Succeeded, `{"data": {"title": "{{ int(workflow) }}"}}`) // fails with this value
	b.ended("SUCCEEDED", time.Minute)
	list := b.send()
	last := list[len(list)-1]
	require.Equal(t, notify.Delivered, last.State)
	require.Contains(t, last.Reason, "The template failed, so the built-in message was sent")
	require.Equal(t, "digits.train succeeded", r.requests()[2].body.Data["title"])

	require.NoError(t, b.service.DeleteTemplate(b.admin, message.Webhook, notify.Succeeded))
	require.NoError(t, b.service.DeleteTemplate(b.admin, message.Webhook, notify.AnyEvent))
	require.True(t, apperr.Is(b.service.DeleteTemplate(b.admin, message.Webhook, notify.AnyEvent), apperr.NotFound))
	b.ended("SUCCEEDED", time.Minute)
	b.send()
	require.Equal(t, "digits.train succeeded", r.requests()[3].body.Data["title"])
	var actions int
	require.NoError(t, b.pool.QueryRow(b.system, "SELECT count(*) FROM audit_log WHERE action LIKE 'notification_template.%'").Scan(&actions))
	require.Equal(t, 5, actions)
}

func TestPreviewAndTestMessage(t *testing.T) {
	t.Parallel()
	b, r := setup(t), newReceiver(t)
	b.webhook("portal", r)
	tpl := notify.Template{Kind: message.Webhook, Event: notify.Failed, Body: `{"data": {"title": "{{ workflow }}"}}`}
	p, err := b.service.Preview(b.admin, tpl)
	require.NoError(t, err)
	require.True(t, p.Sample)
	require.Contains(t, p.JSON, `"title": "vision.train"`)
	b.rule(notify.Rule{Name: "ends", Events: []notify.Event{notify.Failed}, Channels: []string{"portal"}})
	b.ended("FAILED", time.Minute)
	p, err = b.service.Preview(b.admin, tpl)
	require.NoError(t, err)
	require.False(t, p.Sample)
	require.Contains(t, p.JSON, `"title": "digits.train"`)

	result, err := b.service.SendTest(b.admin, tpl, "portal")
	require.NoError(t, err)
	require.True(t, result.OK, result.Detail)
	require.Equal(t, "digits.train", r.requests()[0].body.Data["title"])
	r.answers(500)
	result, err = b.service.SendTest(b.admin, tpl, "portal")
	require.NoError(t, err)
	require.False(t, result.OK)
	require.Contains(t, result.Detail, "500")

	_, err = b.service.SendTest(b.admin, tpl, "other")
	require.Equal(t, "channel", apperr.FieldsOf(err)[0].Path)
	_, err = b.service.SendTest(b.admin, notify.Template{Kind: message.Slack, Event: notify.Failed, Body: "x"}, "portal")
	require.Contains(t, apperr.FieldsOf(err)[0].Message, "of the kind webhook")
	_, err = b.service.Preview(b.admin, notify.Template{Kind: message.Slack, Event: notify.Failed, Body: "{{ worflow }}"})
	require.Contains(t, apperr.FieldsOf(err)[0].Message, "Did you mean workflow?")
}

func TestTemplatesBelongToAdministratorsOfTheProject(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tpl := notify.Template{Kind: message.Slack, Event: notify.Failed, Body: "{{ title }}"}
	_, err := b.service.PutTemplate(b.dev, tpl)
	require.True(t, apperr.Is(err, apperr.Forbidden))
	_, err = b.service.Preview(b.dev, tpl)
	require.True(t, apperr.Is(err, apperr.Forbidden))
	_, err = b.service.SendTest(b.dev, tpl, "portal")
	require.True(t, apperr.Is(err, apperr.Forbidden))
	require.True(t, apperr.Is(b.service.DeleteTemplate(b.dev, tpl.Kind, tpl.Event), apperr.Forbidden))
	_, err = b.service.PutTemplate(b.admin, tpl)
	require.NoError(t, err)
	got, err := b.service.Template(b.dev, tpl.Kind, tpl.Event)
	require.NoError(t, err)
	require.Equal(t, tpl.Body, got.Body)
	stranger := auth.WithSubject(t.Context(), auth.Subject{ID: uuid.New(), Role: auth.RoleUser, TenantID: uuid.New(), ProjectID: uuid.New(), Policy: auth.Everywhere(auth.TeamAdmin)})
	list, err := b.service.Templates(stranger)
	require.NoError(t, err)
	require.Empty(t, list)
}

func TestAPausedTriggerIsReported(t *testing.T) {
	t.Parallel()
	b, r := setup(t), newReceiver(t)
	b.webhook("portal", r)
	b.rule(notify.Rule{Name: "triggers", Events: []notify.Event{notify.TriggerPaused}, Channels: []string{"portal"}})
	insert := func(name, paused string) {
		_, err := b.pool.Exec(b.system, `INSERT INTO triggers (id, tenant_id, project_id, name, kind, sources, states, signature, secret, filter, workflow_id, workflow_name, version, inputs, enabled, enabled_at,
				owner_id, owner_name, created_at, updated_at, paused)
			SELECT $1, $2, $3, $4, 'webhook', '{}', '{}', 'hmac', 's', '', $5, 'digits.train', '', '{}', false, $6, $5, 'ada', $6, $6, $7`,
			uuid.Must(uuid.NewV7()), auth.LocalTenant, auth.LocalProject, name, b.workflow, b.clock.now(), paused)
		require.NoError(t, err)
	}
	b.clock.add(time.Minute)
	insert("stopped", "Turned off after 12 failed polls in a row. The address answered 503.")
	insert("off", "")
	for range 2 {
		require.NoError(t, b.service.Watch(b.system))
	}
	b.send()
	got := r.requests()
	require.Len(t, got, 1, "a person turned off the other trigger")
	require.Equal(t, `The trigger "stopped" was paused`, got[0].body.Data["title"])
	require.Contains(t, got[0].body.Data["text"], "answered 503")
	require.Equal(t, "https://flowforge.example/triggers/stopped", got[0].body.Data["url"])
}

// TestAStreakIsReportedOnce: the audit log has the first refused run or failed delivery.
func TestAStreakIsReportedOnce(t *testing.T) {
	t.Parallel()
	b, r := setup(t), newReceiver(t)
	b.webhook("portal", r)
	b.rule(notify.Rule{Name: "launches", Events: []notify.Event{notify.ScheduleRefused, notify.TriggerFailed}, Channels: []string{"portal"}})
	b.clock.add(time.Minute)
	for action, name := range map[string]string{"schedule.refuse": "nightly", "trigger.fail": "after-train", "schedule.pause": "other"} {
		_, err := b.pool.Exec(b.system, `INSERT INTO audit_log (id, at, tenant_id, project_id, actor_kind, actor, action, object_kind, object_id, object_name, new_value)
			VALUES ($1, $2, $3, $4, 'system', 'system', $5, 'x', 'f00', $6, '{"workflow": "digits.train", "run": "2026-11-24 02:00 UTC", "message": "The inputs cannot be used."}')`,
			uuid.Must(uuid.NewV7()), b.clock.now(), auth.LocalTenant, auth.LocalProject, action, name)
		require.NoError(t, err)
	}
	for range 2 {
		require.NoError(t, b.service.Watch(b.system))
	}
	found := map[string]any{}
	b.send()
	for _, got := range r.requests() {
		require.NotContains(t, found, got.body.Type)
		require.Equal(t, "The inputs cannot be used.", got.body.Data["text"])
		found[got.body.Type] = got.body.Data["title"]
	}
	require.Equal(t, map[string]any{"schedule.refused": `The schedule "nightly" could not launch digits.train`, "trigger.failed": `The trigger "after-train" could not launch digits.train`}, found)
}

// TestAnEndSaysWhereItFailed: what people on call need to know.
func TestAnEndSaysWhereItFailed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.ended("FAILED", time.Minute)
	for index, name := range []string{"after", "train"} {
		_, err := b.pool.Exec(b.system, `INSERT INTO nodes (execution_id, node_index, name, level, state, pending_dependencies, attempt, error, finished_at)
			VALUES ($1, $2, $3, 0, 'FAILED', 0, 1, '{"message": "out of memory"}', $4)`, id, index, name, b.clock.now().Add(-time.Duration(index)*time.Second))
		require.NoError(t, err)
	}
	end, err := b.service.End(b.system, db.New(b.pool), id)
	require.NoError(t, err)
	end.Schedule = "nightly"
	m := end.Message(notify.Failed)
	require.Equal(t, []any{"train", "default", "", "nightly", ""}, []any{m.Data["node"], m.Data["project"], m.Data["name"], m.Data["schedule"], m.Data["trigger"]})
	require.Contains(t, m.Facts, message.Fact{Name: "Failed node", Value: "train"})
	require.Contains(t, m.Facts, message.Fact{Name: "Schedule", Value: "nightly"})
	for _, f := range m.Facts {
		require.NotEmpty(t, f.Value, f.Name)
	}
}
