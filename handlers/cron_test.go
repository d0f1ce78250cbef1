package handlers_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

const cronFile = `
apiVersion: argoproj.io/v1alpha1
kind: CronWorkflow
metadata: {name: nightly}
spec: {schedule: "0 5 * * *", workflowSpec: {entrypoint: main, templates: [{name: main, suspend: {}}]}}
`

// TestACronWorkflowSaysThatItStartsNothing: the answer to its registration, the page after the
// form and the page of the workflow all say so.
func TestACronWorkflowSaysThatItStartsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const says = "A CronWorkflow does not create a schedule: 0 5 * * * has no effect."
	made := b.member.send(t, http.MethodPost, "/api/v1/workflows", "application/yaml", cronFile).object(t, http.StatusCreated)
	require.Contains(t, made["notices"].([]any)[0], says)
	answer := b.member.send(t, http.MethodPost, "/register", "application/x-www-form-urlencoded", url.Values{"document": {cronFile}}.Encode())
	require.Equal(t, http.StatusSeeOther, answer.status)
	require.Equal(t, "/workflows/nightly", answer.header.Get("Location"))
	page := b.member.get(t, "/workflows/nightly")
	require.Contains(t, page.body, says)
	p := b.member.send(t, http.MethodPost, "/api/v1/workflows", "application/yaml", `{"apiVersion": "argoproj.io/v1alpha1", "kind": "CronWorkflow", "metadata": {"name": "x"}, "spec": {"schedule": "nonsense"}}`).problem(t, http.StatusUnprocessableEntity)
	require.NotEmpty(t, p.Detail)
}
