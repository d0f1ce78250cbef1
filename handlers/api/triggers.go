package api

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/trigger"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/web/contract"
)

// TriggerPath names a trigger.
type TriggerPath struct {
	Name string `path:"name" minLength:"1" maxLength:"100" doc:"Name of the trigger"`
}

// PutTriggerInput is the request of put-trigger.
type PutTriggerInput struct {
	TriggerPath
	IfNoneMatch string `header:"If-None-Match" doc:"With *, the request fails with 409 if the name already exists"`
	Body        contract.TriggerInput
}

type triggerDeliveriesQuery struct {
	TriggerPath
	Before string `query:"before" doc:"Cursor: next from the previous response" maxLength:"36"`
	Limit  int    `query:"limit" doc:"Number of rows per page" minimum:"1" maximum:"200" default:"50"`
}

type triggerDeliveryPath struct {
	TriggerPath
	ID string `path:"delivery_id" doc:"ID of the delivery"`
}

type testTriggerInput struct {
	TriggerPath
	Body contract.TriggerTest
}

// triggerAPI serves triggers and their deliveries.
type triggerAPI struct {
	Triggers  *trigger.Service
	PublicURL string
}

func (h *triggerAPI) mount(api *operations) {
	const tag = "Triggers"
	operation(api, get("list-triggers", "/triggers", "List the triggers of the project", tag), h.apiTriggers)
	operation(api, get("get-trigger", "/triggers/{name}", "Get a trigger", tag), h.apiTrigger)
	put := post("put-trigger", "/triggers/{name}", "Create or replace a trigger", tag)
	put.Method = http.MethodPut
	operation(api, put, h.apiPutTrigger)
	operation(api, huma.Operation{
		OperationID: "delete-trigger", Method: http.MethodDelete, Path: "/triggers/{name}", Tags: []string{tag},
		Summary: "Delete a trigger with its deliveries", DefaultStatus: http.StatusNoContent,
	}, h.apiDeleteTrigger)
	operation(api, post("test-trigger", "/triggers/{name}/test", "Test what a trigger would do with an event, without launching", tag), h.apiTestTrigger)
	poll := post("poll-trigger", "/triggers/{name}/poll", "Make a trigger poll now", tag)
	poll.DefaultStatus = http.StatusAccepted
	operation(api, poll, h.apiPollTrigger)
	operation(api, get("list-trigger-joins", "/triggers/{name}/joins", "List the joins of a trigger that are waiting for more events", tag), h.apiTriggerJoins)
	operation(api, get("list-trigger-deliveries", "/triggers/{name}/deliveries", "List the events that reached a trigger, newest first", tag), h.apiTriggerDeliveries)
	operation(api, post("redeliver-trigger", "/triggers/{name}/deliveries/{delivery_id}/redeliver", "Deliver an event again", tag), h.apiRedeliverTrigger)
}

func (h *triggerAPI) apiTriggers(ctx context.Context, _ *struct{}) (*body[contract.TriggerList], error) {
	list, err := h.Triggers.List(ctx)
	if err != nil {
		return nil, err
	}
	polls, err := h.Triggers.Polls(ctx)
	if err != nil {
		return nil, err
	}
	out := contract.TriggerList{Triggers: make([]contract.TriggerBody, 0, len(list))}
	for _, t := range list {
		b, err := h.toTriggerBody(t)
		if err != nil {
			return nil, err
		}
		if p, ok := polls[t.ID]; ok {
			b.Polls = ownPolls(p)
		}
		out.Triggers = append(out.Triggers, b)
	}
	return reply(out), nil
}

func (h *triggerAPI) apiTrigger(ctx context.Context, in *TriggerPath) (*body[contract.TriggerBody], error) {
	return h.replyTrigger(ctx)(h.Triggers.Get(ctx, in.Name))
}

// replyTrigger returns a function that makes the response of a trigger.
func (h *triggerAPI) replyTrigger(ctx context.Context) func(trigger.Trigger, error) (*body[contract.TriggerBody], error) {
	return func(t trigger.Trigger, err error) (*body[contract.TriggerBody], error) {
		if err != nil {
			return nil, err
		}
		b, err := h.toTriggerBody(t)
		if err != nil {
			return nil, err
		}
		polls, err := h.Triggers.PollsOf(ctx, t)
		if err != nil {
			return nil, err
		}
		b.Polls = ownPolls(polls)
		states, err := h.Triggers.ConditionStates(ctx, t)
		if err != nil {
			return nil, err
		}
		for _, c := range states {
			b.Conditions = append(b.Conditions, h.toConditionState(t, c))
		}
		return reply(b), nil
	}
}

