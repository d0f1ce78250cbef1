package handlers_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/views/viewtest"
)

// saveForm sends the form of a node as a browser without a script does.
func (c *caller) saveForm(t *testing.T, node uuid.UUID, pairs ...string) reply {
	t.Helper()
	form := url.Values{"do": {"save"}}
	for i := 0; i < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	return c.send(t, http.MethodPost, "/admin/quotas/"+node.String(), "application/x-www-form-urlencoded", form.Encode())
}

// says checks that a page is valid and contains each of texts.
func (r reply) says(t *testing.T, status int, texts ...string) {
	t.Helper()
	require.Equal(t, status, r.status, r.body)
	viewtest.Check(t, r.body)
	for _, text := range texts {
		require.Contains(t, r.body, text)
	}
}

func TestLimitsAreEditedWithoutAScript(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.admin.get(t, "/admin/quotas").says(t, http.StatusOK, "This installation", "No changes yet", "A100 in use")
	form := b.admin.get(t, "/admin/quotas?edit="+auth.LocalTenant.String())
	form.says(t, http.StatusOK, `name="limit.gpu:A100"`, `name="version" value="0"`, "No changes yet: these are the current values.")

	wrong := b.admin.saveForm(t, auth.LocalTenant, "version", "0", "limit.gpu:A100", "a few", "weight", "0", "reason", "Because")
	wrong.says(t, http.StatusUnprocessableEntity, "Nothing was saved: 2 values need attention", `value="a few"`, "“a few” is not a whole number of A100.", `value="Because"`, "Error: Quotas")
	more := b.admin.saveForm(t, auth.LocalTenant, "do", "preview", "version", "0", "limit.gpu:A100", "3")
	more.says(t, http.StatusOK, "The limit of A100 GPUs is 3 A100 GPUs, but the installation currently has only 2 A100 GPUs.")

	preview := b.admin.saveForm(t, auth.LocalTenant, "do", "preview", "version", "0", "limit.gpu:A100", "2")
	preview.says(t, http.StatusOK, "No running node is interrupted.", "was no limit", "local after")
	saved := b.admin.saveForm(t, auth.LocalTenant, "version", "0", "limit.gpu:A100", "2", "borrow.gpu:A100", "", "weight", "2", "reason", "Release")
	require.Equal(t, http.StatusSeeOther, saved.status, saved.body)
	b.admin.get(t, saved.header.Get("Location")).says(t, http.StatusOK, "Saved: local.", "A100 guarantee: none → 2, weight: 1 → 2", "Release")

	var reason, object string
	require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT reason, object_id FROM audit_log WHERE action = 'quota.update'").Scan(&reason, &object))
	require.Equal(t, []string{"Release", auth.LocalTenant.String()}, []string{reason, object})

	second := b.admin.saveForm(t, auth.LocalTenant, "version", "0", "was.limit.gpu:A100", "", "limit.gpu:A100", "1")
	second.says(t, http.StatusConflict, "admin changed local", "Guaranteed A100", `<td class="num">no limit</td><td class="num">2</td><td class="num">1</td>`, `name="version" value="1"`)
	again := b.admin.saveForm(t, auth.LocalTenant, "version", "1", "limit.gpu:A100", "1")
	require.Equal(t, http.StatusSeeOther, again.status, again.body)

	csv := b.admin.get(t, "/admin/quotas.csv")
	require.Contains(t, csv.body, auth.LocalTenant.String()+",tenant,local,gpu:A100,count,1,,,1,0,0,0,1,0,2\n")
}

// TestDefaultRequestsAreEdited: tasks of the tenant that name no CPU request what its form
// says; limits that the form does not show stay.
func TestDefaultRequestsAreEdited(t *testing.T) {
	t.Parallel()
	b := setup(t)
	form := b.admin.get(t, "/admin/quotas?show=compute&edit="+auth.LocalTenant.String())
	form.says(t, http.StatusOK, `name="default.cpu"`, `name="default.memory"`, `placeholder="inherited"`)
	require.NotContains(t, form.body, `name="default.pods"`)

	saved := b.admin.saveForm(t, auth.LocalTenant, "version", "0", "limit.cpu", "", "default.cpu", "0.5", "default.memory", "")
	require.Equal(t, http.StatusSeeOther, saved.status, saved.body)
	b.admin.get(t, saved.header.Get("Location")).says(t, http.StatusOK, "CPU default request: inherited → 0.5 cores")
	require.JSONEq(t, `{"cpu":500}`, string(fieldOf(t, b.admin.get(t, "/api/v1/tenants/"+auth.LocalTenant.String()+"/quota").body, "default")))

	second := b.admin.saveForm(t, auth.LocalTenant, "version", "1", "limit.gpu:A100", "1")
	require.Equal(t, http.StatusSeeOther, second.status, second.body)
	require.JSONEq(t, `{"cpu":500}`, string(fieldOf(t, b.admin.get(t, "/api/v1/tenants/"+auth.LocalTenant.String()+"/quota").body, "default")))
	tooMuch := b.admin.saveForm(t, auth.LocalTenant, "version", "2", "default.memory", "9999 TiB")
	tooMuch.says(t, http.StatusUnprocessableEntity, "Default request of Memory: ")
}

// fieldOf returns a field of a JSON object.
func fieldOf(t *testing.T, body, name string) json.RawMessage {
	t.Helper()
	var object map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(body), &object))
	return object[name]
}

