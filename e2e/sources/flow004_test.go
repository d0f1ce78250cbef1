package sources

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// launch registers a definition, launches it and returns the ID of the execution.
func launch(t *testing.T, definition, inputs string) string {
	t.Helper()
	made := decode[object](t, shared.send(t, http.MethodPost, "/api/v1/workflows", definition), http.StatusCreated)
	launched := decode[object](t, shared.send(t, http.MethodPost, "/api/v1/executions",
		`{"workflow_id": "`+made["workflow_id"].(string)+`", "inputs": `+inputs+`}`), http.StatusCreated)
	return launched["execution_id"].(string)
}

// execution waits until done and returns the execution.
func (s *server) execution(t *testing.T, id string, done func(object) bool) object {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for {
		e := decode[object](t, s.get(t, "/api/v1/executions/"+id), http.StatusOK)
		if done(e) {
			return e
		}
		require.NotContains(t, []any{"SUCCEEDED", "FAILED", "CANCELLED"}, e["status"], "%v", e)
		require.True(t, time.Now().Before(deadline), "%v", e)
		time.Sleep(50 * time.Millisecond) // polls another process
	}
}

func succeeded(e object) bool { return e["status"] == "SUCCEEDED" }

// outputs returns the outputs of a node.
func (s *server) outputs(t *testing.T, execution, node string) object {
	t.Helper()
	for _, n := range decode[object](t, s.get(t, "/api/v1/executions/"+execution), http.StatusOK)["nodes"].([]any) {
		if of := n.(object); of["operator"] == node {
			return of["outputs"].(object)
		}
	}
	t.Fatalf("there is no node %s", node)
	return nil
}

// Test004DataFlow is the "Data Flow Example": a task reads the outputs of every node above it.
func Test004DataFlow(t *testing.T) {
	t.Parallel()
	id := launch(t, `{"name": "frames", "version": "1.0.0", "operators": [
		{"name": "extract_frames", "operator_type": "ExtractOperator", "outputs": [{"name": "output_assets", "type": "JSON"}, {"name": "results", "type": "JSON"}, {"name": "log", "type": "File"}],
		 "code": {"script": "from flowforge import client\nclient.output('output_assets', [{'type': 'image', 'path': '/frames/001.jpg'}])\nclient.output('results', [{'type': 'frame_info', 'data': {'count': 100}}])\nclient.output_path('log').write_text('done')"}},
		{"name": "detect_objects", "operator_type": "DetectOperator", "depends_on": ["extract_frames"], "outputs": [{"name": "results", "type": "JSON"}],
		 "code": {"script": "from flowforge import client\nassert client.inputs['extract_frames_assets'][0]['path'] == '/frames/001.jpg'\nclient.output('results', [{'type': 'detection', 'data': {'objects': 5}}])"}},
		{"name": "generate_report", "operator_type": "ReportOperator", "depends_on": ["detect_objects"], "parameters": {"asset_id": "a-1"}, "outputs": [{"name": "seen", "type": "JSON"}],
		 "code": {"script": "from flowforge import client\nclient.output('seen', client.inputs)"}},
		{"name": "own", "operator_type": "ReportOperator", "depends_on": ["detect_objects"], "parameters": {"extract_frames_output": "mine"}, "outputs": [{"name": "seen", "type": "JSON"}],
		 "code": {"script": "from flowforge import client\nclient.output('seen', client.inputs['extract_frames_output'])"}},
		{"name": "cached", "operator_type": "ReportOperator", "depends_on": ["detect_objects"], "cache": {}, "outputs": [{"name": "seen", "type": "JSON"}],
		 "code": {"script": "from flowforge import client\nclient.output('seen', sorted(client.inputs))"}}]}`, `{}`)
	shared.execution(t, id, succeeded)
	seen := shared.outputs(t, id, "generate_report")["seen"].(object)
	assets := []any{object{"type": "image", "path": "/frames/001.jpg"}}
	frames := []any{object{"type": "frame_info", "data": object{"count": json.Number("100")}}}
	objects := []any{object{"type": "detection", "data": object{"objects": json.Number("5")}}}
	file := seen["extract_frames_output"].(object)["log"]
	require.Contains(t, file, "$artifact", "a file of a node further up is a reference")
	require.Equal(t, object{
		"asset_id":              "a-1",
		"extract_frames_output": object{"output_assets": assets, "results": frames, "log": file}, "extract_frames_assets": assets, "extract_frames_results": frames,
		"detect_objects_output": object{"results": objects}, "detect_objects_assets": []any{}, "detect_objects_results": objects,
	}, seen)
	require.Equal(t, "mine", shared.outputs(t, id, "own")["seen"], "a parameter keeps its value")
	require.Equal(t, []any{"detect_objects_assets", "detect_objects_output", "detect_objects_results"}, shared.outputs(t, id, "cached")["seen"],
		"the key of a cached node covers all values that it can read")
}

// Test004Diamond is the "Parallel Execution Example" with its progress by layers.
func Test004Diamond(t *testing.T) {
	t.Parallel()
	id := launch(t, `{"name": "diamond", "version": "1.0.0", "operators": [
		{"name": "start", "type": "noop"},
		{"name": "proc1", "type": "noop", "depends_on": ["start"]},
		{"name": "proc2", "type": "approval", "depends_on": ["start"]},
		{"name": "join", "type": "noop", "depends_on": ["proc1", "proc2"]}]}`, `{}`)
	cancelled := launch(t, `{"name": "diamond-cancelled", "version": "1.0.0", "operators": [{"name": "ask", "type": "approval"}]}`, `{}`)
	require.Equal(t, http.StatusOK, shared.send(t, http.MethodPost, "/api/v1/executions/"+cancelled+"/cancel", "").status)
	shared.execution(t, cancelled, func(e object) bool { return e["status"] == "CANCELLED" })
	waiting := func(e object) bool { return e["progress"].(object)["completed"] == json.Number("2") }
	progress := shared.execution(t, id, waiting)["progress"].(object)
	require.Equal(t, json.Number("33"), progress["layer_percent"], "%v", progress)
	require.Equal(t, http.StatusOK, shared.send(t, http.MethodPost, "/api/v1/executions/"+id+"/commands", `{"node": "proc2", "command": "approve"}`).status)
	progress = shared.execution(t, id, succeeded)["progress"].(object)
	require.Equal(t, json.Number("100"), progress["layer_percent"])
}
