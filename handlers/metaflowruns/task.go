package metaflowruns

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/metaflow"
	"github.com/flowforge/flowforge/handlers/request"
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

// task is the page of a task.
func (h *Pages) task(w http.ResponseWriter, r *http.Request) error {
	flow, run, step, task := request.PathValue(r, "flow"), request.PathValue(r, "run"), request.PathValue(r, "step"), request.PathValue(r, "task")
	ctx, clock := r.Context(), h.Page.Clock(r)
	of, progress, err := h.Records.TaskProgress(ctx, flow, run, step, task)
	if err != nil {
		return err
	}
	attempt := int64(metaflow.LatestAttempt)
	if text := r.URL.Query().Get("attempt"); text != "" {
		if attempt, err = strconv.ParseInt(text, 10, 64); err != nil || attempt < 0 {
			return apperr.New(apperr.Invalid, "attempt: enter the number of an attempt, not %q.", text)
		}
	}
	artifacts, err := h.Records.Artifacts(ctx, flow, run, metaflow.ArtifactFilter{Step: step, Task: task, Attempt: attempt})
	if err != nil {
		return err
	}
	facts, err := h.Records.Metadata(ctx, flow, run, step, task)
	if err != nil {
		return err
	}
	m := views.MetaflowTask{
		Page: h.Page.Base(r, step+"/"+task, views.SectionExecutions,
			views.Crumb{Name: "Executions", URL: views.ExecutionsURL()}, views.Crumb{Name: "Metaflow", URL: views.MetaflowRunsURL()},
			views.Crumb{Name: flow + " " + run, URL: views.MetaflowRunURL(flow, run)}),
		Name: step + "/" + task, State: shownState(progress.State), Datastore: taskStore(of, &progress, facts, artifacts),
	}
	m.Facts = []ui.Fact{{Name: "Registered", Moment: moment(clock, progress.Epoch)}, {Name: "User", Value: of.User}}
	if items := itemsText(progress.Items); items != "" {
		m.Facts = append(m.Facts, ui.Fact{Name: "Foreach", Value: items, Note: progress.Path})
	}
	if progress.Origin != "" {
		m.Facts = append(m.Facts, ui.Fact{Name: "Reused from run", Value: progress.Origin, URL: views.MetaflowRunURL(flow, progress.Origin)})
	}
	m.Artifacts, m.Private, m.Attempt = artifactLines(artifacts)
	for _, a := range progress.Attempts {
		number := strconv.FormatInt(a.Number, 10)
		line := views.MetaflowAttempt{
			Number: number, URL: views.MetaflowAttemptURL(flow, run, step, task, number), State: shownState(a.State),
			Started: *moment(clock, a.Started), Current: number == m.Attempt,
		}
		if a.Ended > 0 || a.State == metaflow.Running {
			line.Took, line.Since = duration(clock.Now, a.Started, a.Ended)
		}
		m.Attempts = append(m.Attempts, line)
	}
	for _, f := range facts {
		fact := views.MetaflowFact{Name: f.FieldName, Value: f.Value, At: *moment(clock, f.TSEpoch)}
		for _, tag := range f.Tags {
			if n, ok := strings.CutPrefix(tag, "attempt_id:"); ok {
				fact.Attempt = n
			}
		}
		m.Metadata = append(m.Metadata, fact)
	}
	return web.Render(w, r, http.StatusOK, views.MetaflowTaskPage(m))
}

func moment(clock ui.Clock, epoch int64) *ui.Moment {
	m := clock.Exactly(time.UnixMilli(epoch))
	return &m
}

// artifactLines are the artifacts of the flow and those of Metaflow itself, whose names begin with
// an underscore, with the number of their attempt.
func artifactLines(artifacts []metaflow.Artifact) (own, private []views.MetaflowArtifact, attempt string) {
	for _, a := range artifacts {
		attempt = strconv.FormatInt(a.AttemptID, 10)
		if strings.HasPrefix(a.Name, "_") {
			private = append(private, artifactLine(a))
			continue
		}
		own = append(own, artifactLine(a))
	}
	return own, private, attempt
}

// taskStore says where the client keeps the files of a task: the metadata of its attempts has the
// root of the datastore.
func taskStore(r metaflow.RunSummary, t *metaflow.TaskProgress, facts []metaflow.Metadata, artifacts []metaflow.Artifact) []ui.Fact {
	for _, f := range facts {
		if f.FieldName == "ds-root" {
			path := strings.Join([]string{f.Value, r.FlowID, r.RunNumber.String(), t.Step, t.ID.String()}, "/")
			return append(datastore(artifacts), ui.Fact{Name: "Logs", Value: path, Mono: true})
		}
	}
	return datastore(artifacts)
}
