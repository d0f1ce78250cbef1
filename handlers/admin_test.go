package handlers_test

import (
	"encoding/csv"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
)

// submit sends a form as a page does; pairs are names and values.
func (c *caller) submit(t *testing.T, path string, pairs ...string) reply {
	t.Helper()
	v := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		v.Add(pairs[i], pairs[i+1])
	}
	return c.send(t, http.MethodPost, path, "application/x-www-form-urlencoded", v.Encode())
}

// follow opens where a form that went well leads to.
func (c *caller) follow(t *testing.T, r reply) reply {
	t.Helper()
	require.Equal(t, http.StatusSeeOther, r.status, r.body)
	to, _, _ := strings.Cut(r.header.Get("Location"), "#")
	page := c.get(t, to)
	require.Equal(t, http.StatusOK, page.status)
	return page
}

// made creates a node by the API and returns its id.
func (c *caller) made(t *testing.T, kind, parent, name string) string {
	t.Helper()
	body := map[string]string{"name": name}
	if parent != "" {
		body["parent_id"] = parent
	}
	return c.post(t, "/api/v1/"+kind, jsonText(t, body)).object(t, http.StatusCreated)["id"].(string)
}

func TestTreePageMakesRenamesAndArchives(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tenant := auth.LocalTenant.String()
	form := b.admin.get(t, "/admin?new=department&in="+tenant)
	require.Equal(t, http.StatusOK, form.status)
	require.Contains(t, form.body, "Name of the department")
	require.NotContains(t, b.admin.get(t, "/admin?new=project&in="+tenant).body, "Create the project", "a project does not stand in a tenant")

	made := b.admin.submit(t, "/admin/nodes", "parent", tenant, "kind", "department", "name", "Research", "description", "What <b>comes</b> next", "key", "k1")
	page := b.admin.follow(t, made)
	require.Contains(t, page.body, "Created.")
	require.Contains(t, page.body, "What &lt;b&gt;comes&lt;/b&gt; next")
	again := b.admin.submit(t, "/admin/nodes", "parent", tenant, "kind", "department", "name", "Research", "key", "k1")
	require.Equal(t, made.header.Get("Location"), again.header.Get("Location"), "a form that is sent twice makes one")

	taken := b.admin.submit(t, "/admin/nodes", "parent", tenant, "kind", "department", "name", "research", "description", "typed", "key", "k2")
	require.Equal(t, http.StatusConflict, taken.status)
	require.Contains(t, taken.body, "Error: Teams and people")
	require.Contains(t, taken.body, `value="research"`, "what was typed is kept")
	require.Contains(t, taken.body, `value="typed"`)
	require.Contains(t, taken.body, `href="#new-name"`)
	empty := b.admin.submit(t, "/admin/nodes", "parent", tenant, "kind", "department", "name", "")
	require.Equal(t, http.StatusUnprocessableEntity, empty.status)

	_, id, _ := strings.Cut(made.header.Get("Location"), "#node-")
	edit := b.admin.get(t, "/admin?edit="+id)
	_, rest, ok := strings.Cut(edit.body, `name="revision" value="`)
	require.True(t, ok)
	revision, _, _ := strings.Cut(rest, `"`)
	require.Contains(t, b.admin.follow(t, b.admin.submit(t, "/admin/nodes/"+id, "name", "Sciences", "description", "", "revision", revision)).body, "Saved.")
	late := b.admin.submit(t, "/admin/nodes/"+id, "name", "Arts", "description", "", "revision", revision)
	require.Equal(t, http.StatusConflict, late.status)
	require.Contains(t, late.body, "is now called Sciences")
	require.Contains(t, late.body, `value="Arts"`)

	requested := b.admin.submit(t, "/admin/nodes/"+id+"/archive")
	require.Contains(t, b.admin.follow(t, requested).body, "Archive the department Sciences?")
	team := b.admin.made(t, "teams", id, "late")
	require.Equal(t, http.StatusConflict, b.admin.submit(t, "/admin/nodes/"+id+"/archive", "confirm", "yes").status)
	b.admin.follow(t, b.admin.submit(t, "/admin/nodes/"+team+"/archive", "confirm", "yes", "reason", "over"))
	b.admin.follow(t, b.admin.submit(t, "/admin/nodes/"+id+"/archive", "confirm", "yes"))
	require.NotContains(t, b.admin.get(t, "/admin").body, "Sciences")
	require.Contains(t, b.admin.get(t, "/admin?archived=1&q=scien").body, "Sciences")
	require.Equal(t, http.StatusConflict, b.admin.submit(t, "/admin/nodes/"+team+"/restore").status)
	b.admin.follow(t, b.admin.submit(t, "/admin/nodes/"+id+"/restore"))
	require.Contains(t, b.admin.get(t, "/admin?q=scien").body, "Sciences")
	require.Contains(t, b.admin.get(t, "/admin?q=nothing+like+it").body, "No matches")
}

