package tasks

import (
	"context"
	"net/http"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/compute/pool"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
	"github.com/flowforge/flowforge/proto/flowforge/v1/flowforgev1connect"
	"github.com/flowforge/flowforge/web"
)

// workers is WorkerService: the API of machines that pull attempts from a pool.
type workers struct{ api *API }

var _ flowforgev1connect.WorkerServiceHandler = workers{}

// Join registers a worker.
func (h workers) Join(ctx context.Context, req *connect.Request[flowforgev1.JoinRequest]) (*connect.Response[flowforgev1.JoinResponse], error) {
	token, err := poolToken(req.Header())
	if err != nil {
		return nil, err
	}
	m, c := req.Msg, req.Msg.GetCapacity()
	session, err := uuid.Parse(m.Session)
	if err != nil {
		return nil, apperr.Wrap(apperr.Invalid, err, "The session of a worker must be a UUID.")
	}
	known, _ := uuid.Parse(m.WorkerId) // an unknown ID is a new worker
	joined, err := h.api.Pools.Join(ctx, token, pool.Joining{
		Worker: known, Session: session, Name: m.Name, Labels: m.Labels, Version: m.Version, Held: m.Held,
		Capacity: pool.Amount{Slots: int(c.GetSlots()), CPUMillis: int(c.GetCpuMillis()), MemoryMiB: int(c.GetMemoryMib()), GPUs: int(c.GetGpus()), GPUType: c.GetGpuType()},
	}, pool.Lost(h.api.Executions.Supervisor.Observe, h.api.Now))
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&flowforgev1.JoinResponse{WorkerId: joined.Worker.String(), Pool: joined.Pool, WaitMs: joined.Wait.Milliseconds()}), nil
}

// Poll is the heartbeat of a worker, and assigns attempts to it.
func (h workers) Poll(ctx context.Context, req *connect.Request[flowforgev1.PollRequest]) (*connect.Response[flowforgev1.PollResponse], error) {
	token, err := poolToken(req.Header())
	if err != nil {
		return nil, err
	}
	m := req.Msg
	worker, session, err := workerIDs(m.WorkerId, m.Session)
	if err != nil {
		return nil, err
	}
	ctx, cancel := web.EndAtStop(ctx)
	defer cancel()
	polled, err := h.api.Pools.Poll(ctx, token, pool.Polling{
		Worker: worker, Session: session, Held: m.Held, Done: m.Done, Leaving: m.Leaving, Wait: time.Duration(m.WaitMs) * time.Millisecond,
	})
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&flowforgev1.PollResponse{Specs: polled.Specs, Draining: polled.Draining}), nil
}

// Leave removes a worker.
func (h workers) Leave(ctx context.Context, req *connect.Request[flowforgev1.LeaveRequest]) (*connect.Response[flowforgev1.LeaveResponse], error) {
	token, err := poolToken(req.Header())
	if err != nil {
		return nil, err
	}
	worker, session, err := workerIDs(req.Msg.WorkerId, req.Msg.Session)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&flowforgev1.LeaveResponse{}), h.api.Pools.Leave(ctx, token, worker, session, req.Msg.Done)
}

func poolToken(header http.Header) (string, error) {
	token, ok := strings.CutPrefix(header.Get("Authorization"), "Bearer ")
	if !ok {
		return "", apperr.New(apperr.Unauthenticated, "Send the pool token as \"Authorization: Bearer …\".")
	}
	return token, nil
}

func workerIDs(worker, session string) (id, process uuid.UUID, err error) {
	if id, err = uuid.Parse(worker); err == nil {
		process, err = uuid.Parse(session)
	}
	if err != nil {
		err = apperr.Wrap(apperr.Invalid, err, "worker_id and session must be UUIDs.")
	}
	return id, process, err
}
