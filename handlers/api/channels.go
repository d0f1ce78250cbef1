package api

import (
	"cmp"
	"context"

	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/platform/units"
)

type edgesBody struct {
	Inputs []edgeBody `json:"inputs"`
}

type edgeBody struct {
	Input         string       `json:"input"`
	Pointer       string       `json:"pointer" doc:"JSON Pointer (RFC 6901) into the inputs, because one input can contain many files"`
	From          string       `json:"from,omitempty" doc:"Output that provides the input, such as train.model; absent for values that no node produced"`
	Artifact      string       `json:"artifact_id,omitempty"`
	Size          int64        `json:"size" doc:"Size in bytes"`
	Channel       string       `json:"channel" enum:"MEMORY,LOCAL_DISK,DISTRIBUTED" doc:"Planned channel"`
	Serialization string       `json:"serialization" enum:"JSON,ARROW,PARQUET,PICKLE,NPZ,TORCH,RAW"`
	Compression   string       `json:"compression" enum:"none,lz4,zstd" doc:"Compression of the transfer; none if compressing the first megabyte saves too little"`
	Reason        string       `json:"reason" doc:"Reason why this channel was chosen"`
	Text          string       `json:"text" doc:"Human-readable summary"`
	Arrival       *arrivalBody `json:"came,omitempty" doc:"How the latest attempt received the input; absent for plain values, and before the first attempt"`
}

type arrivalBody struct {
	Attempt     int     `json:"attempt"`
	Channel     string  `json:"channel" enum:"MEMORY,LOCAL_DISK,DISTRIBUTED"`
	Compression string  `json:"compression" enum:"none,lz4,zstd"`
	Moved       int64   `json:"bytes_moved" doc:"Bytes transferred over a connection"`
	Copied      int64   `json:"bytes_copied" doc:"Bytes copied on the attempt's machine"`
	Seconds     float64 `json:"seconds"`
	Note        string  `json:"note,omitempty" doc:"Reason why the actual channel differs from the plan, or why data was copied"`
}

func (h *attemptAPI) apiEdges(ctx context.Context, in *struct {
	ExecutionPath
	Node string `path:"node" doc:"Node name, percent-encoded, such as train or each[3]" maxLength:"2000"`
}) (*body[edgesBody], error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	edges, err := h.Executions.Channels.Edges(ctx, id, in.Node)
	if err != nil {
		return nil, err
	}
	out := edgesBody{Inputs: make([]edgeBody, 0, len(edges))}
	for _, e := range edges {
		out.Inputs = append(out.Inputs, toEdgeBody(e))
	}
	return reply(out), nil
}

func toEdgeBody(e execution.Edge) edgeBody {
	out := edgeBody{
		Input: e.Input, Pointer: e.Pointer, From: e.From, Artifact: e.Artifact, Size: e.Size, Channel: string(e.Channel),
		Serialization: string(e.Serialization), Compression: cmp.Or(string(e.Compression), "none"), Reason: e.Reason, Text: e.Text(units.Bytes),
	}
	if c := e.Came; c != nil {
		out.Arrival = &arrivalBody{
			Attempt: c.Attempt, Channel: string(c.Channel), Compression: cmp.Or(string(c.Compression), "none"),
			Moved: c.Moved, Copied: c.Copied, Seconds: c.Took.Seconds(), Note: c.Note,
		}
	}
	return out
}
