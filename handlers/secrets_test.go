package handlers_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
	"github.com/flowforge/flowforge/proto/flowforge/v1/flowforgev1connect"
)

const secretValue = "correct-horse-battery-staple"

// dump is the text of every row of the database.
func (b *testBundle) dump(t *testing.T) string {
	t.Helper()
	rows, err := b.pool.Query(b.ctx, `SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`)
	require.NoError(t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	var out strings.Builder
	for _, table := range tables {
		var text *string
		require.NoError(t, b.pool.QueryRow(b.ctx, fmt.Sprintf("SELECT string_agg(r::text, E'\\n') FROM %s r", table)).Scan(&text))
		if text != nil {
			out.WriteString(table + "\n" + *text + "\n")
		}
	}
	return out.String()
}

// requireHidden: text holds the value in no form that a reader could turn back.
func requireHidden(t *testing.T, text, value string) {
	t.Helper()
	for _, form := range []string{value, url.QueryEscape(value), base64.StdEncoding.EncodeToString([]byte(value)), fmt.Sprintf("%x", value)} {
		require.NotContains(t, text, form)
	}
}

func formOf(pairs ...string) string {
	values := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		values.Set(pairs[i], pairs[i+1])
	}
	return values.Encode()
}

const formType = "application/x-www-form-urlencoded"

func TestSecretPages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	lead := b.signIn(t, b.person(t, "lea", auth.TeamAdmin, auth.LocalProject))
	reader := b.signIn(t, b.person(t, "vic", auth.Viewer, auth.LocalProject))

	require.Contains(t, lead.get(t, "/secrets").body, "No secrets yet")
	refused := lead.send(t, http.MethodPost, "/secrets", formType, formOf("name", "tracker key", "value", secretValue, "description", "of the team"))
	require.Equal(t, http.StatusUnprocessableEntity, refused.status)
	require.Contains(t, refused.body, `value="tracker key"`, "the name comes back")
	require.Contains(t, refused.body, `value="of the team"`)
	requireHidden(t, refused.body, secretValue)

	added := lead.send(t, http.MethodPost, "/secrets", formType, formOf("name", "tracker-key", "value", secretValue, "description", "of the team"))
	require.Equal(t, http.StatusSeeOther, added.status, added.body)
	require.Equal(t, "/secrets/tracker-key", added.header.Get("Location"))
	require.Equal(t, http.StatusConflict, lead.send(t, http.MethodPost, "/secrets", formType, formOf("name", "tracker-key", "value", secretValue)).status)
	for _, who := range []*caller{lead, b.member, reader} {
		for _, path := range []string{"/secrets", "/secrets/tracker-key"} {
			page := who.get(t, path)
			require.Equal(t, http.StatusOK, page.status)
			require.Contains(t, page.body, "by lea")
			require.Equal(t, who == lead, strings.Contains(page.body, `name="value"`), "only who may change it is offered to")
			require.Equal(t, "no-store", page.header.Get("Cache-Control"))
			requireHidden(t, page.body, secretValue)
		}
	}
	for _, who := range []*caller{b.member, reader} {
		require.Equal(t, http.StatusForbidden, who.send(t, http.MethodPost, "/secrets", formType, formOf("name", "mine", "value", secretValue)).status)
		require.Equal(t, http.StatusForbidden, who.send(t, http.MethodPost, "/secrets/tracker-key", formType, formOf("value", "another")).status)
		require.Equal(t, http.StatusForbidden, who.send(t, http.MethodPost, "/secrets/tracker-key/delete", "", "").status)
	}
	require.Equal(t, http.StatusUnprocessableEntity, lead.send(t, http.MethodPost, "/secrets/tracker-key", formType, formOf("value", "abc")).status)
	require.Equal(t, http.StatusSeeOther, lead.send(t, http.MethodPost, "/secrets/tracker-key", formType, formOf("value", "line 1\r\nline 2")).status)
	value, err := b.secrets.Reveal(auth.AsSystem(b.ctx), auth.LocalProject, "tracker-key")
	require.NoError(t, err)
	require.Equal(t, "line 1\nline 2", value)
	require.Equal(t, http.StatusNotFound, lead.send(t, http.MethodPost, "/secrets/other", formType, formOf("value", secretValue)).status)
	deleted := lead.send(t, http.MethodPost, "/secrets/tracker-key/delete", "", "")
	require.Equal(t, http.StatusSeeOther, deleted.status)
	require.Contains(t, lead.get(t, deleted.header.Get("Location")).body, "The secret tracker-key was deleted.")
	require.Equal(t, http.StatusNotFound, lead.get(t, "/secrets/tracker-key").status)
	requireHidden(t, b.dump(t), secretValue)
}

