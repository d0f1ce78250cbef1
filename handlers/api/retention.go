package api

import (
	"context"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/retention"
	"github.com/flowforge/flowforge/web/contract"
)

// retentionAPI serves the removal of expired executions and unreferenced bytes.
type retentionAPI struct {
	Executions *query.Reader
	Retention  *retention.Service
}

func (h *retentionAPI) mount(api *operations) {
	operation(api, post("keep-execution", "/executions/{execution_id}/keep", "Keep an execution beyond its retention time", "Executions"), h.apiKeep(h.Retention.Keep))
	operation(api, deletion("release-execution", "/executions/{execution_id}/keep", "Stop keeping an execution beyond its retention time", "Executions"), h.apiRelease)
	operation(api, get("list-retention-sweeps", "/retention/sweeps", "List retention sweeps, newest first", "Administration"), h.apiRetentionSweeps)
	operation(api, post("run-retention-sweep", "/retention/sweeps", "Remove expired executions and unused files now, or count them", "Administration"), h.apiRetentionSweep)
}

func (h *retentionAPI) apiKeep(do func(context.Context, uuid.UUID) error) func(context.Context, *ExecutionPath) (*body[contract.ExecutionBody], error) {
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

func (h *retentionAPI) apiRelease(ctx context.Context, in *ExecutionPath) (*struct{}, error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	return nil, h.Retention.Release(ctx, id)
}

func toRetentionSweep(r retention.Report) contract.RetentionSweepBody {
	return contract.RetentionSweepBody{
		BeganAt: r.BeganAt, EndedAt: r.EndedAt, DryRun: r.DryRun, Executions: r.Executions, Artifacts: r.Artifacts, ProjectBlobs: r.ProjectBlobs,
		ProjectBytes: r.ProjectBytes, Blobs: r.Blobs, Bytes: r.Bytes, Partitions: r.Partitions, Versions: r.Versions, Error: r.Error,
		InputSweeps: r.InputSweeps, InputSweepNames: append([]string{}, r.InputSweepNames...),
	}
}

type retentionSweepsBody struct {
	Sweeps []contract.RetentionSweepBody `json:"sweeps"`
}

type retentionSweepInput struct {
	Body contract.RetentionSweepInput
}

const retentionSweepsShown = 50

func (h *retentionAPI) apiRetentionSweeps(ctx context.Context, _ *struct{}) (*body[retentionSweepsBody], error) {
	reports, err := h.Retention.Sweeps(ctx, retentionSweepsShown)
	if err != nil {
		return nil, err
	}
	out := retentionSweepsBody{Sweeps: make([]contract.RetentionSweepBody, len(reports))}
	for i, r := range reports {
		out.Sweeps[i] = toRetentionSweep(r)
	}
	return reply(out), nil
}

func (h *retentionAPI) apiRetentionSweep(ctx context.Context, in *retentionSweepInput) (*body[contract.RetentionSweepBody], error) {
	r, err := h.Retention.Sweep(ctx, in.Body.DryRun)
	if err != nil {
		return nil, err
	}
	return reply(toRetentionSweep(r)), nil
}
