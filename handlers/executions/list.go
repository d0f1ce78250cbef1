package executions

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

const (
	executionPageSize  = 50
	liveState          = "live"     // a state filter: all executions that have not ended
	waitingState       = "waiting"  // has waiting nodes, or cannot start yet
	stateWhileAwaiting = "approval" // is awaiting approval

	optionRuns = "options" // a filter: executions that list options
	anyPurpose = "any"
)

// executions lists executions; its filters are all in the URL.
func (h *lists) executions(w http.ResponseWriter, r *http.Request) error {
	if done, err := h.chosenRange(w, r); done || err != nil {
		return err
	}
	if chosenColumns(w, r) || chosenCharts(w, r) {
		return nil
	}
	if done, err := h.toDefaultView(w, r); done || err != nil {
		return err
	}
	r, err := h.withView(r)
	if err != nil {
		return err
	}
	if isGrid(r.URL.Query()) {
		return h.grid(w, r)
	}
	filter, err := h.executionFilter(r)
	if err != nil {
		return err
	}
	page, err := h.Executions.List(r.Context(), filter)
	if err != nil {
		return err
	}
	flows, err := h.Workflows.List(r.Context(), workflow.Filter{Development: true, Limit: 200})
	if err != nil {
		return err
	}
	q, clock := r.URL.Query(), h.Page.Clock(r)
	m := views.Executions{
		Page:  h.Page.Base(r, "Executions", views.SectionExecutions),
		Query: q.Get("q"), User: q.Get("user"), States: stateOptions(q.Get("state")), Periods: periodOptions(q.Get("period")),
		Flows: label.WorkflowOptions(flows.Items, q.Get("workflow")), Chips: executionChips(q), ClearURL: views.AllExecutionsURL(),
		EachRun: q.Get(sweepsKey) == eachRun,
		Mine: []ui.Choice{
			{Name: "Everyone", URL: label.ListURL(views.ExecutionsURL(), q, "user", ""), Current: q.Get("user") == ""},
			{Name: "Mine", URL: label.ListURL(views.ExecutionsURL(), q, "user", "me"), Current: q.Get("user") == "me"},
		},
	}
	if m.Rows, err = h.listRows(r.Context(), clock, page, q); err != nil {
		return err
	}
	if m.Sweeps, err = h.sweepChoices(r.Context(), q); err != nil {
		return err
	}
	if m.Purposes, err = h.purposeOptions(r.Context(), q.Get("purpose")); err != nil {
		return err
	}
	if m.Metaflow, err = h.Metaflow.HasRuns(r.Context()); err != nil {
		return err
	}
	names, _, err := h.Table.Parse(r.Context(), "", h.Now())
	if err != nil {
		return err
	}
	m.Bar = queryBar(q, names, nil)
	m.Layouts = layouts(q, names, page.Executions)
	if m.Views, err = h.savedViews(r, nil); err != nil {
		return err
	}
	m.Pager = ui.Pager{Text: pagerText(m.Rows)}
	if page.Next != "" {
		m.Pager.Older = label.ListURL(views.ExecutionsURL(), q, "after", page.Next)
	}
	if q.Get("after") != "" {
		m.Pager.Newer = label.ListURL(views.ExecutionsURL(), q, "after", "")
	} else if len(m.Rows) > 0 {
		m.Stream = label.ListURL(views.ExecutionsURL()+"/stream", q, "top", m.Rows[0].ID)
	}
	return web.Render(w, r, http.StatusOK, views.ExecutionsPage(m))
}

// listRows are the rows of a list with the filters of q.
func (h *lists) listRows(ctx context.Context, clock ui.Clock, page query.Page, q url.Values) ([]views.ExecutionRow, error) {
	if q.Get("q") != "" || q.Get(sweepsKey) == eachRun {
		return h.Rows.Of(ctx, clock, page.Executions)
	}
	return h.Rows.BySweep(ctx, clock, page, q)
}

// pagerText counts the rows of a page: "48 executions and 2 sweeps".
func pagerText(rows []views.ExecutionRow) string {
	sweeps := 0
	for _, r := range rows {
		if r.Sweep != nil {
			sweeps++
		}
	}
	text := units.Plural(len(rows)-sweeps, "execution", "executions")
	if sweeps > 0 {
		text += " and " + units.Plural(sweeps, "sweep", "sweeps")
	}
	return text
}

