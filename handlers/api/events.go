package api

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/feed"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/web"
	"github.com/flowforge/flowforge/web/contract"
)

// feedQuery selects events of the feed.
type feedQuery struct {
	After       string   `query:"after" doc:"Cursor: next from the previous response. Default: the oldest event that is kept. latest: only new events" maxLength:"20"`
	Topic       []string `query:"topic,explode" doc:"Only events of these topics (repeatable)" enum:"workflow,task,quota,artifact,audit" maxItems:"5"`
	Type        []string `query:"type,explode" doc:"Type of events, or a pattern such as execution.* (repeatable)" maxItems:"50"`
	ExecutionID string   `query:"execution_id" doc:"Only events of this execution" format:"uuid"`
	AllProjects bool     `query:"all_projects" doc:"Events of all projects that you can read, and events that do not belong to a project"`
	Limit       int      `query:"limit" doc:"Maximum number of events" minimum:"1" maximum:"1000" default:"100"`
}

func (q feedQuery) filter() (feed.Filter, error) {
	f := feed.Filter{After: q.After, Topics: q.Topic, Types: q.Type, AllProjects: q.AllProjects, Limit: q.Limit}
	if q.ExecutionID != "" {
		id, err := uuid.Parse(q.ExecutionID)
		if err != nil {
			return f, apperr.InvalidFields("The filter is invalid.", []apperr.Field{{Path: "execution_id", Message: "Enter the ID of an execution."}})
		}
		f.ExecutionID = &id
	}
	return f, nil
}

// feedAPI serves the feed of events.
type feedAPI struct {
	Log   *slog.Logger
	Feed  *feed.Service
	Scope request.Scope
}

func (h *feedAPI) mount(api *operations) {
	op := get("list-events", "/events", "List or follow events, oldest first", "Events")
	op.Description = "Events in the JSON format of CloudEvents 1.0. With Accept: text/event-stream, the response is a stream of server-sent events: " +
		"the ID of each is its cursor, and the data is the event. The stream continues after the Last-Event-ID header, or else after the query parameter after."
	op.Middlewares = huma.Middlewares{func(ctx huma.Context, next func(huma.Context)) {
		r, w := humachi.Unwrap(ctx)
		if strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
			h.Scope.Page(h.follow)(w, r)
			return
		}
		next(ctx)
	}}
	operation(api, op, h.list)
}

func (h *feedAPI) list(ctx context.Context, in *feedQuery) (*body[contract.CloudEventList], error) {
	f, err := in.filter()
	if err != nil {
		return nil, err
	}
	page, err := h.Feed.List(ctx, f)
	if err != nil {
		return nil, err
	}
	out := contract.CloudEventList{Events: make([]contract.CloudEvent, 0, len(page.Events)), Next: page.Next, More: page.More}
	for _, e := range page.Events {
		out.Events = append(out.Events, e.CloudEvent())
	}
	return reply(out), nil
}

// Of a stream.
const (
	feedBatch = 100
	feedEvery = 500 * time.Millisecond
)

// follow sends the events after a cursor, and new ones, until the client disconnects.
func (h *feedAPI) follow(w http.ResponseWriter, r *http.Request) error {
	v := r.URL.Query()
	in := feedQuery{After: v.Get("after"), Topic: v["topic"], Type: v["type"], ExecutionID: v.Get("execution_id"), AllProjects: v.Get("all_projects") == "true", Limit: feedBatch}
	if last := web.LastEventID(r); last != "" {
		in.After = last
	}
	f, err := in.filter()
	if err != nil {
		return err
	}
	page, err := h.Feed.List(r.Context(), f)
	if err != nil {
		return err
	}
	stream, err := web.NewStream(w, r, web.StillMay(auth.ExecutionRead))
	if err != nil {
		return err
	}
	ctx := r.Context()
	look, ping := time.NewTicker(feedEvery), time.NewTicker(web.KeepAlive)
	defer look.Stop()
	defer ping.Stop()
	for {
		for _, e := range page.Events {
			data, err := json.Marshal(e.CloudEvent())
			if err != nil {
				return err
			}
			if err := stream.Send("", e.Cursor, data); err != nil {
				return nil // the client disconnected
			}
		}
		f.After = page.Next
		if !page.More && !h.wait(ctx, stream, page.Next, look, ping) {
			return nil
		}
		if page, err = h.Feed.List(ctx, f); err != nil {
			if ctx.Err() == nil {
				h.Log.Warn("events cannot be followed", "error", err)
			}
			return nil // the response has begun: the client reconnects with its cursor
		}
	}
}

// wait returns true once there are events after a cursor, and false when the stream has ended.
func (h *feedAPI) wait(ctx context.Context, stream *web.Stream, cursor string, look, ping *time.Ticker) bool {
	for {
		select {
		case <-ctx.Done():
			return false
		case <-ping.C:
			if err := stream.Ping(); err != nil {
				return false
			}
		case <-look.C:
			newest, err := h.Feed.Newest(ctx)
			if err != nil {
				return false
			}
			if newest != cursor {
				return true
			}
		}
	}
}