func (h *triggerAPI) apiPutTrigger(ctx context.Context, in *PutTriggerInput) (*body[contract.TriggerBody], error) {
	inputs, err := decodeInputs(in.Body.Inputs)
	if err != nil {
		return nil, err
	}
	former := ""
	if in.IfNoneMatch != "*" {
		before, err := h.Triggers.Get(ctx, in.Name)
		if err != nil && !apperr.Is(err, apperr.NotFound) {
			return nil, err
		}
		former = before.Name
	}
	return h.replyTrigger(ctx)(h.Triggers.Put(ctx, former, triggerSpec(in.Name, in.Body, inputs)))
}

// triggerSpec is the trigger of a request.
func triggerSpec(name string, in contract.TriggerInput, inputs map[string]any) trigger.Spec {
	sp := trigger.Spec{
		Name: name, Kind: trigger.Kind(in.Kind), Sources: in.Sources, States: in.States, Stages: in.Stages,
		Signature: trigger.Signature(in.Signature), Secret: in.Secret, Filter: in.Filter,
		Workflow: in.Workflow, Version: in.Version, Inputs: inputs, Priority: in.Priority, Enabled: !in.Disabled,
	}
	sp.HTTP, sp.S3 = httpPoll(in.HTTP), s3Poll(in.S3)
	if len(in.All) > 0 || in.Within != "" || in.By != "" {
		sp.Join = &trigger.Join{Within: in.Within, By: in.By}
		for _, c := range in.All {
			sp.Join.All = append(sp.Join.All, trigger.Condition{
				Name: c.Name, Kind: trigger.Kind(c.Kind), Sources: c.Sources, States: c.States, Stages: c.Stages, Signature: trigger.Signature(c.Signature), Secret: c.Secret,
				HTTP: httpPoll(c.HTTP), S3: s3Poll(c.S3), Filter: c.Filter, By: c.By,
			})
		}
	}
	return sp
}

func httpPoll(p *contract.TriggerHTTP) *trigger.HTTPPoll {
	if p == nil {
		return nil
	}
	return &trigger.HTTPPoll{URL: p.URL, Connection: p.Connection, Path: p.Path, When: trigger.When(p.When), Every: p.Every, Existing: p.Existing}
}

func s3Poll(p *contract.TriggerS3) *trigger.S3Poll {
	if p == nil {
		return nil
	}
	return new(trigger.S3Poll(*p))
}

func toHTTP(p *trigger.HTTPPoll) *contract.TriggerHTTP {
	if p == nil {
		return nil
	}
	return &contract.TriggerHTTP{URL: p.URL, Connection: p.Connection, Path: p.Path, When: string(p.When), Every: p.Every, Existing: p.Existing}
}

func toS3(p *trigger.S3Poll) *contract.TriggerS3 {
	if p == nil {
		return nil
	}
	return new(contract.TriggerS3(*p))
}

func (h *triggerAPI) apiDeleteTrigger(ctx context.Context, in *TriggerPath) (*struct{}, error) {
	return nil, h.Triggers.Delete(ctx, in.Name)
}

func (h *triggerAPI) apiTestTrigger(ctx context.Context, in *testTriggerInput) (*body[contract.TriggerTrial], error) {
	t, err := h.Triggers.Try(ctx, in.Name, in.Body.Event)
	if err != nil {
		return nil, err
	}
	return reply(contract.TriggerTrial{Outcome: string(t.Outcome), Reason: t.Reason, Message: t.Message, Inputs: t.Inputs}), nil
}