func TestPagesOfferWhatTheReaderMay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	viewer := b.signIn(t, b.person(t, "vera", auth.Viewer, auth.LocalProject))
	lead := b.signIn(t, b.person(t, "lea", auth.TeamAdmin, auth.LocalTeam))
	page := viewer.get(t, "/admin")
	require.Contains(t, page.body, `id="node-`+auth.LocalProject.String())
	require.NotContains(t, page.body, "Edit default")
	require.NotContains(t, page.body, ">Audit log<")
	node := viewer.get(t, "/admin/nodes/"+auth.LocalProject.String())
	require.Equal(t, http.StatusOK, node.status)
	require.Contains(t, node.body, "vera")
	require.NotContains(t, node.body, "Add a member")
	require.NotContains(t, node.body, "/admin/nodes/"+auth.LocalTeam.String(), "what the reader may not open is no link")

	node = lead.get(t, "/admin/nodes/"+auth.LocalTeam.String())
	require.Contains(t, node.body, "Add a member")
	require.Contains(t, node.body, `<option value="TeamAdmin"`)
	require.NotContains(t, node.body, `<option value="TenantAdmin"`, "users cannot assign roles above their own")
	require.Equal(t, http.StatusForbidden, lead.get(t, "/admin/users").status)
	require.Equal(t, http.StatusForbidden, lead.get(t, "/admin/audit").status)
	require.Contains(t, lead.get(t, "/").body, "Teams and people")

	tenant, project := b.tenant(t, "rival")
	for _, id := range []uuid.UUID{tenant, project} {
		require.Equal(t, http.StatusNotFound, lead.get(t, "/admin/nodes/"+id.String()).status)
		require.Equal(t, http.StatusNotFound, lead.get(t, "/admin?root="+id.String()).status)
		require.NotContains(t, lead.get(t, "/admin").body, "rival")
	}
	require.Equal(t, http.StatusNotFound, lead.get(t, "/admin/nodes/nothing").status)
	homeless := b.signIn(t, b.person(t, "hal", "", uuid.Nil))
	require.Contains(t, homeless.get(t, "/admin").body, "You have no role yet")
}

func TestNodePageGivesAndTakesRoles(t *testing.T) {
	t.Parallel()
	b := setup(t)
	eve := b.person(t, "eve", "", uuid.Nil)
	_, err := b.pool.Exec(t.Context(), "UPDATE users SET email = 'eve@example.com' WHERE id = $1", eve)
	require.NoError(t, err)
	node := "/admin/nodes/" + auth.LocalTeam.String()
	bad := b.admin.submit(t, node+"/members", "email", "missing@example.com", "role", "Viewer")
	require.Equal(t, http.StatusUnprocessableEntity, bad.status)
	require.Contains(t, bad.body, `value="missing@example.com"`)
	require.Contains(t, bad.body, `href="#member-email"`)
	require.Contains(t, bad.body, "has signed in yet")
	page := b.admin.follow(t, b.admin.submit(t, node+"/members", "email", "Eve@example.com", "role", "Viewer"))
	require.Contains(t, page.body, "eve@example.com")
	_, rest, ok := strings.Cut(page.body, "?member=")
	require.True(t, ok)
	member, _, _ := strings.Cut(rest, "#")
	require.Contains(t, b.admin.get(t, node+"?member="+member).body, "Role of eve")
	page = b.admin.follow(t, b.admin.submit(t, node+"/members/"+member, "role", "ProjectDev"))
	require.Contains(t, page.body, "Role changed.")
	require.True(t, b.policies.For(eve).May(auth.ExecutionLaunch, auth.LocalProject))
	inherited := b.admin.get(t, "/admin/nodes/"+auth.LocalProject.String())
	require.Contains(t, inherited.body, `<a href="`+node+`">local</a>`, "where an inherited role comes from")
	page = b.admin.follow(t, b.admin.submit(t, node+"/members/"+member+"/remove"))
	require.NotContains(t, page.body, "eve@example.com")

	bad = b.admin.submit(t, node+"/groups", "provider", "sso", "group", "", "role", "Viewer")
	require.Equal(t, http.StatusUnprocessableEntity, bad.status)
	page = b.admin.follow(t, b.admin.submit(t, node+"/groups", "provider", "sso", "group", "ml-<core>", "role", "Viewer"))
	require.Contains(t, page.body, "ml-&lt;core&gt;")
	_, rest, _ = strings.Cut(page.body, node+"/groups/")
	group, _, _ := strings.Cut(rest, "/remove")
	page = b.admin.follow(t, b.admin.submit(t, node+"/groups/"+group+"/remove"))
	require.Contains(t, page.body, "No groups yet")

	project := "/admin/nodes/" + auth.LocalProject.String()
	page = b.admin.follow(t, b.admin.submit(t, project+"/accounts", "name", "ci", "role", "ProjectDev", "key", "k"))
	require.Contains(t, page.body, "Disable ci")
	_, rest, _ = strings.Cut(page.body, project+"/accounts/")
	account, _, _ := strings.Cut(rest, "/disable")
	require.Contains(t, b.admin.follow(t, b.admin.submit(t, project+"/accounts/"+account+"/disable")).body, "Enable ci")
	require.Contains(t, b.admin.follow(t, b.admin.submit(t, project+"/accounts/"+account+"/enable")).body, "Disable ci")
	require.Equal(t, http.StatusConflict, b.admin.submit(t, project+"/accounts", "name", "CI", "role", "Viewer").status)
}

