package handlers_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
)

// notificationRows are about the rules and messages of the current project. Callers see the rules of
// their own project, and a message is an object of one project.
func notificationRows() []row {
	const absent, invalid, moved = http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusSeeOther
	const rule, message, template = "/notifications/rules/{name}", "/notifications/{notification_id}", "/notifications/templates/{kind}/{event}"
	return []row{
		read("/notifications/rules", "/notifications/rules", auth.ExecutionRead), read(rule, "/notifications/rules/absent", auth.ExecutionRead).answers(absent),
		write("PUT", rule, "/notifications/rules/matrix", `{"events": ["execution.failed"], "channels": ["absent"]}`, auth.SecretWrite, invalid),
		write("DELETE", rule, "/notifications/rules/absent", "", auth.SecretWrite, absent),
		read("/notifications/channels", "/notifications/channels", auth.ExecutionRead), read("/notifications", "/notifications", auth.ExecutionRead),
		read(message, "/notifications/{notification}", auth.ExecutionRead).object(),
		write("POST", message+"/redeliver", "/notifications/01900000-0000-7000-8000-00000000dead/redeliver", "", "", absent),
		read("/notifications/templates", "/notifications/templates", auth.ExecutionRead), read(template, "/notifications/templates/slack/any", auth.ExecutionRead).answers(absent),
		write("PUT", template, "/notifications/templates/slack/any", `{"body": "{{ absent }}"}`, auth.SecretWrite, invalid),
		write("DELETE", template, "/notifications/templates/slack/any", "", auth.SecretWrite, absent),
		write("POST", template+"/preview", "/notifications/templates/slack/any/preview", `{"body": "{{ title }}"}`, auth.SecretWrite, http.StatusOK),
		write("POST", template+"/test", "/notifications/templates/slack/any/test", `{"body": "{{ title }}", "channel": "absent"}`, auth.SecretWrite, invalid),
		page("/notifications/templates", "/notifications/templates", auth.ExecutionRead), page(template, "/notifications/templates/email/any", auth.SecretWrite),
		form(template, "/notifications/templates/slack/any", "body=", auth.SecretWrite, invalid), form(template+"/preview", "/notifications/templates/slack/any/preview", "body=x", auth.SecretWrite, http.StatusOK),
		form(template+"/test", "/notifications/templates/slack/any/test", "body=x&channel=absent", auth.SecretWrite, invalid), form(template+"/delete", "/notifications/templates/slack/any/delete", "", auth.SecretWrite, absent),
		page("/notifications", "/notifications", auth.ExecutionRead), page("/notifications/rules/new", "/notifications/rules/new", auth.SecretWrite),
		page("/notifications/messages/{notification}", "/notifications/messages/{notification}", auth.ExecutionRead).object(),
		form("/notifications/messages/{notification}/redeliver", "/notifications/messages/{notification}/redeliver", "", auth.SecretWrite, moved).object(),
		form("/notifications/rules", "/notifications/rules", "name=matrix", auth.SecretWrite, invalid),
		page(rule, "/notifications/rules/absent", auth.ExecutionRead).answers(absent),
		form(rule, "/notifications/rules/absent", "name=matrix", "", absent),
		form(rule+"/switch", "/notifications/rules/absent/switch", "on=true", "", absent),
		form(rule+"/delete", "/notifications/rules/absent/delete", "", auth.SecretWrite, absent),
	}
}

// matrixNotification is a message of a project that was delivered.
func matrixNotification(ctx context.Context, t *testing.T, b *testBundle, project uuid.UUID) string {
	t.Helper()
	id := uuid.Must(uuid.NewV7())
	_, err := b.pool.Exec(ctx, `INSERT INTO notifications (id, tenant_id, project_id, rule_id, rule_name, channel, event, occurrence, message, state, created_at, settled_at)
		SELECT $1, tenant_id, id, $1, 'failures', 'oncall', 'execution.failed', $4, '{"title": "failed"}', 'DELIVERED', $3, $3 FROM tenancy_nodes WHERE id = $2`, id, project, time.Now(), id.String())
	require.NoError(t, err)
	return id.String()
}
