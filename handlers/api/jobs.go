package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/schedule"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/web/contract"
)

// JobPath names a job, which is a schedule in the terms of the scheduler's design.
type JobPath struct {
	ID string `path:"job_id" doc:"Job ID, which is also the ID of its schedule"`
}

func (p JobPath) id() (uuid.UUID, error) { return request.ParseID(p.ID, "job") }

type jobQuery struct {
	After string `query:"after" doc:"Cursor: next from the previous response" maxLength:"400"`
	Limit int    `query:"limit" doc:"Number of rows per page" minimum:"1" maximum:"200" default:"50"`
}

// jobAPI serves schedules in the terms of the scheduler's design.
type jobAPI struct {
	Schedules *schedule.Service
}

func (h *jobAPI) mount(api *operations) {
	create := post("create-job", "/jobs", "Create a job: a schedule with default settings", "Schedules")
	create.DefaultStatus = http.StatusCreated
	operation(api, create, h.apiCreateJob)
	operation(api, get("list-jobs", "/jobs", "List jobs", "Schedules"), h.apiJobs)
	operation(api, get("get-job", "/jobs/{job_id}", "Get a job", "Schedules"), h.apiJob)
	operation(api, huma.Operation{
		OperationID: "delete-job", Method: http.MethodDelete, Path: "/jobs/{job_id}", Tags: []string{"Schedules"},
		Summary: "Delete a job; its executions are kept", DefaultStatus: http.StatusNoContent,
	}, h.apiDeleteJob)
}

func (h *jobAPI) apiCreateJob(ctx context.Context, in *struct{ Body contract.JobInput }) (*body[contract.JobBody], error) {
	inputs, err := decodeInputs(in.Body.Inputs)
	if err != nil {
		return nil, err
	}
	sp := schedule.Spec{
		Workflow: in.Body.Workflow, Name: in.Body.Name, Inputs: inputs, Priority: query.Declared,
		When: schedule.When{Expressions: []string{in.Body.Schedule}, Timezone: in.Body.Timezone},
	}
	if in.Body.Priority != nil {
		sp.Priority = query.Priority(*in.Body.Priority)
	}
	sc, err := h.Schedules.Create(ctx, sp)
	if err != nil {
		return nil, err
	}
	return reply(toJob(sc)), nil
}

func (h *jobAPI) apiJobs(ctx context.Context, in *jobQuery) (*body[contract.JobList], error) {
	list, next, err := h.Schedules.List(ctx, schedule.Filter{After: in.After, Limit: in.Limit})
	if err != nil {
		return nil, err
	}
	out := contract.JobList{Jobs: make([]contract.JobBody, 0, len(list)), Next: next}
	for _, sc := range list {
		out.Jobs = append(out.Jobs, toJob(sc))
	}
	return reply(out), nil
}

func (h *jobAPI) apiJob(ctx context.Context, in *JobPath) (*body[contract.JobBody], error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	sc, err := h.Schedules.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	return reply(toJob(sc)), nil
}

func (h *jobAPI) apiDeleteJob(ctx context.Context, in *JobPath) (*struct{}, error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	return nil, h.Schedules.Delete(ctx, id)
}

func toJob(sc schedule.Schedule) contract.JobBody {
	out := contract.JobBody{
		ID: sc.ID, Name: sc.Name, Workflow: sc.Workflow, Schedule: sc.Expressions, Timezone: sc.Timezone, Status: "SCHEDULED",
		NextRunTime: sc.NextAt, LastRunTime: sc.LastAt, CreatedAt: sc.CreatedAt,
	}
	switch {
	case sc.Paused:
		out.Status = "PAUSED"
	case sc.NextAt == nil:
		out.Status = "COMPLETED"
	}
	return out
}
