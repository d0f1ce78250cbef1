package api

import (
	"context"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/engine/retention"
	"github.com/flowforge/flowforge/web/contract"
)

func (h *API) retentionAPI(api huma.API) {
	operation(h, api, post("keep-execution", "/executions/{execution_id}/keep", "Keep an execution beyond its retention time", "Executions"), h.apiKeep(h.Retention.Keep))
	operation(h, api, deletion("release-execution", "/executions/{execution_id}/keep", "Stop keeping an execution beyond its retention time", "Executions"), h.apiRelease)
	operation(h, api, get("list-sweeps", "/sweeps", "List sweeps, newest first", "Administration"), h.apiSweeps)
	operation(h, api, post("sweep", "/sweeps", "Remove expired executions and unused files now, or count them", "Administration"), h.apiSweep)
}

func (h *API) apiKeep(do func(context.Context, uuid.UUID) error) func(context.Context, *ExecutionPath) (*body[contract.ExecutionBody], error) {
	return func(ctx context.Context, in *ExecutionPath) (*body[contract.ExecutionBody], error) {
		id, err := in.id()
		if err != nil {
			return nil, err
		}
		if err := do(ctx, id); err != nil {
			return nil, err
		}
		e, err := h.Executions.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		return reply(toExecutionBody(e)), nil
	}
}

func (h *API) apiRelease(ctx context.Context, in *ExecutionPath) (*struct{}, error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	return nil, h.Retention.Release(ctx, id)
}

func toSweepBody(r retention.Report) contract.SweepBody {
	return contract.SweepBody{
		BeganAt: r.BeganAt, EndedAt: r.EndedAt, DryRun: r.DryRun, Executions: r.Executions, Artifacts: r.Artifacts, ProjectBlobs: r.ProjectBlobs,
		ProjectBytes: r.ProjectBytes, Blobs: r.Blobs, Bytes: r.Bytes, Partitions: r.Partitions, Versions: r.Versions, Error: r.Error,
	}
}

type sweepsBody struct {
	Sweeps []contract.SweepBody `json:"sweeps"`
}

type sweepInput struct {
	Body contract.SweepInputBody
}

const sweepsShown = 50

func (h *API) apiSweeps(ctx context.Context, _ *struct{}) (*body[sweepsBody], error) {
	reports, err := h.Retention.Sweeps(ctx, sweepsShown)
	if err != nil {
		return nil, err
	}
	out := sweepsBody{Sweeps: make([]contract.SweepBody, len(reports))}
	for i, r := range reports {
		out.Sweeps[i] = toSweepBody(r)
	}
	return reply(out), nil
}

func (h *API) apiSweep(ctx context.Context, in *sweepInput) (*body[contract.SweepBody], error) {
	r, err := h.Retention.Sweep(ctx, in.Body.DryRun)
	if err != nil {
		return nil, err
	}
	return reply(toSweepBody(r)), nil
}
