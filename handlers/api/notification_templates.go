package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/flowforge/flowforge/engine/notify"
	"github.com/flowforge/flowforge/web/contract"
)

// NotificationTemplatePath names a template. huma fills only exported embedded types.
type NotificationTemplatePath struct {
	Kind  string `path:"kind" maxLength:"20" doc:"Kind of the channels: slack, teams, email or webhook"`
	Event string `path:"event" maxLength:"50" doc:"Event; any applies to every event without its own template"`
}

func (p NotificationTemplatePath) with(in contract.NotificationTemplateInput) notify.Template {
	return notify.Template{Kind: p.Kind, Event: notify.Event(p.Event), Subject: in.Subject, Body: in.Body}
}

type notificationTemplateInput struct {
	NotificationTemplatePath
	Body contract.NotificationTemplateInput
}

type notificationTestInput struct {
	NotificationTemplatePath
	Body contract.NotificationTestInput
}

func (h *notificationAPI) mountTemplates(api *operations) {
	const tag, path = "Notifications", "/notifications/templates/{kind}/{event}"
	operation(api, get("list-notification-templates", "/notifications/templates", "List the notification templates of the project", tag), h.apiTemplates)
	operation(api, get("get-notification-template", path, "Get a notification template", tag), h.apiTemplate)
	put := post("put-notification-template", path, "Create or replace a notification template", tag)
	put.Method = http.MethodPut
	operation(api, put, h.apiPutTemplate)
	operation(api, huma.Operation{
		OperationID: "delete-notification-template", Method: http.MethodDelete, Path: path, Tags: []string{tag},
		Summary: "Delete a notification template; later messages use the built-in text", DefaultStatus: http.StatusNoContent,
	}, h.apiDeleteTemplate)
	operation(api, post("preview-notification-template", path+"/preview", "Preview the message of a template for the latest event", tag), h.apiPreviewTemplate)
	operation(api, post("test-notification-template", path+"/test", "Send the previewed message to a channel", tag), h.apiTestTemplate)
}

func (h *notificationAPI) apiTemplates(ctx context.Context, _ *struct{}) (*body[contract.NotificationTemplateList], error) {
	list, err := h.Notifications.Templates(ctx)
	if err != nil {
		return nil, err
	}
	out := contract.NotificationTemplateList{Templates: make([]contract.NotificationTemplate, 0, len(list))}
	for _, t := range list {
		out.Templates = append(out.Templates, toNotificationTemplate(t))
	}
	return reply(out), nil
}

func (h *notificationAPI) apiTemplate(ctx context.Context, in *NotificationTemplatePath) (*body[contract.NotificationTemplate], error) {
	t, err := h.Notifications.Template(ctx, in.Kind, notify.Event(in.Event))
	if err != nil {
		return nil, err
	}
	return reply(toNotificationTemplate(t)), nil
}

func (h *notificationAPI) apiPutTemplate(ctx context.Context, in *notificationTemplateInput) (*body[contract.NotificationTemplate], error) {
	t, err := h.Notifications.PutTemplate(ctx, in.with(in.Body))
	if err != nil {
		return nil, err
	}
	return reply(toNotificationTemplate(t)), nil
}

func (h *notificationAPI) apiDeleteTemplate(ctx context.Context, in *NotificationTemplatePath) (*struct{}, error) {
	return nil, h.Notifications.DeleteTemplate(ctx, in.Kind, notify.Event(in.Event))
}

func (h *notificationAPI) apiPreviewTemplate(ctx context.Context, in *notificationTemplateInput) (*body[contract.NotificationPreview], error) {
	p, err := h.Notifications.Preview(ctx, in.with(in.Body))
	if err != nil {
		return nil, err
	}
	return reply(contract.NotificationPreview{Subject: p.Subject, Text: p.Text, HTML: p.HTML, JSON: p.JSON, Event: string(p.Event), At: p.At, Sample: p.Sample}), nil
}

func (h *notificationAPI) apiTestTemplate(ctx context.Context, in *notificationTestInput) (*body[contract.NotificationTest], error) {
	r, err := h.Notifications.SendTest(ctx, in.with(in.Body.NotificationTemplateInput), in.Body.Channel)
	if err != nil {
		return nil, err
	}
	return reply(contract.NotificationTest(r)), nil
}

func toNotificationTemplate(t notify.Template) contract.NotificationTemplate {
	return contract.NotificationTemplate{
		Kind: t.Kind, Event: string(t.Event), NotificationTemplateInput: contract.NotificationTemplateInput{Subject: t.Subject, Body: t.Body},
		UpdatedAt: t.UpdatedAt, UpdatedBy: t.UpdatedBy,
	}
}
