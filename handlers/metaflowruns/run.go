package metaflowruns

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/data/metaflow"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// runView is a run as its page shows it.
type runView struct {
	metaflow.Overview
	reading

	clock     ui.Clock
	query     url.Values
	filter    metaflow.TaskFilter
	page      []metaflow.TaskProgress
	more      bool // another page of tasks follows
	flow, run string
	settings  []metaflow.Artifact // the artifacts of the parameters
	plan      plan
	mayTag    bool
	ours      bool // an execution records it
}

// load reads the run in the path of r.
func (h *Pages) load(r *http.Request) (*runView, error) {
	subject, _ := auth.SubjectOf(r.Context())
	x := &runView{
		clock: h.Page.Clock(r), query: r.URL.Query(), flow: request.PathValue(r, "flow"), run: request.PathValue(r, "run"),
		mayTag: subject.May(auth.ExecutionLaunch, subject.ProjectID),
	}
	var err error
	if x.filter, err = taskFilter(x.query); err != nil {
		return nil, err
	}
	return x, h.refresh(r.Context(), x)
}

func (h *Pages) refresh(ctx context.Context, x *runView) error {
	x.begin()
	var err error
	if x.Overview, err = h.Records.Overview(ctx, x.flow, x.run); err != nil {
		return err
	}
	x.clock.Now = h.Now()
	if id, ours := metaflow.ExecutionOf(x.Run.RunNumber.String()); ours && !x.ours {
		if x.ours, err = h.Executions.RecordsFlow(ctx, id, x.flow); err != nil {
			return err
		}
	}
	if x.page, x.more, err = h.Records.RunTasks(ctx, x.Run, x.filter); err != nil {
		return err
	}
	if len(x.settings) == 0 {
		x.settings, err = h.Records.Artifacts(ctx, x.flow, x.run, metaflow.ArtifactFilter{Step: metaflow.ParametersStep, Attempt: metaflow.LatestAttempt})
		if err != nil {
			return err
		}
	}
	return h.arrange(ctx, x)
}

// run is the page of a run.
func (h *Pages) run(w http.ResponseWriter, r *http.Request) error {
	x, err := h.load(r)
	if err != nil {
		return err
	}
	return h.renderRun(w, r, x, http.StatusOK, views.MetaflowTags{})
}

// renderRun draws the page of a run; typed is what a refused form of tags contained.
func (h *Pages) renderRun(w http.ResponseWriter, r *http.Request, x *runView, status int, typed views.MetaflowTags) error {
	m := views.MetaflowRun{
		Page: h.Page.Base(r, x.flow+" "+x.run, views.SectionExecutions,
			views.Crumb{Name: "Executions", URL: views.ExecutionsURL()}, views.Crumb{Name: "Metaflow", URL: views.MetaflowRunsURL()}),
		Head: x.head(), Graph: x.graph(), Timeline: x.timeline(), Tags: x.tags(), Client: x.client(), Datastore: keptIn(x.settings),
	}
	m.Tags.Typed, m.Tags.Error = typed.Typed, typed.Error
	var err error
	if m.Elsewhere, err = h.elsewhere(r.Context(), m.Datastore); err != nil {
		return err
	}
	m.Tasks = x.tasks()
	m.Parameters = h.parameters(r.Context(), x)
	if x.Run.EndedEpoch == 0 {
		m.StreamURL = views.MetaflowStreamURL(x.flow, x.run, x.query)
	}
	return web.Render(w, r, status, views.MetaflowRunPage(m))
}

// runStream sends the changed pieces of the page of a run until the run has reported its end.
func (h *Pages) runStream(w http.ResponseWriter, r *http.Request) error {
	x, err := h.load(r)
	if err != nil {
		return err
	}
	stream, err := web.NewStream(w, r, web.StillMay(auth.ExecutionRead))
	if err != nil {
		return err
	}
	p := runPush{h: h, x: x, stream: stream, sent: page.SentPieces{}}
	h.Page.OnHints(r, stream, h.Page.Ticks(r.Context()), page.ListInterval, p.send)
	return nil
}