func (h *triggerAPI) apiTriggerDeliveries(ctx context.Context, in *triggerDeliveriesQuery) (*body[contract.TriggerDeliveryList], error) {
	var before *uuid.UUID
	if in.Before != "" {
		id, err := request.ParseID(in.Before, "delivery")
		if err != nil {
			return nil, err
		}
		before = &id
	}
	page, err := h.Triggers.Deliveries(ctx, in.Name, before, in.Limit)
	if err != nil {
		return nil, err
	}
	out := contract.TriggerDeliveryList{Deliveries: make([]contract.TriggerDelivery, 0, len(page.Deliveries)), Next: page.Next}
	for _, d := range page.Deliveries {
		out.Deliveries = append(out.Deliveries, toTriggerDelivery(d))
	}
	if before != nil {
		return reply(out), nil
	}
	t, err := h.Triggers.Get(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	pending, count, err := h.Triggers.PendingOf(ctx, t)
	if err != nil {
		return nil, err
	}
	for _, p := range pending {
		out.Pending = append(out.Pending, contract.TriggerPending{Subject: p.Subject, Failures: p.Failures, Error: p.Error, SourceID: p.SourceID, NextAt: p.NextAt})
	}
	out.PendingCount = count
	return reply(out), nil
}

func (h *triggerAPI) apiRedeliverTrigger(ctx context.Context, in *triggerDeliveryPath) (*body[contract.TriggerDelivery], error) {
	id, err := request.ParseID(in.ID, "delivery")
	if err != nil {
		return nil, err
	}
	d, err := h.Triggers.Redeliver(ctx, in.Name, id)
	if err != nil {
		return nil, err
	}
	return reply(toTriggerDelivery(d)), nil
}

func (h *triggerAPI) toTriggerBody(t trigger.Trigger) (contract.TriggerBody, error) {
	inputs, err := json.Marshal(t.Inputs)
	b := contract.TriggerBody{
		ID: t.ID, Name: t.Name, Owner: t.Owner, CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt,
		TriggerInput: contract.TriggerInput{
			Kind: string(t.Kind), Sources: t.Sources, States: t.States, Stages: t.Stages, Signature: string(t.Signature), Secret: t.Secret, Filter: t.Filter,
			Workflow: t.Workflow, Version: t.Version, Inputs: inputs, Priority: t.Priority, Disabled: !t.Enabled,
		},
	}
	if t.Kind == trigger.OnWebhook {
		b.HookURL = t.HookURL(h.PublicURL, "")
	}
	b.Paused = t.Paused
	b.HTTP, b.S3 = toHTTP(t.HTTP), toS3(t.S3)
	if t.Join != nil {
		b.Within, b.By = t.Join.Within, t.Join.By
		for _, c := range t.Join.All {
			b.All = append(b.All, contract.TriggerCondition{
				Name: c.Name, Kind: string(c.Kind), Sources: c.Sources, States: c.States, Stages: c.Stages, Signature: string(c.Signature), Secret: c.Secret,
				HTTP: toHTTP(c.HTTP), S3: toS3(c.S3), Filter: c.Filter, By: c.By,
			})
		}
	}
	return b, err
}

// ownPolls are the polls of a trigger without a join.
func ownPolls(list []trigger.Polls) *contract.TriggerPolls {
	if len(list) == 0 || list[0].Condition != "" {
		return nil
	}
	return toTriggerPolls(list[0])
}

func (h *triggerAPI) toConditionState(t trigger.Trigger, c trigger.ConditionState) contract.TriggerConditionState {
	out := contract.TriggerConditionState{Name: c.Condition.Name}
	if c.Condition.Kind == trigger.OnWebhook {
		out.HookURL = t.HookURL(h.PublicURL, c.Condition.Name)
	}
	if c.Polls != nil {
		out.Polls = toTriggerPolls(*c.Polls)
	}
	if c.Joined != nil {
		out.Joined = new(toArrival(*c.Joined))
	}
	if c.Ignored != nil {
		out.Ignored = new(toTriggerDelivery(*c.Ignored))
		out.Ignored.Event = nil
	}
	return out
}

func toTriggerPolls(p trigger.Polls) *contract.TriggerPolls {
	return &contract.TriggerPolls{LastAt: p.Last, NextAt: p.Next, Status: p.Status, Failures: p.Failures, Error: p.Error}
}

func (h *triggerAPI) apiPollTrigger(ctx context.Context, in *TriggerPath) (*struct{}, error) {
	return nil, h.Triggers.PollNow(ctx, in.Name)
}

func (h *triggerAPI) apiTriggerJoins(ctx context.Context, in *TriggerPath) (*body[contract.TriggerJoinList], error) {
	t, err := h.Triggers.Get(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	list, count, err := h.Triggers.Partials(ctx, t)
	if err != nil {
		return nil, err
	}
	out := contract.TriggerJoinList{Joins: make([]contract.TriggerJoin, 0, len(list)), Count: count}
	for _, p := range list {
		j := contract.TriggerJoin{Key: p.Key, ExpiresAt: p.ExpiresAt}
		for _, c := range p.Conditions {
			j.Conditions = append(j.Conditions, toArrival(c))
		}
		out.Joins = append(out.Joins, j)
	}
	return reply(out), nil
}

func toArrival(a trigger.Arrival) contract.TriggerArrival {
	out := contract.TriggerArrival{Name: a.Condition, Subject: a.Subject, SourceID: a.SourceID}
	if a.Subject != "" {
		out.At = &a.At
	}
	return out
}

func toTriggerDelivery(d trigger.Delivery) contract.TriggerDelivery {
	return contract.TriggerDelivery{
		ID: d.ID, Condition: d.Condition, Subject: d.Subject, Outcome: string(d.Outcome), Reason: d.Reason, Message: d.Message, Event: d.Payload,
		SourceID: d.SourceID, ExecutionID: d.ExecutionID, At: d.At,
	}
}
