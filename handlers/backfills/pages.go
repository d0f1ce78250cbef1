// Package backfills contains the pages of backfills: the list, the form with its dry run, and one
// backfill with its progress.
package backfills

import (
	"context"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/backfill"
	"github.com/flowforge/flowforge/engine/schedule"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// Config contains the dependencies of the pages.
type Config struct {
	Now       func() time.Time
	Backfills *backfill.Service
	Schedules *schedule.Service
	Page      *page.Shell
}

// Pages are the pages of backfills. They are safe for concurrent use.
type Pages struct{ Config }

// New returns the pages.
func New(c Config) *Pages { return &Pages{c} }

// Mount adds the pages to r.
func (h *Pages) Mount(r chi.Router) {
	r.Get("/backfills", h.Page.Serve(h.list))
	r.Post("/backfills", h.Page.Serve(h.create))
	r.Get("/backfills/new", h.Page.Serve(h.form))
	r.Get("/backfills/{backfill}", h.Page.Serve(h.backfill))
	r.Get("/backfills/{backfill}/stream", h.Page.Serve(h.stream))
	r.Post("/backfills/{backfill}/pause", h.command(func(ctx context.Context, _ *http.Request, id uuid.UUID) error {
		_, err := h.Backfills.Pause(ctx, id)
		return err
	}))
	r.Post("/backfills/{backfill}/resume", h.command(func(ctx context.Context, _ *http.Request, id uuid.UUID) error {
		_, err := h.Backfills.Resume(ctx, id)
		return err
	}))
	r.Post("/backfills/{backfill}/cancel", h.command(func(ctx context.Context, r *http.Request, id uuid.UUID) error {
		_, err := h.Backfills.Cancel(ctx, id, r.PostForm.Get("executions") == "cancel")
		return err
	}))
}

func backfillID(r *http.Request) (uuid.UUID, error) {
	return request.ParseID(request.PathValue(r, "backfill"), "backfill")
}

// command does something to the backfill of a path. A refusal is shown on its page.
func (h *Pages) command(do func(context.Context, *http.Request, uuid.UUID) error) http.HandlerFunc {
	return h.Page.Serve(func(w http.ResponseWriter, r *http.Request) error {
		id, err := backfillID(r)
		if err != nil {
			return err
		}
		if err := r.ParseForm(); err != nil {
			return apperr.Wrap(apperr.Invalid, err, "The form could not be read. Send it again.")
		}
		err = do(r.Context(), r, id)
		if apperr.Is(err, apperr.Conflict) {
			return h.render(w, r, http.StatusConflict, id, apperr.MessageOf(err))
		}
		if err != nil {
			return err
		}
		http.Redirect(w, r, views.BackfillURL(id.String()), http.StatusSeeOther)
		return nil
	})
}

const rows = 50

func (h *Pages) list(w http.ResponseWriter, r *http.Request) error {
	var before *uuid.UUID
	if text := r.URL.Query().Get("before"); text != "" {
		id, err := request.ParseID(text, "backfill")
		if err != nil {
			return err
		}
		before = &id
	}
	list, next, err := h.Backfills.List(r.Context(), nil, before, rows)
	if err != nil {
		return err
	}
	found, err := h.Schedules.Reader().Search(r.Context(), schedule.Search{Limit: 1})
	if err != nil {
		return err
	}
	clock := h.Page.Clock(r)
	m := views.Backfills{
		Page: h.Page.Base(r, "Backfills", views.SectionSchedules, views.Crumb{Name: "Schedules", URL: views.SchedulesURL(nil)}), Pager: ui.Pager{Text: units.Plural(len(list), "backfill", "backfills")},
	}
	if found.Total > 0 {
		m.NewURL = views.NewBackfillURL("")
	}
	for _, b := range list {
		state, word := statusOf(b)
		m.Rows = append(m.Rows, views.BackfillRow{
			ID: b.ID.String(), URL: views.BackfillURL(b.ID.String()), Schedule: b.ScheduleName, Range: rangeOf(b), State: state, Word: word,
			Progress: units.Number(int64(b.Counts.Done())) + " of " + units.Number(int64(b.Counts.Total)), Owner: b.Owner.Name, Created: clock.Moment(b.CreatedAt),
		})
	}
	if next != nil {
		m.Pager.Older = views.BackfillsURL() + "?before=" + next.String()
	}
	if before != nil {
		m.Pager.Newer = views.BackfillsURL()
	}
	return web.Render(w, r, http.StatusOK, views.BackfillsPage(m))
}

// statusOf is the state of a backfill for readers: its icon and its word.
func statusOf(b backfill.Backfill) (state, word string) {
	switch b.Status {
	case backfill.Paused:
		return "PAUSED", "Paused"
	case backfill.Cancelled:
		return "CANCELLED", "Cancelled"
	case backfill.Finished:
		if b.Counts.Failed+b.Counts.Refused > 0 {
			return "FAILED", "Finished with failures"
		}
		return "SUCCEEDED", "Finished"
	case backfill.Running:
	}
	return "RUNNING", "Running"
}

const dayText = "2 Jan 2006"

// rangeOf are the first and the last day of a backfill in its time zone.
func rangeOf(b backfill.Backfill) string {
	zone := zoneOf(b.Timezone)
	return b.From.In(zone).Format(dayText) + " to " + b.Until.Add(-time.Second).In(zone).Format(dayText)
}

func zoneOf(name string) *time.Location {
	if zone, err := time.LoadLocation(name); err == nil {
		return zone
	}
	return time.UTC
}

func (h *Pages) backfill(w http.ResponseWriter, r *http.Request) error {
	id, err := backfillID(r)
	if err != nil {
		return err
	}
	return h.render(w, r, http.StatusOK, id, "")
}

func (h *Pages) render(w http.ResponseWriter, r *http.Request, status int, id uuid.UUID, failed string) error {
	b, err := h.Backfills.Get(r.Context(), id)
	if err != nil {
		return err
	}
	live, err := h.live(r.Context(), b)
	if err != nil {
		return err
	}
	clock := h.Page.Clock(r)
	m := views.Backfill{
		Page: h.Page.Base(r, "Backfill of "+b.ScheduleName, views.SectionSchedules, views.Crumb{Name: "Schedules", URL: views.SchedulesURL(nil)}, views.Crumb{Name: "Backfills", URL: views.BackfillsURL()}),
		ID:   b.ID.String(), Live: live, Failed: failed,
		Facts: []ui.Fact{
			{Name: "Schedule", Value: b.ScheduleName, URL: views.ScheduleURL(b.Schedule.String())}, {Name: "Workflow", Value: b.Workflow, Note: "version " + b.Version},
			{Name: "Range", Value: rangeOf(b), Note: b.Timezone}, {Name: "Existing executions", Value: rerunWords(b.Rerun)}, {Name: "Order", Value: orderWords(b.NewestFirst)},
			{Name: "Concurrent executions", Value: units.Number(int64(b.Parallelism))}, {Name: "Owner", Value: b.Owner.Name, Note: "executions run with the owner's permissions"},
			{Name: "Created", Moment: new(clock.Moment(b.CreatedAt))},
		},
	}
	if b.FinishedAt != nil {
		m.Facts = append(m.Facts, ui.Fact{Name: "Ended", Moment: new(clock.Moment(*b.FinishedAt))})
	}
	if !b.Status.Ended() || b.Counts.Running > 0 {
		m.Stream = views.BackfillPartURL(m.ID, "stream")
	}
	return web.Render(w, r, status, views.BackfillPage(m))
}

func rerunWords(r backfill.Rerun) string {
	switch r {
	case backfill.RerunFailed:
		return "Run failed again"
	case backfill.RerunAll:
		return "Run all again"
	case backfill.RerunMissing:
	}
	return "Keep"
}

func orderWords(newest bool) string {
	if newest {
		return "Newest first"
	}
	return "Oldest first"
}

// stream follows a backfill until it has ended.
func (h *Pages) stream(w http.ResponseWriter, r *http.Request) error {
	id, err := backfillID(r)
	if err != nil {
		return err
	}
	if _, err := h.Backfills.Get(r.Context(), id); err != nil {
		return err
	}
	stream, err := web.NewStream(w, r, web.StillMay(auth.ExecutionRead))
	if err != nil {
		return err
	}
	sent := page.SentPieces{}
	h.Page.OnHints(r, stream, h.Page.Ticks(r.Context()), page.ListInterval, func(ctx context.Context) error {
		b, err := h.Backfills.Get(ctx, id)
		if err != nil {
			return err
		}
		m, err := h.live(ctx, b)
		if err != nil || !sent.Changed("live", m) {
			return err
		}
		return stream.SendComponent(ctx, "", "", views.BackfillUpdate(m))
	})
	return nil
}
