package api

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/backfill"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/web/contract"
)

// BackfillPath names a backfill.
type BackfillPath struct {
	ID string `path:"backfill_id" doc:"Backfill ID"`
}

func (p BackfillPath) id() (uuid.UUID, error) { return request.ParseID(p.ID, "backfill") }

type backfillQuery struct {
	Schedule string `query:"schedule" doc:"Schedule ID" format:"uuid"`
	Before   string `query:"before" doc:"Cursor: next from the previous response" format:"uuid"`
	Limit    int    `query:"limit" doc:"Number of rows per page" minimum:"1" maximum:"200" default:"50"`
}

type backfillSlotQuery struct {
	BackfillPath
	After time.Time `query:"after" doc:"Cursor: next from the previous response"`
	Limit int       `query:"limit" doc:"Number of rows per page" minimum:"1" maximum:"1000" default:"200"`
}

// backfillAPI serves backfills of schedules.
type backfillAPI struct {
	Backfills *backfill.Service
}

func (h *backfillAPI) mount(api *operations) {
	create := post("create-backfill", "/backfills", "Create a backfill, which launches a schedule for times in the past", "Schedules")
	create.DefaultStatus = http.StatusCreated
	operation(api, create, h.apiCreateBackfill)
	operation(api, post("preview-backfill", "/backfills/preview", "Preview what a backfill would launch, without creating it", "Schedules"), h.apiPreviewBackfill)
	operation(api, get("list-backfills", "/backfills", "List backfills, newest first", "Schedules"), h.apiBackfills)
	operation(api, get("get-backfill", "/backfills/{backfill_id}", "Get a backfill with its progress", "Schedules"), h.apiBackfill)
	operation(api, get("list-backfill-slots", "/backfills/{backfill_id}/slots", "List the times of a backfill with their results, oldest first", "Schedules"), h.apiBackfillSlots)
	operation(api, post("pause-backfill", "/backfills/{backfill_id}/pause", "Pause a backfill; active executions continue", "Schedules"), h.apiPauseBackfill)
	operation(api, post("resume-backfill", "/backfills/{backfill_id}/resume", "Resume a paused backfill; the caller becomes its owner", "Schedules"), h.apiResumeBackfill)
	operation(api, post("cancel-backfill", "/backfills/{backfill_id}/cancel", "Cancel a backfill", "Schedules"), h.apiCancelBackfill)
}

func toBackfill(in contract.BackfillInput) backfill.Spec {
	sp := backfill.Spec{
		Schedule: in.Schedule, From: in.From, Until: in.Until, Rerun: backfill.Rerun(in.Rerun), NewestFirst: in.NewestFirst, Parallelism: in.Parallelism, Version: in.Version,
		Priority: query.Declared,
	}
	if in.Priority != nil {
		sp.Priority = query.Priority(*in.Priority)
	}
	return sp
}

func backfilled(b backfill.Backfill, err error) (*body[contract.BackfillBody], error) {
	if err != nil {
		return nil, err
	}
	return reply(toBackfillBody(b)), nil
}

func toBackfillBody(b backfill.Backfill) contract.BackfillBody {
	c := b.Counts
	return contract.BackfillBody{
		ID: b.ID, Schedule: b.Schedule, ScheduleName: b.ScheduleName, Timezone: b.Timezone, Workflow: b.Workflow, Version: b.Version, From: b.From, Until: b.Until, Rerun: string(b.Rerun),
		NewestFirst: b.NewestFirst, Parallelism: b.Parallelism, Status: string(b.Status), Message: b.Message, Owner: b.Owner.Name, CreatedAt: b.CreatedAt, FinishedAt: b.FinishedAt,
		Counts: contract.BackfillCounts{
			Total: c.Total, Pending: c.Pending, Running: c.Running, Succeeded: c.Succeeded, Failed: c.Failed, Cancelled: c.Cancelled, Refused: c.Refused, Kept: c.Kept,
		},
	}
}

