package catalogue

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/access/connection"
	"github.com/flowforge/flowforge/access/secret"
	"github.com/flowforge/flowforge/access/secretstore"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// storePages are the pages of secret stores, for administrators of the installation.
type storePages struct{ *Pages }

func (h storePages) base(r *http.Request, title string, below bool) views.Page {
	crumbs := []views.Crumb{{Name: "Teams and people", URL: views.AdminURL()}}
	if below {
		crumbs = append(crumbs, views.Crumb{Name: "Secret stores", URL: views.SecretStoresURL()})
	}
	return h.Page.Base(r, title, views.SectionAdmin, crumbs...)
}

// list lists the stores.
func (h storePages) list(w http.ResponseWriter, r *http.Request) error {
	list, err := h.SecretStores.List(r.Context())
	if err != nil {
		return err
	}
	m := views.SecretStores{Page: h.base(r, "Secret stores", false), Tabs: h.AdminTabs(r, views.SecretStoresURL())}
	for _, s := range list {
		m.Rows = append(m.Rows, h.row(r, s))
	}
	if name := r.URL.Query().Get("deleted"); secret.ValidName(name) {
		m.Notice = "The secret store " + name + " was deleted."
	}
	return web.Render(w, r, http.StatusOK, views.SecretStoresPage(m))
}

func (h storePages) row(r *http.Request, s secretstore.Store) views.SecretStoreRow {
	kind, _ := secretstore.KindNamed(s.Kind)
	row := views.SecretStoreRow{
		Name: s.Name, URL: views.SecretStoreURL(s.Name), Kind: kind.Label, Description: s.Description, Place: s.Place(),
		Changed: h.Page.Clock(r).Moment(s.UpdatedAt).Text + " by " + s.UpdatedBy,
	}
	if n := len(s.Uses); n > 0 {
		row.Used = units.Plural(n, "secret", "secrets")
	}
	return row
}

// storeForm is the form of a store. A store of secrets has the fields of a connection.
func storeForm(s secretstore.Store, typed url.Values, refused error) *views.ConnectionForm {
	kind, _ := secretstore.KindNamed(s.Kind)
	shown := connection.Connection{
		Name: s.Name, Kind: connection.Custom, Description: s.Description, Declared: kind.Fields, Settings: s.Settings, Secrets: s.Secrets, CreatedAt: s.CreatedAt,
	}
	same := connection.Kind{Name: s.Kind, Fields: kind.Fields}
	form := connectionForm(same, shown, typed)
	if refused != nil {
		form = refusedForm(same, shown, typed, refused)
	}
	form.Store, form.Kind = true, s.Kind
	return form
}

// new is the form for a new store of the kind in the address.
func (h storePages) new(w http.ResponseWriter, r *http.Request) error {
	var form *views.ConnectionForm
	kind, ok := secretstore.KindNamed(r.URL.Query().Get("kind"))
	if ok {
		form = storeForm(secretstore.Store{Kind: kind.Name}, nil, nil)
	}
	return h.renderNew(w, r, http.StatusOK, kind.Name, form)
}

func (h storePages) renderNew(w http.ResponseWriter, r *http.Request, status int, kind string, form *views.ConnectionForm) error {
	if _, err := h.SecretStores.List(r.Context()); err != nil { // only administrators see the form
		return err
	}
	m := views.NewSecretStore{Page: h.base(r, "New secret store", true), Form: form}
	for _, k := range secretstore.Kinds() {
		m.Kinds = append(m.Kinds, views.ConnectionKind{Label: k.Label, Summary: k.Summary, URL: views.NewSecretStoreURL(k.Name), Chosen: k.Name == kind})
	}
	if form != nil {
		form.Action = views.SecretStoresURL()
	}
	return web.Render(w, r, status, views.NewSecretStorePage(m))
}

// readStore reads the form of a store.
func readStore(r *http.Request, s secretstore.Store) secretstore.Edit {
	return secretstore.Edit{Name: s.Name, Kind: s.Kind, Description: r.PostForm.Get("description"), Values: readValues(r, s.Fields())}
}

// add registers a store.
func (h storePages) add(w http.ResponseWriter, r *http.Request) error {
	if err := readConnectionForm(w, r); err != nil {
		return err
	}
	kind, _ := secretstore.KindNamed(r.PostForm.Get("kind"))
	store := secretstore.Store{Name: r.PostForm.Get("name"), Kind: kind.Name}
	edit := readStore(r, store)
	edit.Create = true
	_, err := h.SecretStores.Put(r.Context(), edit)
	if code := apperr.CodeOf(err); code == apperr.Invalid || code == apperr.Conflict {
		return h.renderNew(w, r, web.Status(code), kind.Name, storeForm(store, r.PostForm, err))
	}
	if err != nil {
		return err
	}
	http.Redirect(w, r, views.SecretStoreURL(edit.Name), http.StatusSeeOther)
	return nil
}

// store shows one store.
func (h storePages) store(w http.ResponseWriter, r *http.Request) error {
	s, err := h.SecretStores.Get(r.Context(), chi.URLParam(r, "name"))
	if err != nil {
		return err
	}
	m := views.SecretStore{}
	if r.URL.Query().Get("saved") == "1" {
		m.Notice = &views.AdminNotice{Kind: "ok", Strong: "The secret store was saved.", Text: "New attempts use it."}
	}
	return h.render(w, r, http.StatusOK, s, nil, m)
}

