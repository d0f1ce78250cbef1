package sources

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// waiting is a run that lasts until it is answered.
const waiting = `{"entrypoint": "main", "templates": {"main": {"dag": {"tasks": [
	{"name": "ask", "template": "ask"}, {"name": "load", "template": "load", "dependencies": ["ask"]}]}},
	"ask": {"suspend": {}}, "load": {"container": {"image": "busybox", "command": ["echo", "x"],
	"resources": {"requests": {"cpu": "200m", "memory": "128Mi"}}}}}}`

// Test002REST walks the operations of §10.1 with their parameters and fields.
func Test002REST(t *testing.T) { //nolint:tparallel // the requests are about one execution, in order
	t.Parallel()
	project, tenant := shared.project(t, "rest-002")
	body := fmt.Sprintf(`{"project_id": %q, "name": "rest", "dag_spec": %s, "parameters": {"env": "production"}, "priority": 50, "labels": {"team": "blue"}}`, project, waiting)
	made := decode[object](t, shared.send(t, http.MethodPost, "/api/v1/workflows", body), http.StatusCreated)
	path := "/api/v1/workflows/" + made["id"].(string)

	t.Run("POST /workflows: Workflow", func(t *testing.T) {
		for _, field := range []string{"id", "project_id", "name", "status", "created_at", "priority", "labels"} {
			require.Contains(t, made, field)
		}
		require.Equal(t, project, made["project_id"])
	})
	t.Run("GET /workflows?project_id&status=RUNNING&limit&offset", func(t *testing.T) {
		list := decode[object](t, shared.get(t, "/api/v1/workflows?project_id="+project+"&limit=20&offset=0"), http.StatusOK)
		require.Equal(t, json.Number("1"), list["total"])
		require.Equal(t, made["id"], list["workflows"].([]any)[0].(object)["id"])
		list = decode[object](t, shared.get(t, "/api/v1/workflows?project_id="+project+"&status=SUCCEEDED"), http.StatusOK)
		require.Equal(t, object{"workflows": []any{}, "total": json.Number("0")}, list)
		require.Equal(t, http.StatusOK, shared.get(t, "/api/v1/workflows?project_id="+project+"&status=RUNNING&limit=5&offset=0").status)
	})
	t.Run("GET /workflows/{id}: WorkflowDetail", func(t *testing.T) {
		detail := decode[object](t, shared.get(t, path), http.StatusOK)
		require.Equal(t, object{"env": "production"}, detail["parameters"])
		require.Len(t, detail["tasks"], 2)
		require.Contains(t, detail, "dag_spec")
	})
	t.Run("GET /workflows/{id}/tasks: an array of Task", func(t *testing.T) {
		tasks := decode[[]object](t, shared.get(t, path+"/tasks"), http.StatusOK)
		require.Equal(t, "load", tasks[1]["name"])
		for _, field := range []string{"id", "workflow_id", "name", "status", "image", "retry_count"} {
			require.Contains(t, tasks[1], field)
		}
	})
	t.Run("GET /workflows/{id}/logs?task_id&level&follow", func(t *testing.T) {
		tasks := decode[[]object](t, shared.get(t, path+"/tasks"), http.StatusOK)
		require.Equal(t, []any{}, decode[[]any](t, shared.get(t, path+"/logs?task_id="+tasks[1]["id"].(string)+"&level=INFO&follow=false"), http.StatusOK))
	})
	t.Run("GET and PUT /tenants/{id}/quota", func(t *testing.T) {
		quota := decode[object](t, shared.get(t, "/api/v1/tenants/"+tenant+"/quota"), http.StatusOK)
		require.Equal(t, "tenant", quota["entity_type"])
		require.Equal(t, tenant, quota["entity_id"])
		for _, field := range []string{"limits", "used", "utilization_percent"} {
			require.Contains(t, quota, field)
		}
		put := `{"cpu_limit": 100000, "memory_limit": 524288, "gpu_limit": 0, "max_concurrent_pods": 500, "max_concurrent_workflows": 500}`
		changed := decode[object](t, shared.send(t, http.MethodPut, "/api/v1/tenants/"+tenant+"/quota", put), http.StatusOK)
		require.Equal(t, json.Number("100000"), changed["limits"].(object)["cpu_limit"])
		require.NotEmpty(t, changed["warnings"], "100 cores are more than this machine has")
	})
	t.Run("responses: QuotaExceeded, NotFound, BadRequest", func(t *testing.T) {
		big := fmt.Sprintf(`{"project_id": %q, "name": "big", "dag_spec": {"entrypoint": "main", "templates": {"main": {"container": {"image": "a", "command": ["b"],
			"resources": {"requests": {"cpu": "4000"}}}}}}}`, project)
		refused := decode[object](t, shared.send(t, http.MethodPost, "/api/v1/workflows", big), http.StatusForbidden)
		require.NotEmpty(t, refused["error"])
		require.Contains(t, refused["quota_info"], "limits")
		require.NotEmpty(t, decode[object](t, shared.get(t, "/api/v1/workflows/nothing"), http.StatusNotFound)["error"])
		bad := decode[object](t, shared.send(t, http.MethodPost, "/api/v1/workflows", strings.Replace(body, `"ask": {"suspend": {}}`, `"ask": {}`, 1)), http.StatusUnprocessableEntity)
		require.NotEmpty(t, bad["error"])
		require.NotEmpty(t, bad["details"])
	})
	t.Run("DELETE /workflows/{id}", func(t *testing.T) {
		gone := decode[object](t, shared.send(t, http.MethodDelete, path, ""), http.StatusOK)
		require.Equal(t, made["id"], gone["id"])
		require.Equal(t, "CANCELLED", shared.finish(t, made["id"].(string))["status"])
	})
}

// Test002DependencyTypes are the types of task_dependencies in §3.2.
func Test002DependencyTypes(t *testing.T) {
	t.Parallel()
	shared.project(t, "project-123")
	made := decode[object](t, shared.send(t, http.MethodPost, "/api/v1/workflows", submission("types", `{"entrypoint": "main", "description": "three ends", "templates": {
		"main": {"dag": {"tasks": [
			{"name": "bad", "template": "fail"},
			{"name": "after-success", "template": "fine", "dependencies": [{"task": "bad", "type": "success"}]},
			{"name": "after-failure", "template": "fine", "dependencies": [{"task": "bad", "type": "failure"}]},
			{"name": "after-completion", "template": "fine", "dependencies": [{"depends_on": "bad", "type": "completion"}]}]}},
		"fail": {"description": "it fails", "container": {"image": "busybox", "command": ["false"]}, "retryStrategy": {"limit": 2, "retryPolicy": "OnTransient"}},
		"fine": {"container": {"image": "busybox", "command": ["true"]}}}}`)), http.StatusCreated)
	run := shared.finish(t, made["id"].(string))
	require.Equal(t, json.Number("0"), task(t, run, "bad")["retry_count"], "exit code 1 is not transient")
	require.NotEqual(t, "SUCCEEDED", task(t, run, "after-success")["status"])
	require.Equal(t, "SUCCEEDED", task(t, run, "after-failure")["status"])
	require.Equal(t, "SUCCEEDED", task(t, run, "after-completion")["status"])
	require.Equal(t, "three ends", run["dag_spec"].(object)["description"])
}
