package handlers

import (
	"context"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/retention"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"

	"github.com/flowforge/flowforge/handlers/request"
)

const sweepsShown = 50

func (h *Handlers) keep(w http.ResponseWriter, r *http.Request) error {
	return h.keepBy(w, r, h.Retention.Keep)
}

func (h *Handlers) release(w http.ResponseWriter, r *http.Request) error {
	return h.keepBy(w, r, h.Retention.Release)
}

func (h *Handlers) keepBy(w http.ResponseWriter, r *http.Request, do func(context.Context, uuid.UUID) error) error {
	id, err := request.ExecutionID(r)
	if err != nil {
		return err
	}
	if err := do(r.Context(), id); err != nil {
		return err
	}
	http.Redirect(w, r, views.ExecutionURL(id.String()), http.StatusSeeOther) //nolint:gosec // a parsed id on this server
	return nil
}

// keeping is until when an execution stays, as its page says it.
func keeping(clock ui.Clock, e execution.Execution, may bool) views.Keeping {
	k := views.Keeping{By: e.KeptBy}
	if e.ExpiresAt != nil {
		k.Expires, k.Passed = new(clock.Moment(*e.ExpiresAt)), e.ExpiresAt.Before(clock.Now)
	}
	switch id := e.ID.String(); {
	case !may:
	case e.KeptAt != nil:
		k.FreeURL = views.ReleaseURL(id)
	case e.ExpiresAt != nil:
		k.KeepURL = views.KeepURL(id)
	}
	return k
}

// sweeps shows what was removed.
func (h *Handlers) sweeps(w http.ResponseWriter, r *http.Request) error {
	reports, err := h.Retention.Sweeps(r.Context(), sweepsShown)
	if err != nil {
		return err
	}
	clock := h.clock(r)
	page := views.SweepsPage{
		Page: h.basePage(r, "Storage", views.SectionAdmin), Tabs: h.adminTabs(r, views.SectionSweeps, false), Rule: h.Retention.RuleText(),
	}
	if r.URL.Query().Get("did") == "busy" {
		page.Notice = &views.AdminNotice{Kind: "info", Strong: "A sweep is under way.", Text: "Look again when it has ended."}
	}
	for _, report := range reports {
		row := sweepRow(clock, report)
		page.Rows = append(page.Rows, row)
		if !report.DryRun && page.Last == nil {
			page.Last = &row
		}
		if report.DryRun && page.Last == nil && page.Foresee == nil && report.EndedAt != nil {
			page.Foresee = &row
		}
	}
	return web.Render(w, r, http.StatusOK, views.SweepsView(page))
}

func sweepRow(clock ui.Clock, r retention.Report) views.Sweep {
	row := views.Sweep{
		Began: clock.Moment(r.BeganAt), Kind: "Sweep", Executions: ui.Number(r.Executions), Removes: ui.Plural(int(r.Executions), "execution", "executions"), Artifacts: ui.Number(r.Artifacts),
		Released: ui.Bytes(r.ProjectBytes), Freed: ui.Bytes(r.Bytes), Error: r.Error,
	}
	if r.DryRun {
		row.Kind, row.Artifacts = "Look ahead", "–"
	}
	if r.EndedAt != nil {
		row.Took = ui.Duration(r.EndedAt.Sub(r.BeganAt))
	}
	return row
}

// beginSweep looks what would go. Sweeps that remove come by themselves and by the API:
// a page that takes minutes to answer helps nobody.
func (h *Handlers) beginSweep(w http.ResponseWriter, r *http.Request) error {
	if r.PostFormValue("dry_run") != "1" {
		return apperr.New(apperr.Invalid, "Sweeps that remove come by themselves, or by %s.", "flowforge gc")
	}
	to := views.SweepsURL()
	_, err := h.Retention.Sweep(r.Context(), true)
	if apperr.Is(err, apperr.Conflict) {
		to, err = to+"?did=busy", nil
	}
	if err != nil {
		return fmt.Errorf("look ahead: %w", err)
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
	return nil
}

// mayKeep reports whether the reader may keep executions of project.
func mayKeep(ctx context.Context, project uuid.UUID) bool {
	s, ok := auth.SubjectOf(ctx)
	return ok && s.May(auth.ExecutionLaunch, project)
}
