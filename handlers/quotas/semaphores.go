package quotas

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// semaphores shows the locks of the project.
func (h *Pages) semaphores(w http.ResponseWriter, r *http.Request) error {
	return h.renderSemaphores(w, r, http.StatusOK, views.Semaphores{})
}

func (h *Pages) renderSemaphores(w http.ResponseWriter, r *http.Request, status int, m views.Semaphores) error {
	after := r.URL.Query().Get("after")
	page, err := h.Executions.Semaphores.List(r.Context(), after)
	if err != nil {
		return err
	}
	m.Page = h.Page.Base(r, "Semaphores", views.SectionWaiting)
	clock := h.Page.Clock(r)
	subject, ok := auth.SubjectOf(r.Context())
	m.MaySet = ok && subject.May(auth.QuotaWrite, subject.ProjectID)
	for _, s := range page.Semaphores {
		m.Rows = append(m.Rows, semaphoreRow(clock, s))
	}
	if page.Next != "" {
		m.Pager.Older = views.SemaphoresURL(page.Next)
	}
	if after != "" {
		m.Pager.Newer = views.SemaphoresURL("")
	}
	if name := r.URL.Query().Get("set"); name != "" && m.Notice == nil {
		m.Notice = &views.AdminNotice{Kind: "ok", Strong: "The permits of " + name + " are set.", Text: "Waiting nodes are checked again."}
	}
	return web.Render(w, r, status, views.SemaphoresView(m))
}

func semaphoreRow(clock ui.Clock, s execution.Semaphore) views.SemaphoreRow {
	row := views.SemaphoreRow{Name: s.Name, Held: units.Number(int64(s.Held)), Waiting: s.Waiting, Settable: s.Workflow == "", Source: "workflow definitions"}
	switch {
	case s.Workflow != "":
		row.Name, row.URL, row.Source = "Executions of "+s.Workflow, views.WorkflowURL(s.Workflow), "max_running of the workflow"
	case s.Permits > 0:
		row.Source = "set by " + s.SetBy
		if s.SetAt != nil {
			row.SetAt = new(clock.Moment(*s.SetAt))
		}
	case s.Limit != "":
		row.Source = "the ConfigMap " + s.Limit
	}
	if n := s.Holds(); n > 0 {
		row.Permits = units.Number(int64(n))
		row.Value = strconv.Itoa(n)
		if n == 1 && s.Workflow == "" && s.Permits == 0 {
			row.Source = "a mutex"
		}
	}
	if s.Permits == 0 && s.Limit != "" {
		row.Permits, row.Value = "", "" // the ConfigMap is read when a node requests a permit
	}
	row.Holders, row.MoreHolders = lockLines(clock, s.Holders, s.Held)
	row.Waiters, row.MoreWaiters = lockLines(clock, s.Waiters, s.Waiting)
	return row
}

func lockLines(clock ui.Clock, users []execution.LockUser, all int) (lines []views.LockLine, more string) {
	for _, u := range users {
		line := views.LockLine{Name: u.Workflow, Sub: label.ShortID(u.Execution), URL: views.ExecutionURL(u.Execution.String()), Since: clock.Moment(u.Since)}
		if u.Node != "" {
			line.Name, line.Sub, line.URL = u.Node, u.Workflow+" "+label.ShortID(u.Execution), views.NodeURL(u.Execution.String(), u.Node)
		}
		lines = append(lines, line)
	}
	if rest := all - len(users); rest > 0 {
		more = fmt.Sprintf("and %s more", units.Number(int64(rest)))
	}
	return lines, more
}

// setSemaphore handles the form; do=unset removes the override.
func (h *Pages) setSemaphore(w http.ResponseWriter, r *http.Request) error {
	name := strings.TrimSpace(r.PostFormValue("name"))
	text, permits := strings.TrimSpace(r.PostFormValue("permits")), 0
	problem := ""
	if r.PostFormValue("do") != "unset" {
		n, err := strconv.Atoi(strings.ReplaceAll(text, ",", ""))
		if permits = n; err != nil || n < 1 {
			problem = "Enter a whole number of at least 1."
		}
	}
	var err error
	if problem == "" {
		_, err = h.Executions.Semaphores.Set(r.Context(), name, permits, r.PostFormValue("reason"))
	} else if _, may := auth.Authorize(r.Context(), auth.QuotaWrite); may != nil {
		return may
	}
	if err != nil && !apperr.Is(err, apperr.Invalid) {
		return err
	}
	if err != nil {
		problem = apperr.MessageOf(err)
		if fields := apperr.FieldsOf(err); len(fields) > 0 {
			problem = fields[0].Message
		}
	}
	if problem != "" {
		return h.renderSemaphores(w, r, http.StatusUnprocessableEntity, views.Semaphores{Name: name, Permits: text, Problem: problem})
	}
	http.Redirect(w, r, views.SemaphoreSetURL(name), http.StatusSeeOther)
	return nil
}
