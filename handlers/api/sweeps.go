package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/sweep"
	"github.com/flowforge/flowforge/engine/sweep/space"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/web/contract"
)

// SweepPath names a sweep.
type SweepPath struct {
	ID string `path:"sweep_id" doc:"Sweep ID"`
}

func (p SweepPath) id() (uuid.UUID, error) { return request.ParseID(p.ID, "sweep") }

type sweepQuery struct {
	Workflow string `query:"workflow" doc:"Workflow name or ID" maxLength:"200"`
	State    string `query:"state" doc:"Return only sweeps in this state" enum:"RUNNING,PAUSED,STOPPING,SUCCEEDED,STOPPED"`
	Before   string `query:"before" doc:"Cursor: next from the previous response" maxLength:"40"`
	Limit    int    `query:"limit" doc:"Number of rows per page" minimum:"1" maximum:"200" default:"50"`
}

type runQuery struct {
	SweepPath
	Sort  string `query:"sort" doc:"Sort by index, objective (best first) or a parameter path; prefix with - to reverse the order" maxLength:"201" default:"index"`
	State string `query:"state" doc:"Return only runs in this state" enum:"PROPOSED,RUNNING,SUCCEEDED,FAILED,CANCELLED,STOPPED_EARLY,REFUSED"`
	After int    `query:"after" doc:"Cursor: next from the previous response" minimum:"0" maximum:"10000"`
	Limit int    `query:"limit" doc:"Number of runs per page" minimum:"1" maximum:"10000" default:"100"`
}

// sweepAPI serves sweeps.
type sweepAPI struct {
	Sweeps *sweep.Service
}

func (h *sweepAPI) mount(api *operations) {
	create := post("create-sweep", "/sweeps", "Launch a workflow many times with different inputs", "Sweeps")
	create.DefaultStatus = http.StatusCreated
	operation(api, create, h.apiCreateSweep)
	operation(api, get("list-sweeps", "/sweeps", "List sweeps, newest first", "Sweeps"), h.apiSweeps)
	operation(api, api.ledBy(post("preview-sweep", "/sweeps/preview", "Preview a sweep without creating it", "Sweeps"), nil), h.apiPreviewSweep)
	operation(api, get("get-sweep", "/sweeps/{sweep_id}", "Get a sweep with its runs, the best run, and the importance of each parameter", "Sweeps"), h.apiSweep)
	change := post("change-sweep", "/sweeps/{sweep_id}", "Add runs, or change the space, budget and other settings of future runs", "Sweeps")
	change.Method = http.MethodPatch
	operation(api, change, h.apiChangeSweep)
	operation(api, post("pause-sweep", "/sweeps/{sweep_id}/pause", "Pause a sweep: no more runs are launched until it is resumed", "Sweeps"), h.apiCommandSweep(h.Sweeps.Pause))
	operation(api, post("resume-sweep", "/sweeps/{sweep_id}/resume", "Resume a sweep", "Sweeps"), h.apiCommandSweep(h.Sweeps.Resume))
	operation(api, post("stop-sweep", "/sweeps/{sweep_id}/stop", "Stop a sweep; runs that have started finish or are cancelled", "Sweeps"), h.apiStopSweep)
}

func (h *sweepAPI) apiCreateSweep(ctx context.Context, in *struct {
	IdempotencyKey string `header:"Idempotency-Key" doc:"Idempotency key: a repeated request with the same key does not create another sweep" maxLength:"200"`
	Body           contract.SweepInput
}) (*body[contract.SweepBody], error) {
	spec, err := toSpec(in.Body)
	if err != nil {
		return nil, err
	}
	spec.IdempotencyKey = in.IdempotencyKey
	sw, _, err := h.Sweeps.Create(ctx, spec)
	if err != nil {
		return nil, err
	}
	return reply(toSweepBody(sw)), nil
}

func (h *sweepAPI) apiPreviewSweep(ctx context.Context, in *struct{ Body contract.SweepInput }) (*body[contract.SweepPreview], error) {
	spec, err := toSpec(in.Body)
	if err != nil {
		return nil, err
	}
	p, err := h.Sweeps.Preview(ctx, spec)
	if err != nil {
		return nil, err
	}
	out := contract.SweepPreview{
		Version: p.Version, Valid: len(p.Problems) == 0, Errors: p.Problems, Runs: p.Runs, Combinations: p.Combinations, Continuous: p.Continuous,
		Parallelism: p.Parallelism, FitsNow: p.FitsNow, Fits: string(p.Fits), Reason: p.Reason, StartsFrom: p.StartsFrom, GPUHours: p.GPUHours,
		Basis: p.Basis, OverBudget: p.OverBudget, Seed: p.Seed, First: []map[string]any{}, Warnings: p.Warnings,
	}
	if p.PerRun != nil && p.Total != nil {
		out.RunSeconds, out.TotalSeconds = new(p.PerRun.Seconds()), new(p.Total.Seconds())
	}
	for _, c := range p.First {
		out.First = append(out.First, c)
	}
	return reply(out), nil
}

