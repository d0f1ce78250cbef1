package handlers_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/views/viewtest"
)

// twoProjects is a site with a user who has a role in two projects, "default"
// and "elsewhere", with one of everything in each.
func twoProjects(t *testing.T) (b *testBundle, person *caller, here, there map[string]string) {
	t.Helper()
	b = setup(t)
	person, here, there = inTwoProjects(t, b)
	return b, person, here, there
}

// inTwoProjects is twoProjects in a site.
func inTwoProjects(t *testing.T, b *testBundle) (person *caller, here, there map[string]string) {
	t.Helper()
	sides := leakSides(t, b)
	elsewhere := uuid.MustParse(sides[1].objects["{project}"])
	user := b.person(t, "pat", auth.ProjectDev, auth.LocalProject)
	_, err := b.pool.Exec(b.ctx, "INSERT INTO memberships (id, user_id, node_id, role) VALUES ($1, $2, $3, $4)", uuid.New(), user, elsewhere, auth.ProjectDev)
	require.NoError(t, err)
	require.NoError(t, b.policies.Reload(b.ctx))
	person = b.signIn(t, user)
	choose := person.send(t, http.MethodPost, "/preferences/project", "application/x-www-form-urlencoded", "project="+auth.LocalProject.String())
	require.Equal(t, http.StatusSeeOther, choose.status)
	return person, sides[0].objects, sides[1].objects
}

func TestTheSwitcherChangesTheProject(t *testing.T) {
	t.Parallel()
	_, pat, here, there := twoProjects(t)
	home := pat.get(t, "/workflows").body
	require.Contains(t, home, here["{flow}"])
	require.NotContains(t, home, there["{flow}"])
	require.Contains(t, home, `value="`+there["{project}"]+`"`, "the other project is offered")

	chosen := pat.send(t, http.MethodPost, "/preferences/project", "application/x-www-form-urlencoded",
		url.Values{"project": {there["{project}"]}, "next": {"/workflows/" + here["{flow}"] + "?tab=source"}}.Encode())
	require.Equal(t, http.StatusSeeOther, chosen.status)
	require.Equal(t, "/workflows", chosen.header.Get("Location"), "a page of one project becomes the list of the other")
	home = pat.get(t, "/workflows").body
	require.Contains(t, home, there["{flow}"])
	require.NotContains(t, home, here["{flow}"])

	for _, project := range []string{uuid.NewString(), auth.LocalTenant.String(), "", "x"} {
		got := pat.send(t, http.MethodPost, "/preferences/project", "application/x-www-form-urlencoded", "project="+project)
		require.Equal(t, http.StatusNotFound, got.status, project)
	}
	page := pat.get(t, "/projects?q=ELSE")
	require.Contains(t, page.body, "elsewhere")
	require.NotContains(t, strings.Split(page.body, `aria-label="Results"`)[1], auth.LocalProject.String())
	viewtest.Check(t, page.body)
}

// TestALinkIntoAnotherProjectOfMine: the page, and everything on it, belongs to the project of
// the linked object.
func TestALinkIntoAnotherProjectOfMine(t *testing.T) {
	t.Parallel()
	b, pat, here, there := twoProjects(t)
	page := pat.get(t, "/executions/"+there["{execution}"])
	require.Equal(t, http.StatusOK, page.status)
	viewtest.Check(t, page.body)
	require.Contains(t, page.body, `<span class="switcher-name">elsewhere</span>`)
	require.Contains(t, page.body, "Switch to elsewhere")
	require.Contains(t, page.body, "/artifacts/"+there["{artifact}"], "its artifacts are there")
	require.Contains(t, page.body, "/workflows/"+there["{flow id}"]+"/launch", "links go by ids: the name means nothing in the chosen project")
	require.NotContains(t, page.body, "/workflows/"+there["{flow}"])

	for _, path := range []string{
		"/executions/" + there["{execution}"] + "/logs", "/artifacts/" + there["{artifact}"], "/artifacts/" + there["{artifact}"] + "/download",
		"/workflows/" + there["{flow id}"], "/workflows/" + there["{flow id}"] + "/launch?from=" + there["{execution}"],
		"/api/v1/executions/" + there["{execution}"] + "/artifacts", "/api/v1/executions/" + there["{execution}"] + "/logs",
	} {
		require.Equal(t, http.StatusOK, pat.get(t, path).status, path)
	}
	require.Contains(t, pat.get(t, "/api/v1/executions/"+there["{execution}"]+"/artifacts").body, there["{artifact}"])
	require.Contains(t, pat.get(t, "/").body, `<span class="switcher-name">default</span>`, "the chosen project stays the chosen one")

	launched := pat.send(t, http.MethodPost, "/workflows/"+there["{flow id}"]+"/launch", "application/x-www-form-urlencoded", "version=1.0.0")
	require.Equal(t, http.StatusSeeOther, launched.status, launched.body)
	_, id, _ := strings.Cut(launched.header.Get("Location"), "/executions/")
	e, err := b.executions.Get(b.ctx, uuid.MustParse(id))
	require.NoError(t, err)
	require.Equal(t, there["{project}"], e.ProjectID.String(), "it was launched where its workflow is")
	require.Contains(t, pat.get(t, "/workflows/"+here["{flow}"]+"/launch").body, `action="/workflows/`+here["{flow id}"]+`/launch"`,
		"a form goes to its workflow, whatever project another tab has gone to")
}

