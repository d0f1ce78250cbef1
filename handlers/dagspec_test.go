package handlers_test

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
)

// dagSpec is a request as in the design document.
const dagSpec = `{"name": "pipeline-001", "dag_spec": {"version": "1.0", "entrypoint": "main", "templates": {
	"main": {"dag": {"tasks": [
		{"name": "ask", "template": "ask"},
		{"name": "load", "template": "work", "dependencies": ["ask"], "arguments": {"parameters": [{"name": "script", "value": "load.py"}]}}]}},
	"ask": {"suspend": {}},
	"work": {"inputs": {"parameters": [{"name": "script"}]}, "container": {"image": "python:3", "command": ["python"], "args": ["{{inputs.parameters.script}}"]}}}},
	"parameters": {"env": "production", "n": 3}, "priority": 70, "labels": {"team": "blue"}}`

func TestDagSpecIsRegisteredAndLaunched(t *testing.T) {
	t.Parallel()
	b := setup(t)
	made := b.member.post(t, "/api/v1/workflows", dagSpec).object(t, http.StatusCreated)
	require.Equal(t, "PENDING", made["status"])
	require.Equal(t, "70", fmt.Sprint(made["priority"]))
	require.Equal(t, map[string]any{"team": "blue"}, made["labels"])
	require.Equal(t, map[string]any{"env": "production", "n": "3"}, made["parameters"])
	path := "/api/v1/workflows/" + made["id"].(string)

	detail := b.member.get(t, path).object(t, http.StatusOK)
	require.Equal(t, made["id"], detail["id"])
	require.Equal(t, "main", detail["dag_spec"].(map[string]any)["entrypoint"])
	require.Len(t, detail["tasks"], 2)
	var tasks []map[string]any
	b.member.get(t, path+"/tasks").into(t, http.StatusOK, &tasks)
	require.Equal(t, "load", tasks[1]["name"])
	require.Equal(t, "python:3", tasks[1]["image"])
	require.Equal(t, made["id"].(string)+".1", tasks[1]["id"])
	b.appendLog(t, uuid.MustParse(made["id"].(string)), "load", 0, 2)
	var lines []map[string]any
	b.member.get(t, path+"/logs?task_id="+tasks[1]["id"].(string)+"&level=ERROR").into(t, http.StatusOK, &lines)
	require.Len(t, lines, 1)
	require.Equal(t, tasks[1]["id"], lines[0]["task_id"])
	b.member.get(t, path+"/logs?task_id="+tasks[0]["id"].(string)).into(t, http.StatusOK, &lines)
	require.Empty(t, lines)
	b.member.get(t, path+"/logs?task_id="+uuid.NewString()+".0").problem(t, http.StatusNotFound)

	list := b.member.get(t, "/api/v1/workflows?project_id="+auth.LocalProject.String()+"&status=PENDING&limit=1&offset=0").object(t, http.StatusOK)
	require.Equal(t, "1", fmt.Sprint(list["total"]))
	require.Equal(t, made["id"], list["workflows"].([]any)[0].(map[string]any)["id"])
	list = b.member.get(t, "/api/v1/workflows?project_id="+auth.LocalProject.String()+"&offset=1").object(t, http.StatusOK)
	require.Equal(t, "1", fmt.Sprint(list["total"]))
	require.Empty(t, list["workflows"])

	require.Equal(t, made["id"], b.member.send(t, http.MethodDelete, path, "", "").object(t, http.StatusOK)["id"])

	p := b.member.post(t, "/api/v1/workflows", `{"name": "x", "dag_spec": {"entrypoint": "main", "templates": {"main": {"container": {"image": "a", "command": ["b"], "tty": true}}}}}`).problem(t, http.StatusUnprocessableEntity)
	require.Equal(t, "dag_spec.templates.main.container.tty", p.Errors[0].Path)
	p = b.member.post(t, "/api/v1/workflows", `{"project_id": "elsewhere", "name": "x", "dag_spec": {}}`).problem(t, http.StatusUnprocessableEntity)
	require.Equal(t, "project_id", p.Errors[0].Path)
}

const argoFile = `
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {generateName: from-page-}
spec:
  entrypoint: main
  arguments: {parameters: [{name: size, value: small, enum: [small, large], description: How much of it}]}
  templates:
  - {name: main, container: {image: a, command: [echo, "{{workflow.parameters.size}}"]}}
`

func TestRegisterPage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.Equal(t, http.StatusOK, b.member.get(t, "/register").status)
	const form = "application/x-www-form-urlencoded"
	send := func(document string) reply {
		return b.member.send(t, http.MethodPost, "/register", form, url.Values{"document": {document}}.Encode())
	}
	bad := send(argoFile + "  executor: {}\n")
	require.Equal(t, http.StatusUnprocessableEntity, bad.status)
	require.Contains(t, bad.body, "spec.executor")
	require.Contains(t, bad.body, "from-page-", "what was sent is kept")
	good := send(argoFile)
	require.Equal(t, "/workflows/from-page/launch", good.header.Get("Location"))
	launch := b.member.get(t, "/workflows/from-page/launch")
	require.Equal(t, http.StatusOK, launch.status)
	require.Contains(t, launch.body, "How much of it")
	require.Contains(t, launch.body, "large")
}

