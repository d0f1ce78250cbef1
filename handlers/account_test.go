package handlers_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/web"
)

var shownKey = regexp.MustCompile(`ffk_[a-z0-9]{12}_[A-Z2-7]{52}`)

const formMedia = "application/x-www-form-urlencoded"

// TestKeysPage: a key is shown once, works at once, and is refused once revoked.
func TestKeysPage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	made := b.member.send(t, http.MethodPost, "/account/keys", formMedia, url.Values{"name": {"nightly CI"}, "scope": {"launch"}, "expires_in_days": {"30"}}.Encode())
	require.Equal(t, http.StatusOK, made.status)
	require.Equal(t, "no-store", made.header.Get("Cache-Control"))
	token := shownKey.FindString(made.body)
	require.NotEmpty(t, token)
	list := b.member.get(t, "/account/keys")
	require.Contains(t, list.body, "nightly CI")
	require.NotContains(t, list.body, token)

	key := b.bearer(token)
	me := key.get(t, "/api/v1/me").object(t, http.StatusOK)
	require.Equal(t, "mia", me["name"])
	require.True(t, strings.HasPrefix(me["credential"].(string), "key:"))
	key.get(t, "/api/v1/executions").object(t, http.StatusOK)
	key.post(t, "/api/v1/workflows", matrixDocument("by.key")).problem(t, http.StatusForbidden)
	key.post(t, "/api/v1/keys", `{"name": "another"}`).problem(t, http.StatusForbidden)

	failed := b.member.send(t, http.MethodPost, "/account/keys", formMedia, url.Values{"name": {" "}, "scope": {"everything"}, "expires_in_days": {"30"}, "project": {uuid.NewString()}}.Encode())
	require.Equal(t, http.StatusUnprocessableEntity, failed.status)
	for _, message := range []string{"Enter a name", "Choose read, launch, write or admin.", "There is no such project."} {
		require.Contains(t, failed.body, message)
	}
	id := strings.Split(token, "_")[1]
	stranger := b.signIn(t, b.person(t, "other", auth.ProjectDev, auth.LocalProject))
	require.Equal(t, http.StatusNotFound, stranger.send(t, http.MethodPost, "/account/keys/"+id+"/revoke", formMedia, "").status)
	key.get(t, "/api/v1/me").object(t, http.StatusOK)
	require.Equal(t, http.StatusSeeOther, b.member.send(t, http.MethodPost, "/account/keys/"+id+"/revoke", formMedia, "").status)
	key.get(t, "/api/v1/me").problem(t, http.StatusUnauthorized)
	var actions []string
	require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT array_agg(action ORDER BY id) FROM audit_log WHERE object_kind = 'api_key' AND object_id = $1", id).Scan(&actions))
	require.Equal(t, []string{"key.create", "key.revoke"}, actions)
}

// TestKeysOfServiceAccounts: a user who may change the members of a project manages the keys
// of its service accounts, except accounts with more permissions.
func TestKeysOfServiceAccounts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	account := func(name, role string) string {
		id := uuid.New()
		_, err := b.pool.Exec(b.ctx, "INSERT INTO users (id, name, kind, project_id) VALUES ($1, $2, 'service', $3)", id, name, auth.LocalProject)
		require.NoError(t, err)
		_, err = b.pool.Exec(b.ctx, "INSERT INTO memberships (id, user_id, node_id, role) VALUES ($1, $2, $3, $4)", uuid.New(), id, auth.LocalProject, role)
		require.NoError(t, err)
		require.NoError(t, b.policies.Reload(b.ctx))
		return id.String()
	}
	ci, boss := account("ci", auth.ProjectDev), account("boss", auth.TenantAdmin)
	lead := b.signIn(t, b.person(t, "lead", auth.TeamAdmin, auth.LocalTeam))
	body := func(user string) string { return `{"name": "build", "user_id": "` + user + `", "scopes": ["launch"]}` }

	b.member.post(t, "/api/v1/keys", body(ci)).problem(t, http.StatusNotFound)
	lead.post(t, "/api/v1/keys", body(boss)).problem(t, http.StatusForbidden)
	lead.post(t, "/api/v1/keys", body(uuid.NewString())).problem(t, http.StatusNotFound)
	key := lead.post(t, "/api/v1/keys", body(ci)).object(t, http.StatusCreated)
	require.Equal(t, auth.LocalProject.String(), key["project_id"])
	me := b.bearer(key["key"].(string)).get(t, "/api/v1/me").object(t, http.StatusOK)
	require.Equal(t, "service", me["kind"])
	require.Equal(t, "ci", me["name"])

	require.NotContains(t, b.member.get(t, "/api/v1/keys").body, key["key_id"])
	require.Contains(t, lead.get(t, "/api/v1/keys").body, key["key_id"])
	require.Contains(t, lead.get(t, "/account/keys").body, "ci (service account of default)")
	require.Equal(t, http.StatusNoContent, lead.send(t, http.MethodDelete, "/api/v1/keys/"+key["key_id"].(string), "", "").status)
	b.bearer(key["key"].(string)).get(t, "/api/v1/me").problem(t, http.StatusUnauthorized)
}

// TestProjectOfACall: a call names the project that it is about.
func TestProjectOfACall(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, other := b.tenant(t, "elsewhere")
	projectOf := func(c *caller, path string) any {
		return c.get(t, path).object(t, http.StatusOK)["project"].(map[string]any)["project_id"]
	}
	require.Equal(t, auth.LocalProject.String(), projectOf(b.admin, "/api/v1/me"))
	require.Equal(t, other.String(), projectOf(b.admin, "/api/v1/me?project="+other.String()))
	for _, name := range []string{other.String(), "elsewhere", "elsewhere/elsewhere"} {
		require.Equal(t, other.String(), projectOf(b.admin.with(web.ProjectHeader, name), "/api/v1/me"), name)
		b.member.with(web.ProjectHeader, name).get(t, "/api/v1/me").problem(t, http.StatusNotFound)
	}
}