func (h storePages) render(w http.ResponseWriter, r *http.Request, status int, s secretstore.Store, form *views.ConnectionForm, m views.SecretStore) error {
	kind, _ := secretstore.KindNamed(s.Kind)
	if form == nil {
		form = storeForm(s, nil, nil)
	}
	form.Action, form.NameFixed = views.SecretStoreURL(s.Name), true
	m.Page, m.Row, m.Form = h.base(r, s.Name, true), h.row(r, s), *form
	m.TestURL, m.DeleteURL = m.Row.URL+"/test", m.Row.URL+"/delete"
	m.Probe.PathHelp = "Read and not shown: " + kind.PathIs + ". Empty: the server only signs in."
	for _, u := range s.Uses {
		m.Uses = append(m.Uses, views.SecretStoreUse{Project: u.Project, Secret: u.Secret, Path: u.Path})
	}
	return web.Render(w, r, status, views.SecretStorePage(m))
}

// change changes a store.
func (h storePages) change(w http.ResponseWriter, r *http.Request) error {
	if err := readConnectionForm(w, r); err != nil {
		return err
	}
	s, err := h.SecretStores.Get(r.Context(), chi.URLParam(r, "name"))
	if err != nil {
		return err
	}
	_, err = h.SecretStores.Put(r.Context(), readStore(r, s))
	if apperr.Is(err, apperr.Invalid) {
		return h.render(w, r, http.StatusUnprocessableEntity, s, storeForm(s, r.PostForm, err), views.SecretStore{})
	}
	if err != nil {
		return err
	}
	http.Redirect(w, r, views.SecretStoreURL(s.Name)+"?saved=1", http.StatusSeeOther)
	return nil
}

// test tests a store and shows the result.
func (h storePages) test(w http.ResponseWriter, r *http.Request) error {
	if err := readConnectionForm(w, r); err != nil {
		return err
	}
	s, err := h.SecretStores.Get(r.Context(), chi.URLParam(r, "name"))
	if err != nil {
		return err
	}
	probe := views.SecretStoreProbe{Path: r.PostForm.Get("path"), Key: r.PostForm.Get("key"), Version: r.PostForm.Get("version"), Done: true}
	result, err := h.SecretStores.Test(r.Context(), s.Name, secret.Reference{Path: probe.Path, Key: probe.Key, Version: probe.Version})
	status := http.StatusOK
	switch {
	case apperr.Is(err, apperr.Invalid):
		status, probe.Detail = http.StatusUnprocessableEntity, apperr.MessageOf(err)
	case err != nil:
		return err
	default:
		probe.OK, probe.Detail = result.OK, result.Detail
	}
	return h.render(w, r, status, s, nil, views.SecretStore{Probe: probe})
}

// remove deletes a store.
func (h storePages) remove(w http.ResponseWriter, r *http.Request) error {
	name := chi.URLParam(r, "name")
	err := h.SecretStores.Delete(r.Context(), name)
	if apperr.Is(err, apperr.Conflict) {
		s, failed := h.SecretStores.Get(r.Context(), name)
		if failed != nil {
			return failed
		}
		return h.render(w, r, http.StatusConflict, s, nil, views.SecretStore{Notice: &views.AdminNotice{Kind: "error", Strong: "The store was not deleted.", Text: apperr.MessageOf(err)}})
	}
	if err != nil {
		return err
	}
	http.Redirect(w, r, views.SecretStoresURL()+"?deleted="+url.QueryEscape(name), http.StatusSeeOther)
	return nil
}

// storeOptions are the sources of a value: FlowForge, and the stores.
func storeOptions(offered []secretstore.Offered, ref *secret.Reference) []ui.Option {
	options := []ui.Option{{Name: "A value that FlowForge stores", Selected: ref == nil}}
	for _, s := range offered {
		kind, _ := secretstore.KindNamed(s.Kind)
		name := s.Name
		if kind.Label != "" {
			name += " (" + kind.Label + ")"
		}
		options = append(options, ui.Option{Value: s.Name, Name: name, Selected: ref != nil && ref.Store == s.Name})
	}
	return options
}

// offerStores adds the secret stores that the project may use to a form, with that of a secret selected.
func (h *Pages) offerStores(r *http.Request, form *views.SecretForm, ref *secret.Reference) error {
	if h.SecretStores == nil {
		return nil
	}
	offered, err := h.SecretStores.Offered(r.Context())
	if err != nil {
		return err
	}
	if ref != nil && !slices.ContainsFunc(offered, func(s secretstore.Offered) bool { return s.Name == ref.Store }) {
		offered = append(offered, secretstore.Offered{Name: ref.Store})
	}
	if len(offered) == 0 {
		return nil
	}
	form.Stores = storeOptions(offered, ref)
	for _, s := range offered {
		if s.Prefix != "" {
			form.Prefixes = append(form.Prefixes, s.Name+" allows paths that begin with "+s.Prefix)
		}
	}
	if ref != nil {
		form.Path, form.Key, form.Version = ref.Path, ref.Key, ref.Version
	}
	return nil
}
