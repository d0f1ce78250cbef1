package metaflowruns

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/metaflow"
	"github.com/flowforge/flowforge/data/metaflow/datastore"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// itemsText is the values of the foreach steps around a task: the client sends a list of texts.
func itemsText(raw string) string {
	var values []string
	if json.Unmarshal([]byte(raw), &values) != nil {
		return raw
	}
	return strings.Join(values, ", ")
}

// attemptsText is the number of attempts and how the earlier ones ended.
func attemptsText(t *metaflow.TaskProgress) string {
	switch {
	case t.Origin != "":
		return "reused from run " + t.Origin
	case len(t.Attempts) == 0:
		return ""
	case len(t.Attempts) == 1:
		return "1 attempt"
	}
	return units.Plural(len(t.Attempts), "attempt", "attempts") + ", " + units.Number(int64(len(t.Attempts)-1)) + " failed"
}

// taskView is a task as its page shows it.
type taskView struct {
	datastore.Task
	reading

	clock    ui.Clock
	of       metaflow.RunSummary
	progress metaflow.TaskProgress
	attempt  int64          // whose log and artifacts are shown
	carded   datastore.Task // whose cards are shown: of a reused task the original, because Metaflow copies no cards
	query    string
}

func (h *Pages) loadTask(r *http.Request) (*taskView, error) {
	x := &taskView{Task: taskIn(r), clock: h.Page.Clock(r), query: r.URL.Query().Get("q")}
	var err error
	if x.attempt, err = attemptIn(r); err != nil {
		return nil, err
	}
	if err = h.refreshTask(r.Context(), x); err != nil {
		return nil, err
	}
	if x.attempt < 0 {
		x.attempt = latest(&x.progress)
	}
	x.carded, err = h.original(r.Context(), x.Task, x.progress.Origin)
	return x, err
}

// maxResumes is the maximum number of resumed runs through which the original of a task is looked for.
const maxResumes = 20

// original returns the task whose result a task reuses from the run origin, and t itself without one. If the record of
// the original was removed, original returns the last task that has one.
func (h *Pages) original(ctx context.Context, t datastore.Task, origin string) (datastore.Task, error) {
	for range maxResumes {
		if origin == "" {
			break
		}
		facts, err := h.Records.Metadata(ctx, t.Flow, t.Run, t.Step, t.ID)
		if err != nil {
			return t, err
		}
		from := t
		from.Run = origin
		for _, f := range facts {
			if f.FieldName == "origin-task-id" && f.Value != "" && f.Value != "None" {
				from.ID = f.Value
			}
		}
		_, progress, err := h.Records.TaskProgress(ctx, from.Flow, from.Run, from.Step, from.ID)
		if apperr.Is(err, apperr.NotFound) {
			break
		}
		if err != nil {
			return t, err
		}
		t, origin = from, progress.Origin
	}
	return t, nil
}

func (h *Pages) refreshTask(ctx context.Context, x *taskView) error {
	x.begin()
	var err error
	x.of, x.progress, err = h.Records.TaskProgress(ctx, x.Flow, x.Run, x.Step, x.ID)
	x.clock.Now = h.Now()
	return err
}

// ended reports whether nothing more happens to the task.
func (x *taskView) ended() bool {
	return x.progress.State != metaflow.Running && x.progress.State != metaflow.Waiting && x.of.Status != metaflow.Running
}

// attemptEnded reports whether the shown attempt has ended.
func (x *taskView) attemptEnded() bool {
	for _, a := range x.progress.Attempts {
		if a.Number == x.attempt {
			return a.State != metaflow.Running
		}
	}
	return x.ended()
}