// runPush sends the changes of the page of a run.
type runPush struct {
	h      *Pages
	x      *runView
	stream *web.Stream
	sent   page.SentPieces
}

func (p *runPush) send(ctx context.Context) error {
	if err := p.h.refresh(ctx, p.x); err != nil {
		return err
	}
	u := p.changes()
	if !u.Empty() {
		if err := p.stream.SendComponent(ctx, "", "", views.MetaflowRunUpdateBlock(u)); err != nil {
			return err
		}
	}
	if p.x.Run.EndedEpoch == 0 {
		return nil
	}
	if err := p.stream.Send("end", "", nil); err != nil {
		return err
	}
	return page.ErrStreamDone
}

// changes are the pieces that differ from those sent. Durations that the browser counts do not
// make a difference.
func (p *runPush) changes() views.MetaflowRunUpdate {
	var u views.MetaflowRunUpdate
	x := p.x
	head := x.head()
	still := head
	if still.Since != "" {
		still.Took = ""
	}
	if p.sent.Changed("head", still) {
		u.Head = &head
	}
	graph := x.graph()
	if p.sent.Changed("graph", x.shape()) {
		u.Graph = &graph
	}
	for _, s := range graph.Picture.Boxes {
		same := s
		if same.Since != "" {
			same.Sub, same.FullSub = "", ""
		}
		if p.sent.Changed(s.ID, same) && u.Graph == nil {
			u.Shapes = append(u.Shapes, s)
		}
	}
	if t := x.timeline(); p.sent.Changed("timeline", t) {
		u.Timeline = &t
	}
	tasks := x.tasks()
	quiet := tasks
	quiet.Rows = nil
	for _, row := range tasks.Rows {
		if row.Since != "" {
			row.Took = ""
		}
		quiet.Rows = append(quiet.Rows, row)
	}
	if p.sent.Changed("tasks", quiet) {
		u.Tasks = &tasks
	}
	if tags := x.tags(); p.sent.Changed("tags", tags) {
		u.Tags = &tags
	}
	return u
}

// head is the head of the page.
func (x *runView) head() views.MetaflowRunHead {
	head := views.MetaflowRunHead{
		Flow: x.flow, FlowURL: views.MetaflowFlowURL(x.flow), Run: x.Run.RunNumber.String(), State: string(stateOf(x.Run.Status)), User: x.Run.User,
		Started: x.clock.Moment(time.UnixMilli(x.Run.TSEpoch)), Bar: ui.NewBar("tasks", x.counts("", x.allTasks())),
	}
	if id, ours := metaflow.ExecutionOf(head.Run); ours && x.ours {
		head.ExecutionURL = views.ExecutionURL(id.String())
	}
	head.Took, head.Since = took(x.clock, x.Run)
	if x.Run.EndedEpoch == 0 && x.Run.LastHeartbeat != nil {
		head.Heartbeat = x.clock.Exactly(time.Unix(*x.Run.LastHeartbeat, 0))
	}
	if x.Origin != "" {
		head.Origin, head.OriginURL = x.Origin, views.MetaflowRunURL(x.flow, x.Origin)
	}
	return head
}

// client is Python that reads the run.
func (x *runView) client() string {
	return "from metaflow import Run\n\nrun = Run(\"" + x.flow + "/" + x.Run.RunNumber.String() + "\")\nrun.data"
}

// duration is the time between two times in milliseconds. While the end is 0, it is the time so
// far, with the start.
func duration(now time.Time, start, end int64) (text, since string) {
	switch {
	case start == 0:
		return "", ""
	case end == 0:
		from := time.UnixMilli(start).UTC()
		return units.Duration(now.Sub(from)), from.Format(time.RFC3339)
	}
	return units.Duration(time.Duration(end-start) * time.Millisecond), ""
}
