package tasks

import (
	"context"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/flowforge/flowforge/apperr"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
	"github.com/flowforge/flowforge/web"
)

// TakeWork returns the next attempt of a warm pod.
func (t *API) TakeWork(ctx context.Context, req *connect.Request[flowforgev1.TakeWorkRequest]) (*connect.Response[flowforgev1.TakeWorkResponse], error) {
	if t.Resident == nil {
		return connect.NewResponse(&flowforgev1.TakeWorkResponse{Leave: true}), nil
	}
	token, ok := strings.CutPrefix(req.Header().Get("Authorization"), "Bearer ")
	if !ok {
		return nil, apperr.New(apperr.Unauthenticated, "Send the pool token as \"Authorization: Bearer …\".")
	}
	ctx, cancel := web.EndAtStop(ctx)
	defer cancel()
	answer, err := t.Resident.Take(ctx, token, req.Msg.Worker, req.Msg.Finished, time.Duration(req.Msg.WaitMs)*time.Millisecond)
	if err != nil {
		return nil, err
	}
	resp := &flowforgev1.TakeWorkResponse{Token: answer.Token, Leave: answer.Leave}
	if answer.Spec != nil {
		if resp.Spec, err = proto.Marshal(answer.Spec); err != nil {
			return nil, err
		}
	}
	return connect.NewResponse(resp), nil
}
