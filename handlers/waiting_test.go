package handlers_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
	"github.com/flowforge/flowforge/proto/flowforge/v1/flowforgev1connect"
)

const wholeMachine = "name: whole\nversion: 1.0.0\ninputs: [{name: n, type: 'Integer(min=1, max=9)', default: 5}]\n" +
	"operators: [{name: train, type: shell, resources: {cpu: 4, memory: 64Mi}, code: {script: 'true'}}]"

// holderAndWaiter launches twice what there is room for once, and returns once the
// second explains why it waits.
func (b *testBundle) holderAndWaiter(t *testing.T) (holder, waiter uuid.UUID) {
	t.Helper()
	b.start(t)
	b.register(t, wholeMachine)
	launch := func() uuid.UUID {
		e, _, err := b.executions.Launches.Launch(b.ctx, execution.LaunchRequest{Workflow: "whole", Priority: query.Normal})
		require.NoError(t, err)
		return e.ID
	}
	holder = launch()
	b.until(t, holder, func(e query.Execution) bool { return e.Counts.Running == 1 })
	waiter = launch()
	b.until(t, waiter, func(query.Execution) bool {
		n, err := b.executions.Nodes.Get(b.ctx, waiter, "train")
		require.NoError(t, err)
		return n.State == dag.Ready && n.Reason != nil
	})
	return holder, waiter
}

func TestWaitingOnEveryPage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	holder, waiter := b.holderAndWaiter(t)
	for path, texts := range map[string][]string{
		"/waiting":            {"Waiting for CPU", "CPU_UNAVAILABLE", "/executions/" + holder.String(), "/executions/" + waiter.String() + "/nodes/train"},
		"/waiting?place=team": {"Waiting for CPU"},
		"/executions/" + waiter.String() + "/nodes/train": {
			"Waiting for CPU: requests 4 cores", "Position in the queue", "Executions using CPU", "/executions/" + holder.String() + "/nodes/train", "Order of admission", "Decisions",
			"CPU_UNAVAILABLE", "/nodes/train/stream",
		},
		"/executions/" + waiter.String():                 {"train is waiting for CPU: requests 4 cores", "Show details", "/executions/" + holder.String()},
		"/executions/" + waiter.String() + "?node=train": {"What you can do."},
		"/": {"train"},
	} {
		page := b.member.get(t, path)
		require.Equal(t, http.StatusOK, page.status, path)
		for _, text := range texts {
			require.Contains(t, page.body, text, path)
		}
	}
	require.Equal(t, http.StatusNotFound, b.member.get(t, "/waiting?place="+uuid.NewString()).status)
	require.NotContains(t, b.member.get(t, "/executions/"+holder.String()+"/nodes/train").body, "Position in the queue")
}

func TestWhyAndQueueByTheAPI(t *testing.T) {
	t.Parallel()
	b := setup(t)
	holder, waiter := b.holderAndWaiter(t)
	why := b.member.get(t, "/api/v1/executions/"+waiter.String()+"/nodes/train/why").object(t, http.StatusOK)
	require.Equal(t, true, why["waiting"])
	require.Equal(t, "CPU_UNAVAILABLE", why["reason"].(map[string]any)["code"])
	require.Equal(t, holder.String(), why["holders"].([]any)[0].(map[string]any)["execution_id"])
	require.NotEmpty(t, why["decisions"])
	why = b.member.get(t, "/api/v1/executions/"+holder.String()+"/why").object(t, http.StatusOK)
	require.Equal(t, false, why["waiting"])
	queue := b.member.get(t, "/api/v1/queue?limit=1").object(t, http.StatusOK)
	entry := queue["entries"].([]any)[0].(map[string]any)
	require.Equal(t, waiter.String(), entry["execution_id"])
	require.Equal(t, "train", entry["node"])
	require.EqualValues(t, json.Number("4000"), entry["asked"].(map[string]any)["cpu_millis"])
	require.NotContains(t, queue, "next_page")
}

func TestDryRunLaunchesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.holderAndWaiter(t)
	dry := func(body string) map[string]any {
		return b.member.post(t, "/api/v1/executions?dry_run=true", body).object(t, http.StatusOK)
	}
	answer := dry(`{"workflow": "whole", "inputs": {"n": 3}}`)
	require.Equal(t, true, answer["valid"])
	require.Equal(t, "waits", answer["forecast"].(map[string]any)["verdict"])
	require.Equal(t, "train", answer["forecast"].(map[string]any)["node"])
	answer = dry(`{"workflow": "whole", "inputs": {"n": 10}}`)
	require.Equal(t, false, answer["valid"])
	require.Equal(t, "inputs.n", answer["errors"].([]any)[0].(map[string]any)["path"])
	b.register(t, "name: giant\nversion: 1.0.0\noperators: [{name: a, type: shell, resources: {gpu: 16, gpu_type: A100}, code: {script: 'true'}}]")
	forecast := dry(`{"workflow": "giant"}`)["forecast"].(map[string]any)
	require.Equal(t, "never", forecast["verdict"])
	require.Contains(t, forecast["message"], "requests 16 A100 GPUs")
	require.Equal(t, http.StatusNotFound, b.member.post(t, "/api/v1/executions?dry_run=true", `{"workflow": "nothing"}`).status)
	page, err := b.executions.List(b.ctx, query.Filter{})
	require.NoError(t, err)
	require.Len(t, page.Executions, 2)

	form := b.member.get(t, "/workflows/whole/launch")
	require.Contains(t, form.body, "Would wait")
	require.Contains(t, form.body, "train is waiting for CPU: requests 4 cores")
	require.Contains(t, b.member.get(t, "/workflows/giant/launch").body, "Cannot run here")
}

func TestSchedulerService(t *testing.T) {
	t.Parallel()
	b := setup(t)
	holder, waiter := b.holderAndWaiter(t)
	b.server.Close()
	b.server = httptest.NewUnstartedServer(b.routes)
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	b.server.Config.Protocols = protocols
	b.server.Start()
	t.Cleanup(b.server.Close)
	protocols = &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	h2 := &http.Client{Transport: &http.Transport{Protocols: protocols}}
	t.Cleanup(h2.CloseIdleConnections)
	task := query.TaskID(waiter, 0, 1)
	for name, client := range map[string]flowforgev1connect.SchedulerServiceClient{
		"gRPC":    flowforgev1connect.NewSchedulerServiceClient(h2, b.server.URL, connect.WithGRPC()),
		"Connect": flowforgev1connect.NewSchedulerServiceClient(http.DefaultClient, b.server.URL),
	} {
		_, err := client.GetQueueStatus(t.Context(), connect.NewRequest(&flowforgev1.GetQueueStatusRequest{}))
		require.Equal(t, connect.CodeUnauthenticated, connect.CodeOf(err), name)
		scheduled, err := client.ScheduleTask(t.Context(), signed(&flowforgev1.ScheduleTaskRequest{TaskId: task, WorkflowId: waiter.String(), Priority: new(int32(90))}))
		require.NoError(t, err, name)
		require.True(t, scheduled.Msg.Queued, name)
		_, err = client.ScheduleTask(t.Context(), signed(&flowforgev1.ScheduleTaskRequest{TaskId: task, Resources: &flowforgev1.ResourceRequest{Cpu: 8000}}))
		require.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(err), name)
		_, err = client.ScheduleTask(t.Context(), signed(&flowforgev1.ScheduleTaskRequest{TaskId: task, WorkflowId: holder.String()}))
		require.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(err), name)
		_, err = client.CancelTask(t.Context(), signed(&flowforgev1.CancelTaskRequest{TaskId: query.TaskID(uuid.New(), 0, 1)}))
		require.Equal(t, connect.CodeNotFound, connect.CodeOf(err), name)
		_, err = client.GetQueueStatus(t.Context(), signed(&flowforgev1.GetQueueStatusRequest{TenantId: "nonsense"}))
		require.Equal(t, connect.CodeNotFound, connect.CodeOf(err), name)
	}
	client := flowforgev1connect.NewSchedulerServiceClient(http.DefaultClient, b.server.URL)
	require.Eventually(t, func() bool {
		status, err := client.GetQueueStatus(t.Context(), signed(&flowforgev1.GetQueueStatusRequest{}))
		return err == nil && status.Msg.PendingHigh == 1 && status.Msg.PendingNormal == 0 && status.Msg.Processing == 1
	}, 30*time.Second, 10*time.Millisecond)
	cancelled, err := client.CancelTask(t.Context(), signed(&flowforgev1.CancelTaskRequest{TaskId: task}))
	require.NoError(t, err)
	require.True(t, cancelled.Msg.Success)
	require.Equal(t, query.Cancelled, b.until(t, waiter, ended).Status)
	_, err = client.CancelTask(t.Context(), signed(&flowforgev1.CancelTaskRequest{TaskId: query.TaskID(holder, 0, 1)}))
	require.NoError(t, err)
	require.Equal(t, query.Cancelled, b.until(t, holder, ended).Status)
}

// signed is a request of the administrator.
func signed[T any](message *T) *connect.Request[T] {
	r := connect.NewRequest(message)
	r.Header().Set("Authorization", "Bearer "+adminToken)
	return r
}
