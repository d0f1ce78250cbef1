// Package tasks implements the API of tasks and their runners: TaskService and the blobs of an
// attempt's inputs and outputs. The token of the attempt authorizes each call.
package tasks

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/masking"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/compute/pool"
	"github.com/flowforge/flowforge/compute/resident"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/platform/unixrpc"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
	"github.com/flowforge/flowforge/proto/flowforge/v1/flowforgev1connect"
	"github.com/flowforge/flowforge/web"
)

const (
	// maxTaskMessage is the maximum size of a message of TaskService in bytes.
	maxTaskMessage = 32 << 20
	// maxWorkerMessage is the maximum size of a message of WorkerService in bytes.
	maxWorkerMessage = 4 << 20
	// streamEntries and streamWait limit the entries that StreamLogs buffers.
	streamEntries = 500
	streamWait    = 200 * time.Millisecond
	// streamEnd limits storing what StreamLogs buffers when the server stops.
	streamEnd = 2 * time.Second
)

// Config contains the dependencies of the API of tasks.
type Config struct {
	Log        *slog.Logger
	Now        func() time.Time
	Site       *web.Site
	Signer     auth.Signer // of task tokens
	Executions *execution.Service
	Artifacts  *artifact.Service
	Telemetry  *telemetry.Service
	Resident   *resident.Service // nil: there are no warm pods
	Pools      *pool.Service
}

// API is TaskService and the blobs of tasks. It is safe for concurrent use.
type API struct {
	Config
	names    *taskNames
	masks    *masks
	sequence atomic.Int64 // for log entries and points without one
}

// New returns the API of tasks.
func New(c Config) *API {
	t := &API{Config: c, names: newTaskNames(c.Executions.Reader), masks: newMasks(c.Executions.Secrets, c.Now)}
	t.sequence.Store(c.Now().UnixMicro())
	return t
}

// Mount adds TaskService (gRPC, Connect and JSON) and the blobs of tasks to r.
// Callers send the token of their attempt.
func (t *API) Mount(r chi.Router) {
	path, handler := flowforgev1connect.NewTaskServiceHandler(t, connect.WithReadMaxBytes(maxTaskMessage), connect.WithInterceptors(web.RPCErrors(t.Log)))
	r.Handle(path+"*", handler)
	path, handler = flowforgev1connect.NewWorkerServiceHandler(workers{t}, connect.WithReadMaxBytes(maxWorkerMessage), connect.WithInterceptors(web.RPCErrors(t.Log)))
	r.Handle(path+"*", handler)
	r.Post("/api/v1/task/blobs", t.Site.Handler(t.putBlobs))
	r.Get("/api/v1/task/blobs/{sha}", t.Site.Handler(t.getBlob))
	r.Head("/api/v1/task/blobs/{sha}", t.Site.Handler(t.getBlob))
	r.Put("/api/v1/task/blobs/{sha}", t.Site.Handler(t.putBlob))
	r.Post("/api/v1/task/blobs/{sha}/upload", t.Site.Handler(t.planUpload))
	r.Post("/api/v1/task/blobs/{sha}/complete", t.Site.Handler(t.completeUpload))
	r.Post("/api/v1/task/blobs/{sha}/adopt", t.Site.Handler(t.adoptBlob))
}

var _ flowforgev1connect.TaskServiceHandler = (*API)(nil)

// Calls returns the methods that the runner on this machine calls for every attempt.
func (t *API) Calls() []unixrpc.Method {
	return []unixrpc.Method{unixrpc.Unary(flowforgev1connect.TaskServiceDeliverProcedure, t.Deliver, web.RPCErrors(t.Log))}
}

