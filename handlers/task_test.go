package handlers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/compute/resident"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/data/catalogue"
	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/db/dbtest"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
	"github.com/flowforge/flowforge/proto/flowforge/v1/flowforgev1connect"
	"github.com/flowforge/flowforge/web"
)

// taskBundle is a site with one execution whose attempts report to it.
type taskBundle struct {
	server    *httptest.Server
	pool      *pgxpool.Pool
	signer    auth.Signer
	telemetry *telemetry.Service
	artifacts *artifact.Service
	resident  *resident.Service
	scope     auth.TaskScope
	taskID    string
	token     string
}

// setupTask takes the size of the spool, in bytes, or a default.
func setupTask(t *testing.T, spoolBytes ...int64) *taskBundle {
	t.Helper()
	pool, now := dbtest.New(t), time.Now
	store, err := artifact.OpenStore(t.TempDir())
	require.NoError(t, err)
	b := &taskBundle{pool: pool, artifacts: artifact.NewService(pool, store, now)}
	entries := catalogue.NewService(pool, now)
	workflows := workflow.NewService(pool, entries, nil, now)
	b.signer, err = auth.NewSigner(bytes.Repeat([]byte("k"), 32))
	require.NoError(t, err)
	executions, err := execution.New(execution.Config{
		Pool: pool, Workflows: workflows, Artifacts: b.artifacts, Signer: b.signer, Now: now,
		Capacity: quota.Capacity{CPUMillis: 4000, MemoryMiB: 4096, Pods: 8},
	})
	require.NoError(t, err)
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	spool := telemetry.Config{SpoolDir: t.TempDir(), Log: log, Now: now}
	if len(spoolBytes) > 0 {
		spool.SpoolMaxBytes = spoolBytes[0]
	}
	b.telemetry, err = telemetry.New(spool)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.telemetry.Close()) })

	admin := auth.WithSubject(t.Context(), auth.Local())
	_, _, err = workflows.Register(admin, []byte("name: job\nversion: 1.0.0\noperators: [{name: train, type: noop, outputs: []}]\n"))
	require.NoError(t, err)
	launched, _, err := executions.Launches.Launch(admin, execution.LaunchRequest{Workflow: "job"})
	require.NoError(t, err)
	b.scope = auth.TaskScope{ExecutionID: launched.ID, NodeIndex: 0, Attempt: 1, TenantID: auth.LocalTenant, ProjectID: auth.LocalProject}
	_, err = pool.Exec(admin, "INSERT INTO attempts (execution_id, node_index, attempt, launcher, queued_at) VALUES ($1, 0, 1, 'test', now())", launched.ID)
	require.NoError(t, err)
	b.taskID = query.TaskID(launched.ID, 0, 1)
	b.token = b.signer.Sign(b.scope, now().Add(time.Hour))

	b.resident = resident.New(pool, b.signer, now)
	sessions := noSessions(t, pool, now)
	site := web.NewSite(web.Config{Log: log, Sessions: sessions, Tokens: auth.TokenChain{auth.NewLocalToken("secret")}})
	b.server = httptest.NewUnstartedServer(handlers.New(handlers.Deps{
		Log: log, Now: now, Site: site, Sessions: sessions, Links: auth.NewLoginLinks(now), Signer: b.signer,
		Workflows: workflows, Executions: executions, Artifacts: b.artifacts, Catalogue: entries, Telemetry: b.telemetry,
		Resident: b.resident,
	}))
	b.server.Config.Protocols = &http.Protocols{}
	b.server.Config.Protocols.SetHTTP1(true)
	b.server.Config.Protocols.SetUnencryptedHTTP2(true)
	b.server.Start()
	t.Cleanup(b.server.Close)
	return b
}