func TestSecretAPI(t *testing.T) {
	t.Parallel()
	b := setup(t)
	put := func(name, value string) reply {
		return b.admin.send(t, http.MethodPut, "/api/v1/secrets/"+name, "application/json", fmt.Sprintf(`{"value": %q, "description": "d"}`, value))
	}
	kept := put("tracker", secretValue).object(t, http.StatusOK)
	require.Equal(t, "tracker", kept["name"])
	require.NotContains(t, kept, "value")
	require.NotEmpty(t, at(put("tracker", "abc").problem(t, http.StatusUnprocessableEntity), "value"))
	require.NotEmpty(t, at(put(".hidden", secretValue).problem(t, http.StatusUnprocessableEntity), "name"))
	b.member.send(t, http.MethodPut, "/api/v1/secrets/x", "application/json", `{"value": "long enough"}`).problem(t, http.StatusForbidden)
	list := b.member.get(t, "/api/v1/secrets")
	require.Contains(t, list.body, `"tracker"`)
	one := b.member.get(t, "/api/v1/secrets/tracker")
	require.Equal(t, http.StatusOK, one.status)
	b.member.get(t, "/api/v1/secrets/absent").problem(t, http.StatusNotFound)
	b.member.send(t, http.MethodDelete, "/api/v1/secrets/tracker", "", "").problem(t, http.StatusForbidden)
	requireHidden(t, list.body+one.body+b.dump(t), secretValue)
	require.Equal(t, http.StatusNoContent, b.admin.send(t, http.MethodDelete, "/api/v1/secrets/tracker", "", "").status)
	b.admin.send(t, http.MethodDelete, "/api/v1/secrets/tracker", "", "").problem(t, http.StatusNotFound)
}

const secretive = `
name: secretive
version: 1.0.0
inputs: [{name: key, type: Secret}]
operators:
  - {name: a, type: shell, inputs: [{name: key, type: Secret, from: inputs.key}], outputs: [{name: text, type: String?}], code: {script: "true"}}
`

func TestLaunchFormNamesSecrets(t *testing.T) {
	t.Parallel()
	b := setup(t)
	lead := b.signIn(t, b.person(t, "lea", auth.TeamAdmin, auth.LocalProject))
	b.start(t)
	b.register(t, secretive)
	const path = "/workflows/secretive/launch"
	require.Contains(t, lead.get(t, path).body, "No secrets in this project yet")
	require.Contains(t, lead.get(t, path).body, "Enter a new value…")
	require.NotContains(t, b.member.get(t, path).body, "Enter a new value…")

	// A panel request, which follows the typing, keeps nothing.
	typed := []string{"inputs.key", "", "inputs.key.$secret_name", "tracker", "inputs.key.$secret_value", secretValue}
	panel := lead.send(t, http.MethodPost, path, formType, formOf(append(typed, "$panel", "1")...))
	requireHidden(t, panel.body, secretValue)
	require.Equal(t, http.StatusNotFound, lead.get(t, "/secrets/tracker").status)

	bad := lead.send(t, http.MethodPost, path, formType, formOf("inputs.key.$secret_name", "no good name", "inputs.key.$secret_value", secretValue))
	require.Equal(t, http.StatusUnprocessableEntity, bad.status)
	require.Contains(t, bad.body, "The new secret cannot be saved")
	require.Contains(t, bad.body, `value="no good name"`)
	requireHidden(t, bad.body, secretValue)
	dev := b.member.send(t, http.MethodPost, path, formType, formOf(typed...))
	require.Equal(t, http.StatusUnprocessableEntity, dev.status)

	launched := lead.send(t, http.MethodPost, path, formType, formOf(append(typed, "version", "1.0.0")...))
	require.Equal(t, http.StatusSeeOther, launched.status, launched.body)
	require.Contains(t, lead.get(t, path).body, "tracker (added by lea")
	page := b.member.get(t, launched.header.Get("Location"))
	require.Contains(t, page.body, "tracker")
	requireHidden(t, page.body+b.dump(t), secretValue)
}

// granted launches secretive and returns its only attempt, which runs.
func (b *testBundle) granted(t *testing.T, name string) (uuid.UUID, launcher.Attempt) {
	t.Helper()
	b.start(t)
	b.register(t, secretive)
	e, _, err := b.executions.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: "secretive", Inputs: map[string]any{"key": map[string]any{"$secret": name}}})
	require.NoError(t, err)
	b.until(t, e.ID, func(e query.Execution) bool { return e.Counts.Running == 1 })
	b.tasks.mu.Lock()
	defer b.tasks.mu.Unlock()
	for _, a := range b.tasks.running {
		return e.ID, a
	}
	t.Fatal("no attempt runs")
	return e.ID, nil
}

func asTask[T any](message *T, token string) *connect.Request[T] {
	req := connect.NewRequest(message)
	req.Header().Set("Authorization", "Bearer "+token)
	return req
}

