package handlers_test

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/compute/launcher"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
	"github.com/flowforge/flowforge/views/viewtest"
)

const pythonFlow = `from flowforge import workflow

from search.train import train


@workflow(name="source.search", description="<b>Searches</b>")
def search(lr: float = 0.5) -> float:
    return train(lr)
`

const pythonTrain = `"""Trains </script><script>alert(1)</script>."""

from flowforge import operator

FACTOR = 2


@operator(retry=1)
def train(lr: float) -> float:
    return FACTOR * lr  # <b>
`

// author is a folder with the files of a workflow, in a repository.
type author struct {
	b      *testBundle
	folder string
	user   uuid.UUID
}

func newAuthor(t *testing.T, b *testBundle) *author {
	t.Helper()
	a := &author{b, t.TempDir(), b.person(t, "amara", auth.ProjectDev, auth.LocalProject)}
	a.write(t, "flow.py", pythonFlow)
	a.write(t, "search/train.py", pythonTrain)
	a.write(t, "search/__init__.py", "")
	a.write(t, "weights.bin", "\x00\x01\x02")
	a.write(t, "large.py", strings.Repeat("x = 1  # large\n", 20_000))
	a.git(t, "init", "--quiet", "--initial-branch=trunk")
	a.commit(t, "First search")
	return a
}

func (a *author) write(t *testing.T, name, content string) {
	t.Helper()
	path := filepath.Join(a.folder, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
}

func (a *author) git(t *testing.T, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), "git", append([]string{"-C", a.folder, "-c", "user.name=Amara", "-c", "user.email=a@example.com"}, args...)...)
	out, err := c.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return strings.TrimSpace(string(out))
}

func (a *author) commit(t *testing.T, subject string) string {
	t.Helper()
	a.git(t, "add", ".")
	a.git(t, "commit", "--quiet", "--message", subject)
	return a.git(t, "rev-parse", "HEAD")
}

// deploy runs flowforge deploy with a new API key.
func (a *author) deploy(t *testing.T) {
	t.Helper()
	key := a.b.keys.Make()
	_, err := a.b.pool.Exec(a.b.ctx, "INSERT INTO api_keys (id, user_id, name, secret_hmac, created_at, created_by) VALUES ($1, $2, 'deploy', $3, now(), $2)", key.ID, a.user, key.MAC)
	require.NoError(t, err)
	sdk, err := filepath.Abs("../sdk/python")
	require.NoError(t, err)
	c := exec.CommandContext(t.Context(), "python3", "-m", "flowforge", "deploy", "flow.py")
	c.Dir = a.folder
	c.Env = append(os.Environ(), "PYTHONPATH="+sdk, "PYTHONDONTWRITEBYTECODE=1", "FLOWFORGE_SERVER="+a.b.server.URL, "FLOWFORGE_TOKEN="+key.Token)
	out, err := c.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// TestSourceOfPythonVersions: the page of a version that the SDK deployed shows the author's files,
// the signature as written, the commit, and what every version changed.
func TestSourceOfPythonVersions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := newAuthor(t, b)
	first := a.git(t, "rev-parse", "HEAD")
	a.deploy(t)
	a.write(t, "flow.py", strings.Replace(pythonFlow, "lr: float = 0.5", `lr: float = 0.5, rows: "int | None" = None`, 1))
	a.deploy(t)
	page := func(path string) string {
		got := b.member.get(t, "/workflows/source.search"+path)
		require.Equal(t, http.StatusOK, got.status, got.body)
		require.NotContains(t, got.body, "<script>alert", path)
		viewtest.Check(t, got.body)
		return got.body
	}
	overview := page("")
	require.Contains(t, overview, `<span class="d">@workflow</span>(name=`)
	require.Contains(t, overview, "&#34;int | None&#34;")
	require.Contains(t, overview, `<code title="`+first+`">`+first[:7]+`</code>`)
	require.Contains(t, overview, "trunk")
	require.Contains(t, overview, "uncommitted changes")
	require.NotContains(t, page("/versions/1.0.0"), "uncommitted changes")

	files := page("?tab=source")
	require.Contains(t, files, `<div class="src-line src-mark" id="L6">`)
	require.Contains(t, files, `<div class="src-line" id="L1">`)
	require.Contains(t, files, "lines 6 to 8")
	require.Contains(t, files, "5 files")
	require.Contains(t, page("/versions/1.0.0?tab=source&file=search%2Ftrain.py"), `<span class="c"># &lt;b&gt;</span>`)
	require.Contains(t, page("?tab=source&definition=1"), "name: source.search")
	for _, unshown := range []string{"weights.bin", "large.py"} {
		require.Contains(t, page("?tab=source&file="+unshown), "The file is not text, or is too large for this page.", unshown)
	}
	require.Equal(t, http.StatusNotFound, b.member.get(t, "/workflows/source.search?tab=source&file=none.py").status)

	base := "/workflows/source.search/versions/1.0.0/package"
	require.Equal(t, "\x00\x01\x02", b.member.get(t, base+"?file=weights.bin").body)
	require.Equal(t, http.StatusNotFound, b.member.get(t, base+"?file=..%2Fflow.py").status)
	packed := b.member.get(t, base)
	require.Equal(t, "\x1f\x8b", packed.body[:2])
	require.Contains(t, packed.header.Get("Content-Disposition"), "attachment")

	versions := page("?tab=versions")
	require.Contains(t, versions, "adds optional input rows")
	require.Contains(t, versions, "The first version")
	require.Contains(t, versions, "First search")
}

