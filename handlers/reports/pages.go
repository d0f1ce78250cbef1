// Package reports contains the pages of reports: the list, a report with its live blocks, the editor
// with its preview, and the history.
package reports

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/data/report"
	"github.com/flowforge/flowforge/data/view"
	"github.com/flowforge/flowforge/engine/comparison"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/sweep"
	"github.com/flowforge/flowforge/handlers/artifacts"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/handlers/table"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/web"
)

// Config contains the dependencies of the pages.
type Config struct {
	Log        *slog.Logger
	Now        func() time.Time
	Reports    *report.Service
	Views      *view.Service
	Table      *table.Service
	Comparison *comparison.Service
	Executions *execution.Service
	Artifacts  *artifact.Service
	Files      *artifacts.Pages // previews
	Sweeps     *sweep.Service
	PublicURL  string
	Page       *page.Shell
}

// Pages are the pages of reports. They are safe for concurrent use.
type Pages struct{ Config }

// New returns the pages.
func New(c Config) *Pages { return &Pages{c} }

// Mount adds the pages to r.
func (h *Pages) Mount(r chi.Router) {
	r.Get("/reports", h.Page.Serve(h.list))
	r.Get("/reports/new", h.Page.Serve(h.blank))
	r.Post("/reports", h.Page.Serve(h.create))
	r.Post("/reports/preview", h.Page.Serve(h.preview))
	r.Get("/reports/{report}", h.Page.Serve(h.report))
	r.Get("/reports/{report}/stream", h.Page.Serve(h.stream))
	r.Get("/reports/{report}/edit", h.Page.Serve(h.edit))
	r.Post("/reports/{report}/edit", h.Page.Serve(h.save))
	r.Post("/reports/{report}/preview", h.Page.Serve(h.previewOf))
	r.Get("/reports/{report}/history", h.Page.Serve(h.history))
	r.Get("/reports/{report}/revisions/{revision}", h.Page.Serve(h.revision))
	r.Post("/reports/{report}/revisions/{revision}/restore", h.Page.Serve(h.restore))
	r.Post("/reports/{report}/delete", h.Page.Serve(h.remove))
}

func reportID(r *http.Request) (uuid.UUID, error) {
	return request.ParseID(request.PathValue(r, "report"), "report")
}

func reportsCrumb() views.Crumb { return views.Crumb{Name: "Reports", URL: views.ReportsURL(nil)} }

const pageSize = 50

// list shows the reports of the project.
func (h *Pages) list(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	found, err := h.Reports.List(r.Context(), report.Filter{Query: q.Get("q"), After: q.Get("after"), Limit: pageSize})
	if err != nil {
		return err
	}
	m := views.Reports{Page: h.Page.Base(r, "Reports", views.SectionReports), Query: q.Get("q")}
	if mayWrite(r) {
		m.NewURL = views.NewReportURL()
	}
	clock := h.Page.Clock(r)
	for _, one := range found.Reports {
		m.Rows = append(m.Rows, views.ReportRow{
			Title: one.Title, URL: views.ReportURL(one.ID.String()), By: one.Owner, UpdatedBy: one.UpdatedBy, Updated: clock.Moment(one.UpdatedAt), Revision: units.Number(int64(one.Revision)),
		})
	}
	m.Pager.Text = units.Plural(len(m.Rows), "report", "reports")
	if found.Next != "" {
		m.Pager.Older = label.ListURL(views.ReportsURL(nil), q, "after", found.Next)
	}
	if q.Get("after") != "" {
		m.Pager.Newer = label.ListURL(views.ReportsURL(nil), q, "after", "")
	}
	return web.Render(w, r, http.StatusOK, views.ReportsPage(m))
}

// mayWrite reports whether the reader may write reports in the project.
func mayWrite(r *http.Request) bool {
	subject, ok := auth.SubjectOf(r.Context())
	return ok && subject.May(auth.ExecutionLaunch, subject.ProjectID)
}
