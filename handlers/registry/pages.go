// Package registry contains the pages of models: the list, one model, and its changes.
package registry

import (
	"net/http"
	"net/url"

	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/data/registry"
	"github.com/flowforge/flowforge/engine/comparison/model"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/web"
)

// Config contains the dependencies of the pages.
type Config struct {
	Registry  *registry.Service
	Artifacts *artifact.Service
	Models    *model.Service // compares versions
	Page      *page.Shell
}

// Pages are the pages of models. They are safe for concurrent use.
type Pages struct{ Config }

// New returns the pages.
func New(c Config) *Pages { return &Pages{c} }

// Mount adds the pages to r.
func (h *Pages) Mount(r chi.Router) {
	r.Get("/models", h.Page.Serve(h.models))
	r.Get("/models/{name}", h.Page.Serve(h.model))
	r.Post("/models/{name}/stage", h.Page.Serve(h.move))
	r.Post("/models/{name}/aliases", h.Page.Serve(h.alias))
	r.Post("/models/{name}/policy", h.Page.Serve(h.policy))
	r.Get("/model-policy", h.Page.Serve(h.projectPolicy))
	r.Post("/model-policy", h.Page.Serve(h.saveProjectPolicy))
	r.Post("/models/{name}/requests/{id}", h.Page.Serve(h.decide))
}

func (h *Pages) models(w http.ResponseWriter, r *http.Request) error {
	q, clock := r.URL.Query(), h.Page.Clock(r)
	list, next, err := h.Registry.List(r.Context(), q.Get("q"), q.Get("after"))
	if err != nil {
		return err
	}
	m := views.Models{Page: h.Page.Base(r, "Models", views.SectionModels), Query: q.Get("q")}
	for _, s := range list {
		row := views.ModelRow{
			Name: s.Name, URL: views.ModelURL(s.Name, ""), Production: s.Production, Newest: s.Newest, Versions: units.Number(int64(s.Versions)), NewestAt: clock.Moment(s.NewestAt),
		}
		if s.OpenRequests > 0 {
			row.Open = units.Plural(s.OpenRequests, "open request", "open requests")
		}
		m.Rows = append(m.Rows, row)
	}
	m.Pager.Text = units.Plural(len(m.Rows), "model", "models")
	if next != "" {
		m.Pager.Older = label.ListURL(views.ModelsURL(), q, "after", next)
	}
	if q.Get("after") != "" {
		m.Pager.Newer = label.ListURL(views.ModelsURL(), q, "after", "")
	}
	return web.Render(w, r, http.StatusOK, views.ModelsPage(m))
}

func (h *Pages) model(w http.ResponseWriter, r *http.Request) error {
	return h.render(w, r, http.StatusOK, r.URL.Query().Get("version"), typed{})
}

// form reads a form and the model in its address.
func form(r *http.Request) (name string, sent url.Values, err error) {
	if err := r.ParseForm(); err != nil {
		return "", nil, apperr.Wrap(apperr.Invalid, err, "The upload was interrupted. Send the form again.")
	}
	return request.PathValue(r, "name"), r.PostForm, nil
}

// answer redirects to the model, or shows it again with the refused values.
func (h *Pages) answer(w http.ResponseWriter, r *http.Request, version, done string, err error, t typed) error {
	code := apperr.CodeOf(err)
	if err == nil {
		q := url.Values{"version": {version}, "done": {done}}
		http.Redirect(w, r, views.ModelURL(request.PathValue(r, "name"), "")+"?"+q.Encode(), http.StatusSeeOther)
		return nil
	}
	if code != apperr.Invalid && code != apperr.Conflict {
		return err
	}
	t.failed = apperr.MessageOf(err)
	for _, f := range apperr.FieldsOf(err) {
		t.failed = f.Message
	}
	return h.render(w, r, web.Status(code), version, t)
}

func (h *Pages) move(w http.ResponseWriter, r *http.Request) error {
	name, sent, err := form(r)
	if err != nil {
		return err
	}
	version, stage, reason := sent.Get("version"), registry.Stage(sent.Get("stage")), sent.Get("reason")
	requested, err := h.Registry.Move(r.Context(), name, version, stage, reason)
	done := "moved"
	if requested != nil {
		done = "requested"
	}
	return h.answer(w, r, version, done, err, typed{stage: stage, reason: reason})
}

func (h *Pages) alias(w http.ResponseWriter, r *http.Request) error {
	name, sent, err := form(r)
	if err != nil {
		return err
	}
	version := sent.Get("version")
	if sent.Has("remove") {
		return h.answer(w, r, version, "alias", h.Registry.RemoveAlias(r.Context(), name, sent.Get("alias")), typed{})
	}
	return h.answer(w, r, version, "alias", h.Registry.SetAlias(r.Context(), name, sent.Get("alias"), version), typed{})
}

func (h *Pages) decide(w http.ResponseWriter, r *http.Request) error {
	_, sent, err := form(r)
	if err != nil {
		return err
	}
	id, err := request.ParseID(chi.URLParam(r, "id"), "request")
	if err != nil {
		return err
	}
	err = h.Registry.Decide(r.Context(), id, registry.Decision(sent.Get("decision")), sent.Get("reason"))
	return h.answer(w, r, "", "decided", err, typed{})
}

func (h *Pages) policy(w http.ResponseWriter, r *http.Request) error {
	name, sent, err := form(r)
	if err != nil {
		return err
	}
	t, rules := sentPolicy(sent)
	if t.more {
		return h.render(w, r, http.StatusOK, "", t)
	}
	if t.rulesError != "" {
		return h.render(w, r, http.StatusUnprocessableEntity, "", t)
	}
	err = h.Registry.SetPolicy(r.Context(), name, registry.Policy{Approval: t.approval, Propose: t.propose, Rules: rules})
	return h.answer(w, r, "", "policy", err, t)
}