// task is the page of a task.
func (h *Pages) task(w http.ResponseWriter, r *http.Request) error {
	x, err := h.loadTask(r)
	if err != nil {
		return err
	}
	ctx := r.Context()
	artifacts, err := h.Records.Artifacts(ctx, x.Flow, x.Run, metaflow.ArtifactFilter{Step: x.Step, Task: x.ID, Attempt: x.attempt})
	if err != nil {
		return err
	}
	facts, err := h.Records.Metadata(ctx, x.Flow, x.Run, x.Step, x.ID)
	if err != nil {
		return err
	}
	m := x.head()
	m.Page = h.Page.Base(r, m.Name, views.SectionExecutions,
		views.Crumb{Name: "Executions", URL: views.ExecutionsURL()}, views.Crumb{Name: "Metaflow", URL: views.MetaflowRunsURL()},
		views.Crumb{Name: x.Flow + " " + x.Run, URL: views.MetaflowRunURL(x.Flow, x.Run)})
	m.Datastore, m.Facts = taskStore(x.of, &x.progress, facts, artifacts), x.facts()
	if m.Elsewhere, err = h.elsewhere(ctx, m.Datastore); err != nil {
		return err
	}
	m.Artifacts, m.Private = split(h.withValues(ctx, &x.reading, x.Task, artifacts))
	if len(artifacts) > 0 {
		m.Attempt = strconv.FormatInt(artifacts[0].AttemptID, 10)
	}
	for _, f := range facts {
		fact := views.MetaflowFact{Name: f.FieldName, Value: f.Value, At: *moment(x.clock, f.TSEpoch)}
		for _, tag := range f.Tags {
			if n, ok := strings.CutPrefix(tag, "attempt_id:"); ok {
				fact.Attempt = n
			}
		}
		m.Metadata = append(m.Metadata, fact)
	}
	if err := h.addFiles(ctx, x, &m); err != nil {
		return err
	}
	if _, err := auth.Authorize(ctx, auth.LogRead); err == nil && !x.ended() && x.query == "" {
		m.StreamURL = views.MetaflowTaskURL(x.Flow, x.Run, x.Step, x.ID) + "/stream?attempt=" + strconv.FormatInt(x.attempt, 10) +
			"&after=" + m.Logs.Cursor + "&lines=" + strconv.Itoa(len(m.Logs.Lines))
	}
	return web.Render(w, r, http.StatusOK, views.MetaflowTaskPage(m))
}

// head is what page and stream show of the state of a task.
func (x *taskView) head() views.MetaflowTask {
	m := views.MetaflowTask{Name: x.Step + "/" + x.ID, State: shownState(x.progress.State)}
	for _, a := range x.progress.Attempts {
		number := strconv.FormatInt(a.Number, 10)
		line := views.MetaflowAttempt{
			Number: number, URL: views.MetaflowAttemptURL(x.Flow, x.Run, x.Step, x.ID, number), State: shownState(a.State),
			Started: *moment(x.clock, a.Started), Current: a.Number == x.attempt,
		}
		if a.Ended > 0 || a.State == metaflow.Running {
			line.Took, line.Since = duration(x.clock.Now, a.Started, a.Ended)
		}
		m.Attempts = append(m.Attempts, line)
	}
	return m
}

func (x *taskView) facts() []ui.Fact {
	facts := []ui.Fact{{Name: "Registered", Moment: moment(x.clock, x.progress.Epoch)}, {Name: "User", Value: x.of.User}}
	if items := itemsText(x.progress.Items); items != "" {
		facts = append(facts, ui.Fact{Name: "Foreach", Value: items, Note: x.progress.Path})
	}
	if x.progress.Origin != "" {
		facts = append(facts, ui.Fact{Name: "Reused from run", Value: x.progress.Origin, URL: views.MetaflowRunURL(x.Flow, x.progress.Origin)})
	}
	return facts
}

func moment(clock ui.Clock, epoch int64) *ui.Moment {
	m := clock.Exactly(time.UnixMilli(epoch))
	return &m
}

// split separates the artifacts of the flow and those of Metaflow itself, whose names begin with an
// underscore.
func split(artifacts []views.MetaflowArtifact) (own, private []views.MetaflowArtifact) {
	for _, a := range artifacts {
		if strings.HasPrefix(a.Name, "_") {
			private = append(private, a)
			continue
		}
		own = append(own, a)
	}
	return own, private
}

// taskStore specifies where the client keeps the files of a task: the metadata of its attempts has the
// root of the datastore.
func taskStore(r metaflow.RunSummary, t *metaflow.TaskProgress, facts []metaflow.Metadata, artifacts []metaflow.Artifact) []ui.Fact {
	for _, f := range facts {
		if f.FieldName == "ds-root" {
			path := strings.Join([]string{f.Value, r.FlowID, r.RunNumber.String(), t.Step, t.ID.String()}, "/")
			return append(keptIn(artifacts), ui.Fact{Name: "Logs", Value: path, Mono: true})
		}
	}
	return keptIn(artifacts)
}
