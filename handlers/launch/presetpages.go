package launch

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/preset"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/forms"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// presetPages show and change the presets of a workflow.
type presetPages struct{ *Pages }

func (h *presetPages) mount(r chi.Router) {
	r.Get("/workflows/{name}/presets", h.Page.Serve(h.presetsPage))
	r.Get("/workflows/{name}/presets/{preset}", h.Page.Serve(h.presetPage))
	r.Post("/workflows/{name}/presets/{preset}", h.Page.Serve(h.changePreset))
	r.Post("/workflows/{name}/presets/{preset}/default", h.Page.Serve(h.defaultPreset))
	r.Post("/workflows/{name}/presets/{preset}/delete", h.Page.Serve(h.deletePreset))
}

// presetsPage lists the presets of a workflow.
func (h *presetPages) presetsPage(w http.ResponseWriter, r *http.Request) error {
	d, err := h.presetDraft(r)
	if err != nil {
		return err
	}
	list, err := h.Presets.List(r.Context(), d.workflow.ID.String())
	if err != nil {
		return err
	}
	m := views.Presets{
		Page:     h.Page.Base(r, "Presets", views.SectionWorkflows, crumbs(d)...),
		Workflow: d.workflow.Name, LaunchURL: views.LaunchURL(d.ref),
	}
	for _, p := range list {
		m.Rows = append(m.Rows, h.presetRow(r, d, p))
	}
	if r.URL.Query().Has("deleted") {
		m.Notice = "The preset was deleted."
	}
	return web.Render(w, r, http.StatusOK, views.PresetsPage(m))
}

// presetDraft is a form of the latest version, or of the newest development version of a workflow
// without releases.
func (h *presetPages) presetDraft(r *http.Request) (*draft, error) {
	d, err := h.newDraft(r, "")
	if !apperr.Is(err, apperr.NotFound) {
		return d, err
	}
	wf, found := h.Workflows.Get(r.Context(), request.PathValue(r, "name"))
	if found != nil || len(wf.Versions) == 0 {
		return nil, err
	}
	return h.newDraft(r, wf.Versions[0].Version)
}

func crumbs(d *draft) []views.Crumb {
	return []views.Crumb{{Name: "Workflows", URL: views.WorkflowsURL()}, {Name: d.workflow.Name, URL: views.WorkflowURL(d.ref)}}
}

// presetPage shows one preset.
func (h *presetPages) presetPage(w http.ResponseWriter, r *http.Request) error {
	return h.renderPreset(w, r, http.StatusOK, nil, "")
}

func (h *presetPages) renderPreset(w http.ResponseWriter, r *http.Request, status int, form *views.PresetForm, failed string) error {
	d, err := h.presetDraft(r)
	if err != nil {
		return err
	}
	p, err := h.Presets.Get(r.Context(), d.workflow.ID.String(), chi.URLParam(r, "preset"))
	if err != nil {
		return err
	}
	fitted, err := h.Presets.For(r.Context(), p, d.version, h.Forms.Env(r))
	if err != nil {
		return err
	}
	id := p.ID.String()
	m := views.Preset{
		Page: h.Page.Base(r, p.Name, views.SectionWorkflows, append(crumbs(d), views.Crumb{Name: "Presets", URL: views.PresetsURL(d.ref)})...),
		Row:  h.presetRow(r, d, p), Workflow: d.workflow.Name, Link: origin(r) + views.LaunchPresetURL(d.ref, id, ""), Version: d.version.Version,
		Added: fitted.Added, Origin: p.Origin, DefaultURL: views.PresetDefaultURL(d.ref, id), Values: presetValues(d, p, fitted), Failed: failed,
	}
	if subject, ok := auth.SubjectOf(r.Context()); ok {
		m.Mine = views.PresetDefault{On: p.MyDefault, May: d.mayLaunch(r)}
		m.Ours = views.PresetDefault{On: p.OurDefault, May: p.Sharing != preset.Private && subject.May(auth.WorkflowWrite, d.workflow.ProjectID)}
	}
	if p.MayChange && p.Origin == "" {
		if form == nil {
			form = &views.PresetForm{Name: p.Name, Description: p.Description, Sharing: string(p.Sharing)}
		}
		form.Action, form.Based = views.PresetURL(d.ref, id), based(p)
		if err := h.offerSharing(r, d, form); err != nil {
			return err
		}
		if !p.Mine { // only the owner makes it private
			form.Sharings = slices.DeleteFunc(form.Sharings, func(o ui.Option) bool { return o.Value == string(preset.Private) })
		}
		m.Form, m.DeleteURL = form, views.PresetDeleteURL(d.ref, id)
	}
	if r.URL.Query().Has("saved") {
		m.Notice = "The preset was saved."
	}
	return web.Render(w, r, status, views.PresetPage(m))
}