func (b *taskBundle) request(t *testing.T, method, path, token, body string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, b.server.URL+path, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := b.server.Client().Do(r)
	require.NoError(t, err)
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

// lines are the stored messages of the attempt, by stream and sequence.
func (b *taskBundle) lines(t *testing.T) []string {
	t.Helper()
	ctx := auth.WithSubject(t.Context(), auth.Local())
	page, err := b.telemetry.Logs(ctx, telemetry.LogQuery{ExecutionID: b.scope.ExecutionID, Limit: 1000})
	require.NoError(t, err)
	var lines []string
	for _, l := range page.Lines {
		lines = append(lines, fmt.Sprintf("%s %s/%d %s %s", l.Node, l.Stream, l.Seq, l.Level, l.Message))
	}
	return lines
}

func TestTaskServiceInPlainJSON(t *testing.T) {
	t.Parallel()
	b := setupTask(t)
	send := fmt.Sprintf(`{"taskId":%q,"logs":[{"message":"hello","level":"INFO","stream":"sdk","sequence":"1","extra":"{\"a\":1}"}],
		"metrics":[{"name":"loss","type":"gauge","value":0.5,"step":"1","sequence":"1"}]}`, b.taskID)
	for range 2 { // a repeated batch is stored once
		res := b.request(t, http.MethodPost, "/flowforge.v1.TaskService/Send", b.token, send)
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, res.StatusCode, string(text))
		require.JSONEq(t, `{"logs":1,"metrics":1}`, string(text))
	}
	require.Equal(t, []string{"train sdk/1 INFO hello"}, b.lines(t))
}

func TestTaskServiceRefusesOthers(t *testing.T) {
	t.Parallel()
	b := setupTask(t)
	other := b.scope
	other.Attempt = 2
	unknown := auth.TaskScope{ExecutionID: uuid.New(), Attempt: 1}
	hour := time.Now().Add(time.Hour)
	for name, test := range map[string]struct {
		token  string
		status int
		code   string
	}{
		"no token":          {"", http.StatusUnauthorized, "unauthenticated"},
		"forged":            {b.token[:len(b.token)-2] + "xx", http.StatusUnauthorized, "unauthenticated"},
		"expired":           {b.signer.Sign(b.scope, time.Now().Add(-time.Minute)), http.StatusUnauthorized, "unauthenticated"},
		"the admin's":       {"secret", http.StatusUnauthorized, "unauthenticated"},
		"another attempt's": {b.signer.Sign(other, hour), http.StatusForbidden, "permission_denied"},
		"unknown execution": {b.signer.Sign(unknown, hour), http.StatusForbidden, "permission_denied"},
	} {
		res := b.request(t, http.MethodPost, "/flowforge.v1.TaskService/Send", test.token, fmt.Sprintf(`{"taskId":%q,"logs":[{"message":"x"}]}`, b.taskID))
		var problem struct{ Code, Message string }
		require.NoError(t, json.NewDecoder(res.Body).Decode(&problem), name)
		require.Equal(t, test.status, res.StatusCode, name)
		require.Equal(t, test.code, problem.Code, name)
		require.NotEmpty(t, problem.Message, name)
	}
	require.Empty(t, b.lines(t))
}

func TestTaskServiceByEveryProtocol(t *testing.T) {
	t.Parallel()
	b := setupTask(t)
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	h2 := &http.Client{Transport: &http.Transport{Protocols: protocols}}
	t.Cleanup(h2.CloseIdleConnections)
	sequence := int64(0)
	for name, client := range map[string]flowforgev1connect.TaskServiceClient{
		"gRPC":         flowforgev1connect.NewTaskServiceClient(h2, b.server.URL, connect.WithGRPC()),
		"gRPC-Web":     flowforgev1connect.NewTaskServiceClient(http.DefaultClient, b.server.URL, connect.WithGRPCWeb()),
		"Connect":      flowforgev1connect.NewTaskServiceClient(http.DefaultClient, b.server.URL),
		"Connect JSON": flowforgev1connect.NewTaskServiceClient(h2, b.server.URL, connect.WithProtoJSON()),
	} {
		sequence++
		stream := client.StreamLogs(t.Context())
		stream.RequestHeader().Set("Authorization", "Bearer "+b.token)
		require.NoError(t, stream.Send(&flowforgev1.LogEntry{Message: "m", Stream: "sdk", Sequence: sequence}), name)
		got, err := stream.CloseAndReceive()
		require.NoError(t, err, name)
		require.EqualValues(t, 1, got.Msg.Processed, name)

		req := connect.NewRequest(&flowforgev1.UpdateStatusRequest{TaskId: b.taskID, Status: "RUNNING"})
		req.Header().Set("Authorization", "Bearer "+b.token)
		_, err = client.UpdateStatus(t.Context(), req)
		require.Equal(t, connect.CodeUnauthenticated, connect.CodeOf(err), "%s: the node does not run: %v", name, err)
	}
	require.Len(t, b.lines(t), 4)
}

