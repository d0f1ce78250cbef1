package handlers_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMetaflowRecords: the requests of the design document of the metadata service, verbatim where
// it has examples.
func TestMetaflowRecords(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := metaflowClient{b.member, t}
	object := func(v any) map[string]any { return v.(map[string]any) }
	change := func(path, body string) map[string]any { return object(c.call(http.MethodPut, path, body)) }

	run := object(c.write("/runs", `{
  "flow_id": "TrainingFlow",
  "user": "alice",
  "parameters": {
    "epochs": 100,
    "learning_rate": 0.001
  },
  "tags": ["experiment-v2"]
}`))
	id := run["run_id"].(string)
	require.Equal(t, "pending", run["status"])
	require.Equal(t, "TrainingFlow/"+id, run["pathspec"])
	require.Equal(t, map[string]any{"epochs": json.Number("100"), "learning_rate": json.Number("0.001")}, run["parameters"])
	require.NotEmpty(t, run["start_time"])
	require.Equal(t, run, c.read("/runs/"+id))
	require.Equal(t, []string{"TrainingFlow"}, names(c.read("/flows"), "flow_id"))
	require.Len(t, c.read("/flows/TrainingFlow/runs"), 1, "Metaflow's client sees the run")

	task := object(c.write("/tasks", `{"run_id": "`+id+`", "step_name": "train", "user": "alice"}`))
	number := task["task_id"].(string)
	require.Equal(t, "running", task["status"])
	require.Equal(t, "running", object(c.read("/runs/" + id))["status"])
	artifact := object(c.write("/artifacts", `{
  "task_id": "`+number+`",
  "name": "model",
  "type": "sklearn.ensemble.RandomForestClassifier",
  "sha256": "abcd1234",
  "size_bytes": 52428800,
  "ds_type": "s3",
  "ds_root": "s3://metaflow-data",
  "encoding": "pickle"
}`))
	require.Equal(t, "s3://metaflow-data/data/ab/cd/abcd1234", artifact["ds_path"])
	require.NotEmpty(t, artifact["created_at"])
	require.Equal(t, artifact, c.read("/artifacts/"+artifact["artifact_id"].(string)))
	for _, path := range []string{"/artifacts/by-hash/abcd1234", "/runs/" + id + "/artifacts", "/tasks/" + number + "/artifacts"} {
		require.Equal(t, []any{artifact}, object(c.read(path))["artifacts"], path)
	}
	newer := object(c.write("/artifacts", `{"task_id": "`+number+`", "name": "copy", "sha256": "abcd1234"}`))
	for _, path := range []string{"/artifacts/by-hash/abcd1234", "/runs/" + id + "/artifacts", "/tasks/" + number + "/artifacts"} {
		first := object(c.read(path + "?limit=1"))
		require.Equal(t, []any{newer}, first["artifacts"], path)
		second := object(c.read(path + "?limit=1&cursor=" + first["next_cursor"].(string)))
		require.Equal(t, []any{artifact}, second["artifacts"], path)
		require.NotContains(t, second, "next_cursor")
	}
	require.Contains(t, c.refused(http.StatusConflict, http.MethodPost, "/artifacts", `{"task_id": "`+number+`", "name": "model", "sha256": "ffff1234"}`), "another hash")

	failed := change("/tasks/"+number, `{"status": "failed", "exception": "out of memory"}`)
	require.Equal(t, []any{"failed", "out of memory", json.Number("0")}, []any{failed["status"], failed["exception"], failed["attempt_id"]})
	require.Equal(t, "failed", object(c.read("/runs/" + id + "/steps/train"))["status"])
	second := change("/tasks/"+number, `{"status": "completed", "attempt_id": 1}`)
	require.Equal(t, []any{"completed", nil, json.Number("1")}, []any{second["status"], second["exception"], second["attempt_id"]})
	steps := object(c.read("/runs/" + id + "/steps"))["steps"]
	require.Equal(t, []string{"train"}, names(steps, "step_name"))
	require.Equal(t, []string{"completed"}, names(steps, "status"))
	require.Equal(t, []any{second}, object(c.read("/runs/" + id + "/steps/train/tasks"))["tasks"])

	open := object(c.write("/tasks", `{"run_id": "`+id+`", "step_name": "train"}`))["task_id"].(string)
	require.Equal(t, "running", object(c.read("/runs/" + id + "/steps/train"))["status"])
	ended := change("/runs/"+id, `{"status": "completed", "tags": ["best", "experiment-v2"]}`)
	require.Equal(t, "completed", ended["status"])
	require.Equal(t, []any{"best", "experiment-v2"}, ended["user_tags"])
	require.NotEmpty(t, ended["end_time"])
	require.Equal(t, "failed", object(c.read("/tasks/" + open))["status"], "no task outlives its run")
	require.Equal(t, "running", change("/runs/"+id, `{"status": "running"}`)["status"])
	change("/runs/"+id, `{"status": "completed"}`)

	other := object(c.write("/runs", `{"flow_id": "Other", "user": "ben"}`))["run_id"].(string)
	for query, want := range map[string][]string{
		"": {other, id}, "?flow=TrainingFlow": {id}, "?user=ben": {other}, "?tag=best": {id}, "?status=completed": {id}, "?status=completed&user=ben": {},
	} {
		require.Equal(t, want, names(object(c.read("/search" + query))["runs"], "run_id"), query)
	}
	page := object(c.read("/search?limit=1"))
	require.Equal(t, []string{other}, names(page["runs"], "run_id"))
	page = object(c.read("/search?limit=1&cursor=" + page["next_cursor"].(string)))
	require.Equal(t, []string{id}, names(page["runs"], "run_id"))
	require.NotContains(t, page, "next_cursor")
}

