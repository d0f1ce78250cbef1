package unixrpc_test

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/platform/unixrpc"
	"github.com/flowforge/flowforge/platform/unixsocket"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
	"github.com/flowforge/flowforge/proto/flowforge/v1/flowforgev1connect"
)

// reports answers Deliver, over both sockets, with one result per report.
type reports struct {
	flowforgev1connect.UnimplementedTaskServiceHandler
	calls, http atomic.Int64
	entered     chan struct{} // receives a value for each call that waits
}

func (r *reports) Deliver(ctx context.Context, req *connect.Request[flowforgev1.DeliverRequest]) (*connect.Response[flowforgev1.DeliverResponse], error) {
	if req.Spec().Procedure != "" { // only set by the handler of HTTP
		r.http.Add(1)
	} else {
		r.calls.Add(1)
	}
	var results []*flowforgev1.ReportResult
	for _, report := range req.Msg.Reports {
		switch report.TaskId {
		case "bad":
			return nil, connect.NewError(connect.CodeInvalidArgument, errors.New("the report is not valid"))
		case "slow":
			r.entered <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		}
		results = append(results, &flowforgev1.ReportResult{Accepted: true, Reason: report.TaskId})
	}
	return connect.NewResponse(&flowforgev1.DeliverResponse{Results: results}), nil
}

// serve serves r over HTTP, and returns a function that starts the server of calls.
func serve(t *testing.T, r *reports) (deliver func(context.Context, ...*flowforgev1.AttemptReport) (*connect.Response[flowforgev1.DeliverResponse], error), start func() *unixrpc.Server) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "api.sock")
	listener, err := unixsocket.Listen(socket)
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.Handle(flowforgev1connect.NewTaskServiceHandler(r))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	client := unixrpc.NewClient(unixrpc.Path(socket))
	t.Cleanup(client.Close)
	overHTTP := flowforgev1connect.NewTaskServiceClient(unixsocket.Client(socket), "http://flowforge")
	call := unixrpc.Call(client, flowforgev1connect.TaskServiceDeliverProcedure, overHTTP.Deliver)
	deliver = func(ctx context.Context, list ...*flowforgev1.AttemptReport) (*connect.Response[flowforgev1.DeliverResponse], error) {
		return call(ctx, connect.NewRequest(&flowforgev1.DeliverRequest{Reports: list}))
	}
	return deliver, func() *unixrpc.Server {
		s, err := unixrpc.Serve(unixrpc.Path(socket), unixrpc.Unary(flowforgev1connect.TaskServiceDeliverProcedure, r.Deliver))
		require.NoError(t, err)
		return s
	}
}

func report(id string) *flowforgev1.AttemptReport { return &flowforgev1.AttemptReport{TaskId: id} }

func shutdown(t *testing.T, s *unixrpc.Server) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // do not wait for connections
	s.Shutdown(ctx)
}

func TestCallsGoOverTheSocket(t *testing.T) {
	r := &reports{}
	deliver, start := serve(t, r)
	server := start()
	defer shutdown(t, server)

	resp, err := deliver(t.Context(), report("a"), report("b"))
	require.NoError(t, err)
	require.Len(t, resp.Msg.Results, 2)
	require.Equal(t, "b", resp.Msg.Results[1].Reason)
	require.Equal(t, int64(1), r.calls.Load())
	require.Zero(t, r.http.Load())
}

func TestErrorsKeepTheirCodeAndMessage(t *testing.T) {
	deliver, start := serve(t, &reports{})
	server := start()
	defer shutdown(t, server)

	_, err := deliver(t.Context(), report("bad"))
	var own *connect.Error
	require.ErrorAs(t, err, &own)
	require.Equal(t, connect.CodeInvalidArgument, own.Code())
	require.Equal(t, "the report is not valid", own.Message())
}

func TestLargeMessagesGoOverHTTP(t *testing.T) {
	r := &reports{}
	deliver, start := serve(t, r)
	server := start()
	defer shutdown(t, server)

	_, err := deliver(t.Context(), report(strings.Repeat("x", 5<<20)))
	require.NoError(t, err)
	require.Equal(t, int64(1), r.http.Load())
	require.Zero(t, r.calls.Load())
}

func TestAServerWithoutTheSocketIsCalledOverHTTP(t *testing.T) {
	r := &reports{}
	deliver, _ := serve(t, r)

	_, err := deliver(t.Context(), report("a"))
	require.NoError(t, err)
	require.Equal(t, int64(1), r.http.Load())
}

func TestTheClientReconnects(t *testing.T) {
	r := &reports{entered: make(chan struct{}, 1)}
	deliver, start := serve(t, r)
	server := start()
	failed := make(chan error, 1)
	go func() {
		_, err := deliver(t.Context(), report("slow"))
		failed <- err
	}()
	<-r.entered
	shutdown(t, server)
	require.Equal(t, connect.CodeUnavailable, connect.CodeOf(<-failed), "the connection ended during the call")

	server = start()
	defer shutdown(t, server)
	_, err := deliver(t.Context(), report("a"))
	require.NoError(t, err)
	require.Equal(t, int64(2), r.calls.Load())
}

func TestACancelledCallEnds(t *testing.T) {
	r := &reports{entered: make(chan struct{}, 1)}
	deliver, start := serve(t, r)
	server := start()
	defer shutdown(t, server)
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := deliver(ctx, report("slow"))
		failed <- err
	}()
	<-r.entered
	cancel()
	require.Equal(t, connect.CodeCanceled, connect.CodeOf(<-failed))
	_, err := deliver(t.Context(), report("a"))
	require.NoError(t, err, "the connection is still usable")
}
