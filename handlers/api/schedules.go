package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/schedule"
	"github.com/flowforge/flowforge/engine/schedule/cron"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/web/contract"
)

// SchedulePath names a schedule.
type SchedulePath struct {
	ID string `path:"schedule_id" doc:"Schedule ID"`
}

func (p SchedulePath) id() (uuid.UUID, error) { return request.ParseID(p.ID, "schedule") }

type scheduleQuery struct {
	Workflow string `query:"workflow" doc:"Workflow name or ID" maxLength:"200"`
	Name     string `query:"name" doc:"Schedule name" maxLength:"100"`
	Paused   string `query:"paused" doc:"Return only paused (true) or only active (false) schedules" enum:"true,false"`
	After    string `query:"after" doc:"Cursor: next from the previous response" maxLength:"400"`
	Limit    int    `query:"limit" doc:"Number of rows per page" minimum:"1" maximum:"200" default:"50"`
}

type occurrenceQuery struct {
	SchedulePath
	Before time.Time `query:"before" doc:"Cursor: next from the previous response"`
	Limit  int       `query:"limit" doc:"Number of rows per page" minimum:"1" maximum:"200" default:"50"`
}

// scheduleAPI serves schedules of workflows.
type scheduleAPI struct {
	Schedules *schedule.Service
}

func (h *scheduleAPI) mount(api *operations) {
	create := post("create-schedule", "/schedules", "Create a schedule", "Schedules")
	create.DefaultStatus = http.StatusCreated
	operation(api, create, h.apiCreateSchedule)
	operation(api, get("list-schedules", "/schedules", "List schedules", "Schedules"), h.apiSchedules)
	operation(api, post("preview-schedule", "/schedules/preview", "Preview when a schedule would run, without creating it", "Schedules"), h.apiPreviewSchedule)
	operation(api, get("get-schedule", "/schedules/{schedule_id}", "Get a schedule", "Schedules"), h.apiSchedule)
	replace := post("replace-schedule", "/schedules/{schedule_id}", "Replace a schedule; you become its owner", "Schedules")
	replace.Method = http.MethodPut
	operation(api, replace, h.apiReplaceSchedule)
	operation(api, huma.Operation{
		OperationID: "delete-schedule", Method: http.MethodDelete, Path: "/schedules/{schedule_id}", Tags: []string{"Schedules"},
		Summary: "Delete a schedule; its executions are kept", DefaultStatus: http.StatusNoContent,
	}, h.apiDeleteSchedule)
	operation(api, get("list-occurrences", "/schedules/{schedule_id}/occurrences", "List the occurrences of a schedule and their outcomes, newest first", "Schedules"), h.apiOccurrences)
	operation(api, post("pause-schedule", "/schedules/{schedule_id}/pause", "Pause a schedule", "Schedules"), h.apiPauseSchedule)
	operation(api, post("resume-schedule", "/schedules/{schedule_id}/resume", "Resume a schedule", "Schedules"), h.apiResumeSchedule)
	declare := post("declare-schedules", "/workflows/{workflow_id}/schedules", "Replace the schedules that a workflow declares", "Schedules")
	declare.Method = http.MethodPut
	operation(api, declare, h.apiDeclareSchedules)
	operation(api, post("run-schedule", "/schedules/{schedule_id}/run", "Run a schedule now", "Schedules"), h.apiRunSchedule)
}

func (h *scheduleAPI) apiCreateSchedule(ctx context.Context, in *struct{ Body contract.ScheduleInput }) (*body[contract.ScheduleBody], error) {
	sp, err := toSchedule(in.Body)
	if err != nil {
		return nil, err
	}
	return scheduled(h.Schedules.Create(ctx, sp))
}

func (h *scheduleAPI) apiReplaceSchedule(ctx context.Context, in *struct {
	SchedulePath
	Body contract.ScheduleInput
}) (*body[contract.ScheduleBody], error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	sp, err := toSchedule(in.Body)
	if err != nil {
		return nil, err
	}
	return scheduled(h.Schedules.Replace(ctx, id, sp))
}

func (h *scheduleAPI) apiSchedules(ctx context.Context, in *scheduleQuery) (*body[contract.ScheduleList], error) {
	f := schedule.Filter{Workflow: in.Workflow, Name: in.Name, After: in.After, Limit: in.Limit}
	if in.Paused != "" {
		f.Paused = new(in.Paused == "true")
	}
	list, next, err := h.Schedules.List(ctx, f)
	if err != nil {
		return nil, err
	}
	out := contract.ScheduleList{Schedules: make([]contract.ScheduleBody, 0, len(list)), Next: next}
	for _, sc := range list {
		b, err := toScheduleBody(sc)
		if err != nil {
			return nil, err
		}
		out.Schedules = append(out.Schedules, b)
	}
	return reply(out), nil
}

