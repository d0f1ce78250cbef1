// Package scheduler implements SchedulerService, which changes and counts waiting nodes.
package scheduler

import (
	"context"
	"log/slog"
	"net/http"

	"connectrpc.com/connect"
	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/handlers/leader"
	"github.com/flowforge/flowforge/handlers/request"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
	"github.com/flowforge/flowforge/proto/flowforge/v1/flowforgev1connect"
	"github.com/flowforge/flowforge/web"
)

// maxSchedulerMessage is the maximum size of a message of SchedulerService in bytes.
const maxSchedulerMessage = 64 << 10

// Config contains the dependencies of the service.
type Config struct {
	Log      *slog.Logger
	Commands *execution.CommandService
	Leader   *leader.Routes
}

// API is SchedulerService. It is safe for concurrent use.
type API struct{ Config }

// New returns the service.
func New(c Config) *API { return &API{c} }

// Mount adds SchedulerService (gRPC, Connect and JSON) to r, which has authenticated the
// callers. The queue is in the memory of the leader.
func (s *API) Mount(r chi.Router) {
	path, handler := flowforgev1connect.NewSchedulerServiceHandler(s, connect.WithReadMaxBytes(maxSchedulerMessage), connect.WithInterceptors(web.RPCErrors(s.Log)))
	s.Leader.Needs(r).Method(http.MethodPost, path+"*", handler)
}

var _ flowforgev1connect.SchedulerServiceHandler = (*API)(nil)

// caller returns Unauthenticated without a subject, before the message is validated.
func caller(ctx context.Context) error {
	if _, ok := auth.SubjectOf(ctx); !ok {
		return apperr.New(apperr.Unauthenticated, "Send an API key or a token as \"Authorization: Bearer …\".")
	}
	return nil
}

// ScheduleTask changes the priority of a waiting task, or lowers its request.
func (s *API) ScheduleTask(ctx context.Context, req *connect.Request[flowforgev1.ScheduleTaskRequest]) (*connect.Response[flowforgev1.ScheduleTaskResponse], error) {
	if err := caller(ctx); err != nil {
		return nil, err
	}
	m := req.Msg
	task, err := execution.ParseTaskID(m.GetTaskId())
	if err != nil {
		return nil, err
	}
	if id := m.GetWorkflowId(); id != "" && id != task.Execution.String() {
		return nil, apperr.New(apperr.Invalid, "The execution %s has no task %s.", id, m.GetTaskId())
	}
	resources := m.GetResources()
	order := execution.NodeOrder{CPUMillis: int(resources.GetCpu()), MemoryMiB: int(resources.GetMemory()), GPUs: int(resources.GetGpu())}
	if m.Priority != nil {
		order.Priority = new(query.Priority(m.GetPriority()))
	}
	scheduled, err := s.Commands.ScheduleNode(ctx, task, order)
	return connect.NewResponse(&flowforgev1.ScheduleTaskResponse{Queued: scheduled.Queued, Reason: scheduled.Reason}), err
}

// CancelTask cancels one task and the tasks that depend on it.
func (s *API) CancelTask(ctx context.Context, req *connect.Request[flowforgev1.CancelTaskRequest]) (*connect.Response[flowforgev1.CancelTaskResponse], error) {
	err := caller(ctx)
	if err == nil {
		var task execution.TaskRef
		if task, err = execution.ParseTaskID(req.Msg.GetTaskId()); err == nil {
			err = s.Commands.CancelNode(ctx, task, "")
		}
	}
	return connect.NewResponse(&flowforgev1.CancelTaskResponse{Success: true}), err
}

// GetQueueStatus counts the waiting and running tasks of a tenant.
func (s *API) GetQueueStatus(ctx context.Context, req *connect.Request[flowforgev1.GetQueueStatusRequest]) (*connect.Response[flowforgev1.GetQueueStatusResponse], error) {
	err := caller(ctx)
	var status execution.QueueStatus
	if err == nil {
		var tenant uuid.UUID
		if text := req.Msg.GetTenantId(); text != "" {
			tenant, err = request.ParseID(text, "tenant")
		}
		if err == nil {
			status, err = s.Commands.QueueStatus(ctx, tenant)
		}
	}
	return connect.NewResponse(&flowforgev1.GetQueueStatusResponse{
		PendingHigh: int32(status.High), PendingNormal: int32(status.Normal), PendingLow: int32(status.Low), Processing: int32(status.Processing), //nolint:gosec // counts
	}), err
}
