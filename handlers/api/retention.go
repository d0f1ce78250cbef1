package api

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/engine/retention"
)

func (h *API) retentionAPI(api huma.API) {
	operation(h, api, post("keep-execution", "/executions/{execution_id}/keep", "Keep an execution beyond its retention time", "Executions"), h.apiKeep(h.Retention.Keep))
	operation(h, api, deletion("release-execution", "/executions/{execution_id}/keep", "Stop keeping an execution beyond its retention time", "Executions"), h.apiRelease)
	operation(h, api, get("list-sweeps", "/sweeps", "List sweeps, newest first", "Administration"), h.apiSweeps)
	operation(h, api, post("sweep", "/sweeps", "Remove expired executions and unused files now, or count them", "Administration"), h.apiSweep)
}

func (h *API) apiKeep(do func(context.Context, uuid.UUID) error) func(context.Context, *ExecutionPath) (*body[executionBody], error) {
	return func(ctx context.Context, in *ExecutionPath) (*body[executionBody], error) {
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

// sweepBody is one sweep, running or ended.
type sweepBody struct {
	BeganAt      time.Time  `json:"began_at"`
	EndedAt      *time.Time `json:"ended_at,omitempty"`
	DryRun       bool       `json:"dry_run" doc:"Nothing was removed, only counted"`
	Executions   int64      `json:"executions" doc:"Executions whose time was over"`
	Artifacts    int64      `json:"artifacts" doc:"Artifacts that went with them; a dry run does not count them"`
	ProjectBlobs int64      `json:"project_blobs" doc:"Blobs that projects kept and that nothing names"`
	ProjectBytes int64      `json:"project_bytes"`
	Blobs        int64      `json:"blobs" doc:"Blobs removed from the store"`
	Bytes        int64      `json:"bytes"`
	Partitions   int64      `json:"partitions" doc:"Tables of empty months"`
	Error        string     `json:"error,omitempty" doc:"Error of the sweep; the next sweep retries"`
}

func toSweepBody(r retention.Report) sweepBody {
	return sweepBody{
		BeganAt: r.BeganAt, EndedAt: r.EndedAt, DryRun: r.DryRun, Executions: r.Executions, Artifacts: r.Artifacts, ProjectBlobs: r.ProjectBlobs,
		ProjectBytes: r.ProjectBytes, Blobs: r.Blobs, Bytes: r.Bytes, Partitions: r.Partitions, Error: r.Error,
	}
}

type sweepsBody struct {
	Sweeps []sweepBody `json:"sweeps"`
}

type sweepInput struct {
	Body struct {
		DryRun bool `json:"dry_run" doc:"Count without removing"`
	}
}

const sweepsShown = 50

func (h *API) apiSweeps(ctx context.Context, _ *struct{}) (*body[sweepsBody], error) {
	reports, err := h.Retention.Sweeps(ctx, sweepsShown)
	if err != nil {
		return nil, err
	}
	out := sweepsBody{Sweeps: make([]sweepBody, len(reports))}
	for i, r := range reports {
		out.Sweeps[i] = toSweepBody(r)
	}
	return reply(out), nil
}

func (h *API) apiSweep(ctx context.Context, in *sweepInput) (*body[sweepBody], error) {
	r, err := h.Retention.Sweep(ctx, in.Body.DryRun)
	if err != nil {
		return nil, err
	}
	return reply(toSweepBody(r)), nil
}
