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
	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/handlers/content"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/web"
	"github.com/flowforge/flowforge/web/contract"
)

type logPage struct {
	Lines    []contract.LogLineBody `json:"lines"`
	NextPage string                 `json:"next_page,omitempty" doc:"Cursor for the next page; pass it as page. Empty if there are no later lines yet: continue from the last line's cursor"`
	Partial  bool                   `json:"partial" doc:"True if ClickHouse is unavailable, so that older lines are missing"`
}

type pointBody struct {
	Step      *int64    `json:"step,omitempty"`
	Timestamp time.Time `json:"timestamp"`
	Value     any       `json:"value" doc:"Value; NaN and infinities are strings"`
}

type seriesBody struct {
	Name    string            `json:"name"`
	Node    string            `json:"node"`
	Attempt int               `json:"attempt"`
	Type    string            `json:"type"`
	Tags    map[string]string `json:"tags,omitempty"`
	Points  []pointBody       `json:"points"`
}

type metricsBody struct {
	Series []seriesBody `json:"series"`
}

type eventList struct {
	Events []eventBody `json:"events"`
}

type eventBody struct {
	Sequence int64           `json:"sequence"`
	At       time.Time       `json:"at"`
	Kind     string          `json:"kind"`
	Node     string          `json:"node,omitempty"`
	Attempt  int             `json:"attempt,omitempty"`
	Message  string          `json:"message"`
	Data     json.RawMessage `json:"data,omitempty"`
}

// LogSelection filters log lines, in pages and in streams.
type LogSelection struct {
	Node    string `query:"node" doc:"Comma-separated node names; only their lines are returned" maxLength:"2000"`
	Attempt int    `query:"attempt" doc:"Return only lines of this attempt" minimum:"0"`
	Level   string `query:"level" doc:"Comma-separated log levels" maxLength:"50"`
	Text    string `query:"q" doc:"Text to find in the message, case-insensitive" maxLength:"500"`
}

func (s LogSelection) apply(q *telemetry.LogQuery) {
	q.Nodes, q.Levels, q.Text = splitList(s.Node), splitList(strings.ToUpper(s.Level)), s.Text
	if s.Attempt > 0 {
		q.Attempt = &s.Attempt
	}
}

func splitList(text string) []string {
	var out []string
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			out = append(out, item)
		}
	}
	return out
}

// logAPI serves logs, metrics and events of executions.
type logAPI struct {
	Log        *slog.Logger
	Site       *web.Site
	Executions *query.Reader
	Telemetry  *telemetry.Service
	Scope      request.Scope
	Content    *content.Content
}

func (h *logAPI) mount(api *operations) {
	logs := get("get-logs", "/executions/{execution_id}/logs", "Read the log of an execution; format=text returns all of it as text", "Logs and metrics")
	operation(api, logs, h.apiLogs)
	operation(api, get("get-metrics", "/executions/{execution_id}/metrics", "Read the metrics of an execution", "Logs and metrics"), h.apiMetrics)
	operation(api, get("get-events", "/executions/{execution_id}/events", "List the events of an execution", "Executions"), h.apiEvents)
}

type logInput struct {
	ExecutionPath
	LogSelection
	PageQuery
	From   time.Time `query:"from" doc:"Return lines at or after this time"`
	To     time.Time `query:"to" doc:"Return lines before this time"`
	Format string    `query:"format" enum:"json,text" default:"json"`
}

func (h *logAPI) apiLogs(ctx context.Context, in *logInput) (*huma.StreamResponse, error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	if _, err := h.Executions.Get(ctx, id); err != nil {
		return nil, err
	}
	q := telemetry.LogQuery{ExecutionID: id, From: in.From, To: in.To, After: telemetry.Cursor(in.Page), Limit: in.Limit}
	in.apply(&q)
	if in.Format == "text" {
		return &huma.StreamResponse{Body: func(hc huma.Context) {
			r, w := humachi.Unwrap(hc)
			if err := h.Content.SendLog(w, r.WithContext(ctx), q, ""); err != nil { // ctx is in the project of the execution
				h.Site.Fail(w, r, err)
			}
		}}, nil
	}
	page, err := h.Telemetry.Logs(ctx, q)
	if err != nil {
		return nil, err
	}
	out := logPage{Lines: toLogBodies(page.Lines), NextPage: string(page.Next), Partial: page.Partial}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		hc.SetHeader("Content-Type", "application/json")
		if err := json.NewEncoder(hc.BodyWriter()).Encode(out); err != nil {
			h.Log.Debug("the client closed the connection", "error", err)
		}
	}}, nil
}