func TestTheAPITakesAProject(t *testing.T) {
	t.Parallel()
	_, pat, here, there := twoProjects(t)
	require.Contains(t, pat.get(t, "/api/v1/workflows").body, here["{flow}"])
	for _, name := range []string{there["{project}"], "elsewhere"} { // its id, its namespace
		got := pat.with("X-FlowForge-Project", name).get(t, "/api/v1/workflows").body
		require.Contains(t, got, there["{flow}"], name)
		require.NotContains(t, got, here["{flow}"], name)
		require.Contains(t, pat.get(t, "/api/v1/workflows?project="+url.QueryEscape(name)).body, there["{flow}"], name)
	}
	pat.with("X-FlowForge-Project", "nowhere").get(t, "/api/v1/workflows").problem(t, http.StatusNotFound)
}

// TestChangesAreAudited: entries contain the user, the object, the address and the old value.
func TestChangesAreAudited(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, matrixDocument("audited"))
	post := func(path, body string, status int) {
		got := b.admin.post(t, "/api/v1"+path, body)
		require.Equal(t, status, got.status, got.body)
	}
	id := b.admin.post(t, "/api/v1/executions", `{"workflow": "audited"}`).object(t, http.StatusCreated)["execution_id"].(string)
	post("/executions/"+id+"/cancel", `{"reason": "enough"}`, http.StatusOK)
	post("/executions/"+id+"/cancel", `{"reason": "again"}`, http.StatusOK) // changes nothing
	post("/workflows/audited/archive", "", http.StatusOK)
	post("/workflows/audited/unarchive", "", http.StatusOK)
	post("/types", `{"type_name": "Grade", "extends": "Integer(min=1, max=6)"}`, http.StatusCreated)
	post("/datasets", `{"name": "rows", "version": "1"}`, http.StatusCreated)
	post("/datasets", `{"name": "rows", "version": "1"}`, http.StatusCreated) // changes nothing
	post("/blobs?filename=a.txt", "some bytes", http.StatusCreated)

	rows, err := b.pool.Query(b.ctx, `SELECT action, actor, coalesce(project_id::text, ''), address <> '', request_id <> '', coalesce(old_value::text, ''), coalesce(new_value::text, ''), reason
		FROM audit_log WHERE action NOT LIKE 'session.%' ORDER BY id`)
	require.NoError(t, err)
	defer rows.Close()
	var actions []string
	for rows.Next() {
		var action, actor, project, before, after, reason string
		var address, request bool
		require.NoError(t, rows.Scan(&action, &actor, &project, &address, &request, &before, &after, &reason))
		actions = append(actions, action)
		require.Equal(t, "admin", actor, action)
		require.NotEmpty(t, after, action)
		require.Equal(t, action != "workflow.register", address && request, "%s: the first is made by the test itself", action)
		switch action {
		case "type.register":
			require.Empty(t, project, "a type is of the tenant")
		case "execution.cancel":
			require.Equal(t, "enough", reason)
			require.Contains(t, before, `"cancel_requested": false`)
		case "workflow.archive":
			require.JSONEq(t, `{"status": "ACTIVE"}`, before)
			require.JSONEq(t, `{"status": "ARCHIVED"}`, after)
		}
		if action != "type.register" {
			require.Equal(t, auth.LocalProject.String(), project, action)
		}
	}
	require.NoError(t, rows.Err())
	require.Equal(t, []string{
		"workflow.register", "execution.launch", "execution.cancel", "workflow.archive", "workflow.unarchive", "type.register", "catalogue.register", "blob.upload",
	}, actions)
}
