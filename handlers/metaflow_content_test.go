package handlers_test

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
)

// TestAReusedTaskShowsItsCard: Metaflow copies no cards to a run that reuses a task, so the page shows those of the
// original, also through several resumed runs.
func TestAReusedTaskShowsItsCard(t *testing.T) {
	t.Parallel()
	b, c := metaflowOf(t)
	folder := filepath.Join(b.datastoreDir, auth.LocalTenant.String(), auth.LocalProject.String(), ".metaflow", "mf.cards/Train/runs/one/steps/start/tasks/s1/cards")
	require.NoError(t, os.MkdirAll(folder, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "default-abc.html"), []byte("<p>fit</p>"), 0o600))
	for _, run := range []struct{ id, task, facts string }{
		{"one", "s1", `[{"field_name": "origin-run-id", "value": "None"`},
		{"two", "s1", `[{"field_name": "origin-run-id", "value": "one"`},
		{"three", "s3", `[{"field_name": "origin-task-id", "value": "s1", "type": "x", "user_name": "mia", "tags": ["attempt_id:0"]}, {"field_name": "origin-run-id", "value": "two"`},
	} {
		c.write("/flows/Train/run", `{"run_number": "`+run.id+`", "user_name": "mia"}`)
		api := "/flows/Train/runs/" + run.id + "/steps/start"
		c.send(t, http.MethodPost, "/metaflow"+api+"/step", "application/json", `{"user_name": "mia"}`)
		c.write(api+"/task", `{"task_id": "`+run.task+`", "user_name": "mia"}`)
		c.write(api+"/tasks/"+run.task+"/metadata", run.facts+`, "type": "x", "user_name": "mia", "tags": ["attempt_id:0"]}]`)
	}
	const card = "/executions/metaflow/Train/one/start/s1/cards/default-abc.html"
	for _, task := range []string{"one/start/s1", "two/start/s1", "three/start/s3"} {
		require.Contains(t, c.get(t, "/executions/metaflow/Train/"+task).body, card, task)
	}
	require.Contains(t, c.get(t, card).body, "<p>fit</p>")
}

// TestMetaflowContent: pages show graph, values, logs and cards; cards have an origin of their own.
func TestMetaflowContent(t *testing.T) {
	t.Parallel()
	b, c := metaflowOf(t)
	root := filepath.Join(b.datastoreDir, auth.LocalTenant.String(), auth.LocalProject.String(), ".metaflow")
	put := func(path, text string) {
		path = filepath.Join(root, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	zipped := func(text string) string {
		var out bytes.Buffer
		z := gzip.NewWriter(&out)
		_, _ = z.Write([]byte(text))
		require.NoError(t, z.Close())
		return out.String()
	}
	put("Train/data/aa/aaaaaaaa", zipped("V<script>alert(1)</script>\n."))
	put("Train/data/bb/bbbbbbbb", zipped("cposix\nsystem\n(S'true'\ntR."))
	put("Train/data/cc/cccccccc", zipped("(dS'steps'\n(dS'start'\n(dS'next'\n(lS'later'\nassS'later'\n(dS'next'\n(lsss."))
	put("Train/r/start/s/0.task_stdout.log", "[MFLOG|0|2026-11-23T13:01:30.5Z|task|id]<b>fitting</b>\n")
	put("mf.cards/Train/runs/r/steps/start/tasks/s/cards/default-abc.html", "<script>top.location = 'https://example.com'</script>")

	c.write("/flows/Train/run", `{"run_number": "r", "user_name": "mia", "system_tags": ["user:mia", "metaflow_version:2.19.0"]}`)
	const api, run = "/flows/Train/runs/r", "/executions/metaflow/Train/r"
	for step, id := range map[string]string{"_parameters": "p", "start": "s"} {
		c.send(t, http.MethodPost, "/metaflow"+api+"/steps/"+step+"/step", "application/json", `{"user_name": "mia"}`)
		c.write(api+"/steps/"+step+"/task", `{"task_id": "`+id+`", "user_name": "mia"}`)
	}
	const fields = `"ds_type": "local", "content_type": "pickle-v4", "location": ":root:`
	c.write(api+"/steps/_parameters/tasks/p/artifact", `[{"name": "rate", "sha": "aaaaaaaa", `+fields+root+`"}, {"name": "_graph_info", "sha": "cccccccc", `+fields+root+`"}]`)
	c.write(api+"/steps/start/tasks/s/artifact", `[{"name": "model", "sha": "bbbbbbbb", `+fields+root+`"}]`)
	c.write(api+"/steps/start/tasks/s/metadata", `[{"field_name": "attempt", "value": "0", "type": "x", "user_name": "mia", "tags": ["attempt_id:0"]}]`)

	body := c.get(t, run).body
	require.Contains(t, body, "Graph of 2 steps of Train")
	require.Contains(t, body, `data-state="PENDING"`, "a step that has not started")
	require.Contains(t, body, "&lt;script&gt;alert(1)&lt;/script&gt;")
	require.NotContains(t, body, "<script>alert")
	require.NotContains(t, body, "Arrows are derived from the times")
	require.NotContains(t, body, "not the datastore of the project")

	body = c.get(t, run+"/start/s").body
	require.Contains(t, body, "posix.system")
	require.Contains(t, body, "&lt;b&gt;fitting&lt;/b&gt;")
	require.Contains(t, body, `sandbox="allow-scripts"`)
	require.NotContains(t, body, "allow-same-origin")
	require.NotContains(t, c.get(t, run+"/start/s?q=nothing").body, "fitting")

	card := c.get(t, run+"/start/s/cards/default-abc.html")
	require.Equal(t, http.StatusOK, card.status)
	policy := card.header.Get("Content-Security-Policy")
	require.Contains(t, policy, "sandbox allow-scripts; default-src 'none';")
	require.NotContains(t, policy, "allow-top-navigation")
	require.Contains(t, c.get(t, run+"/start/s/log").body, "task stdout <b>fitting</b>")
	file := c.get(t, run+"/start/s/artifacts/model")
	require.Contains(t, file.header.Get("Content-Disposition"), "attachment")
	require.Equal(t, http.StatusNotFound, c.get(t, run+"/start/s/artifacts/none").status)
	require.Equal(t, http.StatusNotFound, c.get(t, run+"/start/none/cards/default-abc.html").status, "a task that the project does not have")

	b.admin.submit(t, "/executions/metaflow/datastore", "kind", "s3")
	refused := b.admin.submit(t, "/executions/metaflow/datastore", "kind", "s3")
	require.Equal(t, http.StatusUnprocessableEntity, refused.status)
	require.Contains(t, refused.body, "Enter s3://bucket/prefix.")
	require.NotContains(t, c.get(t, "/executions/metaflow/datastore").body, "<form class=\"stack\" method=\"post\" action=\"/executions/metaflow/datastore\"", "a developer cannot change it")
}