func toLogBodies(lines []telemetry.LogLine) []contract.LogLineBody {
	out := make([]contract.LogLineBody, 0, len(lines))
	for _, l := range lines {
		out = append(out, contract.LogLineBody{
			Cursor: string(l.Cursor()), Timestamp: l.Time, Node: l.Node, Attempt: l.Attempt, Stream: l.Stream,
			Level: l.Level, Message: l.Message, Fields: l.Fields, Pod: l.Pod, Machine: l.Machine,
		})
	}
	return out
}

func (h *logAPI) apiMetrics(ctx context.Context, in *struct {
	ExecutionPath
	Node      string `query:"node" doc:"Return only metrics of this node" maxLength:"200"`
	Name      string `query:"name" doc:"Comma-separated metric names" maxLength:"1000"`
	MaxPoints int    `query:"max_points" doc:"Maximum number of points per series; longer series are downsampled" minimum:"2" maximum:"10000" default:"1000"`
}) (*body[metricsBody], error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	if _, err := h.Executions.Get(ctx, id); err != nil {
		return nil, err
	}
	series, err := h.Telemetry.Series(ctx, telemetry.MetricQuery{ExecutionID: id, Node: in.Node, Names: splitList(in.Name), MaxPoints: in.MaxPoints})
	if err != nil {
		return nil, err
	}
	out := metricsBody{Series: make([]seriesBody, 0, len(series))}
	for _, s := range series {
		b := seriesBody{Name: s.Name, Node: s.Node, Attempt: s.Attempt, Type: s.Kind, Tags: s.Tags, Points: make([]pointBody, 0, len(s.Points))}
		for _, p := range s.Points {
			b.Points = append(b.Points, pointBody{Step: p.Step, Timestamp: p.Time, Value: telemetry.Number(p.Value)})
		}
		out.Series = append(out.Series, b)
	}
	return reply(out), nil
}

func (h *logAPI) apiEvents(ctx context.Context, in *struct {
	ExecutionPath
	After int64 `query:"after" doc:"Return events after this sequence number" minimum:"0"`
	Limit int   `query:"limit" minimum:"1" maximum:"1000" default:"200"`
}) (*body[eventList], error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	events, err := h.Executions.Events.After(ctx, id, in.After, in.Limit)
	if err != nil {
		return nil, err
	}
	out := eventList{Events: make([]eventBody, 0, len(events))}
	for _, e := range events {
		out.Events = append(out.Events, eventBody{Sequence: e.Seq, At: e.At, Kind: e.Kind, Node: e.Node, Attempt: e.Attempt, Message: e.Message, Data: e.Data})
	}
	return reply(out), nil
}

// routes are the routes that answer with events; huma describes none of them.
func (h *logAPI) routes(r chi.Router) {
	r.Get(request.APIPrefix+"/executions/{execution_id}/logs/stream", h.Scope.Page(h.apiLogStream))
}

// apiLogStream sends lines as JSON arrays, history first, and an event "end" once
// the execution has ended and its last line is out.
func (h *logAPI) apiLogStream(w http.ResponseWriter, r *http.Request) error {
	id, err := request.ParseID(chi.URLParam(r, "execution_id"), "execution")
	if err != nil {
		return err
	}
	if _, err := h.Executions.Get(r.Context(), id); err != nil {
		return err
	}
	v := r.URL.Query()
	q := telemetry.LogQuery{ExecutionID: id}
	LogSelection{Node: v.Get("node"), Level: v.Get("level"), Text: v.Get("q")}.apply(&q)
	from := telemetry.Cursor(web.LastEventID(r))
	if err := from.Check(); err != nil {
		return err
	}
	stream, err := web.NewStream(w, r, web.StillMay(auth.ExecutionRead, auth.LogRead))
	if err != nil {
		return err
	}
	return h.Content.FollowLog(r.Context(), id, q, from, func(lines []telemetry.LogLine) error {
		data, err := json.Marshal(toLogBodies(lines))
		if err != nil {
			return err
		}
		return stream.Send("", string(lines[len(lines)-1].Cursor()), data)
	}, stream)
}
