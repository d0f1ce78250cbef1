package tasks

import (
	"context"
	"time"

	"connectrpc.com/connect"

	"github.com/flowforge/flowforge/engine/execution"
	flowforgev1 "github.com/flowforge/flowforge/proto/flowforge/v1"
	"github.com/flowforge/flowforge/web"
)

// AppendStream stores a piece of an output that other attempts read while it is written.
func (t *API) AppendStream(ctx context.Context, req *connect.Request[flowforgev1.AppendStreamRequest]) (*connect.Response[flowforgev1.AppendStreamResponse], error) {
	m := req.Msg
	ctx, _, err := t.task(ctx, req.Header(), m.TaskId, "")
	if err == nil {
		err = t.Executions.Streams.Append(ctx, m.Output, int(m.Index), m.Sha256, m.Size)
	}
	return connect.NewResponse(&flowforgev1.AppendStreamResponse{}), err
}

// FollowStream returns the state of an output that another attempt writes.
func (t *API) FollowStream(ctx context.Context, req *connect.Request[flowforgev1.FollowStreamRequest]) (*connect.Response[flowforgev1.FollowStreamResponse], error) {
	m := req.Msg
	ctx, _, err := t.task(ctx, req.Header(), m.TaskId, "")
	if err != nil {
		return nil, err
	}
	ctx, cancel := web.EndAtStop(ctx)
	defer cancel()
	stream, err := t.Executions.Streams.Follow(ctx, m.Writer, m.Output, int(m.Pieces), time.Duration(m.WaitMs)*time.Millisecond)
	resp := &flowforgev1.FollowStreamResponse{Message: stream.Why}
	switch stream.State {
	case execution.StreamWriting:
		resp.State = flowforgev1.StreamState_STREAM_STATE_WRITING
	case execution.StreamEnded:
		resp.State = flowforgev1.StreamState_STREAM_STATE_ENDED
		resp.Whole = blobMessage(stream.Whole)
	case execution.StreamGone:
		resp.State = flowforgev1.StreamState_STREAM_STATE_GONE
	}
	for _, piece := range stream.Pieces {
		resp.Pieces = append(resp.Pieces, blobMessage(piece))
	}
	return connect.NewResponse(resp), err
}

func blobMessage(b execution.BlobRef) *flowforgev1.Blob {
	return &flowforgev1.Blob{Sha256: b.SHA256, Size: b.Size, MediaType: b.MediaType}
}
