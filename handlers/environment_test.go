package handlers_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/data/telemetry"
)

const packagesDocument = `
name: with.packages
version: 1.0.0
operators:
  - {name: train, type: python, code: {script: "print(1)", requirements: ["pandas>=3", "numpy"]}}
  - {name: tell, type: python, code: {script: "print(2)", requirements: ["pandas>=3", "numpy"]}}
  - {name: plain, type: python, code: {script: "print(3)"}}
`

// TestEnvironmentCards: the page of a workflow groups its operators by their packages, and the page of a
// node shows the environment of its last attempt, or what the installer wrote.
func TestEnvironmentCards(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, packagesDocument)
	overview := b.member.get(t, "/workflows/with.packages")
	require.Equal(t, http.StatusOK, overview.status, overview.body)
	require.Contains(t, overview.body, "train, tell</h3>")
	require.Contains(t, overview.body, "pandas&gt;=3")

	id := b.member.post(t, "/api/v1/executions", `{"workflow": "with.packages"}`).object(t, http.StatusCreated)["execution_id"].(string)
	page := "/executions/" + id + "/nodes/train"
	require.Contains(t, b.member.get(t, page).body, "No attempt of this node has used its environment yet.")
	require.NotContains(t, b.member.get(t, "/executions/"+id+"/nodes/plain").body, "node-environment")

	line := func(seq int, message, fields string) telemetry.LogLine {
		return telemetry.LogLine{
			TenantID: auth.LocalTenant, ProjectID: auth.LocalProject, ExecutionID: uuid.MustParse(id), Node: "train", Attempt: 1, Stream: "system",
			Seq: int64(seq), Time: time.Now().Add(time.Duration(seq) * time.Millisecond), Level: "INFO", Message: message, Fields: json.RawMessage(fields),
		}
	}
	require.NoError(t, b.telemetry.AppendLogs(auth.AsSystem(b.ctx), []telemetry.LogLine{
		line(1, "ERROR: no matching distribution", `{"environment":"abc123"}`),
		line(2, "It could not be built.", `{"environment":"abc123","environment_state":"failed","installer":"pip"}`),
	}))
	failed := b.member.get(t, page).body
	require.Contains(t, failed, "build failed")
	require.Regexp(t, `<pre[^>]*aria-label="Output of the build, scrollable">ERROR: no matching distribution</pre>`, failed)

	require.NoError(t, b.telemetry.AppendLogs(auth.AsSystem(b.ctx), []telemetry.LogLine{line(3, "Built it.",
		`{"environment":"abc123","environment_state":"ready","python":"3.13.5","installer":"uv","packages":["numpy==2.4.6","pandas==3.1.1"],"build_ms":4200}`)}))
	ready := b.member.get(t, page).body
	require.NotContains(t, ready, "build failed")
	require.NotContains(t, ready, "Output of the build")
	for _, part := range []string{"<code>abc123</code>", "3.13.5", "uv", "4.2 s", "2 installed packages", "pandas==3.1.1"} {
		require.Contains(t, ready, part)
	}
	require.Contains(t, ready, `href="/executions?where=`+url.QueryEscape(`log ~ "abc123"`)+`"`)
}
