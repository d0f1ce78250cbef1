package handlers_test

import (
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/data/metaflow"
	"github.com/flowforge/flowforge/engine/execution"
)

const flowDocument = `
name: flow.step
version: 1.0.0
metadata: {metaflow: {flow: Train}}
operators:
  - {name: start, type: shell, outputs: [{name: task, type: String}], code: {script: "true"}}
`

// runningStep launches an execution and returns what its first attempt calls the service with.
func runningStep(t *testing.T) (*testBundle, metaflowClient, uuid.UUID) {
	t.Helper()
	b := setup(t)
	require.NoError(t, b.executions.Prepare(b.ctx))
	b.register(t, flowDocument)
	e, _, err := b.executions.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: "flow.step"})
	require.NoError(t, err)
	return b, metaflowClient{b.bearer(b.taskToken(t, e.ID, 1)), t}, e.ID
}

// TestAnAttemptRecordsItsRun: the token of an attempt opens the metadata service of its project and
// nothing else, and only while the attempt is alive.
func TestAnAttemptRecordsItsRun(t *testing.T) {
	t.Parallel()
	b, c, id := runningStep(t)
	c.write("/flows/Train", `{"flow_id": "Train"}`)
	run := c.write("/flows/Train/run", `{"run_number": "`+metaflow.RunOf(id)+`", "user_name": "mia"}`).(map[string]any)
	require.Equal(t, "flowforge-"+id.String(), run["run_number"])
	require.Equal(t, []string{"Train"}, names(metaflowClient{b.member, t}.read("/flows"), "flow_id"))
	require.Equal(t, map[string]any{"tasks": nil}, c.read("/flowforge/reused"))
	require.Equal(t, http.StatusUnauthorized, c.get(t, "/api/v1/executions/"+id.String()).status)
	require.Equal(t, http.StatusSeeOther, c.get(t, "/executions/metaflow").status, "to the sign-in page")

	_, err := b.pool.Exec(b.ctx, "DELETE FROM attempts WHERE execution_id = $1", id)
	require.NoError(t, err)
	require.Equal(t, http.StatusUnauthorized, c.send(t, http.MethodPost, "/metaflow/flows/Late", "application/json", "{}").status)
	metaflowClient{b.member, t}.refused(http.StatusNotFound, http.MethodGet, "/flows/Late", "")
}

// TestAnAttemptWritesOnlyItsRun: the token of an attempt reads the runs of its project, and changes
// nothing but the run of its execution. Attempts of workflows that are no flow have no access.
func TestAnAttemptWritesOnlyItsRun(t *testing.T) {
	t.Parallel()
	b, c, id := runningStep(t)
	e, _, err := b.executions.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: "flow.step"})
	require.NoError(t, err)
	other := metaflowClient{b.bearer(b.taskToken(t, e.ID, 1)), t}
	other.write("/flows/Train", "{}")
	run, record := metaflow.RunOf(e.ID), "/flows/Train/runs/"+metaflow.RunOf(e.ID)
	claim := `{"run_number": "` + run + `", "user_name": "mia"}`
	c.refused(http.StatusForbidden, http.MethodPost, "/flows/Train/run", claim)
	other.write("/flows/Train/run", claim)
	other.write(record+"/steps/start/step", `{"user_name": "mia"}`)
	other.write(record+"/steps/start/task", `{"task_id": "start.0", "user_name": "mia"}`)
	metaflowClient{b.member, t}.write("/flows/Other", "{}")
	number := other.read(record + "/steps/start/tasks").([]any)
	require.Len(t, number, 1)
	task := record + "/steps/start/tasks/start.0"
	var byNumber string
	require.NoError(t, b.pool.QueryRow(b.ctx, "SELECT task_number::text FROM metaflow_tasks WHERE task_id = 'start.0'").Scan(&byNumber))

	for _, write := range []struct{ method, path, body string }{
		{http.MethodPost, "/flows/New", "{}"},
		{http.MethodPost, "/flows/Train/run", "{}"},
		{http.MethodPost, "/flows/Other/run", `{"run_number": "` + metaflow.RunOf(id) + `"}`},
		{http.MethodPost, record + "/heartbeat", "{}"},
		{http.MethodPatch, record + "/tag/mutate", `{"tags_to_add": ["production"], "tags_to_remove": []}`},
		{http.MethodPost, record + "/steps/end/step", "{}"},
		{http.MethodPost, record + "/steps/start/task", "{}"},
		{http.MethodPost, task + "/heartbeat", "{}"},
		{http.MethodPost, task + "/metadata", `[{"field_name": "attempt_ok", "value": "False", "type": "attempt_ok"}]`},
		{http.MethodPost, task + "/artifact", `[{"name": "x", "location": "s3://b/x"}]`},
		{http.MethodPost, "/runs", `{"flow_id": "Train"}`},
		{http.MethodPut, "/runs/" + run, `{"tags": ["production"]}`},
		{http.MethodPost, "/tasks", `{"run_id": "` + run + `", "step_name": "start"}`},
		{http.MethodPut, "/tasks/" + byNumber, `{"status": "failed"}`},
		{http.MethodPost, "/artifacts", `{"task_id": "` + byNumber + `", "name": "a", "sha256": "abcd1234"}`},
	} {
		c.refused(http.StatusForbidden, write.method, write.path, write.body)
	}
	require.Equal(t, run, c.read(record).(map[string]any)["run_number"], "it may read other runs")
	require.Empty(t, c.read(record).(map[string]any)["tags"])
	other.write(task+"/metadata", `[{"field_name": "attempt_ok", "value": "True", "type": "attempt_ok", "tags": ["attempt_id:0"]}]`)

	b.register(t, "name: plain\nversion: 1.0.0\noperators:\n  - {name: start, type: shell, code: {script: 'true'}}\n")
	plain, _, err := b.executions.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: "plain"})
	require.NoError(t, err)
	stranger := metaflowClient{b.bearer(b.taskToken(t, plain.ID, 1)), t}
	stranger.refused(http.StatusForbidden, http.MethodGet, "/flows", "")
	stranger.refused(http.StatusForbidden, http.MethodPost, "/flows/Train", "{}")
}

