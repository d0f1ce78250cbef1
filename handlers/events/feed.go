package events

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/feed"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

const (
	rowsShown   = 50
	streamBatch = 100
	localTime   = "2006-01-02T15:04"
)

// query is what the address of the feed selects.
type query struct {
	filter feed.Filter
	span   feed.Span
}

// queryOf reads the address. Times are in the reader's time zone.
func queryOf(q url.Values, zone *time.Location) (query, error) {
	out := query{filter: feed.Filter{Limit: rowsShown}, span: feed.Span{Before: q.Get("before")}}
	if t := q.Get("topic"); t != "" {
		out.filter.Topics = []string{t}
	}
	out.filter.Types = strings.FieldsFunc(q.Get("type"), func(r rune) bool { return r == ' ' || r == ',' })
	var fields []apperr.Field
	if text := strings.TrimSpace(q.Get("execution")); text != "" {
		id, err := uuid.Parse(text)
		if err != nil {
			fields = append(fields, apperr.Field{Path: "execution", Message: "Enter the full ID of an execution."})
		}
		out.filter.ExecutionID = &id
	}
	for name, at := range map[string]*time.Time{"from": &out.span.Since, "to": &out.span.Until} {
		if q.Get(name) == "" {
			continue
		}
		t, err := time.ParseInLocation(localTime, q.Get(name), zone)
		if err != nil {
			fields = append(fields, apperr.Field{Path: name, Message: "Enter the time as 2026-11-21T15:04."})
		}
		*at = t
	}
	if !out.span.Until.IsZero() {
		out.span.Until = out.span.Until.Add(time.Minute) // the minute is included
	}
	return out, apperr.InvalidFields("The filter is invalid.", fields)
}

// feed shows the events of the project.
func (h *Pages) feed(w http.ResponseWriter, r *http.Request) error {
	q, clock := r.URL.Query(), h.Page.Clock(r)
	m := views.Feed{
		Page: h.Page.Base(r, "Events", views.SectionEvents), Tabs: tabs(r, false), Topics: topics(r, q.Get("topic")),
		Type: q.Get("type"), Execution: q.Get("execution"), From: q.Get("from"), To: q.Get("to"), Zone: clock.Zone.String(),
	}
	for name := range q {
		m.Filtered = m.Filtered || !slices.Contains([]string{"before", "follow"}, name) && q.Get(name) != ""
	}
	selected, err := queryOf(q, clock.Zone)
	var found feed.RecentPage
	if err == nil {
		found, err = h.Feed.Recent(r.Context(), selected.filter, selected.span)
	}
	if apperr.Is(err, apperr.Invalid) {
		m.Problem = problem(err)
		return web.Render(w, r, http.StatusUnprocessableEntity, views.FeedPage(m))
	}
	if err != nil {
		return err
	}
	for _, e := range found.Events {
		m.Rows = append(m.Rows, rowOf(r, clock, e))
	}
	m.Pager.Text = units.Plural(len(m.Rows), "event", "events")
	if len(m.Rows) == 0 && found.Older == "" && q.Get("before") == "" {
		m.Pager.Text = ""
	}
	if found.Partial {
		m.Note = "Many events did not match, so the search stopped here. Older events may match."
	}
	if q.Get("before") != "" {
		m.Pager.Newer = views.FeedURL(changed(q, "before", ""))
	} else if q.Get("to") == "" {
		m.FollowURL = views.FeedURL(changed(q, "follow", "true"))
		if q.Get("follow") != "" {
			m.FollowURL, m.StopURL = "", views.FeedURL(changed(q, "follow", ""))
			m.StreamURL = views.FeedStreamURL(changed(changed(q, "follow", ""), "after", found.Newest))
		}
	}
	if found.Older != "" {
		m.Pager.Older = views.FeedURL(changed(changed(q, "follow", ""), "before", found.Older))
	}
	return web.Render(w, r, http.StatusOK, views.FeedPage(m))
}

// changed is the query with another value.
func changed(q url.Values, name, value string) url.Values {
	out := url.Values{}
	for key, values := range q {
		if len(values) > 0 && values[0] != "" {
			out[key] = values[:1]
		}
	}
	out.Del(name)
	if value != "" {
		out.Set(name, value)
	}
	return out
}

// problem is the first message about a field, or the message.
func problem(err error) string {
	if fields := apperr.FieldsOf(err); len(fields) > 0 {
		return fields[0].Message
	}
	return apperr.MessageOf(err)
}

