package sweeps

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/web"
)

// pause prevents a sweep from launching more runs.
func (h *Pages) pause(w http.ResponseWriter, r *http.Request) error {
	return h.command(w, r, h.Sweeps.Pause)
}

// resume continues a paused sweep.
func (h *Pages) resume(w http.ResponseWriter, r *http.Request) error {
	return h.command(w, r, h.Sweeps.Resume)
}

// stop ends a sweep, and cancels its runs if the form requests it.
func (h *Pages) stop(w http.ResponseWriter, r *http.Request) error {
	return h.command(w, r, func(ctx context.Context, id uuid.UUID) error {
		return h.Sweeps.Stop(ctx, id, r.PostFormValue("running") == "cancel")
	})
}

func (h *Pages) command(w http.ResponseWriter, r *http.Request, do func(context.Context, uuid.UUID) error) error {
	id, err := sweepID(r)
	if err != nil {
		return err
	}
	if err := r.ParseForm(); err != nil {
		return apperr.Wrap(apperr.Invalid, err, "The form could not be read. Send it again.")
	}
	if err := do(r.Context(), id); err != nil {
		return err
	}
	http.Redirect(w, r, views.SweepURL(id.String()), http.StatusSeeOther)
	return nil
}

// stopPage shows the question what happens to the runs that have started.
func (h *Pages) stopPage(w http.ResponseWriter, r *http.Request) error {
	id, err := sweepID(r)
	if err != nil {
		return err
	}
	s, err := h.Sweeps.Get(r.Context(), id)
	if err != nil {
		return err
	}
	m := views.SweepStop{
		Page: h.Page.Base(r, "Stop", views.SectionSweeps, views.Crumb{Name: "Sweeps", URL: views.SweepsURL()}, views.Crumb{Name: s.Name, URL: views.SweepURL(id.String())}),
		ID:   id.String(), Name: s.Name,
	}
	return web.Render(w, r, http.StatusOK, views.SweepStopPage(m))
}
