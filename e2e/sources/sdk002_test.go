package sources

import (
	"encoding/json"
	"net/http"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// sdkExamples are the examples in the docstrings of document 002, §6.2, in their order.
const sdkExamples = `
items, process = [1, 2, 3, 4], print

from flowforge import client

client.log("Starting processing")
client.status("RUNNING", progress=10)

for i, item in enumerate(items):
    process(item)
    client.metric("items_processed", i + 1)
    client.status("RUNNING", progress=int((i + 1) / len(items) * 100))

client.output("result", {"processed": len(items)})
client.status("SUCCEEDED")

client.status("RUNNING", progress=50, message="Processing batch 5/10")
client.log("Processing file", level="INFO", filename="data.csv", size=1024)
client.metric("items_processed", 100, tags={"batch": "1"})
client.metric("processing_time_ms", 1523.5, metric_type="histogram")
client.output("processed_file", "/data/output.parquet")
client.output("stats", {"rows": 1000, "columns": 50})
client.checkpoint({"last_processed_id": 12345, "batch": 5})
checkpoint = client.get_checkpoint()
if checkpoint:
    start_from = checkpoint['last_processed_id']
client.output("start_from", start_from)

# The constructors, types and remaining arguments of §6.2.
from flowforge import client, FlowForgeClient
from flowforge.types import TaskStatus, LogLevel, MetricType
client.status(TaskStatus.RUNNING, details={"batch": 5})
client.log("typed", LogLevel.WARN)
client.metric("typed", 1, MetricType.COUNTER)
own = FlowForgeClient.from_env()
own.log("from the environment", level="DEBUG")
own.close()
`

// Test002SDKExamples runs the examples of the SDK's docstrings as one task.
func Test002SDKExamples(t *testing.T) {
	t.Parallel()
	shared.project(t, "project-123")
	source, err := json.Marshal(sdkExamples)
	require.NoError(t, err)
	made := decode[object](t, shared.send(t, http.MethodPost, "/api/v1/workflows", submission("sdk-examples", `{"entrypoint": "main", "templates": {
		"main": {"script": {"image": "python:3.11-slim", "command": ["python3"], "source": `+string(source)+`}}}}`)), http.StatusCreated)
	id := made["id"].(string)
	run := shared.finish(t, id)
	require.Equal(t, "SUCCEEDED", run["status"], "%s", shared.get(t, "/api/v1/workflows/"+id+"/logs").body)
	require.Equal(t, object{
		"result": object{"processed": json.Number("4")}, "processed_file": "/data/output.parquet", "start_from": json.Number("12345"),
		"stats": object{"rows": json.Number("1000"), "columns": json.Number("50")},
	}, run["tasks"].([]any)[0].(object)["outputs"])
	metrics := shared.get(t, "/api/v1/executions/"+id+"/metrics").body
	for _, text := range []string{`"items_processed"`, `"processing_time_ms"`, `"histogram"`, `"batch":"1"`, `"counter"`} {
		require.Contains(t, metrics, text)
	}
	logs := shared.get(t, "/api/v1/workflows/"+id+"/logs").body
	host, err := os.Hostname()
	require.NoError(t, err)
	for _, line := range decode[[]object](t, answer{http.StatusOK, nil, logs}, http.StatusOK) {
		require.Equal(t, host, line["node_name"], "%v", line)
		require.NotContains(t, line, "pod_name", "there is no pod")
	}
	for _, text := range []string{`"filename":"data.csv"`, `"size":1024`, "from the environment", "Starting processing"} {
		require.Contains(t, logs, text)
	}
}
