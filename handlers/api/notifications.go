package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/notify"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/web/contract"
)

// NotificationRulePath names a rule.
type NotificationRulePath struct {
	Name string `path:"name" minLength:"1" maxLength:"100" doc:"Name of the rule"`
}

// PutNotificationRuleInput is the request of put-notification-rule.
type PutNotificationRuleInput struct {
	NotificationRulePath
	IfNoneMatch string `header:"If-None-Match" doc:"With *, the request fails with 409 if the name already exists"`
	Body        contract.NotificationRuleInput
}

type notificationPath struct {
	ID string `path:"notification_id" doc:"ID of the message"`
}

func (p notificationPath) id() (uuid.UUID, error) { return request.ParseID(p.ID, "notification") }

type notificationQuery struct {
	State  string `query:"state" doc:"Return only messages in this state" enum:"PENDING,DELIVERED,FAILED,MUTED"`
	Before string `query:"before" doc:"Cursor: next from the previous response" maxLength:"36"`
	Limit  int    `query:"limit" doc:"Number of rows per page" minimum:"1" maximum:"200" default:"50"`
}

// notificationAPI serves notification rules, channels and messages.
type notificationAPI struct {
	Notifications *notify.Service
}

func (h *notificationAPI) mount(api *operations) {
	const tag = "Notifications"
	operation(api, get("list-notification-rules", "/notifications/rules", "List the notification rules of the project", tag), h.apiNotificationRules)
	operation(api, get("get-notification-rule", "/notifications/rules/{name}", "Get a notification rule", tag), h.apiNotificationRule)
	put := post("put-notification-rule", "/notifications/rules/{name}", "Create or replace a notification rule", tag)
	put.Method = http.MethodPut
	operation(api, put, h.apiPutNotificationRule)
	operation(api, huma.Operation{
		OperationID: "delete-notification-rule", Method: http.MethodDelete, Path: "/notifications/rules/{name}", Tags: []string{tag},
		Summary: "Delete a notification rule", DefaultStatus: http.StatusNoContent,
	}, h.apiDeleteNotificationRule)
	h.mountTemplates(api)
	operation(api, get("list-notification-channels", "/notifications/channels", "List the channels of the project and the state of their deliveries", tag), h.apiNotificationChannels)
	operation(api, get("list-notifications", "/notifications", "List messages, newest first", tag), h.apiNotifications)
	operation(api, get("get-notification", "/notifications/{notification_id}", "Get a message with its attempts", tag), h.apiNotification)
	operation(api, post("redeliver-notification", "/notifications/{notification_id}/redeliver", "Send a message again, or now if it waits for its next attempt", tag), h.apiRedeliverNotification)
}

func (h *notificationAPI) apiNotificationRules(ctx context.Context, _ *struct{}) (*body[contract.NotificationRuleList], error) {
	list, err := h.Notifications.Rules(ctx)
	if err != nil {
		return nil, err
	}
	out := contract.NotificationRuleList{Rules: make([]contract.NotificationRuleBody, 0, len(list))}
	for _, r := range list {
		out.Rules = append(out.Rules, toRuleBody(r))
	}
	return reply(out), nil
}

