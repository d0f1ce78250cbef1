package handlers

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"

	"github.com/flowforge/flowforge/handlers/request"
)

const (
	executionPageSize = 50
	liveState         = "live"     // of the state filter: everything that has not ended
	waitingState      = "waiting"  // has nodes that wait, or may not begin yet
	askingState       = "approval" // waits for the answer of a person
)

// executions lists executions; its filters are all in the URL.
func (h *Handlers) executions(w http.ResponseWriter, r *http.Request) error {
	filter, err := h.executionFilter(r)
	if err != nil {
		return err
	}
	page, err := h.Executions.List(r.Context(), filter)
	if err != nil {
		return err
	}
	flows, err := h.Workflows.List(r.Context(), workflow.Filter{Limit: 200})
	if err != nil {
		return err
	}
	q, clock := r.URL.Query(), h.clock(r)
	m := views.Executions{
		Page:  h.basePage(r, "Executions", views.SectionExecutions),
		Query: q.Get("q"), User: q.Get("user"), States: stateOptions(q.Get("state")), Periods: periodOptions(q.Get("period")),
		Flows: workflowOptions(flows.Items, q.Get("workflow")), Chips: executionChips(q), ClearURL: views.ExecutionsURL(),
		Mine: []ui.Choice{
			{Name: "Everyone", URL: listURL(views.ExecutionsURL(), q, "user", ""), Current: q.Get("user") == ""},
			{Name: "Mine", URL: listURL(views.ExecutionsURL(), q, "user", "me"), Current: q.Get("user") == "me"},
		},
	}
	if m.Rows, err = h.executionRows(r.Context(), clock, page.Executions); err != nil {
		return err
	}
	m.Pager = ui.Pager{Text: ui.Plural(len(m.Rows), "execution", "executions")}
	if page.Next != "" {
		m.Pager.Older = listURL(views.ExecutionsURL(), q, "after", page.Next)
	}
	if q.Get("after") != "" {
		m.Pager.Newer = listURL(views.ExecutionsURL(), q, "after", "")
	} else if len(page.Executions) > 0 {
		stream := listURL(views.ExecutionsURL()+"/stream", q, "top", page.Executions[0].ID.String())
		m.Stream = stream
	}
	return web.Render(w, r, http.StatusOK, views.ExecutionsPage(m))
}

// executionFilter reads the filters of the URL.
func (h *Handlers) executionFilter(r *http.Request) (execution.Filter, error) {
	q := r.URL.Query()
	f := execution.Filter{Workflow: q.Get("workflow"), Query: q.Get("q"), User: q.Get("user"), After: q.Get("after"), Limit: executionPageSize}
	if f.User == "me" {
		subject, _ := auth.SubjectOf(r.Context())
		f.User = subject.ID.String()
	}
	switch state := q.Get("state"); state {
	case "":
	case liveState:
		f.Status = liveStates()
	case waitingState:
		f.Status, f.Waiting = liveStates(), true
	case askingState:
		f.Status, f.Asking = liveStates(), true
	default:
		s, err := execution.ParseState(state)
		if err != nil {
			return f, err
		}
		f.Status = []execution.State{s}
	}
	if d := period(q.Get("period")); d > 0 {
		f.From = h.Now().Add(-d)
	}
	return f, nil
}

func liveStates() []execution.State {
	return []execution.State{execution.Pending, execution.Running, execution.Paused}
}

type namedPeriod struct {
	key, name string
	length    time.Duration
}

func periods() []namedPeriod {
	const day = 24 * time.Hour
	return []namedPeriod{{"1h", "Last hour", time.Hour}, {"1d", "Last 24 hours", day}, {"7d", "Last 7 days", 7 * day}, {"30d", "Last 30 days", 30 * day}}
}

func period(key string) time.Duration {
	for _, p := range periods() {
		if p.key == key {
			return p.length
		}
	}
	return 0
}

func periodOptions(chosen string) []ui.Option {
	options := []ui.Option{{Name: "Any time", Selected: period(chosen) == 0}}
	for _, p := range periods() {
		options = append(options, ui.Option{Value: p.key, Name: p.name, Selected: p.key == chosen})
	}
	return options
}

func stateOptions(chosen string) []ui.Option {
	options := []ui.Option{{Name: "Any state", Selected: chosen == ""}, {Value: liveState, Name: "Live", Selected: chosen == liveState}}
	for _, s := range []execution.State{execution.Pending, execution.Running, execution.Paused, execution.Succeeded, execution.Failed, execution.Cancelled} {
		if s == execution.Succeeded { // between the states of what lives and of what has ended
			options = append(options,
				ui.Option{Value: waitingState, Name: "Waiting", Selected: chosen == waitingState},
				ui.Option{Value: askingState, Name: ui.Word(ui.Asking), Selected: chosen == askingState})
		}
		options = append(options, ui.Option{Value: string(s), Name: ui.Word(string(s)), Selected: strings.EqualFold(chosen, string(s))})
	}
	return options
}

func workflowOptions(items []workflow.Summary, chosen string) []ui.Option {
	options := []ui.Option{{Name: "Every workflow", Selected: chosen == ""}}
	seen := chosen == ""
	for _, w := range items {
		seen = seen || w.Name == chosen
		options = append(options, ui.Option{Value: w.Name, Name: w.Name, Selected: w.Name == chosen})
	}
	if !seen {
		options = append(options, ui.Option{Value: chosen, Name: chosen, Selected: true})
	}
	return options
}

