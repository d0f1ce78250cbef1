package quotas

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/handlers/amount"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// saveQuota handles the form of a node: it previews the effects or saves. A form that cannot be
// saved is shown again with the submitted values.
func (h *Pages) saveQuota(w http.ResponseWriter, r *http.Request) error {
	page, form, err := h.quotaForm(r)
	if err != nil {
		return err
	}
	if r.PostForm.Get("do") == "preview" {
		return page.answer(w, r, form, http.StatusOK)
	}
	if len(form.problems) > 0 {
		return page.answer(w, r, form, http.StatusUnprocessableEntity)
	}
	_, err = h.Quotas.Editor.Put(r.Context(), form.node.ID, quota.Edit{
		Limits: form.limits, Version: form.version(), Reason: r.PostForm.Get("reason"), Interrupt: r.PostForm.Get("confirm") == "yes",
	})
	switch apperr.CodeOf(err) {
	case "":
		q := page.selection.values()
		q.Set("saved", form.node.ID.String())
		http.Redirect(w, r, views.QuotasURL(q)+"#q-"+shortNode(form.node.ID), http.StatusSeeOther)
		return nil
	case apperr.Conflict:
		if form, err = page.conflicting(r.Context(), form); err != nil {
			return err
		}
		return page.answer(w, r, form, http.StatusConflict)
	case apperr.Invalid:
		form.problems = apperr.FieldsOf(err)
		return page.answer(w, r, form, http.StatusUnprocessableEntity)
	default:
		return err
	}
}

// previewQuota draws the effects of an unsaved form.
func (h *Pages) previewQuota(w http.ResponseWriter, r *http.Request) error {
	_, form, err := h.quotaForm(r)
	if err != nil {
		return err
	}
	preview, err := form.previewLimits(r.Context())
	if err != nil {
		return err
	}
	return web.Render(w, r, http.StatusOK, views.QuotaPreviewBlock(preview))
}

// quotaForm reads the submitted form of a node.
func (h *Pages) quotaForm(r *http.Request) (*quotaPage, *quotaForm, error) {
	id, err := uuid.Parse(chi.URLParam(r, "id"))
	if err != nil {
		return nil, nil, apperr.New(apperr.NotFound, "There is no tenant, department, team or project %q.", chi.URLParam(r, "id"))
	}
	if err := r.ParseForm(); err != nil {
		return nil, nil, apperr.Wrap(apperr.Invalid, err, "The form could not be read.")
	}
	back, err := url.ParseQuery(r.PostForm.Get("back"))
	if err != nil {
		back = url.Values{}
	}
	o, err := h.Quotas.Reader.Overview(r.Context(), uuid.Nil)
	if err != nil {
		return nil, nil, err
	}
	page := &quotaPage{h: h, clock: h.Page.Clock(r), selection: quotaSelected(back), overview: o}
	page.selection.edit = id
	form, err := page.form(r.Context(), id, typedQuota(r.PostForm))
	return page, form, err
}

// answer draws the complete page with a form.
func (p *quotaPage) answer(w http.ResponseWriter, r *http.Request, form *quotaForm, status int) error {
	m, err := p.model(r, form.typed)
	if err != nil {
		return err
	}
	if m.Edit, err = form.draw(r.Context()); err != nil {
		return err
	}
	m.Path = p.selection.editURL(form.node.ID, nil)
	if status == http.StatusUnprocessableEntity {
		m.Title = "Error: " + m.Title
		m.Problems = form.summary()
	}
	return web.Render(w, r, status, views.QuotasView(m))
}

// summary lists the errors that prevent saving, with links to the fields.
func (f *quotaForm) summary() *views.QuotaProblems {
	s := &views.QuotaProblems{Title: "Nothing was saved: " + units.Plural(len(f.problems), "value needs attention", "values need attention")}
	for _, p := range f.problems {
		s.Links = append(s.Links, ui.Action{Name: f.fieldName(p.Path) + p.Message, URL: "#" + f.fieldID(p.Path)})
	}
	return s
}

// fieldName is the prefix of a message in the summary.
func (f *quotaForm) fieldName(path string) string {
	for _, r := range f.group.resources {
		switch path {
		case "limit." + string(r):
			return "Guaranteed " + amount.Name(r) + ": "
		case "borrow." + string(r):
			return "May borrow " + amount.Name(r) + ": "
		case "lend." + string(r):
			return "Lends " + amount.Name(r) + ": "
		case "default." + string(r):
			return "Default request of " + amount.Name(r) + ": "
		}
	}
	return ""
}

func (f *quotaForm) fieldID(path string) string {
	for i, r := range f.group.resources {
		for _, name := range quotaParts() {
			if path == name+"."+string(r) {
				return name + "-" + strconv.Itoa(i)
			}
		}
	}
	if path == "confirm" {
		return "q-confirm"
	}
	if slices.Contains([]string{"weight", "reason"}, path) {
		return path
	}
	return "edit"
}

// conflicting is the form after another user has saved. It shows both values. Saving again
// overwrites theirs with the submitted ones.
func (p *quotaPage) conflicting(ctx context.Context, was *quotaForm) (*quotaForm, error) {
	o, err := p.h.Quotas.Reader.Overview(ctx, uuid.Nil)
	if err != nil {
		return nil, err
	}
	p.overview = o
	typed := url.Values{}
	maps.Copy(typed, was.typed)
	typed.Del("version")
	form, err := p.form(ctx, was.node.ID, typed)
	if err != nil {
		return nil, err
	}
	who := form.saved.UpdatedBy
	if who == "" {
		who = "Another user"
	}
	form.conflict = &views.QuotaConflict{Who: who, When: p.clock.Ago(form.saved.UpdatedAt).Text}
	for _, r := range form.group.resources {
		for _, name := range quotaParts() {
			form.compare(name, r)
		}
		for _, name := range quotaParts() { // from here on, the form starts from their values
			form.typed.Del("was." + name + "." + string(r))
		}
	}
	return form, nil
}

// compare adds a row for a value that the other user changed.
func (f *quotaForm) compare(name string, r fair.Resource) {
	path := name + "." + string(r)
	before, theirs, yours := f.typed.Get("was."+path), savedText(f.saved.Limits, name, r), f.typed.Get(path)
	if before == theirs {
		return
	}
	empty := map[string]string{"limit": "no limit", "borrow": "0", "lend": "all", "default": "inherited"}[name]
	row := views.QuotaConflictRow{Name: f.fieldLabel(name, r), Before: before, Theirs: theirs, Yours: yours}
	for _, v := range []*string{&row.Before, &row.Theirs, &row.Yours} {
		if *v == "" {
			*v = empty
		}
	}
	f.conflict.Rows = append(f.conflict.Rows, row)
}

func (f *quotaForm) fieldLabel(name string, r fair.Resource) string {
	return map[string]string{"limit": "Guaranteed ", "borrow": "May borrow ", "lend": "Lends at most ", "default": "Default request of "}[name] + amount.Name(r)
}
