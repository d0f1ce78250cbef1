package handlers_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/data/telemetry"
)

// writes stores lines of the log of an execution's first node.
func (b *testBundle) writes(t *testing.T, execution string, messages ...string) {
	t.Helper()
	e, err := b.executions.Get(b.ctx, uuid.MustParse(execution))
	require.NoError(t, err)
	lines := make([]telemetry.LogLine, len(messages))
	for i, m := range messages {
		lines[i] = telemetry.LogLine{
			TenantID: e.TenantID, ProjectID: e.ProjectID, ExecutionID: e.ID, Node: "train", Attempt: 1, Stream: "stdout", Seq: int64(i),
			Time: time.Now().Add(time.Duration(i) * time.Millisecond), Level: "INFO", Message: m,
		}
	}
	require.NoError(t, b.telemetry.AppendLogs(auth.AsSystem(b.ctx), lines))
}

// TestLinesOfManyLogs: the table shows found lines, which link to the viewer at the line; the API
// returns them.
func TestLinesOfManyLogs(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	b.register(t, typedDocument)
	one, two := b.launchTyped(t, 1), b.launchTyped(t, 2)
	b.writes(t, one, "first", "second", "RuntimeError: CUDA <out> of memory", "fourth")
	b.writes(t, two, "all is well")
	require.Eventually(t, func() bool { return b.telemetry.Status().PendingRecords == 0 }, 30*time.Second, time.Millisecond)

	res := b.member.get(t, "/executions?where="+url.QueryEscape(`log ~ "cuda" epochs < 5`))
	require.Equal(t, http.StatusOK, res.status, res.body)
	require.Contains(t, res.body, "Log lines with “cuda”")
	require.Contains(t, res.body, "Logs of executions launched since")
	require.Regexp(t, `<mark[^>]*>CUDA</mark>`, res.body)
	require.Contains(t, res.body, "&lt;out&gt;")
	require.Contains(t, res.body, ">second<", "two lines before it")
	require.NotContains(t, res.body, "all is well")
	link := regexp.MustCompile(`href="(/executions/` + one + `/logs\?at=[^"#]+)#(L0-1-stdout-2)"`).FindStringSubmatch(res.body)
	require.NotNil(t, link, res.body)
	viewer := b.member.get(t, link[1])
	require.Equal(t, http.StatusOK, viewer.status)
	require.Contains(t, viewer.body, `id="`+link[2]+`"`)
	require.Contains(t, viewer.body, `id="L0-1-stdout-1"`)

	require.Contains(t, b.member.get(t, "/executions/lines?where="+url.QueryEscape(`log ~ "cuda"`)).body, "Show the executions")
	require.Equal(t, http.StatusUnprocessableEntity, b.member.get(t, "/executions/lines?where="+url.QueryEscape(`log = "cuda"`)).status)
	api := b.member.get(t, "/api/v1/executions/lines?text=cuda&where="+url.QueryEscape("epochs = 1")).object(t, http.StatusOK)
	line := api["lines"].([]any)[0].(map[string]any)
	require.Equal(t, fmt.Sprint(one, " 3 train"), fmt.Sprint(line["execution_id"], " ", line["line"], " ", line["node"]))
	require.Len(t, line["before"], 2)
	require.Len(t, line["after"], 1)
	b.member.get(t, "/api/v1/executions/lines?where="+url.QueryEscape("epochs = 1")).problem(t, http.StatusUnprocessableEntity)
	b.member.get(t, "/api/v1/executions/lines?text=cu").problem(t, http.StatusUnprocessableEntity)
}

// TestLinesWithoutClickHouse: the lines that are still on disk are found, and the answer indicates that
// they are a part.
func TestLinesWithoutClickHouse(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register(t, typedDocument)
	one := b.launchTyped(t, 1)
	b.writes(t, one, "RuntimeError: CUDA out of memory")
	require.NoError(t, b.telemetry.AppendLogs(auth.AsSystem(b.ctx), []telemetry.LogLine{{
		TenantID: auth.LocalTenant, ProjectID: uuid.New(), ExecutionID: uuid.Must(uuid.NewV7()), Node: "other", Attempt: 1, Stream: "stdout", Time: time.Now(), Level: "INFO", Message: "CUDA elsewhere",
	}}))
	for _, path := range []string{"/executions?where=", "/executions/lines?where="} {
		res := b.member.get(t, path+url.QueryEscape(`log ~ "cuda" and accuracy > 1`))
		require.Equal(t, http.StatusServiceUnavailable, res.status)
		require.Contains(t, res.body, "ClickHouse is not responding. The search covers only the latest lines")
		require.Contains(t, res.body, "L0-1-stdout-0")
	}
	api := b.member.get(t, "/api/v1/executions/lines?text=cuda").object(t, http.StatusOK)
	require.Equal(t, true, api["partial"])
	require.Len(t, api["lines"], 1, "lines of other projects are not found")
}
