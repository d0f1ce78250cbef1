package handlers_test

import (
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
)

func (c *caller) patch(t *testing.T, path, body string) reply {
	t.Helper()
	return c.send(t, http.MethodPatch, path, "application/json", body)
}

func (c *caller) drop(t *testing.T, path string) {
	t.Helper()
	r := c.send(t, http.MethodDelete, path, "", "")
	require.Equal(t, http.StatusNoContent, r.status, r.body)
}

func TestAPIPlaces(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tenant := b.admin.made(t, "tenants", "", "Acme")
	department := b.admin.made(t, "departments", tenant, "Research")
	team := b.admin.made(t, "teams", department, "Vision")
	keyed := b.admin.with("Idempotency-Key", "k")
	project := keyed.made(t, "projects", team, "one")
	require.Equal(t, project, keyed.made(t, "projects", team, "one"))
	keyed.post(t, "/api/v1/projects", `{"parent_id": "`+team+`", "name": "two"}`).problem(t, http.StatusConflict)

	got := b.admin.get(t, "/api/v1/projects/"+project).object(t, http.StatusOK)
	require.Equal(t, tenant, got["tenant_id"])
	require.Len(t, got["path"], 4)
	require.Regexp(t, `^ff-acme-one-[0-9a-f]{12}$`, got["namespace"])
	b.admin.get(t, "/api/v1/teams/"+project).problem(t, http.StatusNotFound)
	b.admin.patch(t, "/api/v1/teams/"+project, `{"name": "x"}`).problem(t, http.StatusNotFound)

	renamed := b.admin.patch(t, "/api/v1/projects/"+project, `{"name": "uno", "revision": "`+got["revision"].(string)+`"}`).object(t, http.StatusOK)
	require.Equal(t, "uno", renamed["name"])
	require.Equal(t, got["namespace"], renamed["namespace"], "the namespace stays")
	b.admin.patch(t, "/api/v1/projects/"+project, `{"name": "due", "revision": "`+got["revision"].(string)+`"}`).problem(t, http.StatusConflict)

	list := b.admin.get(t, "/api/v1/projects?limit=1").object(t, http.StatusOK)
	require.Len(t, list["items"], 1)
	rest := b.admin.get(t, "/api/v1/projects?page="+list["next_page"].(string)).object(t, http.StatusOK)
	require.Len(t, rest["items"], 1)
	require.Len(t, b.admin.get(t, "/api/v1/projects?below="+department).object(t, http.StatusOK)["items"], 1)
	require.Len(t, b.member.get(t, "/api/v1/projects").object(t, http.StatusOK)["items"], 1, "a list has what its reader may see")
	require.Empty(t, b.member.get(t, "/api/v1/tenants").object(t, http.StatusOK)["items"])

	require.NotNil(t, b.admin.post(t, "/api/v1/projects/"+project+"/archive", `{"reason": "over"}`).object(t, http.StatusOK)["archived_at"])
	require.Empty(t, b.admin.get(t, "/api/v1/projects?below="+team).object(t, http.StatusOK)["items"])
	_, err := b.pool.Exec(t.Context(), "UPDATE tenancy_nodes SET archived_at = now() WHERE id = $1", auth.LocalProject)
	require.NoError(t, err)
	b.register(t, matrixDocument("late"))
	refused := b.admin.post(t, "/api/v1/executions", `{"workflow": "late"}`).problem(t, http.StatusConflict)
	require.Contains(t, refused.Detail, "archived", "even an administrator launches nothing there")
	_, err = b.pool.Exec(t.Context(), "UPDATE tenancy_nodes SET archived_at = NULL WHERE id = $1", auth.LocalProject)
	require.NoError(t, err)
	require.Len(t, b.admin.get(t, "/api/v1/projects?archived=true&below="+team).object(t, http.StatusOK)["items"], 1)
	require.Nil(t, b.admin.post(t, "/api/v1/projects/"+project+"/restore", "").object(t, http.StatusOK)["archived_at"])

	require.NotEmpty(t, at(b.admin.post(t, "/api/v1/teams", `{"name": "x"}`).problem(t, http.StatusUnprocessableEntity), "parent_id"))
	require.NotEmpty(t, at(b.admin.post(t, "/api/v1/tenants", `{"name": "x", "parent_id": "`+tenant+`"}`).problem(t, http.StatusUnprocessableEntity), "parent_id"))
	require.NotEmpty(t, at(b.admin.post(t, "/api/v1/projects", `{"name": "x", "parent_id": "`+tenant+`"}`).problem(t, http.StatusUnprocessableEntity), "kind"))
	b.admin.get(t, "/api/v1/projects?below=x").problem(t, http.StatusUnprocessableEntity)
	b.admin.get(t, "/api/v1/projects?page=x").problem(t, http.StatusUnprocessableEntity)
}