// task returns ctx as the attempt of the token in header. The attempt must not have ended. A task
// id or an execution id in the message must be the attempt's.
func (t *API) task(ctx context.Context, header http.Header, taskID, executionID string) (context.Context, auth.TaskScope, error) {
	token, ok := strings.CutPrefix(header.Get("Authorization"), "Bearer ")
	if !ok {
		return nil, auth.TaskScope{}, apperr.New(apperr.Unauthenticated, "Send the task token as \"Authorization: Bearer …\".")
	}
	scope, err := t.Signer.Verify(token, t.Now())
	if err != nil {
		return nil, auth.TaskScope{}, err
	}
	if taskID != "" && taskID != taskIDOf(scope) || executionID != "" && executionID != scope.ExecutionID.String() {
		return nil, auth.TaskScope{}, apperr.New(apperr.Forbidden, "The token belongs to another attempt.")
	}
	ctx = auth.WithSubject(ctx, auth.ForTask(scope))
	return ctx, scope, t.Executions.Supervisor.Alive(ctx)
}

// masked is like task and also returns the masker of the attempt's execution.
func (t *API) masked(ctx context.Context, header http.Header, taskID, executionID string) (context.Context, *masking.Masker, error) {
	ctx, scope, err := t.task(ctx, header, taskID, executionID)
	if err != nil {
		return nil, nil, err
	}
	masker, err := t.masks.of(ctx, scope)
	return ctx, masker, err
}

func taskIDOf(scope auth.TaskScope) string {
	return query.TaskID(scope.ExecutionID, scope.NodeIndex, scope.Attempt)
}

// UpdateStatus stores the status that a task reports.
func (t *API) UpdateStatus(ctx context.Context, req *connect.Request[flowforgev1.UpdateStatusRequest]) (*connect.Response[flowforgev1.UpdateStatusResponse], error) {
	ctx, masker, err := t.masked(ctx, req.Header(), req.Msg.TaskId, req.Msg.WorkflowId)
	if err != nil {
		return nil, err
	}
	percent := -1
	if req.Msg.Progress != nil {
		percent = int(max(0, req.Msg.GetProgress()))
	}
	err = t.Executions.Tasks.UpdateStatus(ctx, query.Progress{Percent: percent, Message: masker.Text(req.Msg.Message), Status: masker.Text(req.Msg.Status)})
	return connect.NewResponse(&flowforgev1.UpdateStatusResponse{Success: true}), err
}

// SetOutput stores a value of a declared output.
func (t *API) SetOutput(ctx context.Context, req *connect.Request[flowforgev1.SetOutputRequest]) (*connect.Response[flowforgev1.SetOutputResponse], error) {
	ctx, masker, err := t.masked(ctx, req.Header(), req.Msg.TaskId, req.Msg.WorkflowId)
	if err == nil {
		err = t.Executions.Tasks.SetOutput(ctx, req.Msg.Key, masker.Text(req.Msg.Value))
	}
	return connect.NewResponse(&flowforgev1.SetOutputResponse{Success: true}), err
}

// SaveCheckpoint stores data for later attempts of the same node.
func (t *API) SaveCheckpoint(ctx context.Context, req *connect.Request[flowforgev1.SaveCheckpointRequest]) (*connect.Response[flowforgev1.SaveCheckpointResponse], error) {
	ctx, masker, err := t.masked(ctx, req.Header(), req.Msg.TaskId, req.Msg.WorkflowId)
	if err == nil {
		err = t.Executions.Tasks.SaveCheckpoint(ctx, masker.Text(req.Msg.Data))
	}
	return connect.NewResponse(&flowforgev1.SaveCheckpointResponse{Success: true}), err
}

// GetCheckpoint returns the latest checkpoint of the node.
func (t *API) GetCheckpoint(ctx context.Context, req *connect.Request[flowforgev1.GetCheckpointRequest]) (*connect.Response[flowforgev1.GetCheckpointResponse], error) {
	ctx, _, err := t.task(ctx, req.Header(), req.Msg.TaskId, req.Msg.WorkflowId)
	if err != nil {
		return nil, err
	}
	checkpoint, found, err := t.Executions.Tasks.GetCheckpoint(ctx)
	resp := &flowforgev1.GetCheckpointResponse{}
	if found {
		resp.Data, resp.Timestamp = string(checkpoint.Data), checkpoint.SavedAt.UnixMilli()
	}
	return connect.NewResponse(resp), err
}

