package schedules

import (
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// choose lists the workflows that a new schedule can launch.
func (h *Pages) choose(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	found, err := h.Workflows.List(r.Context(), workflow.Filter{Query: strings.TrimSpace(q.Get("q")), After: q.Get("after"), Limit: schedulesShown})
	if err != nil {
		return err
	}
	m := views.ScheduleWorkflows{
		Page:  h.Page.Base(r, "New schedule", views.SectionSchedules, views.Crumb{Name: "Schedules", URL: views.SchedulesURL(nil)}),
		Query: q.Get("q"), Pager: ui.Pager{InOrder: true},
	}
	for _, f := range found.Items {
		m.Rows = append(m.Rows, views.ScheduleWorkflow{Name: f.Name, Description: f.Description, Version: f.Latest, URL: views.ScheduleWorkflowURL(request.WorkflowRef(r.Context(), f.Name, f.ID))})
	}
	if found.Next != "" {
		m.Pager.Older = label.ListURL(views.NewScheduleURL(), q, "after", found.Next)
	}
	if q.Get("after") != "" {
		m.Pager.Newer = label.ListURL(views.NewScheduleURL(), q, "after", "")
	}
	return web.Render(w, r, http.StatusOK, views.ScheduleWorkflowsPage(m))
}

// bulk pauses or resumes the selected schedules.
func (h *Pages) bulk(w http.ResponseWriter, r *http.Request) error {
	if err := r.ParseForm(); err != nil {
		return apperr.Wrap(apperr.Invalid, err, "The form could not be read. Send it again.")
	}
	action := r.PostForm.Get("action")
	if action != "pause" && action != "resume" {
		return apperr.New(apperr.Invalid, "The action must be pause or resume, not %q.", action)
	}
	var ids []uuid.UUID
	for _, text := range r.PostForm["schedule"] {
		id, err := request.ParseID(text, "schedule")
		if err != nil {
			return err
		}
		ids = append(ids, id)
	}
	r.URL.RawQuery = r.PostForm.Get("back")
	if len(ids) == 0 {
		return h.showList(w, r, http.StatusUnprocessableEntity, "Select at least one schedule.")
	}
	if _, err := h.Schedules.SetPaused(r.Context(), ids, action == "pause"); err != nil {
		return err
	}
	http.Redirect(w, r, views.SchedulesURL(r.URL.Query()), http.StatusSeeOther)
	return nil
}
