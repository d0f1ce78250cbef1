// Package inbox contains the pages of the notifications of a person: the inbox and its settings.
package inbox

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/message"
	"github.com/flowforge/flowforge/engine/inbox"
	"github.com/flowforge/flowforge/engine/notify"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// Config contains the dependencies of the pages.
type Config struct {
	Now   func() time.Time
	Inbox *inbox.Service
	Page  *page.Shell
}

// Pages are the pages of inboxes. They are safe for concurrent use.
type Pages struct{ Config }

// New returns the pages.
func New(c Config) *Pages { return &Pages{c} }

// Mount adds the pages to r.
func (h *Pages) Mount(r chi.Router) {
	r.Get("/inbox", h.Page.Serve(h.list))
	r.Get("/inbox/stream", h.Page.Serve(h.stream))
	r.Get("/inbox/bell", h.Page.Serve(h.bell))
	r.Get("/inbox/bell/stream", h.Page.Serve(h.bellStream))
	r.Post("/inbox/read", h.Page.Serve(h.readAll))
	r.Post("/inbox/mute", h.Page.Serve(h.mute))
	r.Post("/inbox/{item}/read", h.Page.Serve(h.mark(true)))
	r.Post("/inbox/{item}/unread", h.Page.Serve(h.mark(false)))
	r.Get("/account/notifications", h.Page.Serve(h.settings))
	r.Post("/account/notifications", h.Page.Serve(h.save))
}

const pageRows = 50

// query is what the address of the page selects.
type query struct {
	inbox.Filter
	show, kind string
}

func queryOf(q url.Values) (query, error) {
	f := query{Filter: inbox.Filter{UnreadFirst: true, Limit: pageRows}}
	if q.Get("show") == "unread" {
		f.show, f.Unread = "unread", true
	}
	for _, g := range inbox.Groups() {
		if string(g) == q.Get("kind") {
			f.kind, f.Group = string(g), g
		}
	}
	if q.Get("before") == "" {
		return f, nil
	}
	id, err := request.ParseID(q.Get("before"), "item")
	f.Before, f.BeforeRead = &id, q.Get("read") != ""
	return f, err
}

// values are the parameters of the address, without the page.
func (f query) values() url.Values {
	q := url.Values{}
	if f.show != "" {
		q.Set("show", f.show)
	}
	if f.kind != "" {
		q.Set("kind", f.kind)
	}
	return q
}

func (f query) with(name, value string) string {
	q := f.values()
	q.Set(name, value)
	if value == "" {
		q.Del(name)
	}
	return views.InboxURL(q)
}

// list shows the items of the reader, unread ones first.
func (h *Pages) list(w http.ResponseWriter, r *http.Request) error {
	f, err := queryOf(r.URL.Query())
	if err != nil {
		return err
	}
	found, err := h.Inbox.List(r.Context(), f.Filter)
	if err != nil {
		return err
	}
	m := views.Inbox{Page: h.Page.Base(r, "Inbox", views.SectionNone), List: h.items(h.Page.Clock(r), f, found)}
	m.Show = []ui.Choice{{Name: "All", URL: f.with("show", ""), Current: f.show == ""}, {Name: "Unread", URL: f.with("show", "unread"), Current: f.show != ""}}
	m.Kinds = []ui.Choice{{Name: "Everything", URL: f.with("kind", ""), Current: f.kind == ""}}
	for _, g := range inbox.Groups() {
		m.Kinds = append(m.Kinds, ui.Choice{Name: groupName(g), URL: f.with("kind", string(g)), Current: f.Group == g})
	}
	if f.Before == nil {
		m.Stream = views.InboxStreamURL(f.values())
	}
	if name := r.URL.Query().Get("muted"); name != "" {
		m.Notice = "You no longer receive notifications about " + name + "."
		m.NoticeLink = ui.Action{Name: "Change what is muted", URL: views.AccountNotificationsURL() + "#inbox-muted"}
	}
	return web.Render(w, r, http.StatusOK, views.InboxPage(m))
}

func groupName(g inbox.Group) string {
	switch g {
	case inbox.Executions:
		return "Executions"
	case inbox.Questions:
		return "Approvals"
	case inbox.Schedules:
		return "Schedules and triggers"
	case inbox.Channels:
		return "Channels"
	case inbox.Models:
	}
	return "Models"
}

func (h *Pages) items(clock ui.Clock, f query, found inbox.Page) views.InboxList {
	l := views.InboxList{Filtered: f.show != "" || f.kind != "", AllUnread: found.Unread, Next: views.InboxURL(f.values())}
	newest := uuid.Nil
	for _, i := range found.Items {
		if i.ID.String() > newest.String() {
			newest = i.ID
		}
		if i.Read() {
			l.Read = append(l.Read, item(clock, i))
		} else {
			l.Unread = append(l.Unread, item(clock, i))
		}
	}
	l.UpTo = newest.String()
	l.Pager.Text = units.Plural(len(found.Items), "notification", "notifications")
	if f.Before != nil {
		l.Pager.Newer = views.InboxURL(f.values())
	}
	if found.Next != nil {
		q := f.values()
		q.Set("before", found.Next.String())
		if found.NextRead {
			q.Set("read", "1")
		}
		l.Pager.Older = views.InboxURL(q)
	}
	return l
}

