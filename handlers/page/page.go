package page

import (
	"net/http"
	"time"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

// Base is the frame of a page for the reader of r: the user, the chosen theme and the
// breadcrumbs, which end with title.
func (h *Shell) Base(r *http.Request, title string, section views.Section, crumbs ...views.Crumb) views.Page {
	page := views.Page{
		Title: title, Section: section, Theme: Theme(r), Path: r.URL.RequestURI(),
		Crumbs:  append(append([]views.Crumb{}, crumbs...), views.Crumb{Name: title}),
		KeysOff: cookie(r, "keys") == "off",
	}
	if subject, ok := auth.SubjectOf(r.Context()); ok {
		page.User = subject.Name
		page.Nav = navOf(subject)
		page.Projects = views.ChooseProjects(h.Projects(r.Context()), request.Visiting(r.Context()))
		if live, err := h.Executions.Live(r.Context()); err == nil { // only a number next to a link: the page works without it
			page.Live = live
		}
		if waits, err := h.Executions.Waits.Count(r.Context()); err == nil {
			page.Waits = waits
		}
		if approvals, err := h.Executions.Approvals.Count(r.Context()); err == nil {
			page.PendingApprovals = approvals
		}
		if h.Notifications != nil {
			if failing, err := h.Notifications.Failing(r.Context()); err == nil {
				page.FailingChannels = failing
			}
		}
		if h.Inbox != nil {
			if bell, err := h.Inbox.Bell(r.Context()); err == nil {
				page.Inbox = bellOf(bell)
			}
		}
	}
	return page
}

// Clock formats times for the reader of r in the time zone of the browser's cookie, else in
// UTC.
func (h *Shell) Clock(r *http.Request) ui.Clock {
	zone := time.UTC
	if name := cookie(r, "zone"); name != "" {
		if z, err := time.LoadLocation(name); err == nil {
			zone = z
		}
	}
	return ui.Clock{Now: h.Now(), Zone: zone}
}
