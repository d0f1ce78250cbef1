package executions

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

const (
	logLinesInline = 200  // on the page of an execution or node
	logLinesPage   = 1000 // on their own page
	nodeOptionsMax = 100
)

// logFilter is the filter of a log viewer, which is completely in the URL.
type logFilter struct {
	text, level, node string
	attempt           int
}

func logFilterOf(q url.Values) logFilter {
	attempt, err := strconv.Atoi(q.Get("attempt"))
	if err != nil || attempt < 0 {
		attempt = 0
	}
	return logFilter{text: q.Get("q"), level: q.Get("level"), node: q.Get("node"), attempt: attempt}
}

func (f logFilter) query(e query.Execution) telemetry.LogQuery {
	q := telemetry.LogQuery{ExecutionID: e.ID, Text: f.text}
	if f.node != "" {
		q.Nodes = []string{f.node}
	}
	if f.attempt > 0 {
		q.Attempt = &f.attempt
	}
	switch f.level {
	case "WARN":
		q.Levels = []string{"WARN", "ERROR"}
	case "ERROR":
		q.Levels = []string{"ERROR"}
	}
	return q
}

func (f logFilter) values() url.Values {
	q := url.Values{}
	for k, v := range map[string]string{"q": f.text, "level": f.level, "node": f.node} {
		if v != "" {
			q.Set(k, v)
		}
	}
	if f.attempt > 0 {
		q.Set("attempt", strconv.Itoa(f.attempt))
	}
	return q
}

// logs are the last lines of the whole execution, on its page.
func (x *executionView) logs(ctx context.Context) views.Logs {
	f := logFilterOf(url.Values{"node": {x.query.Get("node")}})
	l := x.h.logsOf(ctx, x.clock, x.Execution, x.version, f, logPlace{}, logLinesInline)
	l.PageURL = views.LogsURL(x.ID.String(), f.values())
	return l
}

// logsOf is the log viewer: the lines of a place, or the last ones.
func (h *Pages) logsOf(ctx context.Context, clock ui.Clock, e query.Execution, v workflow.Version, f logFilter, place logPlace, limit int) views.Logs {
	id := e.ID.String()
	l := views.Logs{
		ExecutionID: id, Action: views.ExecutionURL(id) + "/logs", Query: f.text, Follow: !e.Status.Ended() && place == logPlace{},
		Nodes: nodeOptions(v, f.node), Levels: levelOptions(f.level, nil), DownloadURL: views.LogDownloadURL(id, f.values()),
		Empty: "No log output.",
	}
	if e.Status.Ended() && place == (logPlace{}) {
		if follows, err := h.Executions.LogFollows(ctx, e.ID); err == nil && follows {
			l.Follow, l.Note = true, "The tasks have ended. The rest of their log is still being uploaded."
		}
	}
	if f.attempt > 0 {
		l.Hidden = append(l.Hidden, [2]string{"attempt", strconv.Itoa(f.attempt)})
	}
	page, err := h.readLog(ctx, f.query(e), place, limit)
	if err != nil {
		h.Log.Warn("logs cannot be read", "execution", e.ID, "error", err)
		l.Problem = "The log store is not responding. No data is lost: lines are kept on disk and appear when it is back."
		return l
	}
	l.Lines = logLines(clock, id, page.Lines, f, nil)
	if n := len(page.Lines); n > 0 {
		l.Cursor = string(page.Lines[n-1].Cursor())
	}
	if f.text != "" {
		l.Hits = units.Plural(len(l.Lines), "line", "lines")
		l.Empty = fmt.Sprintf("No line contains %q.", f.text)
	}
	if page.Partial {
		l.Note = "The log store is not responding. Only the lines that are still on disk are shown; older lines appear when it is back."
	}
	if page.Prev != "" {
		older := f.values()
		older.Set("before", string(page.Prev))
		l.OlderURL = views.LogsURL(id, older)
	}
	if page.Next != "" && place != (logPlace{}) {
		newer := f.values()
		newer.Set("after", string(page.Next))
		l.NewerURL = views.LogsURL(id, newer)
	}
	if counts, err := h.Telemetry.LogCounts(ctx, f.query(e)); err == nil && f.level == "" {
		l.Levels = levelOptions(f.level, counts)
	}
	return l
}

func levelOptions(chosen string, counts map[string]int) []ui.Option {
	name := func(label string, levels ...string) string {
		n := 0
		for _, level := range levels {
			n += counts[level]
		}
		if n == 0 {
			return label
		}
		return label + " " + units.Number(int64(n))
	}
	return []ui.Option{
		{Name: "All levels", Selected: chosen == ""},
		{Value: "WARN", Name: name("Warnings and errors", "WARN", "ERROR"), Selected: chosen == "WARN"},
		{Value: "ERROR", Name: name("Errors", "ERROR"), Selected: chosen == "ERROR"},
	}
}

// nodeOptions lists the nodes to choose from. For a very large plan it offers the first nodes
// and the chosen one.
func nodeOptions(v workflow.Version, chosen string) []ui.Option {
	options := []ui.Option{{Name: "All nodes", Selected: chosen == ""}}
	found := chosen == ""
	for i := range v.Plan.Nodes[:min(len(v.Plan.Nodes), nodeOptionsMax)] {
		name := v.Plan.Nodes[i].Name
		found = found || name == chosen
		options = append(options, ui.Option{Value: name, Name: name, Selected: name == chosen})
	}
	if !found {
		options = append(options, ui.Option{Value: chosen, Name: chosen, Selected: true})
	}
	return options
}