func TestPeoplePages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	eve := b.person(t, "eve", auth.Viewer, auth.LocalProject)
	browser := b.signIn(t, eve)
	list := b.admin.get(t, "/admin/users?q=EV")
	require.Contains(t, list.body, "/admin/users/"+eve.String())
	require.NotContains(t, list.body, ">mia<")
	user := "/admin/users/" + eve.String()
	require.Contains(t, b.admin.get(t, user).body, "Make administrator")
	require.Contains(t, b.admin.follow(t, b.admin.submit(t, user+"/disable")).body, "Enable the account")
	require.Equal(t, http.StatusSeeOther, browser.get(t, "/executions").status, "sessions end at once")
	require.Equal(t, http.StatusConflict, b.admin.submit(t, user+"/promote").status)
	b.admin.follow(t, b.admin.submit(t, user+"/enable"))
	require.Contains(t, b.admin.follow(t, b.admin.submit(t, user+"/promote")).body, "Remove administrator")
	refused := b.admin.submit(t, "/admin/users/"+auth.LocalAdmin.String()+"/disable")
	require.Equal(t, http.StatusConflict, refused.status)
	require.Contains(t, refused.body, "Nothing was changed.")
	require.Equal(t, http.StatusNotFound, b.admin.submit(t, user+"/crown").status)
	require.Equal(t, http.StatusNotFound, b.admin.get(t, "/admin/users/"+uuid.NewString()).status)
}

func TestAuditPageAndExport(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.admin.made(t, "teams", auth.LocalTenant.String(), `=HYPERLINK("x"),<script>`)
	b.admin.send(t, http.MethodPatch, "/api/v1/teams/"+id, "application/json", `{"description": "made of people"}`).object(t, http.StatusOK)
	page := b.admin.get(t, "/admin/audit?object="+id)
	require.Equal(t, http.StatusOK, page.status)
	require.Contains(t, page.body, "team.create")
	require.Contains(t, page.body, `<ins class="diff-new">made of people</ins>`)
	require.NotContains(t, page.body, ",<script>")
	require.Contains(t, page.body, "127.0.0.1", "where it came from")
	require.NotContains(t, b.admin.get(t, "/admin/audit?action=team.create&object="+id).body, "made of people")
	require.Contains(t, b.admin.get(t, "/admin/audit?actor=missing").body, "No changes match")
	require.Contains(t, b.admin.get(t, "/admin/audit?to=2020-01-01").body, "No changes match")
	wrong := b.admin.get(t, "/admin/audit?from=yesterday")
	require.Equal(t, http.StatusUnprocessableEntity, wrong.status)
	require.Contains(t, wrong.body, `value="yesterday"`)

	file := b.admin.get(t, "/admin/audit/export?format=csv&object="+id)
	require.Equal(t, "text/csv; charset=utf-8", file.header.Get("Content-Type"))
	require.Contains(t, file.header.Get("Content-Disposition"), ".csv")
	rows, err := csv.NewReader(strings.NewReader(file.body)).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 3)
	require.Equal(t, "team.update", rows[1][8])
	require.True(t, strings.HasPrefix(rows[1][11], "'="), "no cell is a formula")

	file = b.admin.get(t, "/api/v1/audit/export?object="+id)
	require.Equal(t, "application/jsonl; charset=utf-8", file.header.Get("Content-Type"))
	lines := strings.Split(strings.TrimSpace(file.body), "\n")
	require.Len(t, lines, 2)
	var entry map[string]any
	require.NoError(t, json.Unmarshal([]byte(lines[0]), &entry))
	require.Equal(t, "team.update", entry["action"])
	b.admin.get(t, "/api/v1/audit/export?format=xml").problem(t, http.StatusUnprocessableEntity)
	require.Equal(t, "from", b.admin.get(t, "/api/v1/audit/export?from=x").problem(t, http.StatusUnprocessableEntity).Errors[0].Path)
	for _, name := range []string{"tenant", "in_project"} {
		require.Equal(t, name, b.admin.get(t, "/api/v1/audit/export?"+name+"=x").problem(t, http.StatusUnprocessableEntity).Errors[0].Path)
	}
	require.Empty(t, b.admin.get(t, "/api/v1/audit/export?actor=missing").body)
	b.member.get(t, "/api/v1/audit/export").problem(t, http.StatusForbidden)
}