// executionFilter reads the filters of the URL.
func (h *lists) executionFilter(r *http.Request) (query.Filter, error) {
	q := r.URL.Query()
	f := query.Filter{Workflow: q.Get("workflow"), Query: q.Get("q"), User: q.Get("user"), After: q.Get("after"), Limit: executionPageSize}
	f.BySweep = f.Query == "" && q.Get(sweepsKey) != eachRun && !isGrid(q)
	if f.User == "me" {
		subject, _ := auth.SubjectOf(r.Context())
		f.User = subject.ID.String()
	}
	switch state := q.Get("state"); state {
	case "":
	case liveState:
		f.Status = label.LiveStates()
	case waitingState:
		f.Status, f.Waiting = label.LiveStates(), true
	case stateWhileAwaiting:
		f.Status, f.Approval = []query.State{query.Running}, query.OnlyAwaiting
	default:
		s, err := query.ParseState(state)
		if err != nil {
			return f, err
		}
		if f.Status = []query.State{s}; s == query.Running {
			f.Approval = query.NotAwaiting
		}
	}
	switch q.Get("purpose") {
	case optionRuns:
		f.Purpose = query.ListOptions
	case anyPurpose:
		f.Purpose = query.AnyPurpose
	}
	if d := period(q.Get("period")); d > 0 {
		f.From = h.Now().Add(-d)
	}
	return f, nil
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
	for _, s := range []query.State{query.Pending, query.Running, query.Paused, query.Succeeded, query.Failed, query.Cancelled} {
		if s == query.Succeeded { // between live and final states
			options = append(options,
				ui.Option{Value: waitingState, Name: "Waiting", Selected: chosen == waitingState},
				ui.Option{Value: stateWhileAwaiting, Name: ui.Word(ui.AwaitingApproval), Selected: chosen == stateWhileAwaiting})
		}
		options = append(options, ui.Option{Value: string(s), Name: ui.Word(string(s)), Selected: strings.EqualFold(chosen, string(s))})
	}
	return options
}

// purposeOptions are nil in a project without executions that list options.
func (h *lists) purposeOptions(ctx context.Context, chosen string) ([]ui.Option, error) {
	has, err := h.Executions.HasOptionRuns(ctx)
	if err != nil || !has && chosen == "" {
		return nil, err
	}
	return []ui.Option{
		{Name: "Without option lists", Selected: chosen == ""},
		{Value: optionRuns, Name: "Option lists", Selected: chosen == optionRuns},
		{Value: anyPurpose, Name: "With option lists", Selected: chosen == anyPurpose},
	}, nil
}

// executionChips lists the active filters, each with a link to the list without it.
func executionChips(q url.Values) []views.Chip {
	var chips []views.Chip
	add := func(key, name, value string) {
		if q.Get(key) != "" {
			chips = append(chips, views.Chip{Name: name, Value: value, RemoveURL: label.ListURL(views.ExecutionsURL(), q, key, "")})
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
	add(sweepsKey, "Sweeps", map[string]string{eachRun: "each run"}[q.Get(sweepsKey)])
	add("purpose", "Purpose", map[string]string{optionRuns: "lists options", anyPurpose: "any"}[q.Get("purpose")])
	user := q.Get("user")
	if user == "me" {
		user = "you"
	}
	add("user", "By", user)
	return chips
}

// executionBar is the states of the nodes; with an id its figures link to the node table.
func executionBar(e query.Execution, id string) ui.Bar {
	c := e.Counts
	counts := []ui.Count{
		{State: "SUCCEEDED", N: c.Succeeded}, {State: "RUNNING", N: c.Running}, {State: ui.AwaitingApproval, N: c.AwaitingApproval}, {State: "RETRYING", N: c.Retrying}, {State: "FAILED", N: c.Failed},
		{State: "QUEUED", N: c.Queued}, {State: "READY", N: c.Ready}, {State: "PENDING", N: c.Pending}, {State: "SKIPPED", N: c.Skipped}, {State: "CANCELLED", N: c.Cancelled},
	}
	if id != "" {
		for i := range counts {
			counts[i].URL = views.AllNodesURL(id, counts[i].State)
		}
	}
	return ui.NewBar("nodes", counts)
}

// executionsStream sends changed rows and the number of new executions. Rows keep their
// positions; the reader decides when to load the new ones.
func (h *lists) executionsStream(w http.ResponseWriter, r *http.Request) error {
	r = h.inProjectOf(r, r.URL.Query().Get("view"))
	filter, err := h.executionFilter(r)
	if err != nil {
		return err
	}
	top, err := request.ParseID(r.URL.Query().Get("top"), "execution")
	if err != nil {
		return err
	}
	if isGrid(r.URL.Query()) {
		return h.gridStream(w, r, top)
	}
	stream, err := web.NewStream(w, r, web.StillMay(auth.ExecutionRead))
	if err != nil {
		return err
	}
	clock, q, sent := h.Page.Clock(r), r.URL.Query(), page.SentPieces{}
	q.Del("top")
	h.Page.OnHints(r, stream, h.Executions.Watches.WatchAll(r.Context()), page.ListInterval, func(ctx context.Context) error {
		page, err := h.Executions.List(ctx, filter)
		if err != nil {
			return err
		}
		clock.Now = h.Now()
		var rows []views.ExecutionRow
		news := views.NewExecutions{URL: label.ListURL(views.ExecutionsURL(), q, "after", "")}
		all, err := h.listRows(ctx, clock, page, q)
		if err != nil {
			return err
		}
		for _, row := range all {
			if row.ID > top.String() {
				news.Count++
				continue
			}
			if sent.Changed(row.ID, label.FrozenRow(row)) {
				rows = append(rows, row)
			}
		}
		if !sent.Changed("news", news.Count) && len(rows) == 0 {
			return nil
		}
		return stream.SendComponent(ctx, "", "", views.ExecutionsUpdate(rows, news))
	})
	return nil
}
