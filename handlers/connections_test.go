package handlers_test

import (
	"encoding/pem"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
	"github.com/flowforge/flowforge/proto/flowforge/v1/flowforgev1connect"
)

func TestConnectionPages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	lead := b.signIn(t, b.person(t, "lea", auth.TeamAdmin, auth.LocalProject))
	require.Contains(t, lead.get(t, "/connections").body, "No connections yet")
	require.Contains(t, lead.get(t, "/connections/new").body, "Hugging Face")
	require.NotContains(t, b.member.get(t, "/connections").body, "New connection")

	typed := []string{"kind", "http", "values.base_url", "http://127.0.0.1:1", "values.authentication", "bearer", "values.token", secretValue}
	refused := lead.send(t, http.MethodPost, "/connections", formType, formOf(append(typed, "name", "no good name")...))
	require.Equal(t, http.StatusUnprocessableEntity, refused.status)
	require.Contains(t, refused.body, `value="no good name"`)
	require.Contains(t, refused.body, `value="http://127.0.0.1:1"`)
	requireHidden(t, refused.body, secretValue)
	added := lead.send(t, http.MethodPost, "/connections", formType, formOf(append(typed, "name", "api")...))
	require.Equal(t, http.StatusSeeOther, added.status, added.body)
	require.Equal(t, http.StatusConflict, lead.send(t, http.MethodPost, "/connections", formType, formOf(append(typed, "name", "api")...)).status)

	for _, who := range []*caller{lead, b.member} {
		page := who.get(t, "/connections/api")
		require.Contains(t, page.body, "http://127.0.0.1:1")
		require.Equal(t, who == lead, strings.Contains(page.body, "Test the connection"))
		requireHidden(t, page.body, secretValue)
	}
	tested := lead.send(t, http.MethodPost, "/connections/api/test", "", "")
	require.Contains(t, tested.body, "The connection does not work.")
	require.Contains(t, tested.body, "connection refused")
	requireHidden(t, tested.body, secretValue)

	// A visible field changes alone; the box removes a secret one.
	changed := lead.send(t, http.MethodPost, "/connections/api", formType, formOf("values.base_url", "http://127.0.0.1:1/v2", "values.authentication", "bearer", "values.token", ""))
	elsewhere := lead.send(t, http.MethodPost, "/connections/api", formType, formOf("values.base_url", "http://127.0.0.1:2", "values.authentication", "bearer", "values.token", ""))
	require.Equal(t, http.StatusUnprocessableEntity, elsewhere.status)
	require.Contains(t, elsewhere.body, "Enter the value again")
	require.Equal(t, http.StatusSeeOther, changed.status, changed.body)
	value, err := b.connections.Reveal(auth.AsSystem(b.ctx), auth.LocalProject, "api", "token")
	require.NoError(t, err)
	require.Equal(t, secretValue, value)
	bad := lead.send(t, http.MethodPost, "/connections/api", formType, formOf("values.base_url", "http://127.0.0.1:2", "values.authentication", "bearer", "values.token", "", "remove.token", "1"))
	require.Equal(t, http.StatusUnprocessableEntity, bad.status)
	require.Contains(t, bad.body, "Enter the token")
	require.Equal(t, http.StatusForbidden, b.member.send(t, http.MethodPost, "/connections/api", formType, formOf("values.base_url", "http://x")).status)

	deleted := lead.send(t, http.MethodPost, "/connections/api/delete", "", "")
	require.Contains(t, lead.get(t, deleted.header.Get("Location")).body, "The connection api was deleted.")
	requireHidden(t, b.dump(t), secretValue)
}

