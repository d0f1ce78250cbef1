package handlers_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
	"github.com/flowforge/flowforge/proto/flowforge/v1/flowforgev1connect"
)

const blobsDocument = `
name: reads.blobs
version: 1.0.0
inputs:
  - {name: data, type: File}
  - {name: folder, type: Directory}
operators:
  - name: read
    type: shell
    inputs: [{name: data, type: File, from: inputs.data}, {name: folder, type: Directory, from: inputs.folder}]
    code: {script: "true"}
`

// readingTask launches a node with a file and a folder as inputs, and returns the
// caller that its first attempt is, with the hashes of all that it is given.
func readingTask(t *testing.T, b *testBundle) (task *caller, id uuid.UUID, given []string) {
	t.Helper()
	require.NoError(t, b.executions.Prepare(b.ctx))
	b.register(t, blobsDocument)
	put := func(text string) artifact.Blob {
		blob, err := b.artifacts.Upload(b.ctx, strings.NewReader(text))
		require.NoError(t, err)
		return blob
	}
	data, inside := put("some data"), put("in the folder")
	manifest := put(`{"entries":[{"path":"a.txt","sha256":"` + inside.SHA256 + `","size":13}]}`)
	e, _, err := b.executions.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: "reads.blobs", Inputs: map[string]any{
		"data":   map[string]any{"$file": data.SHA256, "name": "data.txt"},
		"folder": map[string]any{"$file": manifest.SHA256, "name": "folder", "media_type": artifact.DirectoryMediaType},
	}})
	require.NoError(t, err, "%v", apperr.FieldsOf(err))
	return b.bearer(b.taskToken(t, e.ID, 1)), e.ID, []string{data.SHA256, inside.SHA256, manifest.SHA256}
}

// TestATaskReadsWhatItIsGiven: the bytes of its inputs, and no others of its own
// project, let alone of another.
func TestATaskReadsWhatItIsGiven(t *testing.T) {
	t.Parallel()
	b := setup(t)
	task, _, given := readingTask(t, b)
	for _, sha := range given {
		require.Equal(t, http.StatusOK, task.get(t, "/api/v1/task/blobs/"+sha).status)
	}
	require.Equal(t, "some data", task.get(t, "/api/v1/task/blobs/"+given[0]).body)

	ours, err := b.artifacts.Upload(b.ctx, strings.NewReader("of a colleague"))
	require.NoError(t, err)
	theirs, err := b.artifacts.Store().Put(b.ctx, strings.NewReader("of another tenant"), "")
	require.NoError(t, err)
	nobodys := strings.Repeat("0", 64)
	refused := func(sha string) string {
		got := task.get(t, "/api/v1/task/blobs/"+sha)
		return strings.ReplaceAll(got.problem(t, http.StatusNotFound).Detail, sha, "HASH")
	}
	require.Equal(t, refused(nobodys), refused(ours.SHA256))
	require.Equal(t, refused(nobodys), refused(theirs.SHA256))
	head := func(sha string) int { return task.send(t, http.MethodHead, "/api/v1/task/blobs/"+sha, "", "").status }
	require.Equal(t, http.StatusOK, head(ours.SHA256), "an output that the project has need not be sent again")
	require.Equal(t, http.StatusNotFound, head(theirs.SHA256))
	require.Equal(t, http.StatusNotFound, task.get(t, "/api/v1/task/blobs/..%2f..%2fetc").status)
	require.Equal(t, http.StatusUnauthorized, b.nobody.get(t, "/api/v1/task/blobs/"+given[0]).status)
	require.Equal(t, http.StatusUnauthorized, b.nobody.send(t, http.MethodPut, "/api/v1/task/blobs/"+given[0], "", "some data").status)
	require.Equal(t, http.StatusConflict, task.send(t, http.MethodPut, "/api/v1/task/blobs/"+given[0], "", "some data").status, "the attempt holds nothing")
}