// logLines formats lines. It adds a cut where another attempt of a node begins. last is the
// line before the first, if any.
func logLines(clock ui.Clock, execution string, lines []telemetry.LogLine, f logFilter, last map[string]int) []views.LogLine {
	attempts := last
	if attempts == nil {
		attempts = map[string]int{}
	}
	out := make([]views.LogLine, 0, len(lines))
	for _, l := range lines {
		at := clock.Exactly(l.Time)
		line := views.LogLine{
			ID: lineID(l), Time: at.Text, Exact: at.Exact, Level: l.Level, Node: l.Node,
			Parts: views.LogParts(telemetry.Text(l.Stream, l.Message, l.Fields, "rank"), f.text), Stderr: l.Stream == "stderr", Rank: rankOf(l),
		}
		if f.node == "" {
			line.NodeURL = views.NodeURL(execution, l.Node)
		}
		if before, ok := attempts[l.Node]; ok && before != l.Attempt {
			line.Cut = fmt.Sprintf("attempt %d of %s", l.Attempt, l.Node)
		}
		attempts[l.Node] = l.Attempt
		out = append(out, line)
	}
	return out
}

// rankOf is the rank of the pod that wrote a line, "" outside a gang.
func rankOf(l telemetry.LogLine) string {
	if !bytes.Contains(l.Fields, []byte(`"rank"`)) {
		return ""
	}
	var fields struct {
		Rank *int `json:"rank"`
	}
	if json.Unmarshal(l.Fields, &fields) != nil || fields.Rank == nil {
		return ""
	}
	return strconv.Itoa(*fields.Rank)
}

// lineID names a line within the log of its execution.
func lineID(l telemetry.LogLine) string {
	return fmt.Sprintf("L%d-%d-%s-%d", l.NodeIndex, l.Attempt, l.Stream, l.Seq)
}

// logs shows the log of an execution on its own page.
func (h *Pages) logs(w http.ResponseWriter, r *http.Request) error {
	e, v, err := h.executionAndVersion(r)
	if err != nil {
		return err
	}
	f := logFilterOf(r.URL.Query())
	q := r.URL.Query()
	place := logPlace{before: telemetry.Cursor(q.Get("before")), after: telemetry.Cursor(q.Get("after")), at: telemetry.Cursor(q.Get("at"))}
	if err := cmp.Or(place.before.Check(), place.after.Check(), place.at.Check()); err != nil {
		return err
	}
	id := e.ID.String()
	title := label.ExecutionTitle(e) + " " + label.ShortID(e.ID)
	m := views.LogsPage{
		Page:  h.Page.Base(r, "Logs", views.SectionExecutions, views.Crumb{Name: "Executions", URL: views.ExecutionsURL()}, views.Crumb{Name: title, URL: views.ExecutionURL(id)}),
		Title: "Logs of " + title, State: string(e.Status), Back: views.ExecutionURL(id),
		Logs: h.logsOf(r.Context(), h.Page.Clock(r), e, v, f, place, logLinesPage),
	}
	m.Logs.FullPage = true
	if m.Logs.Follow && m.Logs.Problem == "" {
		q = f.values()
		q.Set("last-event-id", m.Logs.Cursor)
		m.StreamURL = views.LogStreamURL(id, q)
	}
	return web.Render(w, r, http.StatusOK, views.LogsOwnPage(m))
}

// logStream adds new lines to the log page, until the execution has ended.
func (h *Pages) logStream(w http.ResponseWriter, r *http.Request) error {
	e, _, err := h.executionAndVersion(r)
	if err != nil {
		return err
	}
	f, clock := logFilterOf(r.URL.Query()), h.Page.Clock(r)
	stream, err := web.NewStream(w, r, web.StillMay(auth.ExecutionRead, auth.LogRead))
	if err != nil {
		return err
	}
	attempts := map[string]int{}
	return h.Content.FollowLog(r.Context(), e.ID, f.query(e), telemetry.Cursor(stream.LastEventID()), func(lines []telemetry.LogLine) error {
		clock.Now = h.Now()
		last := string(lines[len(lines)-1].Cursor())
		return stream.SendComponent(r.Context(), "", last, views.LogLines(logLines(clock, e.ID.String(), lines, f, attempts)))
	}, stream)
}

// logText is the complete log as text.
func (h *Pages) logText(w http.ResponseWriter, r *http.Request) error {
	e, _, err := h.executionAndVersion(r)
	if err != nil {
		return err
	}
	return h.Content.SendLog(w, r, logFilterOf(r.URL.Query()).query(e), e.WorkflowName+"-"+e.ID.String()[30:]+".log")
}

func (h *Pages) executionAndVersion(r *http.Request) (query.Execution, workflow.Version, error) {
	id, err := request.ExecutionID(r)
	if err != nil {
		return query.Execution{}, workflow.Version{}, err
	}
	e, err := h.Executions.Get(r.Context(), id)
	if err != nil {
		return query.Execution{}, workflow.Version{}, err
	}
	v, err := h.Workflows.VersionByID(r.Context(), e.VersionID)
	return e, v, err
}
