package handlers_test

import (
	"fmt"
	"net/http"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// runsOf are the runs that a page lists, as "flow/run".
func runsOf(body string) []string {
	found := []string{}
	for _, m := range regexp.MustCompile(`<a class="cover" href="/executions/metaflow/([^"]+)"`).FindAllStringSubmatch(body, -1) {
		found = append(found, m[1])
	}
	return found
}

// TestMetaflowRunsAreListed: filters, pages and the search find runs of all flows.
func TestMetaflowRunsAreListed(t *testing.T) {
	t.Parallel()
	b, c := metaflowOf(t)
	require.NotContains(t, c.get(t, "/executions").body, "/executions/metaflow", "no tab without runs")
	require.Contains(t, c.get(t, "/executions/metaflow").body, "No runs of Metaflow yet")
	c.write("/flows/Evaluate", `{}`)
	for i, flow := range []string{"Train", "Evaluate", "Train"} {
		c.write("/flows/"+flow+"/run", fmt.Sprintf(`{"run_number": "r%d", "user_name": "u", "tags": ["part:%d"], "system_tags": ["user:mia%d"]}`, i, i%2, i))
	}
	c.write("/flows/Train/runs/r0/steps/end/step", `{}`)
	c.write("/flows/Train/runs/r0/steps/end/task", `{"task_id": "t"}`)
	c.write("/flows/Train/runs/r0/steps/end/tasks/t/metadata", `[{"field_name": "attempt_ok", "value": "True", "type": "x", "user_name": "mia"}]`)

	require.Contains(t, c.get(t, "/executions").body, `href="/executions/metaflow"`)
	get := func(query string) []string { return runsOf(c.get(t, "/executions/metaflow?"+query).body) }
	require.Equal(t, []string{"Train/r2", "Evaluate/r1", "Train/r0"}, get(""))
	require.Equal(t, []string{"Train/r2", "Train/r0"}, get("q=train"))
	require.Equal(t, []string{"Evaluate/r1"}, get("q=Evaluate/r1"))
	require.Equal(t, []string{"Evaluate/r1"}, get("user=MIA1"))
	require.Equal(t, []string{"Train/r2", "Train/r0"}, get("tag=part:0"))
	require.Equal(t, []string{"Train/r0"}, get("status=completed"))
	require.Equal(t, []string{"Train/r2"}, get("status=running&q=Train"))
	require.Contains(t, c.get(t, "/executions/metaflow?status=failed").body, "No run matches")
	for _, bad := range []string{"status=lost", "after=x", "after=0"} {
		require.Equal(t, http.StatusUnprocessableEntity, c.get(t, "/executions/metaflow?"+bad).status, bad)
	}
	require.Contains(t, c.get(t, "/search?q=evaluate").body, `href="/executions/metaflow/Evaluate/r1"`)

	_, err := b.pool.Exec(b.ctx, `INSERT INTO metaflow_runs (project_id, flow_id, user_name, ts_epoch) SELECT project_id, 'Train', 'u', 1 FROM metaflow_flows, generate_series(1, 60) WHERE flow_id = 'Train'`)
	require.NoError(t, err)
	first := c.get(t, "/executions/metaflow")
	require.Len(t, runsOf(first.body), 50)
	older := regexp.MustCompile(`/executions/metaflow\?after=\d+`).FindString(first.body)
	require.Len(t, runsOf(c.get(t, older).body), 13)
}

// TestMetaflowRunPage: a run shows its steps, tasks and tags, a task its attempts and artifacts.
func TestMetaflowRunPage(t *testing.T) {
	t.Parallel()
	_, c := metaflowOf(t)
	c.write("/flows/Train/run", `{"run_number": "r", "user_name": "mia", "tags": ["first"], "system_tags": ["user:mia", "metaflow_version:2.19.0"]}`)
	const api, run = "/flows/Train/runs/r", "/executions/metaflow/Train/r"
	require.Contains(t, c.get(t, run).body, "No step has started yet.")
	task := func(step, id string) {
		c.send(t, http.MethodPost, "/metaflow"+api+"/steps/"+step+"/step", "application/json", `{"user_name": "mia"}`)
		c.write(api+"/steps/"+step+"/task", fmt.Sprintf(`{"task_id": %q, "user_name": "mia"}`, id))
	}
	fact := func(step, id, attempt, field, value string) {
		c.write(api+"/steps/"+step+"/tasks/"+id+"/metadata", fmt.Sprintf(`[{"field_name": %q, "value": %q, "type": "x", "user_name": "mia", "tags": ["attempt_id:%s"]}]`, field, value, attempt))
	}
	task("_parameters", "p")
	c.write(api+"/steps/_parameters/tasks/p/artifact", `[{"name": "rate", "location": ":root:s3://b/mf", "sha": "abcd", "ds_type": "s3", "content_type": "pickle-v4"}, {"name": "_graph_info", "location": ":root:s3://b/mf", "sha": "ef01", "ds_type": "s3"}]`)
	task("start", "s")
	fact("start", "s", "0", "attempt", "0")
	fact("start", "s", "0", "attempt_ok", "True")
	for i, id := range []string{"a", "b"} {
		task("fit", id)
		fact("fit", id, "0", "attempt", "0")
		fact("fit", id, "0", "foreach-execution-path", fmt.Sprintf("fit:%d", i))
	}
	fact("fit", "a", "0", "attempt_ok", "False")
	fact("fit", "a", "1", "attempt", "1")
	fact("fit", "a", "1", "attempt_ok", "True")
	c.write(api+"/steps/fit/tasks/a/artifact", `[{"name": "model", "attempt_id": 1, "location": "s3://b/model", "content_type": "pickle-v4"}]`)

	body := c.get(t, run).body
	for _, want := range []string{
		"fit × 2", "1 done, 1 running", "2 attempts, 1 failed", "s3://b/mf/Train/data/ab/abcd", "Arrows are derived from the times", "This is not the datastore of the project", "Remove the tag first",
		`hx-sse:connect="` + run + `/stream"`,
	} {
		require.Contains(t, body, want)
	}
	require.NotContains(t, body, "_parameters/p", "the parameters are no task")
	require.Equal(t, []string{"Train/r/fit/a"}, runsOf(c.get(t, run+"?step=fit&state=completed").body))
	require.Equal(t, []string{"Train/r/fit/b"}, runsOf(c.get(t, run+"?state=running").body))
	require.Equal(t, http.StatusUnprocessableEntity, c.get(t, run+"?after=x").status)
	require.Equal(t, http.StatusNotFound, c.get(t, "/executions/metaflow/Train/none").status)

	body = c.get(t, run+"/fit/a").body
	require.Contains(t, body, "s3://b/model")
	require.Contains(t, body, "foreach-execution-path")
	require.NotContains(t, c.get(t, run+"/fit/a?attempt=0").body, "s3://b/model", "the artifact is of attempt 1")
	require.Equal(t, http.StatusNotFound, c.get(t, run+"/fit/none").status)

	tags := func() any { return c.read(api).(map[string]any)["tags"] }
	require.Equal(t, http.StatusSeeOther, c.submit(t, run+"/tags", "add", " good one ").status)
	require.Equal(t, []any{"first", "good one"}, tags())
	require.Equal(t, http.StatusSeeOther, c.submit(t, run+"/tags", "remove", "first").status)
	require.Equal(t, []any{"good one"}, tags())
	for typed, want := range map[string]string{"": "Enter a tag.", "user:mia": "system tag. Enter another tag."} {
		refused := c.submit(t, run+"/tags", "add", typed)
		require.Equal(t, http.StatusUnprocessableEntity, refused.status)
		require.Contains(t, refused.body, want)
	}

	task("end", "e")
	fact("end", "e", "0", "attempt_ok", "True")
	require.NotContains(t, c.get(t, run).body, run+"/stream", "an ended run changes no more")
}
