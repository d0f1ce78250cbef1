package handlers_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const cronFile = `
apiVersion: argoproj.io/v1alpha1
kind: CronWorkflow
metadata: {name: nightly}
spec: {schedule: "0 5 * * *", timezone: Europe/Berlin, concurrencyPolicy: Forbid, workflowSpec: {entrypoint: main, templates: [{name: main, suspend: {}}]}}
`

// TestACronWorkflowIsAScheduleThatFires: the registration of a CronWorkflow creates its schedule, and
// another registration changes it.
func TestACronWorkflowIsAScheduleThatFires(t *testing.T) {
	t.Parallel()
	b := setup(t)
	made := b.member.send(t, http.MethodPost, "/api/v1/workflows", "application/yaml", cronFile).object(t, http.StatusCreated)
	require.Empty(t, made["notices"])
	schedules := func() []any {
		return b.member.get(t, "/api/v1/schedules?workflow=nightly").object(t, http.StatusOK)["schedules"].([]any)
	}
	first := schedules()[0].(map[string]any)
	require.Equal(t, "nightly", first["name"])
	require.Equal(t, "0 5 * * *", first["cron"])
	require.Equal(t, "Europe/Berlin", first["timezone"])
	require.Equal(t, "skip", first["overlap"])
	require.Equal(t, true, first["declared"])
	require.NotEmpty(t, first["next_fire_at"])
	changed := strings.Replace(cronFile, "0 5 * * *", "0 6 * * *", 1)
	answer := b.member.send(t, http.MethodPost, "/register", "application/x-www-form-urlencoded", url.Values{"document": {changed}}.Encode())
	require.Equal(t, http.StatusSeeOther, answer.status)
	second := schedules()[0].(map[string]any)
	require.Equal(t, first["id"], second["id"])
	require.Equal(t, "0 6 * * *", second["cron"])
	p := b.member.send(t, http.MethodPost, "/api/v1/workflows", "application/yaml", `{"apiVersion": "argoproj.io/v1alpha1", "kind": "CronWorkflow", "metadata": {"name": "x"}, "spec": {"schedule": "nonsense"}}`).problem(t, http.StatusUnprocessableEntity)
	require.NotEmpty(t, p.Detail)
}

// TestTagsInArgumentsOfACronWorkflow: its launches replace tags in the arguments. A tag without a value at
// launch is an error with its path in the document.
func TestTagsInArgumentsOfACronWorkflow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	file := strings.Replace(cronFile, "entrypoint: main", `entrypoint: main, arguments: {parameters: [{name: out, value: "out/{{VALUE}}"}]}`, 1)
	refused := b.member.send(t, http.MethodPost, "/api/v1/workflows", "application/yaml", strings.Replace(file, "VALUE", "tasks.a.status", 1)).problem(t, http.StatusUnprocessableEntity)
	require.Len(t, refused.Errors, 1)
	require.Equal(t, "spec.workflowSpec.arguments.parameters[0].value", refused.Errors[0].Path)
	require.Contains(t, refused.Errors[0].Message, "{{tasks.a.status}} has no value at launch")
	b.member.send(t, http.MethodPost, "/api/v1/workflows", "application/yaml", strings.Replace(file, "VALUE", "workflow.name", 1)).object(t, http.StatusCreated)
	id := b.member.post(t, "/api/v1/executions", `{"workflow": "nightly"}`).object(t, http.StatusCreated)["execution_id"].(string)
	launched := b.member.get(t, "/api/v1/executions/"+id).object(t, http.StatusOK)
	require.Equal(t, "out/nightly-"+id[28:], launched["inputs"].(map[string]any)["out"])
	p := b.member.post(t, "/api/v1/executions", `{"workflow": "nightly", "inputs": {"out": "{{pod.name}}"}}`).problem(t, http.StatusUnprocessableEntity)
	require.Equal(t, "inputs.out", p.Errors[0].Path)
}

// TestJobs: a job is a schedule in other words.
func TestJobs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.member.send(t, http.MethodPost, "/api/v1/workflows", "application/yaml", matrixDocument("flow")).object(t, http.StatusCreated)
	made := b.member.post(t, "/api/v1/jobs", `{"name": "nightly", "workflow": "flow", "schedule": "0 2 * * *"}`).object(t, http.StatusCreated)
	require.Equal(t, "SCHEDULED", made["status"])
	require.NotEmpty(t, made["next_run_time"])
	path := "/api/v1/jobs/" + made["job_id"].(string)
	require.Equal(t, "nightly", b.member.get(t, path).object(t, http.StatusOK)["name"])
	require.Len(t, b.member.get(t, "/api/v1/jobs").object(t, http.StatusOK)["jobs"], 1)
	require.Equal(t, http.StatusNoContent, b.member.send(t, http.MethodDelete, path, "application/json", "").status)
	require.Equal(t, http.StatusNotFound, b.member.get(t, path).status)
	require.NotEmpty(t, b.member.post(t, "/api/v1/jobs", `{"name": "x", "workflow": "flow", "schedule": "x"}`).problem(t, http.StatusUnprocessableEntity).Detail)
}