func (h *backfillAPI) apiCreateBackfill(ctx context.Context, in *struct{ Body contract.BackfillInput }) (*body[contract.BackfillBody], error) {
	return backfilled(h.Backfills.Create(ctx, toBackfill(in.Body)))
}

func (h *backfillAPI) apiPreviewBackfill(ctx context.Context, in *struct{ Body contract.BackfillInput }) (*body[contract.BackfillPreview], error) {
	p, err := h.Backfills.Preview(ctx, toBackfill(in.Body))
	if err != nil {
		return nil, err
	}
	out := contract.BackfillPreview{
		Version: p.Version, Runs: p.Runs, Kept: p.Kept, PerRun: p.PerRun.Seconds(), Total: p.Total.Seconds(), GPUHours: p.GPUHours, Slots: make([]contract.BackfillPlanned, 0, len(p.Slots)),
	}
	for _, s := range p.Slots {
		out.Slots = append(out.Slots, contract.BackfillPlanned{FireAt: s.Fire, IntervalStart: s.Start, Runs: s.Runs, ExecutionID: s.ExecutionID, Status: s.Status})
	}
	return reply(out), nil
}

func (h *backfillAPI) apiBackfills(ctx context.Context, in *backfillQuery) (*body[contract.BackfillList], error) {
	var of, before *uuid.UUID
	for text, id := range map[string]**uuid.UUID{in.Schedule: &of, in.Before: &before} {
		if text == "" {
			continue
		}
		parsed, err := uuid.Parse(text)
		if err != nil {
			return nil, apperr.New(apperr.Invalid, "%q is not an ID.", text)
		}
		*id = &parsed
	}
	list, next, err := h.Backfills.List(ctx, of, before, in.Limit)
	if err != nil {
		return nil, err
	}
	out := contract.BackfillList{Backfills: make([]contract.BackfillBody, 0, len(list)), Next: next}
	for _, b := range list {
		out.Backfills = append(out.Backfills, toBackfillBody(b))
	}
	return reply(out), nil
}

func (h *backfillAPI) apiBackfill(ctx context.Context, in *BackfillPath) (*body[contract.BackfillBody], error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	return backfilled(h.Backfills.Get(ctx, id))
}

func (h *backfillAPI) apiBackfillSlots(ctx context.Context, in *backfillSlotQuery) (*body[contract.BackfillSlots], error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	var after *time.Time
	if !in.After.IsZero() {
		after = &in.After
	}
	list, next, err := h.Backfills.Slots(ctx, id, after, in.Limit)
	if err != nil {
		return nil, err
	}
	out := contract.BackfillSlots{Slots: make([]contract.BackfillSlot, 0, len(list)), Next: next}
	for _, s := range list {
		out.Slots = append(out.Slots, contract.BackfillSlot{
			FireAt: s.Fire, IntervalStart: s.Start, State: string(s.State), Message: s.Message, ExecutionID: s.ExecutionID, Status: s.Status, StartedAt: s.StartedAt,
			FinishedAt: s.FinishedAt, Failure: s.Failure,
		})
	}
	return reply(out), nil
}

func (h *backfillAPI) apiPauseBackfill(ctx context.Context, in *BackfillPath) (*body[contract.BackfillBody], error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	return backfilled(h.Backfills.Pause(ctx, id))
}

func (h *backfillAPI) apiResumeBackfill(ctx context.Context, in *BackfillPath) (*body[contract.BackfillBody], error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	return backfilled(h.Backfills.Resume(ctx, id))
}

func (h *backfillAPI) apiCancelBackfill(ctx context.Context, in *struct {
	BackfillPath
	Body *contract.BackfillCancel
}) (*body[contract.BackfillBody], error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	return backfilled(h.Backfills.Cancel(ctx, id, in.Body != nil && in.Body.Executions == "cancel"))
}
