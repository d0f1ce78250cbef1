package handlers_test

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
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
	require.EqualValues(t, "70", fmt.Sprint(made["priority"]))
	require.Equal(t, map[string]any{"team": "blue"}, made["labels"])
	require.Equal(t, map[string]any{"env": "production", "n": "3"}, made["parameters"])
	path := "/api/v1/workflows/" + made["id"].(string)

	detail := b.member.get(t, path).object(t, http.StatusOK)
	require.Equal(t, made["id"], detail["id"])
	require.Equal(t, "main", detail["dag_spec"].(map[string]any)["entrypoint"])
	require.Len(t, detail["tasks"], 2)
	tasks := b.member.get(t, path+"/tasks").object(t, http.StatusOK)["tasks"].([]any)
	require.Equal(t, "load", tasks[1].(map[string]any)["name"])
	require.Equal(t, "python:3", tasks[1].(map[string]any)["image"])
	require.Equal(t, http.StatusOK, b.member.get(t, path+"/logs").status)
	require.Equal(t, http.StatusNoContent, b.member.send(t, http.MethodDelete, path, "", "").status)

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
