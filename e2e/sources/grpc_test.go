package sources

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// Test002GRPC calls the services of §10.2 with the messages and fields of the document, as
// JSON over the same routes that gRPC clients use.
func Test002GRPC(t *testing.T) { //nolint:tparallel // the calls are about one execution, in order
	t.Parallel()
	project, tenant := shared.project(t, "grpc-002")
	made := decode[object](t, shared.send(t, http.MethodPost, "/api/v1/workflows", `{"project_id": "`+project+`", "name": "grpc", "dag_spec": `+waiting+`}`), http.StatusCreated)
	id := made["id"].(string)
	load := task(t, decode[object](t, shared.get(t, "/api/v1/workflows/"+id), http.StatusOK), "load")["id"].(string)
	call := func(t *testing.T, method, body string) object {
		t.Helper()
		return decode[object](t, shared.send(t, http.MethodPost, "/flowforge.v1.SchedulerService/"+method, body), http.StatusOK)
	}
	t.Run("GetQueueStatus", func(t *testing.T) {
		status := call(t, "GetQueueStatus", `{"tenant_id": "`+tenant+`"}`)
		for field, n := range status {
			require.Contains(t, []string{"pendingHigh", "pendingNormal", "pendingLow", "processing"}, field)
			require.IsType(t, json.Number(""), n)
		}
	})
	t.Run("ScheduleTask", func(t *testing.T) {
		require.NotNil(t, call(t, "ScheduleTask", `{"task_id": "`+load+`", "workflow_id": "`+id+`", "priority": 70, "resources": {"cpu": 100, "memory": 64, "gpu": 0}}`))
	})
	t.Run("CancelTask", func(t *testing.T) {
		require.Equal(t, object{"success": true}, call(t, "CancelTask", `{"task_id": "`+load+`"}`))
	})
}

// taskService is a task that calls TaskService with the messages of the document, without the SDK.
const taskService = `
import json, os, struct, urllib.error, urllib.request
me = {"task_id": os.environ["FLOWFORGE_TASK_ID"], "workflow_id": os.environ["FLOWFORGE_WORKFLOW_ID"]}
def post(method, kind, body):
    sent = urllib.request.Request(os.environ["FLOWFORGE_API_ENDPOINT"] + "/flowforge.v1.TaskService/" + method, data=body,
        headers={"Content-Type": "application/" + kind, "Authorization": "Bearer " + os.environ["FLOWFORGE_AUTH_TOKEN"]})
    try:
        return urllib.request.urlopen(sent).read()
    except urllib.error.HTTPError as problem:
        raise SystemExit(method + ": " + problem.read().decode())
def call(method, **fields):
    return json.loads(post(method, "json", json.dumps({**me, **fields}).encode()))
def frames(*messages):
    return b"".join(struct.pack(">BI", 0, len(m)) + m for m in (json.dumps(m).encode() for m in messages))
answers = {"empty": call("GetCheckpoint")}
answers["status"] = call("UpdateStatus", status="RUNNING", message="half of it", progress=50, details='{"batch": 5}', timestamp=1700000000000)
answers["save"] = call("SaveCheckpoint", data='{"last_processed_id": 12345, "batch": 5}', timestamp=1700000000000)
answers["checkpoint"] = call("GetCheckpoint")
lines = [{**me, "tenant_id": os.environ["FLOWFORGE_TENANT_ID"], "timestamp": 1700000000000 + n, "level": "WARN", "message": "line %d" % n, "extra": '{"filename": "data.csv"}'} for n in range(3)]
raw = post("StreamLogs", "connect+json", frames(*lines))
answers["logs"] = json.loads(raw[5:5 + struct.unpack(">I", raw[1:5])[0]])
call("SetOutput", key="stats", value='{"rows": 1000, "columns": 50}')
answers["output"] = call("SetOutput", key="processed_file", value='"/data/output.parquet"')
call("SetOutput", key="answers", value=json.dumps(answers))
`

// Test002TaskService calls TaskService of §10.2 from a task.
func Test002TaskService(t *testing.T) {
	t.Parallel()
	shared.project(t, "project-123")
	source, err := json.Marshal(taskService)
	require.NoError(t, err)
	made := decode[object](t, shared.send(t, http.MethodPost, "/api/v1/workflows", submission("task-service", `{"entrypoint": "main", "templates": {
		"main": {"script": {"image": "python:3.11-slim", "command": ["python3"], "source": `+string(source)+`}}}}`)), http.StatusCreated)
	run := shared.finish(t, made["id"].(string))
	require.Equal(t, "SUCCEEDED", run["status"], "%v", run)
	task := run["tasks"].([]any)[0].(object)
	outputs := task["outputs"].(object)
	require.Equal(t, "/data/output.parquet", outputs["processed_file"])
	require.Equal(t, object{"rows": json.Number("1000"), "columns": json.Number("50")}, outputs["stats"])
	answers := outputs["answers"].(object)
	require.Equal(t, object{}, answers["empty"], "no checkpoint: data is empty")
	for _, name := range []string{"status", "save", "output"} {
		require.Equal(t, object{"success": true}, answers[name], name)
	}
	require.JSONEq(t, `{"last_processed_id": 12345, "batch": 5}`, answers["checkpoint"].(object)["data"].(string))
	require.NotEmpty(t, answers["checkpoint"].(object)["timestamp"])
	require.Equal(t, object{"received": json.Number("3"), "processed": json.Number("3")}, answers["logs"])
	lines := decode[[]object](t, shared.get(t, "/api/v1/workflows/"+made["id"].(string)+"/logs?level=WARN"), http.StatusOK)
	require.Len(t, lines, 3)
	require.Equal(t, "line 0", lines[0]["message"])
	require.Equal(t, task["id"], lines[0]["task_id"])
	require.Equal(t, "data.csv", lines[0]["extra"].(object)["filename"])
	require.Equal(t, "2023-11-14T22:13:20Z", lines[0]["timestamp"])
}
