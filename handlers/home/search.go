package home

import (
	"context"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/data/metaflow"
	"github.com/flowforge/flowforge/data/report"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/schedule"
	"github.com/flowforge/flowforge/engine/sweep"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/metaflowruns"
	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

const hitsPerGroup = 6

// search finds workflows, executions, schedules, sweeps, models, datasets, Metaflow runs,
// reports and artifacts. The palette requests only the list; readers without JavaScript request
// the page.
func (h *Pages) search(w http.ResponseWriter, r *http.Request) error {
	m := views.Search{Page: h.Page.Base(r, "Search", views.SectionNone), Query: strings.TrimSpace(r.URL.Query().Get("q"))}
	if m.Query != "" {
		groups, err := h.find(r, m.Query)
		if err != nil {
			return err
		}
		if hits := m.Page.PaletteHits(m.Query); len(hits) > 0 && !web.IsHTMX(r) { // the palette has these itself
			groups = append(groups, views.SearchGroup{Name: "Pages", Hits: hits})
		}
		m.Groups = groups
	}
	if web.IsHTMX(r) {
		return web.Render(w, r, http.StatusOK, views.SearchHits(m))
	}
	return web.Render(w, r, http.StatusOK, views.SearchPage(m))
}

func (h *Pages) find(r *http.Request, text string) ([]views.SearchGroup, error) {
	ctx, clock := r.Context(), h.Page.Clock(r)
	var groups []views.SearchGroup
	add := func(name string, hits []views.SearchHit) {
		if len(hits) > 0 {
			groups = append(groups, views.SearchGroup{Name: name, Hits: hits})
		}
	}
	if id, err := uuid.Parse(text); err == nil {
		if e, err := h.Executions.Get(ctx, id); err == nil {
			add("Executions", []views.SearchHit{executionHit(e, clock.Moment(e.CreatedAt).Text)})
			return groups, nil
		}
	}
	flows, err := h.Workflows.List(ctx, workflow.Filter{Query: text, Development: true, Limit: hitsPerGroup})
	if err != nil {
		return nil, err
	}
	var hits []views.SearchHit
	for _, f := range flows.Items {
		hits = append(hits, views.SearchHit{Icon: "flow", Name: f.Name, URL: views.WorkflowURL(f.Name), Note: f.Latest})
	}
	add("Workflows", hits)
	executions, err := h.Executions.List(ctx, query.Filter{Query: text, Limit: hitsPerGroup})
	if err != nil {
		return nil, err
	}
	hits = nil
	for _, e := range executions.Executions {
		hits = append(hits, executionHit(e, clock.Moment(e.CreatedAt).Text))
	}
	add("Executions", hits)
	if hits, err = h.scheduleHits(ctx, text); err != nil {
		return nil, err
	}
	add("Schedules", hits)
	if hits, err = h.sweepHits(ctx, clock, text); err != nil {
		return nil, err
	}
	add("Sweeps", hits)
	if hits, err = h.modelHits(ctx, text); err != nil {
		return nil, err
	}
	add("Models", hits)
	if hits, err = h.datasetHits(ctx, typeregistry.KindDataset, text); err != nil {
		return nil, err
	}
	add("Datasets", hits)
	if hits, err = h.datasetHits(ctx, typeregistry.KindFeatureSet, text); err != nil {
		return nil, err
	}
	add("Feature sets", hits)
	if hits, err = h.runHits(ctx, clock, text); err != nil {
		return nil, err
	}
	add("Metaflow runs", hits)
	if hits, err = h.reportHits(ctx, clock, text); err != nil {
		return nil, err
	}
	add("Reports", hits)
	found, err := h.Artifacts.List(ctx, artifact.Filter{Query: text, Limit: hitsPerGroup})
	if err != nil {
		return nil, err
	}
	hits = nil
	for _, a := range found.Artifacts {
		hits = append(hits, views.SearchHit{Icon: views.KindIcon(a.Kind), Name: a.Name, Short: label.ShortID(a.ExecutionID), URL: views.ArtifactURL(a.ID.String()), Note: a.Kind})
	}
	add("Artifacts", hits)
	return groups, nil
}

// reportHits are the latest reports whose title or text contains text.
func (h *Pages) reportHits(ctx context.Context, clock ui.Clock, text string) ([]views.SearchHit, error) {
	found, err := h.Reports.List(ctx, report.Filter{Query: text, Limit: hitsPerGroup})
	if err != nil {
		return nil, err
	}
	var hits []views.SearchHit
	for _, one := range found.Reports {
		hits = append(hits, views.SearchHit{Icon: "edit", Name: one.Title, URL: views.ReportURL(one.ID.String()), Note: clock.Moment(one.UpdatedAt).Text})
	}
	return hits, nil
}

// scheduleHits are the schedules whose name, workflow or owner contains text.
func (h *Pages) scheduleHits(ctx context.Context, text string) ([]views.SearchHit, error) {
	found, err := h.Schedules.Reader().Search(ctx, schedule.Search{Text: text, Limit: hitsPerGroup})
	if err != nil {
		return nil, err
	}
	var hits []views.SearchHit
	for _, sc := range found.Schedules {
		note := sc.Workflow
		if sc.Paused {
			note += ", paused"
		}
		hits = append(hits, views.SearchHit{Icon: "cal", Name: sc.Name, URL: views.ScheduleURL(sc.ID.String()), Note: note})
	}
	return hits, nil
}

// sweepHits are the latest sweeps whose name contains text.
func (h *Pages) sweepHits(ctx context.Context, clock ui.Clock, text string) ([]views.SearchHit, error) {
	list, _, err := h.Sweeps.List(ctx, sweep.Listed{Text: text, Limit: hitsPerGroup})
	if err != nil {
		return nil, err
	}
	var hits []views.SearchHit
	for _, s := range list {
		hits = append(hits, views.SearchHit{Icon: "sweep", Name: s.Name, URL: views.SweepURL(s.ID.String()), Note: clock.Moment(s.CreatedAt).Text})
	}
	return hits, nil
}

// modelHits are models whose name contains text.
func (h *Pages) modelHits(ctx context.Context, text string) ([]views.SearchHit, error) {
	list, _, err := h.Registry.List(ctx, text, "")
	if err != nil {
		return nil, err
	}
	var hits []views.SearchHit
	for _, m := range list[:min(len(list), hitsPerGroup)] {
		hits = append(hits, views.SearchHit{Icon: views.KindIcon("Model"), Name: m.Name, URL: views.ModelURL(m.Name, ""), Note: m.Newest})
	}
	return hits, nil
}

// datasetHits are datasets or feature sets whose name contains text.
func (h *Pages) datasetHits(ctx context.Context, kind typeregistry.Kind, text string) ([]views.SearchHit, error) {
	list, _, err := h.Datasets.List(ctx, kind, text, "")
	if err != nil {
		return nil, err
	}
	var hits []views.SearchHit
	for _, d := range list[:min(len(list), hitsPerGroup)] {
		hits = append(hits, views.SearchHit{Icon: views.KindIcon(string(kind)), Name: d.Name, URL: views.DatasetURL(string(kind), d.Name, ""), Note: d.Newest})
	}
	return hits, nil
}

// runHits are the latest runs of Metaflow whose flow/run contains text.
func (h *Pages) runHits(ctx context.Context, clock ui.Clock, text string) ([]views.SearchHit, error) {
	runs, _, err := h.Metaflow.FindRuns(ctx, metaflow.RunFilter{Text: text, Limit: hitsPerGroup})
	if err != nil {
		return nil, err
	}
	var hits []views.SearchHit
	for _, r := range runs {
		row := metaflowruns.RowOf(clock, r)
		hits = append(hits, views.SearchHit{State: row.State, Name: row.Flow, Short: row.Run, URL: row.URL, Note: row.Started.Text})
	}
	return hits, nil
}

func executionHit(e query.Execution, when string) views.SearchHit {
	return views.SearchHit{State: string(e.Status), Name: label.ExecutionTitle(e), Short: label.ShortID(e.ID), URL: views.ExecutionURL(e.ID.String()), Note: when}
}