func TestDeliverTakesEachReportByItsToken(t *testing.T) {
	t.Parallel()
	b := setupTask(t)
	client := flowforgev1connect.NewTaskServiceClient(http.DefaultClient, b.server.URL)
	line := func(token, text string, sequence int64) *flowforgev1.AttemptReport {
		return &flowforgev1.AttemptReport{TaskId: b.taskID, Token: token, Report: &flowforgev1.AttemptReport_Telemetry{
			Telemetry: &flowforgev1.Telemetry{Logs: []*flowforgev1.LogEntry{{Message: text, Stream: "stdout", Level: "INFO", Sequence: sequence}}},
		}}
	}
	unknown := auth.TaskScope{ExecutionID: uuid.New(), Attempt: 1}
	stranger := line(b.signer.Sign(unknown, time.Now().Add(time.Hour)), "of no execution", 1)
	stranger.TaskId = query.TaskID(unknown.ExecutionID, 0, 1)
	resp, err := client.Deliver(context.Background(), connect.NewRequest(&flowforgev1.DeliverRequest{Reports: []*flowforgev1.AttemptReport{
		line(b.token, "one", 1), line("forged", "evil", 2), stranger, line(b.token, "two", 3),
		{TaskId: b.taskID, Token: b.token, Report: &flowforgev1.AttemptReport_Finished{Finished: &flowforgev1.Finished{Outcome: flowforgev1.Outcome_OUTCOME_SUCCEEDED}}},
	}}))
	require.NoError(t, err)
	var accepted []bool
	for _, r := range resp.Msg.Results {
		accepted = append(accepted, r.Accepted)
	}
	require.Equal(t, []bool{true, false, false, true, false}, accepted, "the attempt holds nothing, so it cannot end")
	require.Equal(t, []string{"train stdout/1 INFO one", "train stdout/3 INFO two"}, b.lines(t))
}

func TestFullSpoolHoldsNoExecutionUp(t *testing.T) {
	t.Parallel()
	b := setupTask(t, 1<<20)
	client := flowforgev1connect.NewTaskServiceClient(http.DefaultClient, b.server.URL)
	logs := func(from int64, n, size int) *flowforgev1.AttemptReport {
		batch := &flowforgev1.Telemetry{}
		for i := range n {
			text := make([]byte, size)
			for k := range text { // nothing that compresses
				text[k] = 'a' + byte(rand.IntN(26))
			}
			batch.Logs = append(batch.Logs, &flowforgev1.LogEntry{Message: string(text), Stream: "stdout", Level: "INFO", Sequence: from + int64(i)})
		}
		return &flowforgev1.AttemptReport{TaskId: b.taskID, Token: b.token, Report: &flowforgev1.AttemptReport_Telemetry{Telemetry: batch}}
	}
	resp, err := client.Deliver(t.Context(), connect.NewRequest(&flowforgev1.DeliverRequest{Reports: []*flowforgev1.AttemptReport{
		logs(1, 1, 10), logs(2, 20, 200_000), logs(100, 1, 20),
		{TaskId: b.taskID, Token: b.token, Report: &flowforgev1.AttemptReport_Finished{Finished: &flowforgev1.Finished{Outcome: flowforgev1.Outcome_OUTCOME_SUCCEEDED}}},
	}}))
	require.NoError(t, err)
	require.Contains(t, resp.Msg.Results[1].Reason, "spool for logs and metrics is full")
	require.Equal(t, "the attempt is not running", resp.Msg.Results[3].Reason, "the end was looked at")
	require.Len(t, b.lines(t), 2, "what has room is kept")
}
