package metaflowruns

import (
	"context"
	"net/http"
	"net/url"
	"strings"
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
	metaflow.Progress

	clock     ui.Clock
	query     url.Values
	flow, run string
	settings  []metaflow.Artifact // the artifacts of the parameters
	mayTag    bool
}

// load reads the run in the path of r.
func (h *Pages) load(r *http.Request) (*runView, error) {
	subject, _ := auth.SubjectOf(r.Context())
	x := &runView{
		clock: h.Page.Clock(r), query: r.URL.Query(), flow: request.PathValue(r, "flow"), run: request.PathValue(r, "run"),
		mayTag: subject.May(auth.ExecutionLaunch, subject.ProjectID),
	}
	return x, h.refresh(r.Context(), x)
}

func (h *Pages) refresh(ctx context.Context, x *runView) error {
	progress, err := h.Records.Progress(ctx, x.flow, x.run)
	if err != nil {
		return err
	}
	x.Progress, x.clock.Now = progress, h.Now()
	x.settings, err = h.Records.Artifacts(ctx, x.flow, x.run, metaflow.ArtifactFilter{Step: metaflow.ParametersStep, Attempt: metaflow.LatestAttempt})
	return err
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
		Head: x.head(), Graph: x.graph(), Timeline: x.timeline(), Tags: x.tags(), Client: x.client(), Datastore: datastore(x.settings),
	}
	m.Tags.Typed, m.Tags.Error = typed.Typed, typed.Error
	var err error
	if m.Tasks, err = x.tasks(); err != nil {
		return err
	}
	for _, a := range x.settings {
		if !strings.HasPrefix(a.Name, "_") && a.Name != "name" {
			m.Parameters = append(m.Parameters, artifactLine(a))
		}
	}
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
	if _, err := x.tasks(); err != nil {
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
	u, err := p.changes()
	if err != nil {
		return err
	}
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
func (p *runPush) changes() (views.MetaflowRunUpdate, error) {
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
	if p.sent.Changed("graph", x.Steps) {
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
	tasks, err := x.tasks()
	if err != nil {
		return u, err
	}
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
	return u, nil
}

// head is the head of the page.
func (x *runView) head() views.MetaflowRunHead {
	head := views.MetaflowRunHead{
		Flow: x.flow, FlowURL: views.MetaflowFlowURL(x.flow), Run: x.Run.RunNumber.String(), State: string(stateOf(x.Run.Status)), User: x.Run.User,
		Started: x.clock.Moment(time.UnixMilli(x.Run.TSEpoch)), Bar: ui.NewBar("tasks", x.counts("")),
	}
	head.Took, head.Since = took(x.clock, x.Run)
	if x.Run.EndedEpoch == 0 && x.Run.LastHeartbeat != nil {
		head.Heartbeat = x.clock.Exactly(time.Unix(*x.Run.LastHeartbeat, 0))
	}
	for i := range x.Tasks {
		if origin := x.Tasks[i].Origin; origin != "" {
			head.Origin, head.OriginURL = origin, views.MetaflowRunURL(x.flow, origin)
		}
	}
	return head
}

// client is Python that reads the run.
func (x *runView) client() string {
	return "from metaflow import Run\n\nrun = Run(\"" + x.flow + "/" + x.Run.RunNumber.String() + "\")\nrun.data"
}

// datastore says where the client keeps the data of artifacts.
func datastore(artifacts []metaflow.Artifact) []ui.Fact {
	for _, a := range artifacts {
		root, ok := strings.CutPrefix(a.Location, rootPrefix)
		if !ok {
			root, _, ok = strings.Cut(a.Location, "/"+a.FlowID+"/data/")
		}
		if ok {
			return []ui.Fact{{Name: "Type", Value: a.DSType}, {Name: "Root", Value: root, Mono: true}}
		}
	}
	return nil
}

// rootPrefix begins the location of an artifact that the client stores below the root of its
// datastore.
const rootPrefix = ":root:"

// artifactLine is an artifact with the place of its value, below the root by its hash.
func artifactLine(a metaflow.Artifact) views.MetaflowArtifact {
	line := views.MetaflowArtifact{Name: a.Name, Type: a.ContentType, Location: a.Location}
	if root, ok := strings.CutPrefix(a.Location, rootPrefix); ok && len(a.SHA) > 2 {
		line.Location = strings.Join([]string{root, a.FlowID, "data", a.SHA[:2], a.SHA}, "/")
	}
	return line
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