// stream sends new events to a page that follows the feed.
func (h *Pages) stream(w http.ResponseWriter, r *http.Request) error {
	q, clock := r.URL.Query(), h.Page.Clock(r)
	selected, err := queryOf(q, clock.Zone)
	if err != nil {
		return err
	}
	f := selected.filter
	f.After, f.Limit = q.Get("after"), streamBatch
	if last := web.LastEventID(r); last != "" {
		f.After = last
	}
	if f.After == "" {
		f.After = feed.Latest
	}
	found, err := h.Feed.List(r.Context(), f)
	if err != nil {
		return err
	}
	stream, err := web.NewStream(w, r, web.StillMay(auth.ExecutionRead))
	if err != nil {
		return err
	}
	h.Page.OnHints(r, stream, h.Page.Ticks(r.Context()), page.ListInterval, func(ctx context.Context) error {
		for {
			if len(found.Events) > 0 {
				clock.Now = h.Now()
				rows := make([]views.FeedRow, 0, len(found.Events))
				for _, e := range slices.Backward(found.Events) {
					rows = append(rows, rowOf(r, clock, e))
				}
				if err := stream.SendComponent(ctx, "", found.Next, views.FeedUpdate(rows)); err != nil {
					return err
				}
			}
			more := found.More
			f.After = found.Next
			if found, err = h.Feed.List(ctx, f); err != nil {
				return err
			}
			if len(found.Events) == 0 && !more {
				return nil
			}
		}
	})
	return nil
}

// tabs are the parts of the area; none for users who may not use consumers.
func tabs(r *http.Request, consumers bool) []ui.Tab {
	subject, ok := auth.SubjectOf(r.Context())
	if !ok || !subject.May(auth.EventConsume, subject.ProjectID) {
		return nil
	}
	return []ui.Tab{{Name: "Feed", URL: views.FeedURL(nil), Current: !consumers}, {Name: "Consumers", URL: views.ConsumersURL(), Current: consumers}}
}

// topics are the topics that the reader may read.
func topics(r *http.Request, chosen string) []ui.Option {
	list := []ui.Option{{Name: "All topics", Selected: chosen == ""}}
	subject, _ := auth.SubjectOf(r.Context())
	for _, t := range feed.Topics() {
		if t == "audit" && !subject.May(auth.AuditRead, subject.ProjectID) {
			continue
		}
		list = append(list, ui.Option{Value: t, Name: topicName(t), Selected: t == chosen})
	}
	return list
}

func topicName(topic string) string {
	switch topic {
	case "workflow":
		return "Executions"
	case "task":
		return "Tasks"
	case "quota":
		return "Limits"
	case "artifact":
		return "Artifacts and models"
	}
	return "Audit log"
}

// data are the fields of an event that a row shows or links to.
type data struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Version    string `json:"version"`
	Message    string `json:"message"`
	Workflow   string `json:"workflow"`
	Producer   string `json:"node"`
	Action     string `json:"action"`
	Actor      string `json:"actor"`
	ObjectID   string `json:"object_id"`
	ObjectName string `json:"object_name"`
	Stage      string `json:"stage"`
	ChangedBy  string `json:"changed_by"`
	CreatedBy  string `json:"created_by"`
}

func rowOf(r *http.Request, clock ui.Clock, e feed.Event) views.FeedRow {
	row := views.FeedRow{ID: e.ID, Cursor: e.Cursor, At: clock.Exactly(e.At), Type: e.Type, Topic: e.Topic, Subject: e.Subject, Payload: label.Indented(e.CloudEvent())}
	var d data
	_ = json.Unmarshal(e.Data, &d) // fields of other types stay empty
	row.Message = d.Message
	if e.ExecutionID != nil {
		id := e.ExecutionID.String()
		row.Execution, row.ExecutionURL = label.ShortID(*e.ExecutionID), views.ExecutionURL(id)
		if e.Topic == "workflow" {
			row.URL = row.ExecutionURL
		} else if e.Topic == "task" && d.Producer != "" {
			row.URL = views.NodeURL(id, d.Producer)
		}
	}
	noun, _, _ := strings.Cut(e.Type, ".")
	switch {
	case e.Topic == "audit":
		row.Subject, row.Message = d.ObjectName, "By "+d.Actor
		if row.Subject == "" {
			row.Subject = d.ObjectID
		}
		if page.ReadsAudit(subjectOf(r)) {
			row.URL = views.AuditURL() + "?" + url.Values{"object": {d.ObjectID}}.Encode()
		}
	case e.Topic == "artifact":
		row.Message, row.URL = artifactRow(noun, d)
	}
	return row
}

// artifactRow is the message and the link of an event about an artifact, a dataset or a model.
func artifactRow(noun string, d data) (message, link string) {
	switch noun {
	case "artifact":
		return "Produced by " + d.Workflow + ", " + d.Producer, views.ArtifactURL(d.ID)
	case "model":
		message, link = by("Registered", d.CreatedBy), views.ModelURL(d.Name, d.Version)
		if d.Stage != "" {
			message = by("Entered "+d.Stage, d.ChangedBy)
		} else if d.ChangedBy != "" {
			message = by("Changed", d.ChangedBy)
		}
		return message, link
	case "feature_set":
		return by("Registered", d.CreatedBy), views.DatasetURL("FeatureSet", d.Name, d.Version)
	}
	return by("Registered", d.CreatedBy), views.DatasetURL("Dataset", d.Name, d.Version)
}

func by(what, name string) string {
	if name == "" {
		return what
	}
	return what + " by " + name
}

func subjectOf(r *http.Request) auth.Subject {
	subject, _ := auth.SubjectOf(r.Context())
	return subject
}