// Send stores log lines and metric points of one attempt.
func (t *API) Send(ctx context.Context, req *connect.Request[flowforgev1.SendRequest]) (*connect.Response[flowforgev1.SendResponse], error) {
	ctx, scope, err := t.task(ctx, req.Header(), req.Msg.TaskId, "")
	if err != nil {
		return nil, err
	}
	err = t.store(ctx, []attemptTelemetry{{scope, &flowforgev1.Telemetry{
		Logs: req.Msg.Logs, Metrics: req.Msg.Metrics, PodName: req.Msg.PodName, NodeName: req.Msg.NodeName,
	}}})
	resp := &flowforgev1.SendResponse{Logs: int32(len(req.Msg.Logs)), Metrics: int32(len(req.Msg.Metrics))} //nolint:gosec // bounded by maxTaskMessage
	return connect.NewResponse(resp), err
}

// StreamLogs receives log lines as they are written and stores them in groups.
func (t *API) StreamLogs(ctx context.Context, stream *connect.ClientStream[flowforgev1.LogEntry]) (*connect.Response[flowforgev1.StreamLogsResponse], error) {
	ctx, scope, err := t.task(ctx, stream.RequestHeader(), "", "")
	if err != nil {
		return nil, err
	}
	web.AllowSilence(ctx) // a task may log nothing for hours
	ctx, cancel := web.EndAtStop(ctx)
	defer cancel()
	entries, end := receive(ctx, stream)
	n, err := t.storeStream(ctx, scope, entries)
	if err == nil {
		err = <-end
	}
	resp := &flowforgev1.StreamLogsResponse{Received: int32(n), Processed: int32(n)} //nolint:gosec // far below
	return connect.NewResponse(resp), err
}

// logStream is the stream of StreamLogs.
type logStream interface {
	Receive() bool
	Msg() *flowforgev1.LogEntry
	Err() error
}

// receive passes on the entries of stream until it or ctx ends. The second channel then has
// the error.
func receive(ctx context.Context, stream logStream) (<-chan *flowforgev1.LogEntry, <-chan error) {
	entries, end := make(chan *flowforgev1.LogEntry), make(chan error, 1)
	go func() {
		defer close(entries)
		for stream.Receive() {
			select {
			case entries <- stream.Msg():
			case <-ctx.Done():
				end <- ctx.Err()
				return
			}
		}
		end <- stream.Err()
	}()
	return entries, end
}

// storeStream stores the entries from the channel until it is closed, and returns their number.
func (t *API) storeStream(ctx context.Context, scope auth.TaskScope, entries <-chan *flowforgev1.LogEntry) (int, error) {
	return inGroups(ctx, entries, func(ctx context.Context, group []*flowforgev1.LogEntry) error {
		if err := t.Executions.Supervisor.Alive(ctx); err != nil {
			return err
		}
		return t.store(ctx, []attemptTelemetry{{scope, &flowforgev1.Telemetry{Logs: group}}})
	})
}

// inGroups passes entries to store until their channel is closed or ctx ends, and returns their
// number. The entries that were received before the end of ctx are stored, too.
func inGroups(ctx context.Context, entries <-chan *flowforgev1.LogEntry, store func(context.Context, []*flowforgev1.LogEntry) error) (int, error) {
	ticker := time.NewTicker(streamWait)
	defer ticker.Stop()
	var held []*flowforgev1.LogEntry
	n := 0
	flush := func(ctx context.Context) error {
		if len(held) == 0 {
			return nil
		}
		err := store(ctx, held)
		n += len(held)
		held = nil
		return err
	}
	for {
		select {
		case entry, open := <-entries:
			if !open {
				return n, flush(ctx)
			}
			if held = append(held, entry); len(held) < streamEntries {
				continue
			}
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), streamEnd)
			defer cancel()
			return n, errors.Join(ctx.Err(), flush(last))
		case <-ticker.C:
		}
		if err := flush(ctx); err != nil {
			return n, err
		}
	}
}