// TestConnectionWithACertificate: its lines survive the form, also with an error elsewhere.
func TestConnectionWithACertificate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	lead := b.signIn(t, b.person(t, "lea", auth.TeamAdmin, auth.LocalProject))
	server := httptest.NewTLSServer(nil)
	server.Close()
	certificate := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	require.Regexp(t, `<textarea [^>]*name="values.ca_certificate"`, lead.get(t, "/connections/new?kind=email").body)
	typed := []string{"kind", "email", "name", "mail", "values.host", "smtp.example.com", "values.from", "flowforge@example.com", "values.ca_certificate", strings.ReplaceAll(certificate, "\n", "\r\n")}
	refused := lead.send(t, http.MethodPost, "/connections", formType, formOf(append(typed, "values.to", "nobody")...))
	require.Equal(t, http.StatusUnprocessableEntity, refused.status)
	require.Contains(t, refused.body, strings.Split(certificate, "\n")[1])
	added := lead.send(t, http.MethodPost, "/connections", formType, formOf(append(typed, "values.to", "ada@example.com")...))
	require.Equal(t, http.StatusSeeOther, added.status, added.body)
	page := html.UnescapeString(lead.get(t, "/connections/mail").body)
	require.Contains(t, strings.ReplaceAll(page, "\r\n", "\n"), strings.TrimSpace(certificate))
	require.Contains(t, b.member.get(t, "/connections/mail").body, fmt.Sprintf("%d lines", strings.Count(certificate, "\n")))
}

func TestCustomConnectionPage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	lead := b.signIn(t, b.person(t, "lea", auth.TeamAdmin, auth.LocalProject))
	declared := "account: String, required\nsize: Enum(small, large)\napi_key: String, secret, required"
	added := lead.send(t, http.MethodPost, "/connections", formType, formOf("kind", "custom", "name", "snow", "declared", declared, "values.account", "acme", "values.api_key", secretValue))
	require.Equal(t, http.StatusSeeOther, added.status, added.body)
	page := lead.get(t, "/connections/snow").body
	require.Contains(t, page, "account: String, required\nsize: Enum(small, large)\napi_key: String, secret, required")
	require.Contains(t, page, "FLOWFORGE_CONNECTION_DB_API_KEY")
	require.Equal(t, http.StatusUnprocessableEntity, lead.send(t, http.MethodPost, "/connections/snow", formType, formOf("declared", "no type")).status)
}

func TestConnectionAPI(t *testing.T) {
	t.Parallel()
	b := setup(t)
	put := func(name, body string) reply {
		return b.admin.send(t, http.MethodPut, "/api/v1/connections/"+name, "application/json", body)
	}
	kept := put("warehouse", fmt.Sprintf(`{"kind": "postgres", "values": {"host": "db", "database": "d", "user": "u", "password": %q}}`, secretValue)).object(t, http.StatusOK)
	require.Equal(t, []any{"password"}, kept["secret_fields"])
	put("warehouse", `{"kind": "s3", "values": {"bucket": "b"}}`).problem(t, http.StatusConflict)
	require.NotEmpty(t, at(put("other", `{"kind": "postgres", "values": {}}`).problem(t, http.StatusUnprocessableEntity), "values.host"))
	list := b.member.get(t, "/api/v1/connections?kind=postgres")
	require.Contains(t, list.body, "warehouse")
	require.NotContains(t, b.member.get(t, "/api/v1/connections?kind=s3").body, "warehouse")
	requireHidden(t, list.body+b.dump(t), secretValue)
	require.Equal(t, http.StatusNoContent, b.admin.send(t, http.MethodDelete, "/api/v1/connections/warehouse", "", "").status)
	b.member.get(t, "/api/v1/connections/warehouse").problem(t, http.StatusNotFound)
}

const connected = `
name: connected
version: 1.0.0
inputs: [{name: db, type: Connection<postgres>}]
operators:
  - {name: a, type: shell, inputs: [{name: db, type: "Connection(kind=\"postgres\")", from: inputs.db}], code: {script: "true"}}
`

