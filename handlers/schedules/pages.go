// Package schedules contains the pages of schedules: the list, the calendar, one schedule with its
// runs, and its commands.
package schedules

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/schedule"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/web"
)

// Config contains the dependencies of the pages.
type Config struct {
	Now       func() time.Time
	Schedules *schedule.Service
	Workflows *workflow.Service
	Page      *page.Shell
}

// Pages are the pages of schedules. They are safe for concurrent use.
type Pages struct{ Config }

// New returns the pages.
func New(c Config) *Pages { return &Pages{c} }

// Mount adds the pages to r.
func (h *Pages) Mount(r chi.Router) {
	r.Get("/schedules", h.Page.Serve(h.list))
	r.Get("/schedules/new", h.Page.Serve(h.choose))
	r.Get("/schedules/calendar", h.Page.Serve(h.calendar))
	r.Get("/schedules/calendars", h.Page.Serve(h.holidayCalendars))
	r.Post("/schedules/calendars", h.Page.Serve(h.createHolidayCalendar))
	r.Get("/schedules/calendars/new", h.Page.Serve(h.newHolidayCalendar))
	r.Get("/schedules/calendars/{calendar}", h.Page.Serve(h.holidayCalendar))
	r.Post("/schedules/calendars/{calendar}", h.Page.Serve(h.changeHolidayCalendar))
	r.Post("/schedules/calendars/{calendar}/delete", h.Page.Serve(h.deleteHolidayCalendar))
	r.Post("/schedules/bulk", h.Page.Serve(h.bulk))
	r.Get("/schedules/{schedule}", h.Page.Serve(h.schedule))
	r.Post("/schedules/{schedule}/pause", h.Page.Serve(h.pause))
	r.Post("/schedules/{schedule}/resume", h.Page.Serve(h.resume))
	r.Post("/schedules/{schedule}/run", h.Page.Serve(h.run))
	r.Post("/schedules/{schedule}/delete", h.Page.Serve(h.remove))
}

func scheduleID(r *http.Request) (uuid.UUID, error) {
	return request.ParseID(request.PathValue(r, "schedule"), "schedule")
}

// command applies a command to the schedule in the path and redirects to an address. A refusal
// is shown on the page of the schedule.
func (h *Pages) command(w http.ResponseWriter, r *http.Request, do func(context.Context, uuid.UUID) (string, error)) error {
	id, err := scheduleID(r)
	if err != nil {
		return err
	}
	if err := r.ParseForm(); err != nil {
		return apperr.Wrap(apperr.Invalid, err, "The form could not be read. Send it again.")
	}
	to, err := do(r.Context(), id)
	if code := apperr.CodeOf(err); err != nil && (code == apperr.Invalid || code == apperr.Conflict) {
		return h.render(w, r, web.Status(code), id, err)
	}
	if err != nil {
		return err
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
	return nil
}

// back is the page that contained the switch.
func back(r *http.Request, id uuid.UUID) string {
	if r.PostForm.Get("back") == "list" {
		query, err := url.ParseQuery(r.PostForm.Get("query"))
		if err != nil {
			query = url.Values{}
		}
		return views.SchedulesURL(query)
	}
	return views.ScheduleURL(id.String())
}

func (h *Pages) pause(w http.ResponseWriter, r *http.Request) error {
	return h.command(w, r, func(ctx context.Context, id uuid.UUID) (string, error) {
		_, err := h.Schedules.Pause(ctx, id)
		return back(r, id), err
	})
}

func (h *Pages) resume(w http.ResponseWriter, r *http.Request) error {
	return h.command(w, r, func(ctx context.Context, id uuid.UUID) (string, error) {
		_, err := h.Schedules.Resume(ctx, id, r.PostForm.Get("missed") == "catch_up")
		return back(r, id), err
	})
}

// run launches the schedule and redirects to the execution.
func (h *Pages) run(w http.ResponseWriter, r *http.Request) error {
	return h.command(w, r, func(ctx context.Context, id uuid.UUID) (string, error) {
		execution, err := h.Schedules.RunNow(ctx, id)
		return views.ExecutionURL(execution.String()), err
	})
}

func (h *Pages) remove(w http.ResponseWriter, r *http.Request) error {
	return h.command(w, r, func(ctx context.Context, id uuid.UUID) (string, error) {
		return views.SchedulesURL(nil), h.Schedules.Delete(ctx, id)
	})
}