// executionChips names the filters that are set, each with the list without it.
func executionChips(q url.Values) []views.Chip {
	var chips []views.Chip
	add := func(key, name, value string) {
		if q.Get(key) != "" {
			chips = append(chips, views.Chip{Name: name, Value: value, RemoveURL: listURL(views.ExecutionsURL(), q, key, "")})
		}
	}
	add("q", "Text", q.Get("q"))
	state := ui.Word(strings.ToUpper(q.Get("state")))
	if q.Get("state") == waitingState {
		state = "Waiting"
	}
	add("state", "State", state)
	add("workflow", "Workflow", q.Get("workflow"))
	for _, p := range periods() {
		if p.key == q.Get("period") {
			add("period", "Started", p.name)
		}
	}
	user := q.Get("user")
	if user == "me" {
		user = "you"
	}
	add("user", "By", user)
	return chips
}

// listURL is a list with one parameter changed; "" removes it. A changed filter
// begins at the first page again.
func listURL(path string, q url.Values, key, value string) string {
	next := url.Values{}
	for k, vs := range q {
		if k != "after" && k != key && len(vs) > 0 && vs[0] != "" {
			next[k] = vs[:1]
		}
	}
	if value != "" {
		next.Set(key, value)
	}
	if len(next) == 0 {
		return path
	}
	return path + "?" + next.Encode()
}

// executionTitle is the execution's own name, else its workflow.
func executionTitle(e execution.Execution) string {
	if e.Name != "" {
		return e.Name
	}
	return e.WorkflowName
}

// executionGist is what matters most about an execution in one line.
func executionGist(e execution.Execution) string {
	c := e.Counts
	prefix := ""
	if e.Name != "" {
		prefix = e.WorkflowName + " · "
	}
	switch {
	case e.Error != nil && e.Error.Message != "":
		if e.Error.Node != "" {
			return ui.Short(prefix+e.Error.Node+": "+e.Error.Message, 120)
		}
		return ui.Short(prefix+e.Error.Message, 120)
	case len(e.CurrentNodes) > 0:
		return ui.Short(prefix+strings.Join(e.CurrentNodes, ", "), 120)
	case e.Status.Ended():
		return prefix + ui.Plural(c.Total, "node", "nodes")
	case c.Running+c.Retrying+c.Queued == 0 && c.Ready > 0:
		return prefix + ui.Plural(c.Ready, "node waits", "nodes wait")
	}
	return fmt.Sprintf("%s%s of %s", prefix, ui.Number(int64(c.Ended())), ui.Plural(c.Total, "node", "nodes"))
}

// executionBar is the states of the nodes; with an id its figures link to the node table.
func executionBar(e execution.Execution, id string) ui.Bar {
	c := e.Counts
	counts := []ui.Count{
		{State: "SUCCEEDED", N: c.Succeeded}, {State: "RUNNING", N: c.Running}, {State: "RETRYING", N: c.Retrying}, {State: "FAILED", N: c.Failed},
		{State: "QUEUED", N: c.Queued}, {State: "READY", N: c.Ready}, {State: "PENDING", N: c.Pending}, {State: "SKIPPED", N: c.Skipped}, {State: "CANCELLED", N: c.Cancelled},
	}
	if id != "" {
		for i := range counts {
			counts[i].URL = views.AllNodesURL(id, counts[i].State)
		}
	}
	return ui.NewBar("nodes", counts)
}

// tookSoFar is how long an execution ran, or has run until now.
func tookSoFar(now time.Time, e execution.Execution) time.Duration {
	begin := e.CreatedAt
	if e.StartedAt != nil {
		begin = *e.StartedAt
	}
	if e.FinishedAt != nil {
		return e.FinishedAt.Sub(begin)
	}
	return now.Sub(begin)
}

// shortID is the random end of an id: "#a1b2c3".
func shortID(id uuid.UUID) string {
	s := id.String()
	return "#" + s[len(s)-6:]
}

// executionsStream sends rows that changed and how many executions are new. Rows
// keep their places: the reader decides when to see the new ones.
func (h *Handlers) executionsStream(w http.ResponseWriter, r *http.Request) error {
	filter, err := h.executionFilter(r)
	if err != nil {
		return err
	}
	top, err := request.ParseID(r.URL.Query().Get("top"), "execution")
	if err != nil {
		return err
	}
	stream, err := web.NewStream(w, r, web.StillMay(auth.ExecutionRead))
	if err != nil {
		return err
	}
	clock, q, sent := h.clock(r), r.URL.Query(), sentPieces{}
	q.Del("top")
	h.onHints(r, stream, h.Executions.WatchAll(r.Context()), listInterval, func(ctx context.Context) error {
		page, err := h.Executions.List(ctx, filter)
		if err != nil {
			return err
		}
		clock.Now = h.Now()
		var rows []views.ExecutionRow
		news := views.ExecutionsNews{URL: listURL(views.ExecutionsURL(), q, "after", "")}
		all, err := h.executionRows(ctx, clock, page.Executions)
		if err != nil {
			return err
		}
		for _, row := range all {
			if row.ID > top.String() {
				news.Count++
				continue
			}
			if sent.changed(row.ID, frozenRow(row)) {
				rows = append(rows, row)
			}
		}
		if !sent.changed("news", news.Count) && len(rows) == 0 {
			return nil
		}
		return stream.SendComponent(ctx, "", "", views.ExecutionsUpdate(rows, news))
	})
	return nil
}

// frozenRow is a row without what counts on by itself.
func frozenRow(row views.ExecutionRow) views.ExecutionRow {
	if row.Since != "" {
		row.Took = ""
	}
	return row
}