// TestRunsOfVersions: the list of versions counts executions and describes how many succeeded.
func TestRunsOfVersions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	newAuthor(t, b).deploy(t)
	for _, status := range []string{"SUCCEEDED", "SUCCEEDED", "FAILED", "CANCELLED", "RUNNING"} {
		e, _, err := b.executions.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: "source.search", Inputs: map[string]any{}})
		require.NoError(t, err)
		_, err = b.pool.Exec(b.ctx, `UPDATE executions SET status = $2, started_at = now(), finished_at = CASE WHEN $2 <> 'RUNNING' THEN now() END,
			pending = 0, ready = 0, succeeded = CASE $2 WHEN 'SUCCEEDED' THEN total ELSE 0 END, cancelled = CASE $2 WHEN 'SUCCEEDED' THEN 0 ELSE total END WHERE id = $1`, e.ID, status)
		require.NoError(t, err)
	}
	page := b.member.get(t, "/workflows/source.search?tab=versions").body
	require.Contains(t, page, `<td class="num" data-cell="hide">5</td>`)
	require.Contains(t, page, `<td class="num" data-cell="hide">66 %</td>`)
}

// TestSourceOfPythonNodes: the page of a node shows the function of its operator.
func TestSourceOfPythonNodes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	newAuthor(t, b).deploy(t)
	e, _, err := b.executions.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: "source.search", Inputs: map[string]any{}})
	require.NoError(t, err)
	b.start(t)
	b.until(t, e.ID, func(e query.Execution) bool { return e.Counts.Running == 1 })
	got := b.member.get(t, "/executions/"+e.ID.String()+"/nodes/train")
	require.Equal(t, http.StatusOK, got.status)
	viewtest.Check(t, got.body)
	require.Contains(t, got.body, `<div class="src-line" id="code-8">`)
	require.Contains(t, got.body, `<span class="k">def</span> <span class="f">train</span>`)
	require.NotContains(t, got.body, "FACTOR = 2")
	require.Contains(t, got.body, `href="/workflows/source.search/versions/1.0.0?tab=source&amp;file=search%2Ftrain.py#L8"`)
}

// TestTracebackOfANode: the page of a failed node shows the exception that its attempt reported,
// the author's frames first, and the API returns it.
func TestTracebackOfANode(t *testing.T) {
	t.Parallel()
	b := setup(t)
	newAuthor(t, b).deploy(t)
	traceback := `{"exceptions": [
		{"type": "errors.Bad", "message": "<script>alert(1)</script>\nsecond", "frames": [
			{"file": "search/train.py", "line": 10, "function": "train", "first": 9, "source": ["def train(lr: float) -> float:", "    return FACTOR * lr  # <b>"], "locals": ["lr", "api_key"], "omitted": 2},
			{"file": "numpy/core.py", "line": 7, "function": "outer.<locals>.inner", "library": "numpy", "first": 7, "source": ["    fail()"]}], "omitted": 3},
		{"type": "ValueError", "message": "", "relation": "cause", "frames": [{"file": "/elsewhere/x.py", "line": 1}]}], "omitted": 1}`
	b.tasks.run = func(a launcher.Attempt) {
		now := time.Now().UnixMilli()
		b.tasks.report(b.ctx, &flowforgev1.AttemptReport{TaskId: a.TaskId, Token: a.Token, Report: &flowforgev1.AttemptReport_Finished{Finished: &flowforgev1.Finished{
			StartedAt: now, FinishedAt: now, ExitCode: 1, Outcome: flowforgev1.Outcome_OUTCOME_FAILED, Class: "error", Message: "It failed.", Traceback: traceback,
		}}})
	}
	e, _, err := b.executions.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: "source.search", Inputs: map[string]any{}})
	require.NoError(t, err)
	b.start(t)
	b.until(t, e.ID, func(e query.Execution) bool { return e.Counts.Failed == 1 })
	got := b.member.get(t, "/executions/"+e.ID.String()+"/nodes/train")
	require.Equal(t, http.StatusOK, got.status)
	viewtest.Check(t, got.body)
	_, card, _ := strings.Cut(got.body, `id="node-traceback"`)
	card, _, _ = strings.Cut(card, "h-attempts")
	for _, want := range []string{
		"attempt 2, your frames first", `<p class="err-type">errors.Bad</p>`, "search/train.py:10", `<div class="src-line src-fail">`, "Bad: &lt;script&gt;", "api_key", "and 2 more",
		`href="/workflows/source.search/versions/1.0.0?tab=source&amp;file=search%2Ftrain.py#L10"`, "1 frame in numpy", "outer.inner", "3 more frames are only in the log.",
		"Caused by", "/elsewhere/x.py:1", "1 more exception is only in the log.",
	} {
		require.Contains(t, card, want)
	}
	require.Less(t, strings.Index(card, "search/train.py:10"), strings.Index(card, "1 frame in numpy"))
	_, code, _ := strings.Cut(got.body, `id="h-code"`)
	require.Contains(t, code, `<div class="src-line src-fail" id="code-10">`)
	api := b.member.get(t, "/api/v1/executions/"+e.ID.String()+"/nodes/train/attempts")
	var attempts struct {
		Attempts []struct{ Traceback json.RawMessage }
	}
	require.NoError(t, json.Unmarshal([]byte(api.body), &attempts))
	require.Len(t, attempts.Attempts, 2)
	require.JSONEq(t, traceback, string(attempts.Attempts[1].Traceback))
}