// TestATaskTokenEndsWithItsAttempt: every call is refused in plain words, however
// long the token itself would be good.
func TestATaskTokenEndsWithItsAttempt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	task, id, given := readingTask(t, b)
	require.Equal(t, http.StatusOK, task.get(t, "/api/v1/task/blobs/"+given[0]).status)
	_, err := b.pool.Exec(b.ctx, "UPDATE attempts SET finished_at = now(), outcome = 'SUCCEEDED' WHERE execution_id = $1", id)
	require.NoError(t, err)

	for call, body := range map[string]string{
		"UpdateStatus": `{"status": "RUNNING"}`, "SetOutput": `{"key": "x", "value": "1"}`, "SaveCheckpoint": `{"data": "1"}`,
		"GetCheckpoint": `{}`, "Send": `{"logs": [{"message": "sent afterwards"}], "metrics": [{"name": "loss", "value": 1}]}`, "GetSecrets": `{}`,
	} {
		got := task.post(t, "/flowforge.v1.TaskService/"+call, body)
		require.Equal(t, http.StatusUnauthorized, got.status, "%s: %s", call, got.body)
		require.Contains(t, got.body, "The attempt has ended", call)
	}
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPut} {
		require.Equal(t, http.StatusUnauthorized, task.send(t, method, "/api/v1/task/blobs/"+given[0], "", "some data").status, method)
	}
	client := flowforgev1connect.NewTaskServiceClient(http.DefaultClient, b.server.URL)
	stream := client.StreamLogs(t.Context())
	stream.RequestHeader().Set("Authorization", task.header.Get("Authorization"))
	_ = stream.Send(&flowforgev1.LogEntry{Message: "sent afterwards"}) // the refusal may come first
	_, err = stream.CloseAndReceive()
	require.Equal(t, connect.CodeUnauthenticated, connect.CodeOf(err), "%v", err)

	token := strings.TrimPrefix(task.header.Get("Authorization"), "Bearer ")
	name := query.TaskID(id, 0, 1)
	resp, err := client.Deliver(t.Context(), connect.NewRequest(&flowforgev1.DeliverRequest{Reports: []*flowforgev1.AttemptReport{
		{TaskId: name, Token: token, Report: &flowforgev1.AttemptReport_Telemetry{Telemetry: &flowforgev1.Telemetry{Logs: []*flowforgev1.LogEntry{{Message: "sent afterwards", Sequence: 1}}}}},
		{TaskId: name, Token: token, Report: &flowforgev1.AttemptReport_Heartbeat{Heartbeat: &flowforgev1.Heartbeat{}}},
		{TaskId: name, Token: token, Report: &flowforgev1.AttemptReport_Finished{Finished: &flowforgev1.Finished{Outcome: flowforgev1.Outcome_OUTCOME_SUCCEEDED}}},
	}}))
	require.NoError(t, err)
	for _, r := range resp.Msg.Results {
		require.False(t, r.Accepted)
		require.NotEmpty(t, r.Reason)
	}
	require.NotContains(t, b.member.get(t, "/executions/"+id.String()+"/logs").body, "sent afterwards")
}

// TestALogMayFollowTheEnd: an end that announces more of its log leaves the log open for
// its runner until the last line, and readers wait for it.
func TestALogMayFollowTheEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	task, id, _ := readingTask(t, b)
	token, name := strings.TrimPrefix(task.header.Get("Authorization"), "Bearer "), query.TaskID(id, 0, 1)
	client := flowforgev1connect.NewTaskServiceClient(http.DefaultClient, b.server.URL)
	deliver := func(report *flowforgev1.AttemptReport) *flowforgev1.ReportResult {
		report.TaskId, report.Token = name, token
		resp, err := client.Deliver(t.Context(), connect.NewRequest(&flowforgev1.DeliverRequest{Reports: []*flowforgev1.AttemptReport{report}}))
		require.NoError(t, err)
		return resp.Msg.Results[0]
	}
	line := func(n int64, last bool) *flowforgev1.AttemptReport {
		return &flowforgev1.AttemptReport{Report: &flowforgev1.AttemptReport_Telemetry{Telemetry: &flowforgev1.Telemetry{
			Logs: []*flowforgev1.LogEntry{{Message: fmt.Sprintf("line %d", n), Stream: "stdout", Sequence: n}}, Last: last,
		}}}
	}
	end := func() *flowforgev1.AttemptReport {
		return &flowforgev1.AttemptReport{Report: &flowforgev1.AttemptReport_Finished{Finished: &flowforgev1.Finished{
			Outcome: flowforgev1.Outcome_OUTCOME_SUCCEEDED, LogFollows: true,
		}}}
	}
	follows := func() bool {
		open, err := b.executions.LogFollows(b.ctx, id)
		require.NoError(t, err)
		return open
	}
	require.False(t, follows())
	deliver(end())
	_, err := b.pool.Exec(b.ctx, "UPDATE attempts SET finished_at = now(), outcome = 'SUCCEEDED' WHERE execution_id = $1", id)
	require.NoError(t, err)
	require.True(t, follows())
	require.Equal(t, http.StatusUnauthorized, task.post(t, "/flowforge.v1.TaskService/Send", `{"logs": [{"message": "sent afterwards"}]}`).status, "the task itself has ended")
	require.True(t, deliver(line(1, false)).Accepted)
	require.True(t, deliver(line(2, true)).Accepted)
	require.False(t, follows())
	require.False(t, deliver(line(3, false)).Accepted, "the log is complete")
	deliver(end())
	require.False(t, follows(), "an attempt that has ended cannot open its log again")
	page := b.member.get(t, "/executions/"+id.String()+"/logs").body
	require.Contains(t, page, "line 2")
	require.NotContains(t, page, "line 3")
}

// TestATaskTokenNamesItsPlace: tenant and project are signed with the attempt.
func TestATaskTokenNamesItsPlace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, id, _ := readingTask(t, b)
	scope := auth.TaskScope{ExecutionID: id, Attempt: 1, TenantID: auth.LocalTenant, ProjectID: uuid.New()}
	elsewhere := b.bearer(b.signer.Sign(scope, time.Now().Add(time.Hour)))
	bytes := "of no project yet"
	blob, err := b.artifacts.Store().Put(b.ctx, strings.NewReader(bytes), "")
	require.NoError(t, err)
	res := elsewhere.open(t.Context(), t, http.MethodGet, "/api/v1/task/blobs/"+blob.SHA256, "", nil)
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusNotFound, res.StatusCode)
}