// TestMetaflowRecordsRefuse: a faulty request names the field.
func TestMetaflowRecordsRefuse(t *testing.T) {
	t.Parallel()
	_, c := metaflowOf(t)
	c.write("/flows/Other", "{}")
	for _, flow := range []string{"Train", "Other"} {
		c.write("/flows/"+flow+"/run", `{"run_number": "same", "user_name": "mia"}`)
	}
	run := c.write("/runs", `{"flow_id": "Train"}`).(map[string]any)["run_id"].(string)
	for _, test := range []struct {
		status             int
		method, path, body string
		want               string
	}{
		{http.StatusBadRequest, "POST", "/runs", `{}`, "flow_id is missing"},
		{http.StatusBadRequest, "POST", "/runs", `{"flow_id": "Train", "tag": ["x"]}`, `The field \"tag\" is unknown`},
		{http.StatusBadRequest, "PUT", "/runs/" + run, `{"status": "done"}`, "use running, completed or failed"},
		{http.StatusConflict, "GET", "/runs/same", "", "Several flows have a run"},
		{http.StatusNotFound, "GET", "/runs/999999", "", "There is no run"},
		{http.StatusNotFound, "POST", "/tasks", `{"run_id": "999999", "step_name": "a"}`, "There is no run"},
		{http.StatusBadRequest, "POST", "/tasks", `{"run_id": 1}`, "step_name are required"},
		{http.StatusNotFound, "GET", "/tasks/none", "", "There is no task"},
		{http.StatusNotFound, "PUT", "/tasks/0", `{}`, "There is no task"},
		{http.StatusNotFound, "POST", "/artifacts", `{"task_id": "0", "name": "a", "sha256": "abcd1234"}`, "There is no task"},
		{http.StatusBadRequest, "POST", "/artifacts", `{"task_id": "0", "name": "a", "sha256": "a"}`, "sha256 must be"},
		{http.StatusNotFound, "GET", "/artifacts/art_x", "", "There is no artifact"},
		{http.StatusNotFound, "GET", "/artifacts/by-hash/00", "", "There is no artifact"},
		{http.StatusNotFound, "GET", "/runs/" + run + "/steps/none", "", "There is no step"},
		{http.StatusBadRequest, "GET", "/search?limit=x", "", "limit must be"},
		{http.StatusBadRequest, "GET", "/runs/" + run + "/artifacts?limit=501", "", "limit must be a number from 1 to 500"},
		{http.StatusBadRequest, "GET", "/runs/" + run + "/artifacts?cursor=x", "", "enter next_cursor from the previous response"},
		{http.StatusBadRequest, "GET", "/search?cursor=x", "", "enter the cursor from the previous page"},
	} {
		require.Contains(t, c.refused(test.status, test.method, test.path, test.body), test.want, "%s %s", test.method, test.path)
	}
}