func (h *sweepAPI) apiSweeps(ctx context.Context, in *sweepQuery) (*body[contract.SweepList], error) {
	listed := sweep.Listed{Workflow: in.Workflow, State: sweep.State(in.State), Limit: in.Limit}
	if in.Before != "" {
		before, err := request.ParseID(in.Before, "sweep")
		if err != nil {
			return nil, err
		}
		listed.Before = &before
	}
	list, next, err := h.Sweeps.List(ctx, listed)
	if err != nil {
		return nil, err
	}
	out := contract.SweepList{Sweeps: make([]contract.SweepBody, 0, len(list)), Next: next}
	for _, sw := range list {
		out.Sweeps = append(out.Sweeps, toSweepBody(sw))
	}
	return reply(out), nil
}

func (h *sweepAPI) apiSweep(ctx context.Context, in *runQuery) (*body[contract.SweepDetail], error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	study, err := h.Sweeps.Study(ctx, id)
	if err != nil {
		return nil, err
	}
	runs, total, err := study.Runs(sweep.Filter{Sort: in.Sort, After: in.After, Limit: in.Limit, State: sweep.RunState(in.State)})
	if err != nil {
		return nil, err
	}
	found := study.Importance
	out := contract.SweepDetail{SweepBody: toSweepBody(study.Sweep), RunList: make([]contract.SweepRun, 0, len(runs)), Importance: contract.SweepImportance{
		Method: found.Method, Runs: found.Runs, Message: found.Message, Parameters: []contract.ParameterImportance{},
	}}
	for _, r := range runs {
		out.RunList = append(out.RunList, toSweepRun(r))
	}
	if after := in.After + len(runs); after < total {
		out.Next = &after
	}
	for _, p := range found.Parameters {
		out.Importance.Parameters = append(out.Importance.Parameters, contract.ParameterImportance(p))
	}
	return reply(out), nil
}

func (h *sweepAPI) apiChangeSweep(ctx context.Context, in *struct {
	SweepPath
	Body contract.SweepChange
}) (*body[contract.SweepBody], error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	edit := sweep.Edit{Name: in.Body.Name, Runs: in.Body.Runs, AddRuns: in.Body.AddRuns, Parallelism: in.Body.Parallelism, GPUHours: in.Body.GPUHours}
	if in.Body.Space != nil {
		if edit.Space, err = toSpace(in.Body.Space); err != nil {
			return nil, err
		}
	}
	if in.Body.EarlyStopping != nil {
		edit.EarlyStopping = new(toStopping(*in.Body.EarlyStopping))
	}
	sw, err := h.Sweeps.Change(ctx, id, edit)
	if err != nil {
		return nil, err
	}
	return reply(toSweepBody(sw)), nil
}

func (h *sweepAPI) apiCommandSweep(do func(context.Context, uuid.UUID) error) func(context.Context, *SweepPath) (*body[contract.SweepBody], error) {
	return func(ctx context.Context, in *SweepPath) (*body[contract.SweepBody], error) {
		id, err := in.id()
		if err != nil {
			return nil, err
		}
		if err := do(ctx, id); err != nil {
			return nil, err
		}
		return h.sweepNow(ctx, id)
	}
}

func (h *sweepAPI) apiStopSweep(ctx context.Context, in *struct {
	SweepPath
	Body contract.SweepStop
}) (*body[contract.SweepBody], error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	if err := h.Sweeps.Stop(ctx, id, in.Body.Running == "cancel"); err != nil {
		return nil, err
	}
	return h.sweepNow(ctx, id)
}

func (h *sweepAPI) sweepNow(ctx context.Context, id uuid.UUID) (*body[contract.SweepBody], error) {
	sw, err := h.Sweeps.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	return reply(toSweepBody(sw)), nil
}

