package api

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/engine/inbox"
	"github.com/flowforge/flowforge/engine/notify"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/web/contract"
)

type inboxPath struct {
	ID string `path:"item_id" doc:"ID of the item"`
}

func (p inboxPath) id() (uuid.UUID, error) { return request.ParseID(p.ID, "item") }

type inboxQuery struct {
	Unread bool   `query:"unread" doc:"Return only unread items"`
	Kind   string `query:"kind" doc:"Return only items of this kind" enum:"approvals,executions,schedules,models"`
	Before string `query:"before" doc:"Cursor: next from the previous response" maxLength:"36"`
	Limit  int    `query:"limit" doc:"Number of rows per page" minimum:"1" maximum:"200" default:"50"`
}

// MarkInboxReadInput is the request of mark-inbox-read.
type MarkInboxReadInput struct {
	Body contract.InboxRead
}

// PutInboxSettingsInput is the request of put-inbox-settings.
type PutInboxSettingsInput struct {
	Body contract.InboxSettings
}

// inboxAPI serves the inbox of the caller.
type inboxAPI struct {
	Inbox *inbox.Service
}

func (h *inboxAPI) mount(api *operations) {
	const tag = "Inbox"
	operation(api, get("list-inbox", "/inbox", "List your notifications, newest first", tag), h.apiList)
	operation(api, get("get-inbox-item", "/inbox/{item_id}", "Get one of your notifications", tag), h.apiItem)
	operation(api, post("read-inbox-item", "/inbox/{item_id}/read", "Mark a notification as read", tag), h.apiMark(true))
	operation(api, post("unread-inbox-item", "/inbox/{item_id}/unread", "Mark a notification as unread", tag), h.apiMark(false))
	operation(api, post("mark-inbox-read", "/inbox/read", "Mark all your notifications as read", tag), h.apiReadAll)
	operation(api, get("get-inbox-settings", "/inbox/settings", "Get your notification settings", tag), h.apiSettings)
	put := post("put-inbox-settings", "/inbox/settings", "Choose your notifications", tag)
	put.Method = http.MethodPut
	operation(api, put, h.apiPutSettings)
}

func (h *inboxAPI) apiList(ctx context.Context, in *inboxQuery) (*body[contract.InboxList], error) {
	f := inbox.Filter{Unread: in.Unread, Group: inbox.Group(in.Kind), Limit: in.Limit}
	if in.Before != "" {
		id, err := request.ParseID(in.Before, "item")
		if err != nil {
			return nil, err
		}
		f.Before = &id
	}
	page, err := h.Inbox.List(ctx, f)
	if err != nil {
		return nil, err
	}
	out := contract.InboxList{Items: make([]contract.InboxItem, 0, len(page.Items)), Next: page.Next, Unread: page.Unread}
	for _, i := range page.Items {
		out.Items = append(out.Items, toInboxItem(i))
	}
	return reply(out), nil
}

func (h *inboxAPI) apiItem(ctx context.Context, in *inboxPath) (*body[contract.InboxItem], error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	i, err := h.Inbox.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	return reply(toInboxItem(i)), nil
}

func (h *inboxAPI) apiMark(read bool) func(context.Context, *inboxPath) (*body[contract.InboxItem], error) {
	return func(ctx context.Context, in *inboxPath) (*body[contract.InboxItem], error) {
		id, err := in.id()
		if err != nil {
			return nil, err
		}
		i, err := h.Inbox.Mark(ctx, id, read)
		if err != nil {
			return nil, err
		}
		return reply(toInboxItem(i)), nil
	}
}

func (h *inboxAPI) apiReadAll(ctx context.Context, in *MarkInboxReadInput) (*body[contract.InboxMarked], error) {
	n, err := h.Inbox.MarkAll(ctx, in.Body.UpTo)
	if err != nil {
		return nil, err
	}
	return reply(contract.InboxMarked{Marked: n}), nil
}

func (h *inboxAPI) apiSettings(ctx context.Context, _ *struct{}) (*body[contract.InboxAccount], error) {
	a, err := h.Inbox.Account(ctx)
	if err != nil {
		return nil, err
	}
	return reply(toInboxAccount(a)), nil
}

func (h *inboxAPI) apiPutSettings(ctx context.Context, in *PutInboxSettingsInput) (*body[contract.InboxAccount], error) {
	st := inbox.Settings{
		Modes: map[notify.Event]inbox.Mode{}, Address: in.Body.Address, Digest: inbox.Digest(in.Body.Digest), DigestAt: in.Body.DigestAt,
		QuietFrom: in.Body.QuietFrom, QuietTo: in.Body.QuietTo, Timezone: in.Body.Timezone, Muted: in.Body.Muted,
	}
	for _, e := range in.Body.Events {
		mode, _ := inbox.ParseMode(e.Notify) // one of the enum
		st.Modes[notify.Event(e.Event)] = mode
	}
	a, err := h.Inbox.Put(ctx, st)
	if err != nil {
		return nil, err
	}
	return reply(toInboxAccount(a)), nil
}

func toInboxItem(i inbox.Item) contract.InboxItem {
	return contract.InboxItem{
		ID: i.ID, Event: string(i.Event), Title: i.Message.Title, Text: i.Message.Text, URL: i.Message.URL, ProjectID: i.ProjectID, Project: i.Project, Subject: i.Subject,
		ExecutionID: i.ExecutionID, At: i.At, ReadAt: i.ReadAt, Resolution: i.Resolution,
	}
}

func toInboxAccount(a inbox.Account) contract.InboxAccount {
	out := contract.InboxAccount{
		InboxSettings: contract.InboxSettings{
			Events: []contract.InboxEvent{}, Address: a.Address, Digest: string(a.Digest), DigestAt: a.DigestAt, QuietFrom: a.QuietFrom, QuietTo: a.QuietTo,
			Timezone: a.Timezone, Muted: a.Muted,
		},
		Email: a.Email, MailServer: a.MailServer, MailError: a.MailError,
	}
	for _, d := range inbox.Events() {
		out.Events = append(out.Events, contract.InboxEvent{Event: string(d.Event), Notify: a.Modes[d.Event].String()})
	}
	return out
}
