package handlers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// metaflowClient sends what Metaflow's client sends.
type metaflowClient struct {
	*caller
	t *testing.T
}

// call returns the decoded body of an answer with status 200.
func (c metaflowClient) call(method, path, body string) any {
	c.t.Helper()
	got := c.send(c.t, method, "/metaflow"+path, "application/json", body)
	require.Equal(c.t, http.StatusOK, got.status, "%s %s: %s", method, path, got.body)
	require.Equal(c.t, "2.5.1", got.header.Get("METADATA_SERVICE_VERSION"))
	var v any
	d := json.NewDecoder(strings.NewReader(got.body))
	d.UseNumber()
	require.NoError(c.t, d.Decode(&v))
	return v
}

func (c metaflowClient) read(path string) any { c.t.Helper(); return c.call(http.MethodGet, path, "") }
func (c metaflowClient) write(path, body string) any {
	c.t.Helper()
	return c.call(http.MethodPost, path, body)
}

// refused returns the body of an answer with another status.
func (c metaflowClient) refused(status int, method, path, body string) string {
	c.t.Helper()
	got := c.send(c.t, method, "/metaflow"+path, "application/json", body)
	require.Equal(c.t, status, got.status, "%s %s: %s", method, path, got.body)
	return strings.TrimSpace(got.body)
}

func metaflowOf(t *testing.T) (*testBundle, metaflowClient) {
	t.Helper()
	b := setup(t)
	c := metaflowClient{b.member, t}
	c.write("/flows/Train", `{"flow_id": "Train", "ts_epoch": 1}`)
	return b, c
}

const newRun = `{"flow_id": "Train", "user_name": "mia", "tags": ["t1", "t0"], "system_tags": ["user:mia", "metaflow_version:2.19.0"], "ts_epoch": 1}`

// names are the values of a field of a list of objects.
func names(list any, field string) []string {
	out := []string{}
	for _, o := range list.([]any) {
		out = append(out, fmt.Sprint(o.(map[string]any)[field]))
	}
	return out
}