func toSpec(in contract.SweepInput) (sweep.Spec, error) {
	inputs, err := decodeInputs(in.Inputs)
	if err != nil {
		return sweep.Spec{}, err
	}
	parameters, err := toSpace(in.Space)
	if err != nil {
		return sweep.Spec{}, err
	}
	spec := sweep.Spec{
		Workflow: in.Workflow, Version: in.Version, Name: in.Name, Inputs: inputs, Space: parameters, Method: sweep.Method(in.Method), Runs: in.Runs,
		Parallelism: in.Parallelism, GPUHours: in.GPUHours, Seed: in.Seed, Priority: query.Declared, Tags: in.Tags, Note: in.Note,
	}
	if in.Priority != nil {
		spec.Priority = query.Priority(*in.Priority)
	}
	if o := in.Objective; o != nil {
		spec.Objective = &sweep.Objective{Metric: o.Metric, Output: o.Output, Goal: sweep.Goal(o.Goal), Value: o.Value}
	}
	if in.EarlyStopping != nil {
		spec.EarlyStopping = toStopping(*in.EarlyStopping)
	}
	return spec, nil
}

func toStopping(in contract.SweepStopping) sweep.EarlyStopping {
	return sweep.EarlyStopping{Rule: sweep.Rule(in.Rule), MinStep: in.MinStep, MinRuns: in.MinRuns, Factor: in.Factor}
}

// toSpace keeps numbers exactly as they were written.
func toSpace(in []contract.SweepParameter) (space.Space, error) {
	out := make(space.Space, len(in))
	for i, p := range in {
		out[i] = space.Parameter{
			Path: p.Path, Kind: space.Kind(p.Kind), From: p.From, To: p.To, Scale: space.Scale(p.Scale), Step: p.Step, Steps: p.Steps, Mean: p.Mean, Deviation: p.Deviation,
		}
		for j, raw := range p.Values {
			v, err := typeregistry.DecodeJSON(raw)
			if err != nil {
				return nil, apperr.InvalidFields("The space cannot be read.", []apperr.Field{{Path: fmt.Sprintf("space.%d.values.%d", i, j), Message: "Send a JSON value."}})
			}
			out[i].Values = append(out[i].Values, v)
		}
	}
	return out, nil
}

func toSweepBody(sw sweep.Sweep) contract.SweepBody {
	c := sw.Counts
	out := contract.SweepBody{
		ID: sw.ID, Name: sw.Name, Workflow: sw.WorkflowName, WorkflowID: sw.WorkflowID, Version: sw.Version, State: string(sw.State), Reason: sw.Reason, Message: sw.Message,
		Method: string(sw.Method), Space: []contract.SweepParameter{}, SpaceVersion: sw.SpaceVersion, Inputs: sw.Inputs,
		EarlyStopping: contract.SweepStopping{Rule: string(sw.EarlyStopping.Rule), MinStep: sw.EarlyStopping.MinStep, MinRuns: sw.EarlyStopping.MinRuns, Factor: sw.EarlyStopping.Factor},
		Runs:          sw.Planned, Parallelism: sw.Parallelism, GPUHours: sw.GPUHours, UsedGPUHours: sw.UsedGPUHours, Seed: sw.Seed, Tags: sw.Tags, Note: sw.Note, CreatedBy: sw.CreatedBy.Name,
		CreatedAt: sw.CreatedAt, UpdatedAt: sw.UpdatedAt, EndedAt: sw.EndedAt, URL: "/sweeps/" + sw.ID.String(),
		Counts: contract.SweepCounts{
			Created: c.Created, Proposed: c.Waiting, Running: c.Running, Queued: c.Queued, Succeeded: c.Succeeded, Failed: c.Failed, Cancelled: c.Cancelled,
			StoppedEarly: c.StoppedEarly, Refused: c.Refused,
		},
	}
	for _, p := range sw.Space {
		parameter := contract.SweepParameter{
			Path: p.Path, Kind: string(p.Kind), From: p.From, To: p.To, Scale: string(p.Scale), Step: p.Step, Steps: p.Steps, Mean: p.Mean, Deviation: p.Deviation,
		}
		for _, v := range p.Values {
			parameter.Values = append(parameter.Values, json.RawMessage(space.JSON(v)))
		}
		out.Space = append(out.Space, parameter)
	}
	if o := sw.Objective; o != nil {
		out.Objective = &contract.SweepObjective{Metric: o.Metric, Output: o.Output, Goal: string(o.Goal), Value: o.Value}
	}
	if sw.Best != nil {
		out.Best = new(toSweepRun(*sw.Best))
	}
	return out
}

func toSweepRun(r sweep.Run) contract.SweepRun {
	return contract.SweepRun{
		Index: r.Index, ExecutionID: r.ExecutionID, State: string(r.State), Values: r.Values, SpaceVersion: r.SpaceVersion, Objective: r.Objective, Step: r.Step,
		BestStep: r.BestStep, Message: r.Message, Rank: r.Rank, Waiting: r.Waiting, GPUHours: r.GPUHours, CreatedAt: r.CreatedAt, StartedAt: r.StartedAt, FinishedAt: r.FinishedAt,
	}
}
