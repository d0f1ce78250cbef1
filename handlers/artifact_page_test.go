package handlers_test

import (
	"html"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/engine/execution"
)

// TestAnArtifactShowsHowPythonReadsIt: files of known formats are loaded, and others are paths.
func TestAnArtifactShowsHowPythonReadsIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, "name: digits.fit\nversion: 1.0.0\noperators:\n  - {name: fit, type: shell, code: {script: \"true\"}}\n")
	e, _, err := b.executions.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: "digits.fit", Inputs: map[string]any{}})
	require.NoError(t, err)
	for _, file := range []struct{ name, kind, filename, code string }{
		{"model", "Model", "model.json", `value = run.artifacts["fit.model"].load()`},
		{"bundle", "File", "bundle.zip", `path = run.artifacts["fit.bundle"].path`},
	} {
		a := b.publish(t, e, artifact.New{NodeIndex: 0, Node: "fit", Name: file.name, Type: file.kind, Kind: file.kind, MediaType: "application/octet-stream", Filename: file.filename}, "{}")
		text := html.UnescapeString(b.member.get(t, "/artifacts/"+a.ID.String()).body)
		require.Contains(t, text, `run = flowforge.Run("`+e.ID.String()+`")`)
		require.Contains(t, text, file.code)
		list := b.member.get(t, "/executions/"+e.ID.String()).body
		require.Contains(t, list, file.filename)
		require.Contains(t, b.member.get(t, "/artifacts").body, file.filename)
	}
}

// TestATableRoundsItsNumbers: all digits are in the tooltip.
func TestATableRoundsItsNumbers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, "name: digits.fit\nversion: 1.0.0\noperators:\n  - {name: fit, type: shell, code: {script: \"true\"}}\n")
	e, _, err := b.executions.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: "digits.fit", Inputs: map[string]any{}})
	require.NoError(t, err)
	table := artifact.New{NodeIndex: 0, Node: "fit", Name: "scores", Type: "Table", Kind: "Table", MediaType: "text/csv", Filename: "scores.csv"}
	a := b.publish(t, e, table, "at,score\n1764591234.5,0.0005002501250625312\n1764591235.5,0.25\n")
	got := b.member.get(t, "/artifacts/"+a.ID.String())
	require.Equal(t, http.StatusOK, got.status)
	require.Contains(t, got.body, `<td class="num" title="0.0005002501250625312">0.00050025</td>`)
	require.Contains(t, got.body, `<td class="num">0.25</td>`)
	require.Contains(t, got.body, "1.7645912345e+09")
}

// TestAFailedExecutionSaysOnceThatItHasNoOutputs instead of once per output.
func TestAFailedExecutionSaysOnceThatItHasNoOutputs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, "name: digits.fit\nversion: 1.0.0\noutputs:\n  - {name: accuracy, type: Float, from: fit.accuracy}\n  - {name: loss, type: Float, from: fit.loss}\noperators:\n  - {name: fit, type: shell, code: {script: \"false\"}, outputs: [{name: accuracy, type: Float}, {name: loss, type: Float}]}\n")
	e, _, err := b.executions.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: "digits.fit", Inputs: map[string]any{}})
	require.NoError(t, err)
	_, err = b.pool.Exec(b.ctx, `UPDATE executions SET status = 'FAILED', started_at = now(), finished_at = now(), pending = 0, ready = 0, queued = 0, running = 0, retrying = 0, failed = total WHERE id = $1`, e.ID)
	require.NoError(t, err)
	got := b.member.get(t, "/executions/"+e.ID.String())
	require.Equal(t, http.StatusOK, got.status)
	require.Equal(t, 1, strings.Count(got.body, "the execution did not succeed"))
}