// TestMetaflowContract: the bodies and status codes that Metaflow's client depends on.
func TestMetaflowContract(t *testing.T) {
	t.Parallel()
	b, c := metaflowOf(t)
	require.Equal(t, "pong", c.send(t, http.MethodGet, "/metaflow/ping", "", "").body)
	require.Equal(t, "{}", c.refused(http.StatusNotFound, http.MethodGet, "/flows/None", ""))
	require.Contains(t, c.refused(http.StatusConflict, http.MethodPost, "/flows/Train", `{}`), `"{\"err_msg\":`)
	require.Equal(t, "{}", c.refused(http.StatusNotFound, http.MethodPost, "/flows/None/run", newRun))
	require.Contains(t, c.refused(http.StatusBadRequest, http.MethodPost, "/flows/Train/run", `{"run_number": "12"}`), "may not be a numeric")
	require.Contains(t, c.refused(http.StatusBadRequest, http.MethodPost, "/flows/Train/run", `{"tags": "x"}`), "tags must be")
	require.Contains(t, c.refused(http.StatusBadRequest, http.MethodPost, "/flows/Train/run", `{`), "not JSON")
	require.Equal(t, []any{}, c.read("/flows/Train/runs"))

	run := c.write("/flows/Train/run", newRun).(map[string]any)
	require.Equal(t, []any{"t0", "t1"}, run["tags"])
	require.NotNil(t, run["last_heartbeat_ts"])
	require.IsType(t, json.Number(""), run["run_number"], "a number of the service is a number")
	root := "/flows/Train/runs/" + run["run_number"].(json.Number).String()
	require.Equal(t, `{"wait_time_in_seconds": 10}`, c.write(root+"/heartbeat", "{}"), "the client decodes a text")
	require.Equal(t, `{"wait_time_in_seconds": 10}`, c.write(root+"/heartbeat", "{}"), "an early heartbeat is accepted")

	c.write(root+"/steps/start/step", `{"user_name": "mia", "tags": ["own"]}`)
	require.Equal(t, []any{"t0", "t1"}, c.read(root + "/steps/start").(map[string]any)["tags"], "tags are those of the run")
	c.refused(http.StatusConflict, http.MethodPost, root+"/steps/start/step", `{}`)
	require.Equal(t, "{}", c.refused(http.StatusNotFound, http.MethodPost, root+"/steps/none/task", `{}`))
	require.Contains(t, c.refused(http.StatusBadRequest, http.MethodPost, root+"/steps/start/task", `{"task_id": "7"}`), "provided task_name may not be a numeric")
	require.Equal(t, "t-1", c.write(root+"/steps/start/task", `{"task_id": "t-1", "user_name": "mia"}`).(map[string]any)["task_id"])
	c.refused(http.StatusConflict, http.MethodPost, root+"/steps/start/task", `{"task_id": "t-1"}`)
	task := root + "/steps/start/tasks/t-1"
	require.Equal(t, `{"wait_time_in_seconds": 10}`, c.write(task+"/heartbeat", "{}"))

	for _, value := range []string{`"False"`, `"True"`, `["a", 1]`} {
		c.write(task+"/metadata", fmt.Sprintf(`[{"field_name": "attempt_ok", "value": %s, "type": "internal_attempt_status", "tags": ["attempt_id:0"], "user_name": "mia"}]`, value))
	}
	facts := c.read(task + "/metadata")
	require.Equal(t, []string{`["a", 1]`, "True", "False"}, names(facts, "value"), "newest first; repeats are kept")
	require.Equal(t, []any{"attempt_id:0"}, facts.([]any)[0].(map[string]any)["tags"], "metadata has its own tags")
	require.Contains(t, c.refused(http.StatusBadRequest, http.MethodPost, root+"/steps/start/tasks/none/metadata", `[{"field_name": "x"}]`), "need to register run_id and task_id first")
	require.Equal(t, []any{"Train/" + run["run_number"].(json.Number).String() + "/start/t-1"}, c.read(root+"/steps/start/filtered_tasks?metadata_field_name=attempt_ok&pattern=^True$"))
	require.Equal(t, []any{}, c.read(root+"/steps/start/filtered_tasks?metadata_field_name=attempt_ok&pattern=nothing"))
	c.refused(http.StatusBadRequest, http.MethodGet, root+"/steps/start/filtered_tasks?metadata_field_name=attempt_ok&pattern=(", "")

	artifact := func(attempt int, names ...string) string {
		var all []string
		for _, n := range names {
			all = append(all, fmt.Sprintf(`{"name": %q, "attempt_id": %d, "location": "s3://b/%s", "ds_type": "s3", "sha": "ab", "type": "metaflow.artifact", "content_type": "pickle-v4", "user_name": "mia"}`, n, attempt, n))
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	created := func(path, body string) string {
		return c.write(path, body).(map[string]any)["artifacts_created"].(json.Number).String()
	}
	require.Equal(t, "2", created(task+"/artifact", artifact(0, "x", "y")))
	require.Equal(t, "1", created(task+"/artifact", artifact(0, "x", "z")), "a repeat is not counted")
	require.Equal(t, "1", created(task+"/artifact", artifact(1, "x")))
	require.Equal(t, []string{"x"}, names(c.read(task+"/artifacts"), "name"), "of the latest attempt")
	require.Equal(t, []string{"x", "y", "z"}, names(c.read(task+"/attempt/0/artifacts"), "name"))
	require.Equal(t, json.Number("0"), c.read(task + "/artifacts/y").(map[string]any)["attempt_id"], "the latest attempt that has it")
	c.refused(http.StatusNotFound, http.MethodGet, task+"/artifacts/none", "")
	c.refused(http.StatusNotFound, http.MethodGet, task+"/artifacts/y/attempt/1", "")
	c.refused(http.StatusBadRequest, http.MethodGet, task+"/attempt/x/artifacts", "")
	require.Equal(t, []string{"x"}, names(c.read(root+"/artifacts"), "name"))

	key := b.nobody.with("X-Api-Key", adminToken)
	require.Equal(t, http.StatusOK, key.get(t, "/metaflow/flows").status, "METAFLOW_SERVICE_AUTH_KEY")
	require.Equal(t, http.StatusUnauthorized, b.nobody.with("X-Api-Key", "wrong").get(t, "/metaflow/flows").status)
}

func TestMetaflowTags(t *testing.T) {
	t.Parallel()
	_, c := metaflowOf(t)
	run := "/flows/Train/runs/" + fmt.Sprint(c.write("/flows/Train/run", newRun).(map[string]any)["run_number"])
	mutate := func(body string) any {
		return c.call(http.MethodPatch, run+"/tag/mutate", body).(map[string]any)["tags"]
	}
	require.Equal(t, []any{"good", "t0"}, mutate(`{"tags_to_add": ["good", "user:mia"], "tags_to_remove": ["t1", "never"]}`))
	require.Equal(t, []any{"good", "t0"}, mutate(`{"tags_to_add": ["good"], "tags_to_remove": ["good"]}`), "removals come first")
	require.Contains(t, c.refused(http.StatusUnprocessableEntity, http.MethodPatch, run+"/tag/mutate", `{"tags_to_remove": ["user:mia"]}`), "system tag")
	c.refused(http.StatusBadRequest, http.MethodPatch, run+"/tag/mutate", `{"tags_to_add": [1]}`)
	c.refused(http.StatusNotFound, http.MethodPatch, "/flows/Train/runs/none/tag/mutate", `{}`)
}

// TestMetaflowPages: filters and cursors of version 2.5.1.
func TestMetaflowPages(t *testing.T) {
	t.Parallel()
	_, c := metaflowOf(t)
	var all []string
	for i := range 7 {
		id := fmt.Sprintf("run-%d", i)
		c.write("/flows/Train/run", fmt.Sprintf(`{"run_number": %q, "user_name": "u%d", "tags": ["part:%d"], "system_tags": ["user:mia"]}`, id, i%2, i%3))
		all = append([]string{id}, all...)
	}
	get := func(query string) []string { return names(c.read("/flows/Train/runs?"+query), "run_number") }
	require.Equal(t, all, get(""))
	require.Equal(t, []string{"run-5", "run-3", "run-1"}, get("user_name=u1"))
	require.Equal(t, []string{"run-6", "run-5"}, get("run_id:eq=run-6,run-5"))
	require.Equal(t, []string{"run-6"}, get("run_id:ew=6&user_name:ne=u1"))
	require.Equal(t, all, get("status=running"))
	require.Empty(t, get("status:eq=completed,failed"))
	require.Equal(t, []string{"run-6", "run-3", "run-0"}, get("_tags=part:0,user:mia"))
	require.Equal(t, []string{"run-6", "run-5", "run-3", "run-2", "run-0"}, get("_tags:any=part:0,part:2"))
	require.Equal(t, all, get("_tags:likeall=part,mia"))
	require.Empty(t, get("ts_epoch:lt=5"))
	for _, bad := range []string{"_limit=0", "_limit=x", "_cursor=%25", "nothing=1", "user_name:almost=1", "_tags:some=1"} {
		c.refused(http.StatusBadRequest, http.MethodGet, "/flows/Train/runs?"+bad, "")
	}

	var pages []string
	for cursor := ""; ; {
		got := c.get(t, "/metaflow/flows/Train/runs?_limit=3"+cursor)
		require.Equal(t, "3", got.header.Get("X-Limit"))
		var page []map[string]any
		require.NoError(t, json.Unmarshal([]byte(got.body), &page))
		require.LessOrEqual(t, len(page), 3)
		for _, r := range page {
			pages = append(pages, r["run_number"].(string))
		}
		next := got.header.Get("X-Next-Cursor")
		if next == "" {
			break
		}
		cursor = "&_cursor=" + next
	}
	require.Equal(t, all, pages, "the pages are the list")
}

// TestMetaflowCreatesOnce: of simultaneous requests with one ID, one creates the run.
func TestMetaflowCreatesOnce(t *testing.T) {
	t.Parallel()
	_, c := metaflowOf(t)
	var group sync.WaitGroup
	statuses := make([]int, 8)
	for i := range statuses {
		group.Go(func() {
			statuses[i] = c.post(t, "/metaflow/flows/Train/run", `{"run_number": "argo-x", "user_name": "mia"}`).status
		})
	}
	group.Wait()
	count := map[int]int{}
	for _, status := range statuses {
		count[status]++
	}
	require.Equal(t, map[int]int{http.StatusOK: 1, http.StatusConflict: 7}, count)
}

// TestMetaflowStatus: the step "end" decides; without one, the last heartbeat does.
func TestMetaflowStatus(t *testing.T) {
	t.Parallel()
	b, c := metaflowOf(t)
	run := "/flows/Train/runs/" + fmt.Sprint(c.write("/flows/Train/run", newRun).(map[string]any)["run_number"])
	status := func() any { return c.read(run).(map[string]any)["status"] }
	require.Equal(t, "running", status())
	_, err := b.pool.Exec(b.ctx, "UPDATE metaflow_heartbeats SET at = at - 400")
	require.NoError(t, err)
	require.Equal(t, "failed", status())
	c.write(run+"/steps/end/step", `{"user_name": "mia"}`)
	c.write(run+"/steps/end/task", `{"user_name": "mia", "task_id": "t"}`)
	for value, want := range map[string]string{"False": "failed", "True": "completed"} {
		c.write(run+"/steps/end/tasks/t/metadata", fmt.Sprintf(`[{"field_name": "attempt_ok", "value": %q, "type": "x", "user_name": "mia"}]`, value))
		require.Equal(t, want, status())
	}
}
