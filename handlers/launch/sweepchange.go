package launch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/sweep"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/forms"
	"github.com/flowforge/flowforge/web"
)

// changeDraft is the form that changes a sweep.
type changeDraft struct {
	*sweepDraft

	sweep  sweep.Sweep
	values url.Values // of the other controls
}

// changed reads the sweep in the path. Without submitted values the form shows the sweep as it is.
func (h *sweepPages) changed(r *http.Request, sent url.Values) (*changeDraft, error) {
	text := request.PathValue(r, "sweep")
	id, err := uuid.Parse(text)
	if err != nil {
		return nil, apperr.New(apperr.NotFound, "There is no sweep %q.", text)
	}
	sw, err := h.Sweeps.Get(r.Context(), id)
	if err != nil {
		return nil, err
	}
	v, err := h.Workflows.VersionByID(r.Context(), sw.VersionID)
	if err != nil {
		return nil, err
	}
	d := &draft{version: v, schema: v.Definition.Inputs, kept: sent}
	c := &changeDraft{sweep: sw, values: sent}
	if sent == nil {
		d.kept = d.newSweepDraft(h.Forms.Env(r)).fill(sw)
		c.values = url.Values{"name": {sw.Name}, "runs": {strconv.Itoa(sw.Planned)}, "parallelism": {strconv.Itoa(sw.Parallelism)}, "gpu_hours": {plainNumber(sw.GPUHours)}}
	}
	c.sweepDraft = d.newSweepDraft(h.Forms.Env(r))
	return c, nil
}

// sweepChangeForm shows the form that changes a sweep.
func (h *sweepPages) sweepChangeForm(w http.ResponseWriter, r *http.Request) error {
	c, err := h.changed(r, nil)
	if err != nil {
		return err
	}
	return h.renderChange(w, r, http.StatusOK, c, "")
}

// sweepChange changes a sweep, or responds with the form and its errors.
func (h *sweepPages) sweepChange(w http.ResponseWriter, r *http.Request) error {
	if err := r.ParseForm(); err != nil {
		return apperr.Wrap(apperr.Invalid, err, "The form could not be read. Send it again.")
	}
	c, err := h.changed(r, r.PostForm)
	if err != nil {
		return err
	}
	edit := c.edit()
	if c.failed() {
		return h.renderChange(w, r, http.StatusUnprocessableEntity, c, "")
	}
	_, err = h.Sweeps.Change(r.Context(), c.sweep.ID, edit)
	switch {
	case err == nil:
		http.Redirect(w, r, views.SweepURL(c.sweep.ID.String()), http.StatusSeeOther)
		return nil
	case apperr.Is(err, apperr.Invalid):
		for _, p := range c.blame(apperr.FieldsOf(err)) {
			c.errors["space"] = p.Path + ": " + p.Message
		}
		return h.renderChange(w, r, http.StatusUnprocessableEntity, c, "")
	case apperr.Is(err, apperr.Conflict):
		return h.renderChange(w, r, http.StatusConflict, c, apperr.MessageOf(err))
	}
	return err
}

// edit contains the values that differ from the sweep.
func (c *changeDraft) edit() sweep.Edit {
	var e sweep.Edit
	get := func(name string) string { return strings.TrimSpace(c.values.Get(name)) }
	if name := get("name"); name != c.sweep.Name {
		e.Name = &name
	}
	whole := func(name string, now int) *int {
		n, err := strconv.Atoi(get(name))
		if err != nil {
			c.errors[name] = fmt.Sprintf("%q is not a whole number. Enter a number such as 40.", get(name))
			return nil
		}
		if n == now {
			return nil
		}
		return &n
	}
	e.Runs, e.Parallelism = whole("runs", c.sweep.Planned), whole("parallelism", c.sweep.Parallelism)
	hours, err := strconv.ParseFloat(get("gpu_hours"), 64)
	if err != nil {
		c.errors["gpu_hours"] = fmt.Sprintf("%q is not a number. Enter GPU-hours such as 8 or 0.5, or 0.", get("gpu_hours"))
	} else if hours != c.sweep.GPUHours {
		e.GPUHours = &hours
	}
	spec := sweep.Spec{}
	for i := range c.fields {
		if !c.fields[i].On {
			continue
		}
		p, faults := parameter(c.varied[i], c.fields[i])
		c.fields[i].Errors = append(c.fields[i].Errors, faults...)
		spec.Space, c.order = append(spec.Space, p), append(c.order, i)
	}
	if len(spec.Space) == 0 {
		c.errors["space"] = "Choose at least one input with several values."
	}
	if !same(spec.Space, c.ordered()) {
		e.Space = spec.Space
	}
	return e
}

// ordered is the space of the sweep in the order of the form, as the form would send it.
func (c *changeDraft) ordered() any {
	d := &sweepDraft{varied: c.varied}
	sent := d.fill(c.sweep)
	var out []any
	for _, v := range c.varied {
		if f := manyField(v, sent); f.On {
			p, _ := parameter(v, f)
			out = append(out, p)
		}
	}
	return out
}

func same(a, b any) bool {
	x, err := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err == nil && err2 == nil && bytes.Equal(x, y)
}

// renderChange responds with the form.
func (h *sweepPages) renderChange(w http.ResponseWriter, r *http.Request, status int, c *changeDraft, failed string) error {
	id := c.sweep.ID.String()
	m := views.SweepChange{
		Page: h.Page.Base(r, "Change", views.SectionSweeps, views.Crumb{Name: "Sweeps", URL: views.SweepsURL()}, views.Crumb{Name: c.sweep.Name, URL: views.SweepURL(id)}),
		ID:   id, Name: c.sweep.Name, Action: views.SweepPartURL(id, "change"), Failed: failed, Errors: c.errors,
		NewName: c.values.Get("name"), Runs: c.values.Get("runs"), Parallel: c.values.Get("parallelism"), GPUHours: c.values.Get("gpu_hours"), Fields: c.fields,
		RunsHelp: units.Plural(c.sweep.Counts.Created, "run exists", "runs exist") + " already. Adding runs continues a sweep that has ended.",
	}
	for _, l := range c.errorLines() {
		m.ErrorLines = append(m.ErrorLines, changeError(l))
	}
	if n := len(m.ErrorLines); n > 0 {
		m.Failed = "Nothing was changed: " + units.Plural(n, "value needs", "values need") + " attention"
	}
	if m.Failed != "" {
		m.Title = "Error: " + m.Title
	}
	return web.Render(w, r, status, views.SweepChangePage(m))
}

// changeError is a line of the error summary. The controls of limits have other ids than in the launch
// form.
func changeError(l forms.ErrorLine) views.ErrorTarget {
	target := l.Target
	for _, prefix := range []string{"sweep-", "execution-"} {
		if name, ok := strings.CutPrefix(target, prefix); ok {
			target = "change-" + name
		}
	}
	if target != "" {
		target = "#" + target
	}
	return views.ErrorTarget{URL: target, Text: l.Label + ": " + l.Text}
}