func (h *notificationAPI) apiNotificationRule(ctx context.Context, in *NotificationRulePath) (*body[contract.NotificationRuleBody], error) {
	r, err := h.Notifications.Rule(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	return reply(toRuleBody(r)), nil
}

func (h *notificationAPI) apiPutNotificationRule(ctx context.Context, in *PutNotificationRuleInput) (*body[contract.NotificationRuleBody], error) {
	rule := notify.Rule{
		Name: in.Name, Workflows: in.Body.Workflows, Channels: in.Body.Channels, SlowFactor: in.Body.SlowFactor, Waiting: time.Duration(in.Body.WaitingSeconds) * time.Second,
		Deadline: time.Duration(in.Body.DeadlineSeconds) * time.Second, QuietFrom: in.Body.QuietFrom, QuietTo: in.Body.QuietTo, Timezone: in.Body.Timezone, Enabled: !in.Body.Disabled, MutedUntil: in.Body.MutedUntil,
	}
	for _, e := range in.Body.Events {
		rule.Events = append(rule.Events, notify.Event(e))
	}
	former := ""
	if in.IfNoneMatch != "*" {
		before, err := h.Notifications.Rule(ctx, in.Name)
		if err != nil && !apperr.Is(err, apperr.NotFound) {
			return nil, err
		}
		former = before.Name
	}
	r, err := h.Notifications.Put(ctx, former, rule)
	if err != nil {
		return nil, renamed(renamed(err, "waiting", "waiting_seconds"), "deadline", "deadline_seconds")
	}
	return reply(toRuleBody(r)), nil
}

func (h *notificationAPI) apiDeleteNotificationRule(ctx context.Context, in *NotificationRulePath) (*struct{}, error) {
	return nil, h.Notifications.Delete(ctx, in.Name)
}

func (h *notificationAPI) apiNotificationChannels(ctx context.Context, _ *struct{}) (*body[contract.NotificationChannelList], error) {
	list, err := h.Notifications.Channels(ctx)
	if err != nil {
		return nil, err
	}
	out := contract.NotificationChannelList{Channels: make([]contract.NotificationChannel, 0, len(list))}
	for _, c := range list {
		out.Channels = append(out.Channels, contract.NotificationChannel{
			Name: c.Name, Kind: c.Kind, Description: c.Description, Failures: c.Failures, PausedUntil: c.OpenUntil, DeliveredAt: c.OKAt, FailedAt: c.FailedAt, Error: c.Error,
		})
	}
	return reply(out), nil
}

func (h *notificationAPI) apiNotifications(ctx context.Context, in *notificationQuery) (*body[contract.NotificationList], error) {
	var before *uuid.UUID
	if in.Before != "" {
		id, err := request.ParseID(in.Before, "notification")
		if err != nil {
			return nil, err
		}
		before = &id
	}
	page, err := h.Notifications.List(ctx, notify.State(in.State), before, in.Limit)
	if err != nil {
		return nil, err
	}
	out := contract.NotificationList{Notifications: make([]contract.NotificationBody, 0, len(page.Notifications)), Next: page.Next}
	for _, n := range page.Notifications {
		out.Notifications = append(out.Notifications, toNotificationBody(n))
	}
	return reply(out), nil
}

func (h *notificationAPI) apiNotification(ctx context.Context, in *notificationPath) (*body[contract.NotificationBody], error) {
	return h.oneNotification(ctx, in, h.Notifications.Get)
}

func (h *notificationAPI) apiRedeliverNotification(ctx context.Context, in *notificationPath) (*body[contract.NotificationBody], error) {
	return h.oneNotification(ctx, in, h.Notifications.Redeliver)
}

func (h *notificationAPI) oneNotification(ctx context.Context, in *notificationPath, do func(context.Context, uuid.UUID) (notify.Notification, error)) (*body[contract.NotificationBody], error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	n, err := do(ctx, id)
	if err != nil {
		return nil, err
	}
	return reply(toNotificationBody(n)), nil
}

func toRuleBody(r notify.Rule) contract.NotificationRuleBody {
	b := contract.NotificationRuleBody{
		Name: r.Name, CreatedAt: r.CreatedAt, CreatedBy: r.CreatedBy, UpdatedAt: r.UpdatedAt, UpdatedBy: r.UpdatedBy,
		NotificationRuleInput: contract.NotificationRuleInput{
			Events: []string{}, Workflows: r.Workflows, Channels: r.Channels, SlowFactor: r.SlowFactor, WaitingSeconds: int(r.Waiting / time.Second),
			DeadlineSeconds: int(r.Deadline / time.Second), QuietFrom: r.QuietFrom, QuietTo: r.QuietTo, Timezone: r.Timezone, Disabled: !r.Enabled, MutedUntil: r.MutedUntil,
		},
	}
	for _, e := range r.Events {
		b.Events = append(b.Events, string(e))
	}
	return b
}

func toNotificationBody(n notify.Notification) contract.NotificationBody {
	b := contract.NotificationBody{
		ID: n.ID, Rule: n.Rule, Channel: n.Channel, Event: string(n.Event), Title: n.Message.Title, Text: n.Message.Text, URL: n.Message.URL,
		State: string(n.State), Reason: n.Reason, Attempts: n.Attempts, Log: []contract.NotificationAttempt{}, CreatedAt: n.CreatedAt, NextAt: n.DueAt, SettledAt: n.SettledAt,
	}
	for _, a := range n.Log {
		b.Log = append(b.Log, contract.NotificationAttempt(a))
	}
	return b
}
