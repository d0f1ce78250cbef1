package sources

import (
	_ "embed"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

//go:embed testdata/002_3.3.json
var spec33 string // document 002, §3.3

//go:embed testdata/002_a2.py
var submitA2 string // document 002, A.2

//go:embed testdata/002_a3.py
var taskA3 string // document 002, A.3

// scripts replaces the paths of a document's scripts: they are in testdata instead of the
// image's working directory.
func scripts(t *testing.T, text string) string {
	t.Helper()
	folder, err := filepath.Abs(filepath.Join("testdata", "scripts"))
	require.NoError(t, err)
	for _, name := range []string{"extract.py", "transform.py", "load.py"} {
		text = strings.ReplaceAll(text, `"value": "`+name+`"`, `"value": "`+filepath.Join(folder, name)+`"`)
	}
	return text
}

// submission wraps a dag_spec in a CreateWorkflowRequest.
func submission(name, spec string) string {
	return `{"project_id": "project-123", "name": "` + name + `", "dag_spec": ` + spec + `}`
}

// Test002DagSpec is §3.3. Its onExit names a template that does not exist, which is
// reported as an error; with that template it runs as documented.
func Test002DagSpec(t *testing.T) {
	t.Parallel()
	shared.project(t, "project-123")
	p := decode[object](t, shared.send(t, http.MethodPost, "/api/v1/workflows", submission("etl", spec33)), http.StatusUnprocessableEntity)
	fault := p["errors"].([]any)[0].(object)
	require.Equal(t, "dag_spec.onExit", fault["path"])
	require.Equal(t, `There is no template "cleanup". Add it to templates, or omit onExit; the templates are main, python-task.`, fault["message"])

	whole := strings.Replace(scripts(t, spec33), `"python-task": {`, `"cleanup": {"container": {"image": "busybox", "command": ["echo"], "args": ["clean"]}}, "python-task": {`, 1)
	made := decode[object](t, shared.send(t, http.MethodPost, "/api/v1/workflows", submission("etl", whole)), http.StatusCreated)
	run := shared.finish(t, made["id"].(string))
	require.Equal(t, "SUCCEEDED", run["status"], "%v", run)
	require.Equal(t, object{"result": `{"rows": 3}`}, task(t, run, "extract-data")["outputs"], "the declared output is the file, not what the task printed")
	require.Equal(t, object{"result": `{"rows": 2}`, "success": true, "stats": object{"rows": json.Number("1000"), "columns": json.Number("50")}}, task(t, run, "transform-data")["outputs"])
	require.Equal(t, "SUCCEEDED", task(t, run, "load-data")["status"])
	require.Equal(t, "SUCCEEDED", task(t, run, "onExit")["status"])
	var given object
	require.NoError(t, json.Unmarshal([]byte(whole), &given))
	text, err := json.Marshal(run["dag_spec"])
	require.NoError(t, err)
	want, err := json.Marshal(given)
	require.NoError(t, err)
	require.JSONEq(t, string(want), string(text), "what is accepted is returned")
}

// python runs a program of a document on this machine.
func python(t *testing.T, program string, environ ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "program.py")
	require.NoError(t, os.WriteFile(file, []byte(program), 0o600))
	modules, err := filepath.Abs(filepath.Join("testdata", "python"))
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), "python3", file)
	cmd.Env = append(os.Environ(), append(environ, "PYTHONPATH="+modules)...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// Test002A2SubmitWorkflow runs the program of A.2 with the test's address and token.
func Test002A2SubmitWorkflow(t *testing.T) {
	t.Parallel()
	shared.project(t, "project-123")
	program := strings.Replace(scripts(t, submitA2), "http://localhost:8080", shared.base, 1)
	program = strings.Replace(program, "your-api-token", shared.token, 1)
	program = strings.Replace(program, "print(response.json())", "import json; print(json.dumps(response.json()))", 1)
	made := decode[object](t, answer{http.StatusCreated, nil, python(t, program)}, http.StatusCreated)
	require.Equal(t, "data-pipeline-001", made["name"])
	require.Equal(t, json.Number("50"), made["priority"])
	run := shared.finish(t, made["id"].(string))
	require.Equal(t, "SUCCEEDED", run["status"], "%v", run)
	require.Equal(t, object{"env": "production"}, run["parameters"])
	require.Len(t, run["tasks"], 3)
}

// Test002A3TaskWithSDK runs the program of A.3 as a task, with the two functions that the
// document leaves to its reader; its first attempt fails halfway.
func Test002A3TaskWithSDK(t *testing.T) {
	t.Parallel()
	shared.project(t, "project-123")
	own := `
import os
def load_data():
    return list(range(150))
def process_item(item):
    if item == 120 and os.environ["FLOWFORGE_ATTEMPT"] == "1":
        raise RuntimeError("the first attempt")
`
	program := strings.Replace(taskA3, "def main():", own+"def main():", 1)
	source, err := json.Marshal(program)
	require.NoError(t, err)
	made := decode[object](t, shared.send(t, http.MethodPost, "/api/v1/workflows", submission("sdk", `{"entrypoint": "main", "templates": {
		"main": {"dag": {"tasks": [
			{"name": "process", "template": "process"},
			{"name": "use", "template": "use", "dependencies": [{"task": "process", "type": "success"}], "description": "reads what the task before gave",
			 "arguments": {"parameters": [{"name": "text", "value": "{{tasks.process.outputs.processed_count}} {{tasks.process.outputs.output_path}}"}]}}]}},
		"process": {"script": {"image": "python:3.11-slim", "command": ["python3"], "source": `+string(source)+`},
			"retryStrategy": {"limit": 2, "retryPolicy": "OnError", "backoff": {"duration": "1s", "factor": 2}}},
		"use": {"inputs": {"parameters": [{"name": "text"}]}, "container": {"image": "busybox", "command": ["sh", "-c"], "args": ["echo '{{inputs.parameters.text}}' > $FLOWFORGE_OUTPUTS/seen"]}}}}`)), http.StatusCreated)
	run := shared.finish(t, made["id"].(string))
	require.Equal(t, "SUCCEEDED", run["status"], "%v", run)
	processed := task(t, run, "process")
	require.Equal(t, object{"processed_count": json.Number("150"), "output_path": "/data/output.parquet"}, processed["outputs"])
	require.Equal(t, json.Number("1"), processed["retry_count"])
	require.Equal(t, object{"seen": "150 /data/output.parquet"}, task(t, run, "use")["outputs"])
	logs := shared.get(t, "/api/v1/workflows/"+made["id"].(string)+"/logs?task_id="+processed["id"].(string)+"&level=ERROR").body
	require.Contains(t, logs, "Error processing item 120: the first attempt")
}
