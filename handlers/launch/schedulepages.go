package launch

import (
	"net/http"
	"net/url"

	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/schedule"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/forms"
)

// schedulePages are the forms of schedules. Their inputs are those of the launch form.
type schedulePages struct{ *Pages }

// mountUploads adds the routes with large bodies.
func (h *schedulePages) mountUploads(r chi.Router) {
	r.Post("/workflows/{name}/schedule", h.Page.Serve(h.saveSchedule))   // with files
	r.Post("/schedules/{schedule}/edit", h.Page.Serve(h.changeSchedule)) // with files
}

func (h *schedulePages) mount(r chi.Router) {
	r.Get("/workflows/{name}/schedule", h.Page.Serve(h.scheduleForm))
	r.Get("/schedules/{schedule}/edit", h.Page.Serve(h.changeScheduleForm))
}

// scheduleForm draws the form of a new schedule, filled in like the launch form.
func (h *schedulePages) scheduleForm(w http.ResponseWriter, r *http.Request) error {
	d, err := h.newDraft(r, r.URL.Query().Get("version"))
	if err != nil {
		return err
	}
	if err := h.prefill(r, d); err != nil {
		return err
	}
	d.schedule = h.newScheduleDraft(r, d, url.Values{}, nil)
	d.schedule.pinned = r.URL.Query().Get("version")
	d.schedule.when.fillDefaults(h.readersZone(r))
	if name := d.name; name != "" {
		d.schedule.when.set("name", name)
	}
	return h.drawSchedule(w, r, http.StatusOK, d)
}

// readersZone is the name of the reader's time zone.
func (h *schedulePages) readersZone(r *http.Request) string {
	if zone := h.Page.Clock(r).Zone; zone != nil && zone.String() != "Local" {
		return zone.String()
	}
	return "UTC"
}

// changeScheduleForm draws the form of a schedule that exists.
func (h *schedulePages) changeScheduleForm(w http.ResponseWriter, r *http.Request) error {
	sc, err := h.changedSchedule(r)
	if err != nil {
		return err
	}
	d, err := h.draftOf(r, sc.WorkflowID.String(), sc.Version)
	if err != nil {
		return err
	}
	d.schedule = h.newScheduleDraft(r, d, url.Values{}, &sc)
	d.schedule.pinned = sc.Version
	if sc.Priority != query.Declared {
		d.priority = sc.Priority.String()
	}
	d.schedule.when.fillDefaults(sc.Timezone)
	d.schedule.when.fill(sc)
	d.fillScheduled(sc.Inputs)
	return h.drawSchedule(w, r, http.StatusOK, d)
}

// fillScheduled shows inputs with tags: in the form, or as JSON if the form has no controls for them.
func (d *draft) fillScheduled(inputs map[string]any) {
	values, problems := forms.ToForm(d.schema, d.schedule.tags.take(inputs))
	if len(problems) > 0 {
		d.schedule.tags.clear()
		d.mode, d.schedule.json = views.ScheduleJSON, forms.WriteJSON(d.schema, inputs)
		return
	}
	d.values = values
}

// changedSchedule is the schedule of the path, which the reader may change.
func (h *schedulePages) changedSchedule(r *http.Request) (schedule.Schedule, error) {
	id, err := request.ParseID(request.PathValue(r, "schedule"), "schedule")
	if err != nil {
		return schedule.Schedule{}, err
	}
	sc, err := h.Schedules.Get(r.Context(), id)
	if err != nil {
		return sc, err
	}
	if sc.Declared {
		return sc, apperr.New(apperr.Conflict, "The definition of %s declares this schedule. Change or remove it there, and register the definition again.", sc.Workflow)
	}
	if !h.Schedules.MayChange(r.Context(), sc) {
		return sc, apperr.New(apperr.Forbidden, "Only %s, who owns the schedule, and users who can cancel other users' executions can change it.", sc.Owner.Name)
	}
	return sc, nil
}

// saveSchedule handles the form of a new schedule: it changes the form, checks it, or saves.
func (h *schedulePages) saveSchedule(w http.ResponseWriter, r *http.Request) error {
	sent, err := h.Forms.Read(w, r, h.formSchema)
	if err != nil {
		return err
	}
	d, err := h.newDraft(r, sent.Get("version"))
	if err != nil {
		return err
	}
	return h.submitSchedule(w, r, d, sent, nil)
}

// changeSchedule handles the form of a schedule that exists.
func (h *schedulePages) changeSchedule(w http.ResponseWriter, r *http.Request) error {
	sc, err := h.changedSchedule(r)
	if err != nil {
		return err
	}
	ofWorkflow := func(r *http.Request) (typeregistry.Schema, error) {
		d, err := h.draftOf(r, sc.WorkflowID.String(), "")
		if err != nil {
			return typeregistry.Schema{}, err
		}
		return d.schema, nil
	}
	sent, err := h.Forms.Read(w, r, ofWorkflow)
	if err != nil {
		return err
	}
	d, err := h.draftOf(r, sc.WorkflowID.String(), sent.Get("version"))
	if err != nil {
		return err
	}
	return h.submitSchedule(w, r, d, sent, &sc)
}