func TestWhoMayEditLimits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, project := b.tenant(t, "others")
	lead := b.signIn(t, b.person(t, "tea", auth.TeamAdmin, auth.LocalTeam))
	stranger := b.signIn(t, b.person(t, "oz", auth.TenantAdmin, project))

	page := lead.get(t, "/admin/quotas").body
	require.Contains(t, page, "?edit="+auth.LocalProject.String())
	require.NotContains(t, page, "?edit="+auth.LocalTeam.String(), "users cannot raise their own limits")
	require.Equal(t, http.StatusForbidden, lead.saveForm(t, auth.LocalTeam, "weight", "9").status)
	require.Equal(t, http.StatusSeeOther, lead.saveForm(t, auth.LocalProject, "version", "0", "limit.gpu:A100", "1").status)
	require.NotContains(t, b.member.get(t, "/admin/quotas").body, "?edit=")
	require.Equal(t, http.StatusForbidden, b.member.saveForm(t, auth.LocalProject, "weight", "9").status)

	require.NotContains(t, stranger.get(t, "/admin/quotas").body, auth.LocalProject.String())
	absent := stranger.saveForm(t, auth.LocalProject, "weight", "9")
	require.Equal(t, http.StatusNotFound, absent.status)
	require.NotContains(t, stranger.get(t, "/admin/quotas.csv").body, "local")
	require.NotContains(t, stranger.get(t, "/api/v1/quotas").body, auth.LocalTeam.String())
}

// gpuDocument requests one of the two A100 of the tests, twice.
const gpuDocument = `
name: gpu.flow
version: 1.0.0
operators:
  - {name: one, type: shell, code: {script: "sleep 1"}, resources: {cpu: 10m, memory: 16Mi, gpu: 1, gpu_type: A100}}
  - {name: two, type: shell, code: {script: "sleep 1"}, resources: {cpu: 10m, memory: 16Mi, gpu: 1, gpu_type: A100}}
`

func TestInterruptingHasToBeConfirmed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, gpuDocument)
	b.start(t)
	e, _, err := b.executions.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: "gpu.flow"})
	require.NoError(t, err)
	b.until(t, e.ID, func(e query.Execution) bool { return e.Counts.Running == 2 })

	b.admin.get(t, "/admin/quotas").says(t, http.StatusOK, "<b>2</b>")
	refused := b.admin.saveForm(t, auth.LocalTeam, "version", "0", "limit.gpu:A100", "1")
	refused.says(t, http.StatusUnprocessableEntity, "Interrupted:", "This change stops 1 running node.", "Yes, interrupt 1 running node.", `href="#q-confirm"`, "/executions/"+e.ID.String()+"/nodes/")
	const yes = "Yes, interrupt 1 running node. It restarts from its last checkpoint."
	again := b.admin.saveForm(t, auth.LocalTeam, "do", "preview", "version", "0", "limit.gpu:A100", "1", "confirm", "yes", "confirmed", yes)
	again.says(t, http.StatusOK, `value="yes" checked`)
	other := b.admin.saveForm(t, auth.LocalTeam, "do", "preview", "version", "0", "limit.gpu:A100", "0", "confirm", "yes", "confirmed", yes)
	require.NotContains(t, other.body, `value="yes" checked`, "the confirmation was of another effect")
	saved := b.admin.saveForm(t, auth.LocalTeam, "version", "0", "limit.gpu:A100", "1", "confirm", "yes")
	require.Equal(t, http.StatusSeeOther, saved.status, saved.body)
	b.until(t, e.ID, func(e query.Execution) bool { return e.Counts.Running == 1 })

	team := b.member.get(t, "/teams/"+auth.LocalTeam.String())
	team.says(t, http.StatusOK, "Queue", "gpu.flow", "A100</b>: new requests wait.")
	require.Equal(t, "/teams/"+auth.LocalTeam.String(), b.member.get(t, "/teams/mine").header.Get("Location"))
	outsider := b.signIn(t, b.person(t, "nobody", "", uuid.Nil))
	require.Equal(t, http.StatusNotFound, outsider.get(t, "/teams/"+auth.LocalTeam.String()).status)
}

func TestLimitsByTheAPI(t *testing.T) {
	t.Parallel()
	b := setup(t)
	path := "/api/v1/teams/" + auth.LocalTeam.String() + "/quota"
	put := func(body string) reply { return b.admin.send(t, http.MethodPut, path, "application/json", body) }
	got := b.admin.get(t, path).object(t, http.StatusOK)
	require.Equal(t, "local/local", got["path"])
	saved := put(`{"limit": {"gpu:A100": 2, "cpu": 1500}, "borrow": {}, "weight": 3, "reason": "API"}`).object(t, http.StatusOK)
	require.Equal(t, map[string]any{"gpu:A100": json.Number("2"), "cpu": json.Number("1500")}, saved["limit"])
	require.Equal(t, json.Number("1"), saved["version"])

	previewed := b.admin.post(t, path+"/preview", `{"limit": {"gpu:A100": 9}}`).object(t, http.StatusOK)
	require.Contains(t, jsonText(t, previewed["after"]), "The limit of A100 GPUs is 9 A100 GPUs, but the installation currently has only 2 A100 GPUs.")
	require.Contains(t, put(`{"weight": 1, "version": 0}`).problem(t, http.StatusConflict).Detail, "admin changed")
	preview := b.admin.post(t, path+"/preview", `{"limit": {"gpu:A100": 1}}`).object(t, http.StatusOK)
	require.Empty(t, preview["interrupted"])
	require.Equal(t, json.Number("1"), b.admin.get(t, path).object(t, http.StatusOK)["version"], "a preview changes nothing")
	require.Equal(t, http.StatusNotFound, b.admin.get(t, strings.Replace(path, "teams", "projects", 1)).status)
	list := b.admin.get(t, "/api/v1/quotas").object(t, http.StatusOK)["nodes"].([]any)
	require.Len(t, list, 4)
}