// TestSecretsGoToTheGrantedAttempt: a spec holds a grant, never a value; the
// value is given to the token of that attempt, by that grant, while it is alive.
func TestSecretsGoToTheGrantedAttempt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.admin.send(t, http.MethodPut, "/api/v1/secrets/tracker", "application/json", `{"value": "`+secretValue+`"}`).object(t, http.StatusOK)
	b.admin.send(t, http.MethodPut, "/api/v1/secrets/other", "application/json", `{"value": "another value"}`).object(t, http.StatusOK)
	id, attempt := b.granted(t, "tracker")
	requireHidden(t, attempt.String(), secretValue)
	require.Len(t, attempt.Secrets, 1)
	require.JSONEq(t, `{"key": {"$secret": "tracker"}}`, attempt.InputsJson)

	tasks := flowforgev1connect.NewTaskServiceClient(http.DefaultClient, b.server.URL)
	reveal := func(token string, grants ...*flowforgev1.SecretGrant) ([]string, connect.Code) {
		resp, err := tasks.GetSecrets(t.Context(), asTask(&flowforgev1.GetSecretsRequest{Grants: grants}, token))
		if err != nil {
			return nil, connect.CodeOf(err)
		}
		return resp.Msg.Values, 0
	}
	grant := attempt.Secrets[0].Grant
	values, code := reveal(attempt.Token, grant)
	require.Zero(t, code)
	require.Equal(t, []string{secretValue}, values)
	_, code = reveal(attempt.Token, &flowforgev1.SecretGrant{Name: "other", Mac: grant.Mac})
	require.Equal(t, connect.CodePermissionDenied, code, "a grant is for one name")
	scope := auth.TaskScope{ExecutionID: id, Attempt: 2, TenantID: auth.LocalTenant, ProjectID: auth.LocalProject}
	_, code = reveal(b.signer.Sign(scope, time.Now().Add(time.Hour)), grant)
	require.NotZero(t, code, "a grant is for one attempt")
	_, code = reveal(adminToken, grant)
	require.Equal(t, connect.CodeUnauthenticated, code)

	err := b.executions.Commands.Cancel(b.ctx, id, "")
	require.NoError(t, err)
	b.until(t, id, ended)
	_, code = reveal(attempt.Token, grant)
	require.NotZero(t, code, "the attempt has ended")
	requireHidden(t, b.dump(t), secretValue)
	require.Contains(t, b.member.get(t, "/secrets/tracker").body, "secretive", "used by")
}

// TestWhatTasksSendIsMasked: log lines, metrics, status, outputs and checkpoints
// that a task sends itself, past its runner.
func TestWhatTasksSendIsMasked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.admin.send(t, http.MethodPut, "/api/v1/secrets/tracker", "application/json", `{"value": "`+secretValue+`"}`).object(t, http.StatusOK)
	id, attempt := b.granted(t, "tracker")
	tasks := flowforgev1connect.NewTaskServiceClient(http.DefaultClient, b.server.URL)
	encoded := base64.URLEncoding.EncodeToString([]byte("user:" + secretValue))
	_, err := tasks.Send(t.Context(), asTask(&flowforgev1.SendRequest{
		Logs:    []*flowforgev1.LogEntry{{Message: "the key is " + secretValue + " or " + encoded, Extra: `{"k": "` + secretValue + `"}`, Sequence: 1}},
		Metrics: []*flowforgev1.MetricPoint{{Name: "loss", Type: "gauge", Tags: map[string]string{"key": secretValue}, Sequence: 1}},
	}, attempt.Token))
	require.NoError(t, err)
	_, err = tasks.UpdateStatus(t.Context(), asTask(&flowforgev1.UpdateStatusRequest{Message: "using " + secretValue, Status: secretValue}, attempt.Token))
	require.NoError(t, err)
	_, err = tasks.SetOutput(t.Context(), asTask(&flowforgev1.SetOutputRequest{Key: "text", Value: `"` + secretValue + `"`}, attempt.Token))
	require.NoError(t, err)
	_, err = tasks.SaveCheckpoint(t.Context(), asTask(&flowforgev1.SaveCheckpointRequest{Data: `{"k": "` + secretValue + `"}`}, attempt.Token))
	require.NoError(t, err)
	_, err = tasks.Deliver(t.Context(), connect.NewRequest(&flowforgev1.DeliverRequest{Reports: []*flowforgev1.AttemptReport{{
		TaskId: attempt.TaskId, Token: attempt.Token, Report: &flowforgev1.AttemptReport_Finished{Finished: &flowforgev1.Finished{
			Outcome: flowforgev1.Outcome_OUTCOME_FAILED, ExitCode: 1, Message: "bad password " + secretValue,
			Traceback: `{"exceptions": [{"type": "ValueError", "message": "no login with ` + secretValue + `", "frames": []}]}`,
		}},
	}}}))
	require.NoError(t, err)
	b.until(t, id, ended)
	logs := b.member.get(t, "/executions/"+id.String()+"/logs.txt")
	require.Contains(t, logs.body, "the key is ***")
	node := b.member.get(t, "/executions/"+id.String()+"/nodes/a")
	require.Contains(t, node.body, "bad password ***")
	require.Contains(t, node.body, "no login with ***")
	requireHidden(t, logs.body+node.body+b.dump(t), secretValue)
	require.NotContains(t, logs.body, encoded[8:20])
}