// Deliver receives the reports of any number of attempts, each with its own token. It stores
// telemetry before it applies an end, so an ended attempt has all its lines unless its end
// announces more. It rejects lines only if there is no space, because logs never delay an
// execution. After an error, the client must send all reports again.
func (t *API) Deliver(ctx context.Context, req *connect.Request[flowforgev1.DeliverRequest]) (*connect.Response[flowforgev1.DeliverResponse], error) {
	ctx = auth.AsSystem(ctx)
	reports := req.Msg.Reports
	if err := t.maskEnds(ctx, reports); err != nil {
		return nil, err
	}
	refused, err := t.storeReports(ctx, reports)
	if err != nil {
		return nil, err
	}
	results, err := t.Executions.Supervisor.Deliver(ctx, reports)
	if err != nil {
		return nil, err
	}
	for i, reason := range refused {
		results[i] = &flowforgev1.ReportResult{Reason: reason, Refused: results[i].GetRefused()}
	}
	return connect.NewResponse(&flowforgev1.DeliverResponse{Results: results}), nil
}

// storeReports stores the telemetry among the reports and returns the reasons for rejected ones
// by their index.
func (t *API) storeReports(ctx context.Context, reports []*flowforgev1.AttemptReport) (map[int]string, error) {
	refused := make(map[int]string)
	var batch []attemptTelemetry
	var places []int
	for i, report := range reports {
		telemetry := report.GetTelemetry()
		if telemetry == nil {
			continue
		}
		scope, err := t.Signer.Verify(report.GetToken(), t.Now())
		switch {
		case err != nil:
			refused[i] = apperr.MessageOf(err)
		case taskIDOf(scope) != report.GetTaskId():
			refused[i] = "the token belongs to another attempt"
		default:
			batch, places = append(batch, attemptTelemetry{scope, telemetry}), append(places, i)
		}
	}
	batch, places, err := t.alive(ctx, batch, places, refused)
	if err != nil || len(batch) == 0 {
		return refused, err
	}
	err = t.store(ctx, batch)
	if !permanent(err) {
		return refused, err
	}
	// One of them is invalid or too large. The others are stored without it.
	for k := range batch {
		err := t.store(ctx, batch[k:k+1])
		if err != nil && !permanent(err) {
			return refused, err
		}
		if err != nil {
			refused[places[k]] = apperr.MessageOf(err)
		}
	}
	return refused, nil
}

// alive removes from the batch the telemetry of ended attempts that announced no more.
func (t *API) alive(ctx context.Context, batch []attemptTelemetry, places []int, refused map[int]string) ([]attemptTelemetry, []int, error) {
	if len(batch) == 0 {
		return nil, nil, nil
	}
	scopes := make([]auth.TaskScope, len(batch))
	for i := range batch {
		scopes[i] = batch[i].scope
	}
	alive, err := t.Executions.Supervisor.Reporting(ctx, scopes)
	if err != nil {
		return nil, nil, err
	}
	var still []attemptTelemetry
	var at []int
	for i := range batch {
		if !alive[i] {
			refused[places[i]] = "the attempt has ended"
			continue
		}
		still, at = append(still, batch[i]), append(at, places[i])
	}
	return still, at, nil
}

// permanent reports whether a retry of the same request is useless, or would delay independent
// requests.
func permanent(err error) bool {
	if _, full := errors.AsType[*spoolFullError](err); full {
		return true
	}
	switch apperr.CodeOf(err) {
	case apperr.Invalid, apperr.NotFound, apperr.Forbidden:
		return true
	default:
		return false
	}
}
