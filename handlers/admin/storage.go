package admin

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/retention"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

const sweepsShown = 50

// sweeps shows the history of cleanups.
func (h *Pages) sweeps(w http.ResponseWriter, r *http.Request) error {
	reports, err := h.Retention.Sweeps(r.Context(), sweepsShown)
	if err != nil {
		return err
	}
	clock := h.Page.Clock(r)
	page := views.StoragePage{
		Page: h.Page.Base(r, "Storage", views.SectionAdmin), Tabs: h.tabs(r, views.SectionStorage, false), Rule: h.Retention.RuleText(),
	}
	if r.URL.Query().Get("did") == "busy" {
		page.Notice = &views.AdminNotice{Kind: "info", Strong: "A cleanup is already running.", Text: "Try again when it has finished."}
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
	return web.Render(w, r, http.StatusOK, views.StorageView(page))
}

func sweepRow(clock ui.Clock, r retention.Report) views.Cleanup {
	row := views.Cleanup{
		Started: clock.Moment(r.BeganAt), Kind: "Cleanup", Executions: units.Number(r.Executions), Removes: units.Plural(int(r.Executions), "execution", "executions"), Artifacts: units.Number(r.Artifacts),
		Released: units.Bytes(r.ProjectBytes), Freed: units.Bytes(r.Bytes), Error: r.Error,
	}
	if r.InputSweeps > 0 {
		row.Removes += " and " + units.Plural(r.InputSweeps, "sweep", "sweeps")
		row.Sweeps = strings.Join(r.InputSweepNames, ", ")
		if more := r.InputSweeps - int64(len(r.InputSweepNames)); more > 0 {
			row.Sweeps += " and " + units.Number(more) + " more"
		}
	}
	if r.DryRun {
		row.Kind, row.Artifacts = "Preview", "–"
	}
	if r.EndedAt != nil {
		row.Took = units.Duration(r.EndedAt.Sub(r.BeganAt))
	}
	return row
}

// beginSweep previews a cleanup. Cleanups that remove data run on a schedule or through the
// API, because a page must not take minutes to respond.
func (h *Pages) beginSweep(w http.ResponseWriter, r *http.Request) error {
	if r.PostFormValue("dry_run") != "1" {
		return apperr.New(apperr.Invalid, "Cleanup runs automatically. To start it now, use %s.", "flowforge gc")
	}
	to := views.StorageURL()
	_, err := h.Retention.Sweep(r.Context(), true)
	if apperr.Is(err, apperr.Conflict) {
		to, err = to+"?did=busy", nil
	}
	if err != nil {
		return fmt.Errorf("preview the cleanup: %w", err)
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
	return nil
}