func (h *scheduleAPI) apiSchedule(ctx context.Context, in *SchedulePath) (*body[contract.ScheduleBody], error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	return scheduled(h.Schedules.Get(ctx, id))
}

func (h *scheduleAPI) apiDeleteSchedule(ctx context.Context, in *SchedulePath) (*struct{}, error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	return nil, h.Schedules.Delete(ctx, id)
}

func (h *scheduleAPI) apiPauseSchedule(ctx context.Context, in *SchedulePath) (*body[contract.ScheduleBody], error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	return scheduled(h.Schedules.Pause(ctx, id))
}

func (h *scheduleAPI) apiResumeSchedule(ctx context.Context, in *struct {
	SchedulePath
	Body *contract.ScheduleResume
}) (*body[contract.ScheduleBody], error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	return scheduled(h.Schedules.Resume(ctx, id, in.Body != nil && in.Body.Missed == "catch_up"))
}

func (h *scheduleAPI) apiRunSchedule(ctx context.Context, in *SchedulePath) (*body[contract.ScheduleRun], error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	execution, err := h.Schedules.RunNow(ctx, id)
	if err != nil {
		return nil, err
	}
	return reply(contract.ScheduleRun{ExecutionID: execution}), nil
}

func (h *scheduleAPI) apiOccurrences(ctx context.Context, in *occurrenceQuery) (*body[contract.ScheduleOccurrences], error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	var before *time.Time
	if !in.Before.IsZero() {
		before = &in.Before
	}
	list, next, err := h.Schedules.Occurrences(ctx, id, before, in.Limit)
	if err != nil {
		return nil, err
	}
	out := contract.ScheduleOccurrences{Occurrences: make([]contract.ScheduleOccurrence, 0, len(list)), Next: next}
	for _, o := range list {
		out.Occurrences = append(out.Occurrences, contract.ScheduleOccurrence{
			FireAt: o.FireAt, LastFireAt: o.LastFireAt, Fires: o.Fires, IntervalStart: o.IntervalStart, State: string(o.State), Reason: o.Reason, Message: o.Message,
			ExecutionID: o.ExecutionID, Status: o.Status, DecidedAt: o.DecidedAt, StartedAt: o.StartedAt, FinishedAt: o.FinishedAt, Failure: o.Failure,
		})
	}
	return reply(out), nil
}

func (h *scheduleAPI) apiPreviewSchedule(ctx context.Context, in *struct{ Body contract.SchedulePreviewInput }) (*body[contract.SchedulePreview], error) {
	when, err := toWhen(in.Body.ScheduleWhen)
	if err != nil {
		return nil, err
	}
	fires, excluded, err := h.Schedules.Outlook(ctx, when, in.Body.Count)
	if err != nil {
		return nil, err
	}
	out := contract.SchedulePreview{Fires: make([]contract.ScheduleFire, 0, len(fires))}
	for _, f := range fires {
		out.Fires = append(out.Fires, toFire(f))
	}
	for _, f := range excluded {
		out.Excluded = append(out.Excluded, toFire(f))
	}
	return reply(out), nil
}

func toFire(f schedule.Fire) contract.ScheduleFire {
	out := contract.ScheduleFire{At: f.At.UTC(), Local: f.At.Format("Mon 2 Jan 2006 15:04:05 MST"), Note: f.Note, Excluded: f.Excluded}
	if !f.IntervalStart.IsZero() {
		out.IntervalStart = new(f.IntervalStart.UTC())
	}
	return out
}

func (h *scheduleAPI) apiDeclareSchedules(ctx context.Context, in *struct {
	WorkflowPath
	Body contract.DeclaredSchedules
}) (*body[contract.ScheduleList], error) {
	list := make([]workflow.DeclaredSchedule, 0, len(in.Body.Schedules))
	for i, fields := range in.Body.Schedules {
		list = append(list, workflow.DeclaredSchedule{Fields: fields, Path: fmt.Sprintf("schedules.%d", i)})
	}
	kept, err := h.Schedules.DeclareFor(ctx, in.ID, list)
	if err != nil {
		return nil, err
	}
	out := contract.ScheduleList{Schedules: make([]contract.ScheduleBody, 0, len(kept))}
	for _, sc := range kept {
		b, err := toScheduleBody(sc)
		if err != nil {
			return nil, err
		}
		out.Schedules = append(out.Schedules, b)
	}
	return reply(out), nil
}