func item(clock ui.Clock, i inbox.Item) views.InboxItem {
	v := views.InboxItem{
		ID: i.ID.String(), Title: i.Message.Title, URL: i.Path, Text: i.Message.Text, Resolution: i.Resolution, At: clock.Moment(i.At), Read: i.Read(), Subject: i.Subject,
		Meta: []string{i.Project},
	}
	v.Icon, v.State = iconOf(i)
	if i.ExecutionID != nil {
		v.Meta = append(v.Meta, label.ShortID(*i.ExecutionID))
	}
	for _, f := range i.Message.Facts {
		if f.Name == "Launched by" || f.Name == "Changed by" || f.Name == "Requested by" {
			v.Meta = append(v.Meta, strings.ToLower(f.Name[:1])+f.Name[1:]+" "+f.Value)
		}
	}
	return v
}

// iconOf returns the icon of an item and the state whose colour it has.
func iconOf(i inbox.Item) (icon, state string) {
	switch i.Event {
	case notify.Approval, inbox.ModelRequest:
		return "APPROVAL", "APPROVAL"
	case notify.StageChanged:
		return "box", ""
	case notify.Cancelled:
		return "CANCELLED", "CANCELLED"
	case notify.SchedulePaused, notify.TriggerPaused:
		return "PAUSED", "FAILED"
	case notify.ScheduleRefused, notify.TriggerFailed:
		return "FAILED", "FAILED"
	case notify.Slow, inbox.StartedLate:
		return "clock", "RETRYING"
	}
	switch i.Message.Level {
	case message.Error:
		return "FAILED", "FAILED"
	case message.OK:
		return "SUCCEEDED", "SUCCEEDED"
	case message.Warning, message.Info:
	}
	return "RETRYING", "RETRYING"
}

// mine is the check of a stream: its caller still has an inbox.
func (h *Pages) mine(ctx context.Context) error {
	_, err := h.Inbox.Bell(ctx)
	return err
}

// stream sends the items again after they have changed.
func (h *Pages) stream(w http.ResponseWriter, r *http.Request) error {
	f, err := queryOf(r.URL.Query())
	if err != nil {
		return err
	}
	stream, err := web.NewStream(w, r, h.mine)
	if err != nil {
		return err
	}
	clock, sent := h.Page.Clock(r), page.SentPieces{}
	h.Page.OnHints(r, stream, h.Page.Ticks(r.Context()), page.ListInterval, func(ctx context.Context) error {
		found, err := h.Inbox.List(ctx, f.Filter)
		if err != nil {
			return err
		}
		states := make([]string, len(found.Items))
		for i, it := range found.Items {
			states[i] = fmt.Sprint(it.ID, it.Read(), it.Resolution)
		}
		if !sent.Changed("items", states) {
			return nil
		}
		clock.Now = h.Now()
		return stream.SendComponent(ctx, "", "", views.InboxUpdate(h.items(clock, f, found)))
	})
	return nil
}

// bell is the bell of the top bar, for pages in the background.
func (h *Pages) bell(w http.ResponseWriter, r *http.Request) error {
	b, err := h.Page.Bell(r.Context(), uuid.Nil)
	if err != nil {
		return err
	}
	return web.Render(w, r, http.StatusOK, views.InboxBell(b))
}

// bellStream updates the bell and the counts of the sidebar on pages without a stream.
func (h *Pages) bellStream(w http.ResponseWriter, r *http.Request) error {
	stream, err := web.NewStream(w, r, h.mine)
	if err != nil {
		return err
	}
	h.Page.OnHints(r, stream, nil, page.ListInterval, func(context.Context) error { return nil })
	return nil
}

func (h *Pages) readAll(w http.ResponseWriter, r *http.Request) error {
	upTo, err := request.ParseID(r.PostFormValue("up_to"), "item")
	if err != nil {
		return err
	}
	if _, err := h.Inbox.MarkAll(r.Context(), &upTo); err != nil {
		return err
	}
	return back(w, r)
}

func (h *Pages) mark(read bool) web.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		id, err := request.ParseID(request.PathValue(r, "item"), "item")
		if err != nil {
			return err
		}
		if _, err := h.Inbox.Mark(r.Context(), id, read); err != nil {
			return err
		}
		return back(w, r)
	}
}

// back leads to the page of the list that the form belongs to.
func back(w http.ResponseWriter, r *http.Request) error {
	next := page.LocalPath(r.PostFormValue("next"))
	if next != "/inbox" && !strings.HasPrefix(next, "/inbox?") {
		next = views.InboxURL(nil)
	}
	http.Redirect(w, r, next, http.StatusSeeOther)
	return nil
}

func (h *Pages) mute(w http.ResponseWriter, r *http.Request) error {
	name := r.PostFormValue("name")
	if err := h.Inbox.Mute(r.Context(), name); err != nil {
		if fields := apperr.FieldsOf(err); len(fields) > 0 { // the form has no field to show it at
			return apperr.Wrap(apperr.Invalid, err, fields[0].Message)
		}
		return err
	}
	http.Redirect(w, r, views.InboxURL(url.Values{"muted": {name}}), http.StatusSeeOther)
	return nil
}