// TestWorkflowsByPageNumber: a page is a cursor or a number; REGISTERED is another word for ACTIVE.
func TestWorkflowsByPageNumber(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, name := range []string{"alpha", "beta", "2"} {
		b.register(t, "name: \""+name+"\"\nversion: 1.0.0\noperators: [{name: a, type: noop}]")
	}
	names := func(query string) (found []string, next any) {
		page := b.member.get(t, "/api/v1/workflows?status=REGISTERED&limit=1"+query).object(t, http.StatusOK)
		for _, w := range page["workflows"].([]any) {
			found = append(found, w.(map[string]any)["name"].(string))
		}
		require.Equal(t, "3", fmt.Sprint(page["total"]))
		return found, page["next_page"]
	}
	first, next := names("")
	require.Equal(t, []string{"2"}, first)
	second, _ := names("&page=2")
	require.Equal(t, []string{"alpha"}, second)
	after, _ := names("&page=" + url.QueryEscape(next.(string)))
	require.Equal(t, second, after, "the cursor after a workflow whose name is a number is no number")
}

// TestOverQuota: a submission that requests more than a limit is refused with the quota.
func TestOverQuota(t *testing.T) {
	t.Parallel()
	b := setup(t)
	put := b.admin.send(t, http.MethodPut, "/api/v1/projects/"+auth.LocalProject.String()+"/quota", "application/json", `{"cpu_limit": 500}`).object(t, http.StatusOK)
	require.Equal(t, "500", fmt.Sprint(put["limits"].(map[string]any)["cpu_limit"]))
	b.member.post(t, "/api/v1/workflows", `{"name": "big", "dag_spec": {"entrypoint": "main", "templates": {"main": {"container": {
		"image": "a", "command": ["b"], "resources": {"requests": {"cpu": "2"}}}}}}}`).into(t, http.StatusForbidden, &put)
	require.Equal(t, "quota", put["code"])
	require.NotEmpty(t, put["error"])
	require.NotEmpty(t, put["details"])
	info := put["quota_info"].(map[string]any)
	require.Equal(t, "project", info["entity_type"])
	require.Equal(t, auth.LocalProject.String(), info["entity_id"])
	require.Equal(t, "500", fmt.Sprint(info["limits"].(map[string]any)["cpu_limit"]))
	require.Equal(t, "0", fmt.Sprint(info["utilization_percent"]))
}

// TestQuotaByTheNamesOfTheDocument: they change what they name; a limit may be larger than
// the cluster of today, with a warning, but not than that of the level above.
func TestQuotaByTheNamesOfTheDocument(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tenant := "/api/v1/tenants/" + auth.LocalTenant.String() + "/quota"
	b.admin.send(t, http.MethodPut, tenant, "application/json", `{"cpu_limit": 3000, "cpu_request": 2000, "memory_limit": 1024, "gpu_limit": 1,
		"max_concurrent_pods": 5, "max_concurrent_workflows": 4, "storage_limit": 10, "priority_weight": 150}`).object(t, http.StatusOK)
	q := b.admin.send(t, http.MethodPut, tenant, "application/json", `{"memory_limit": 1048576}`).object(t, http.StatusOK)
	limits := q["limits"].(map[string]any)
	for name, want := range map[string]string{
		"cpu_limit": "3000", "cpu_request": "2000", "memory_limit": "1048576", "memory_request": "1048576", "gpu_limit": "1",
		"max_concurrent_pods": "5", "max_concurrent_workflows": "4", "storage_limit": "10", "priority_weight": "150",
	} {
		require.Equal(t, want, fmt.Sprint(limits[name]), name)
	}
	require.Equal(t, "2000", fmt.Sprint(q["limit"].(map[string]any)["cpu"]))
	require.Equal(t, "1000", fmt.Sprint(q["borrow"].(map[string]any)["cpu"]))
	require.Equal(t, "tenant", q["entity_type"])
	require.Equal(t, "0", fmt.Sprint(q["used"].(map[string]any)["pods_running"]))
	require.Equal(t, "5", fmt.Sprint(q["available"].(map[string]any)["pods_running"]))
	require.Contains(t, q["warnings"].([]any)[0], "the installation currently has only 4 GiB")
	b.admin.send(t, http.MethodPut, "/api/v1/projects/"+auth.LocalProject.String()+"/quota", "application/json", `{"memory_limit": 2097152}`).problem(t, http.StatusUnprocessableEntity)
}