// TestRunAndExecutionLinkToEachOther: the page of an execution of a flow has a link to its run, and
// that of the run a link to the execution.
func TestRunAndExecutionLinkToEachOther(t *testing.T) {
	t.Parallel()
	b, c, id := runningStep(t)
	c.write("/flows/Train", "{}")
	c.write("/flows/Train/run", `{"run_number": "`+metaflow.RunOf(id)+`", "user_name": "mia"}`)
	_, err := b.pool.Exec(b.ctx, "UPDATE executions SET status = 'RUNNING', started_at = now() WHERE id = $1", id)
	require.NoError(t, err)
	run := "/executions/metaflow/Train/" + metaflow.RunOf(id)
	require.Contains(t, b.member.get(t, "/executions/"+id.String()).body, `href="`+run+`"`)
	require.Contains(t, b.member.get(t, run).body, `href="/executions/`+id.String()+`"`)

	b.register(t, `{"name": "plain.flow", "version": "1.0.0", "operators": [{"name": "go", "type": "noop"}]}`)
	plain, _, err := b.executions.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: "plain.flow"})
	require.NoError(t, err)
	for _, other := range []uuid.UUID{plain.ID, uuid.Must(uuid.NewV7())} {
		_, err := b.pool.Exec(b.ctx, "UPDATE metaflow_runs SET run_id = $1 WHERE run_id IS NOT NULL", metaflow.RunOf(other))
		require.NoError(t, err)
		page := b.member.get(t, "/executions/metaflow/Train/"+metaflow.RunOf(other))
		require.Equal(t, http.StatusOK, page.status, page.body)
		require.NotContains(t, page.body, `href="/executions/`+other.String()+`"`, "no execution records the run, whatever its ID")
	}
}

// TestReusedTasks: an execution that resumes another names the tasks that it takes over.
func TestReusedTasks(t *testing.T) {
	t.Parallel()
	b, c, id := runningStep(t)
	e, _, err := b.executions.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: "flow.step"})
	require.NoError(t, err)
	run := func(sql string, args ...any) {
		_, err := b.pool.Exec(b.ctx, sql, args...)
		require.NoError(t, err)
	}
	// The earlier execution has a fan-out with one item, and the later one reuses both.
	run(`UPDATE nodes SET state = 'SUCCEEDED', finished_at = now(), outputs = '{"task": ["r/start/start.0"]}' WHERE execution_id = $1`, e.ID)
	run(`INSERT INTO nodes SELECT (jsonb_populate_record(n, '{"node_index": 1, "parent_index": 0, "expansion": 1, "name": "start[0]", "item_index": 0, "outputs": {"task": "r/start/start.0"}}')).*
		FROM nodes n WHERE execution_id = $1`, e.ID)
	run("UPDATE executions SET resume_of = $1 WHERE id = $2", e.ID, id)
	run(`UPDATE nodes SET state = 'SUCCEEDED', finished_at = now(), origin_execution = $1, origin_index = 0, origin_use = 'TAKEN' WHERE execution_id = $2`, e.ID, id)
	require.Equal(t, map[string]any{"origin": metaflow.RunOf(e.ID), "tasks": []any{"r/start/start.0"}}, c.read("/flowforge/reused"))
}

// TestRunsOfExecutions: only the exact form is the run of an execution.
func TestRunsOfExecutions(t *testing.T) {
	t.Parallel()
	id := uuid.New()
	got, ok := metaflow.ExecutionOf(metaflow.RunOf(id))
	require.True(t, ok)
	require.Equal(t, id, got)
	for _, run := range []string{"12", "argo-x", "flowforge-", "flowforge-1", id.String(), "flowforge-{" + id.String() + "}"} {
		_, ok := metaflow.ExecutionOf(run)
		require.False(t, ok, run)
	}
}
