package tasks

import (
	"context"
	"time"

	"connectrpc.com/connect"

	"github.com/flowforge/flowforge/engine/execution"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
	"github.com/flowforge/flowforge/web"
)

// SaveFolder stores the checkpoint folder of an attempt's node.
func (t *API) SaveFolder(ctx context.Context, req *connect.Request[flowforgev1.SaveFolderRequest]) (*connect.Response[flowforgev1.SaveFolderResponse], error) {
	ctx, _, err := t.task(ctx, req.Header(), req.Msg.TaskId, "")
	if err == nil {
		err = t.Executions.Tasks.SaveFolder(ctx, req.Msg.Sha256, req.Msg.Size)
	}
	return connect.NewResponse(&flowforgev1.SaveFolderResponse{}), err
}

// Meet stores the state of a rank of a gang and returns the states of all ranks.
func (t *API) Meet(ctx context.Context, req *connect.Request[flowforgev1.MeetRequest]) (*connect.Response[flowforgev1.MeetResponse], error) {
	ctx, masker, err := t.masked(ctx, req.Header(), req.Msg.TaskId, "")
	if err != nil {
		return nil, err
	}
	m := req.Msg
	ctx, cancel := web.EndAtStop(ctx)
	defer cancel()
	members, version, err := t.Executions.Tasks.Rendezvous(ctx, execution.Member{
		Rank: int(m.Rank), Address: m.Address, State: int(m.State),
		Message: masker.Text(m.Message), ExitCode: int(m.ExitCode), Class: m.Class,
	}, m.Seen, time.Duration(m.WaitMs)*time.Millisecond)
	resp := &flowforgev1.MeetResponse{Version: version}
	for _, member := range members {
		resp.Members = append(resp.Members, &flowforgev1.Member{
			Rank: int32(member.Rank), Address: member.Address, State: flowforgev1.MemberState(member.State), //nolint:gosec // small
			Message: member.Message, ExitCode: int32(member.ExitCode), Class: member.Class, //nolint:gosec // small
		})
	}
	return connect.NewResponse(resp), err
}