// TestConnectionsGoToTheGrantedAttempt: a spec has the visible fields and grants of the secret
// ones; the next attempt gets what was changed since.
func TestConnectionsGoToTheGrantedAttempt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	save := func(name, kind, values string) {
		b.admin.send(t, http.MethodPut, "/api/v1/connections/"+name, "application/json", fmt.Sprintf(`{"kind": %q, "values": %s}`, kind, values)).object(t, http.StatusOK)
	}
	save("warehouse", "postgres", fmt.Sprintf(`{"host": "db", "database": "d", "user": "u", "password": %q}`, secretValue))
	save("lake", "s3", `{"bucket": "b"}`)
	b.start(t)
	b.register(t, connected)
	form := b.member.get(t, "/workflows/connected/launch").body
	require.Contains(t, form, "warehouse (db:5432/d)")
	require.NotContains(t, form, "lake (", "another kind")
	require.NotContains(t, form, "/connections/new", "a developer may not add one")
	require.Contains(t, b.admin.get(t, "/workflows/connected/launch").body, "/connections/new?kind=postgres")
	for _, name := range []string{"lake", "absent"} {
		refused := b.member.send(t, http.MethodPost, "/workflows/connected/launch", formType, formOf("inputs.db", name, "version", "1.0.0"))
		require.Equal(t, http.StatusUnprocessableEntity, refused.status)
		require.Contains(t, refused.body, "that you can use here")
	}

	launch := func() (string, []*flowforgev1.InputSecret, string) {
		e, _, err := b.executions.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: "connected", Inputs: map[string]any{"db": "warehouse"}})
		require.NoError(t, err)
		b.until(t, e.ID, func(e query.Execution) bool { return e.Counts.Running == 1 })
		b.tasks.mu.Lock()
		defer b.tasks.mu.Unlock()
		for _, a := range b.tasks.running {
			if a.ExecutionId == e.ID.String() {
				return a.InputsJson, a.Secrets, a.Token
			}
		}
		return "", nil, ""
	}
	inputs, secrets, token := launch()
	require.JSONEq(t, `{"db": {"$connection": "warehouse", "kind": "postgres", "fields": {"host": "db", "port": 5432, "database": "d", "user": "u", "sslmode": "require",
		"password": {"$secret": "connection/warehouse/password"}}, "url": {"$secret": "connection/warehouse/url"}}}`, inputs)
	requireHidden(t, inputs, secretValue)
	tasks := flowforgev1connect.NewTaskServiceClient(http.DefaultClient, b.server.URL)
	reveal := func(secrets []*flowforgev1.InputSecret, token string) map[string]string {
		var grants []*flowforgev1.SecretGrant
		for _, s := range secrets {
			grants = append(grants, s.Grant)
		}
		resp, err := tasks.GetSecrets(t.Context(), asTask(&flowforgev1.GetSecretsRequest{Grants: grants}, token))
		require.NoError(t, err)
		values := map[string]string{}
		for i, s := range secrets {
			values[s.Pointer] = resp.Msg.Values[i]
		}
		return values
	}
	require.Equal(t, map[string]string{"/db/fields/password": secretValue, "/db/url": "postgresql://u:" + secretValue + "@db:5432/d?sslmode=require"}, reveal(secrets, token))

	_, err := tasks.Send(t.Context(), asTask(&flowforgev1.SendRequest{Logs: []*flowforgev1.LogEntry{{Message: "signing in with " + secretValue, Sequence: 1}}}, token))
	require.NoError(t, err)
	save("warehouse", "postgres", `{"host": "replica", "database": "d", "user": "u", "password": "rotated-password"}`)
	inputs, secrets, token = launch()
	require.Contains(t, inputs, "replica")
	require.Equal(t, "rotated-password", reveal(secrets, token)["/db/fields/password"])
	page := b.member.get(t, "/connections/warehouse").body
	require.Contains(t, page, "connected", "used by")
	dump := b.dump(t)
	require.Contains(t, dump, "connection.use")
	requireHidden(t, dump, secretValue)
	requireHidden(t, dump, "rotated-password")
}