func TestAPIMembers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	eve := b.person(t, "eve", "", uuid.Nil)
	base := "/api/v1/teams/" + auth.LocalTeam.String()
	m := b.admin.post(t, base+"/members", `{"user_id": "`+eve.String()+`", "role": "Viewer"}`).object(t, http.StatusCreated)
	require.Equal(t, "eve", m["name"])
	m = b.admin.patch(t, base+"/members/"+m["id"].(string), `{"role": "TeamAdmin"}`).object(t, http.StatusOK)
	require.Equal(t, "TeamAdmin", m["role"])
	lead := b.signIn(t, eve)
	lead.post(t, base+"/members", `{"user_id": "`+eve.String()+`", "role": "TenantAdmin"}`).problem(t, http.StatusForbidden)
	lead.post(t, "/api/v1/tenants/"+auth.LocalTenant.String()+"/members", `{"user_id": "`+eve.String()+`", "role": "TeamAdmin"}`).problem(t, http.StatusNotFound)

	g := lead.post(t, base+"/group-roles", `{"provider": "sso", "group": "core", "role": "ProjectDev"}`).object(t, http.StatusCreated)
	list := lead.get(t, "/api/v1/projects/"+auth.LocalProject.String()+"/group-roles").object(t, http.StatusOK)["group_roles"].([]any)
	require.Equal(t, true, list[0].(map[string]any)["inherited"])
	lead.drop(t, base+"/group-roles/"+g["id"].(string))
	members := lead.get(t, "/api/v1/projects/"+auth.LocalProject.String()+"/members").object(t, http.StatusOK)["members"].([]any)
	require.Len(t, members, 2)

	accounts := "/api/v1/projects/" + auth.LocalProject.String() + "/service-accounts"
	a := lead.with("Idempotency-Key", "k").post(t, accounts, `{"name": "ci", "role": "ProjectDev"}`).object(t, http.StatusCreated)
	require.Equal(t, a["id"], lead.with("Idempotency-Key", "k").post(t, accounts, `{"name": "ci", "role": "ProjectDev"}`).object(t, http.StatusCreated)["id"])
	require.NotNil(t, lead.post(t, accounts+"/"+a["id"].(string)+"/disable", "").object(t, http.StatusOK)["disabled_at"])
	require.Nil(t, lead.post(t, accounts+"/"+a["id"].(string)+"/enable", "").object(t, http.StatusOK)["disabled_at"])
	require.Len(t, lead.get(t, accounts).object(t, http.StatusOK)["service_accounts"], 1)
	b.admin.drop(t, base+"/members/"+m["id"].(string))
	lead.get(t, accounts).problem(t, http.StatusNotFound)
}

func TestAPIPeopleAndAudit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	eve := b.person(t, "eve", auth.Viewer, auth.LocalProject)
	user := "/api/v1/users/" + eve.String()
	require.Len(t, b.admin.get(t, user).object(t, http.StatusOK)["roles"], 1)
	require.Len(t, b.admin.get(t, "/api/v1/users?q=eve&status=active").object(t, http.StatusOK)["users"], 1)
	b.admin.patch(t, user, `{"disabled": true, "installation_admin": true}`).problem(t, http.StatusConflict)
	require.Nil(t, b.admin.get(t, user).object(t, http.StatusOK)["disabled_at"], "no change of several happens if one is refused")
	require.NotNil(t, b.admin.patch(t, user, `{"disabled": true}`).object(t, http.StatusOK)["disabled_at"])
	changed := b.admin.patch(t, user, `{"disabled": false, "installation_admin": true}`).object(t, http.StatusOK)
	require.Nil(t, changed["disabled_at"])
	require.Equal(t, true, changed["installation_admin"])
	b.admin.get(t, "/api/v1/users/"+uuid.NewString()).problem(t, http.StatusNotFound)

	log := b.admin.get(t, "/api/v1/audit?object="+eve.String()+"&limit=2").object(t, http.StatusOK)
	entries := log["entries"].([]any)
	require.Len(t, entries, 2)
	require.Equal(t, "user.make_admin", entries[0].(map[string]any)["action"])
	rest := b.admin.get(t, "/api/v1/audit?object="+eve.String()+"&page="+log["next_page"].(string)).object(t, http.StatusOK)
	first := rest["entries"].([]any)[0].(map[string]any)
	require.Equal(t, "user.disable", first["action"])
	require.Equal(t, map[string]any{"disabled": false}, first["old"])
	require.Equal(t, map[string]any{"disabled": true}, first["new"])
	require.Empty(t, b.admin.get(t, "/api/v1/audit?from=2030-01-01T00:00:00Z").object(t, http.StatusOK)["entries"])
	b.admin.get(t, "/api/v1/audit?tenant=x").problem(t, http.StatusUnprocessableEntity)
	b.member.get(t, "/api/v1/audit").problem(t, http.StatusForbidden)
}