// presetValues lists the values of a preset in the order of the form, then those without an input.
func presetValues(d *draft, p preset.Preset, fitted preset.Fitted) []views.PresetValue {
	problemOf := func(name string) string {
		for _, m := range fitted.Incompatible {
			if m.Path == name || len(m.Path) > len(name) && m.Path[:len(name)+1] == name+"." {
				return incompatibleLine(d.schema, m).Text
			}
		}
		return ""
	}
	var out []views.PresetValue
	for _, f := range d.schema.Fields {
		if v, ok := p.Inputs[f.Name]; ok {
			out = append(out, views.PresetValue{Name: f.Name, Value: forms.Show(f, v), Problem: problemOf(f.Name)})
		}
	}
	for _, name := range undeclared(d.schema, p.Inputs) {
		out = append(out, views.PresetValue{Name: name, Value: shortValue(p.Inputs[name]), Problem: problemOf(name)})
	}
	return out
}

// changePreset renames a preset, or changes its description and with whom it is shared.
func (h *presetPages) changePreset(w http.ResponseWriter, r *http.Request) error {
	d, err := h.presetDraft(r)
	if err != nil {
		return err
	}
	if err := r.ParseForm(); err != nil {
		return apperr.Wrap(apperr.Invalid, err, "The upload was interrupted. Send the form again.")
	}
	name, description, sharing := r.PostForm.Get("name"), r.PostForm.Get("description"), preset.Sharing(r.PostForm.Get("sharing"))
	p, err := h.Presets.Change(r.Context(), d.workflow.ID.String(), chi.URLParam(r, "preset"), preset.Edit{
		Name: &name, Description: &description, Sharing: &sharing, Based: basedOn(r.PostForm.Get("based")),
	})
	if fields := apperr.FieldsOf(err); len(fields) > 0 || apperr.Is(err, apperr.Conflict) {
		form := &views.PresetForm{Name: name, Description: description, Sharing: string(sharing), Errors: map[string]string{}}
		for _, f := range fields {
			form.Errors[f.Path] = f.Message
		}
		failed := ""
		if len(fields) == 0 {
			failed = apperr.MessageOf(err)
		}
		return h.renderPreset(w, r, web.Status(apperr.CodeOf(err)), form, failed)
	}
	if err != nil {
		return err
	}
	http.Redirect(w, r, views.PresetURL(d.ref, p.ID.String())+"?saved=1", http.StatusSeeOther)
	return nil
}

// defaultPreset begins or ends a default.
func (h *presetPages) defaultPreset(w http.ResponseWriter, r *http.Request) error {
	d, err := h.presetDraft(r)
	if err != nil {
		return err
	}
	if err := r.ParseForm(); err != nil {
		return apperr.Wrap(apperr.Invalid, err, "The upload was interrupted. Send the form again.")
	}
	whose, on := preset.Whose(r.PostForm.Get("end")), false
	if r.PostForm.Has("begin") {
		whose, on = preset.Whose(r.PostForm.Get("begin")), true
	}
	p, err := h.Presets.SetDefault(r.Context(), d.workflow.ID.String(), chi.URLParam(r, "preset"), whose, on)
	if err != nil {
		return err
	}
	http.Redirect(w, r, views.PresetURL(d.ref, p.ID.String())+"?saved=1", http.StatusSeeOther)
	return nil
}

// deletePreset deletes a preset.
func (h *presetPages) deletePreset(w http.ResponseWriter, r *http.Request) error {
	d, err := h.presetDraft(r)
	if err != nil {
		return err
	}
	if err := h.Presets.Delete(r.Context(), d.workflow.ID.String(), chi.URLParam(r, "preset")); err != nil {
		return err
	}
	http.Redirect(w, r, views.PresetsURL(d.ref)+"?"+url.Values{"deleted": {"1"}}.Encode(), http.StatusSeeOther)
	return nil
}