func toWhen(in contract.ScheduleWhen) (schedule.When, error) {
	expressions, fields := schedule.Expressions(in.Cron, in.Crons, in.Every, in.At)
	w := schedule.When{
		Expressions: expressions, At: in.At, Timezone: in.Timezone, Gap: cron.Gap(in.Gap), Fold: cron.Fold(in.Fold), Starts: in.Starts, Ends: in.Ends,
		Calendar: in.Calendar, BusinessDays: in.BusinessDays,
	}
	for _, of := range in.Exclude {
		w.Exclude = append(w.Exclude, schedule.Window(of))
	}
	if in.Anchor != nil {
		w.Anchor = *in.Anchor
	}
	return w, apperr.InvalidFields("The schedule has invalid values.", fields)
}

func toSchedule(in contract.ScheduleInput) (schedule.Spec, error) {
	inputs, err := decodeInputs(in.Inputs)
	if err != nil {
		return schedule.Spec{}, err
	}
	when, err := toWhen(in.ScheduleWhen)
	if err != nil {
		return schedule.Spec{}, err
	}
	sp := schedule.Spec{
		Workflow: in.Workflow, Name: in.Name, When: when, Version: in.Version, Inputs: inputs, Priority: query.Declared,
		Misfire: schedule.Misfire(in.Misfire), CatchUp: time.Duration(in.CatchUp) * time.Second, CatchUpMax: in.CatchUpMax, Overlap: schedule.Overlap(in.Overlap),
		MaxRunning: in.MaxRunning, Jitter: time.Duration(in.Jitter) * time.Second, PauseAfter: in.PauseAfter, Paused: in.Paused,
		Condition: in.When, StopWhen: in.StopWhen, KeepSucceeded: in.KeepSucceeded, KeepFailed: in.KeepFailed,
	}
	if in.Priority != nil {
		sp.Priority = query.Priority(*in.Priority)
	}
	return sp, nil
}

func scheduled(sc schedule.Schedule, err error) (*body[contract.ScheduleBody], error) {
	if err != nil {
		return nil, err
	}
	out, err := toScheduleBody(sc)
	if err != nil {
		return nil, err
	}
	return reply(out), nil
}

func toScheduleBody(sc schedule.Schedule) (contract.ScheduleBody, error) {
	inputs, err := json.Marshal(sc.Inputs)
	if err != nil {
		return contract.ScheduleBody{}, err
	}
	out := contract.ScheduleBody{
		ID: sc.ID, WorkflowID: sc.WorkflowID, Owner: sc.Owner.Name, Reason: sc.Reason, Message: sc.Message, Problem: sc.Problem, Delay: int(sc.Delay / time.Second),
		LastFireAt: sc.LastAt, NextFireAt: sc.NextAt, CreatedAt: sc.CreatedAt, UpdatedAt: sc.UpdatedAt, Declared: sc.Declared,
		ScheduleInput: contract.ScheduleInput{
			Workflow: sc.Workflow, Name: sc.Name, Version: sc.Version, Inputs: inputs, Misfire: string(sc.Misfire), CatchUp: int(sc.CatchUp / time.Second),
			CatchUpMax: sc.CatchUpMax, Overlap: string(sc.Overlap), MaxRunning: sc.MaxRunning, Jitter: int(sc.Jitter / time.Second), PauseAfter: sc.PauseAfter, Paused: sc.Paused,
			When: sc.Condition, StopWhen: sc.StopWhen, KeepSucceeded: sc.KeepSucceeded, KeepFailed: sc.KeepFailed,
			ScheduleWhen: contract.ScheduleWhen{
				At: sc.At, Timezone: sc.Timezone, Gap: string(sc.Gap), Fold: string(sc.Fold), Anchor: &sc.Anchor, Starts: sc.Starts, Ends: sc.Ends,
				Calendar: sc.Calendar, BusinessDays: sc.BusinessDays,
			},
		},
	}
	for _, of := range sc.Exclude {
		out.Exclude = append(out.Exclude, contract.ScheduleWindow(of))
	}
	if sc.Priority != query.Declared {
		out.Priority = new(int(sc.Priority))
	}
	if len(sc.Expressions) == 1 {
		out.Cron = sc.Expressions[0]
	} else {
		out.Crons = sc.Expressions
	}
	return out, nil
}
