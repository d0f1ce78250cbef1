package catalogue

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/access/secret"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/web"
)

// maxSecretForm limits the form of one secret, whose value is encoded.
const maxSecretForm = 4 * secret.MaxValue

// secretsPage lists the secrets of the current project.
func (h *Pages) secretsPage(w http.ResponseWriter, r *http.Request) error {
	return h.renderSecrets(w, r, http.StatusOK, &views.SecretForm{})
}

func (h *Pages) renderSecrets(w http.ResponseWriter, r *http.Request, status int, form *views.SecretForm) error {
	list, err := h.Secrets.List(r.Context())
	if err != nil {
		return err
	}
	m := views.Secrets{Page: h.Page.Base(r, "Secrets", views.SectionSecrets)}
	for _, s := range list {
		m.Rows = append(m.Rows, h.secretRow(r, s))
	}
	if page.MayWriteSecrets(r) {
		form.Action = views.SecretsURL()
		if err := h.offerStores(r, form, typedReference(r)); err != nil {
			return err
		}
		m.Form = form
	}
	if name := r.URL.Query().Get("deleted"); secret.ValidName(name) {
		m.Notice = "The secret " + name + " was deleted."
	}
	return web.Render(w, r, status, views.SecretsPage(m))
}

// addSecret adds a secret.
func (h *Pages) addSecret(w http.ResponseWriter, r *http.Request) error {
	edit, err := readSecret(w, r, "")
	if err != nil {
		return err
	}
	edit.Create = true
	s, err := h.Secrets.Put(r.Context(), edit)
	if form := secretProblem(edit, err); form != nil {
		return h.renderSecrets(w, r, web.Status(apperr.CodeOf(err)), form)
	}
	if err != nil {
		return err
	}
	http.Redirect(w, r, views.SecretURL(s.Name), http.StatusSeeOther)
	return nil
}

// secretPage shows one secret, without its value.
func (h *Pages) secretPage(w http.ResponseWriter, r *http.Request) error {
	return h.renderSecret(w, r, http.StatusOK, nil)
}

func (h *Pages) renderSecret(w http.ResponseWriter, r *http.Request, status int, form *views.SecretForm) error {
	s, err := h.Secrets.Get(r.Context(), chi.URLParam(r, "name"))
	if err != nil {
		return err
	}
	m := views.Secret{
		Page: h.Page.Base(r, s.Name, views.SectionSecrets, views.Crumb{Name: "Secrets", URL: views.SecretsURL()}),
		Row:  h.secretRow(r, s),
	}
	if s.Editable() && page.MayWriteSecrets(r) {
		if form == nil {
			form = &views.SecretForm{Description: s.Description}
		}
		ref := s.Reference
		if r.Method == http.MethodPost {
			ref = typedReference(r)
		}
		if err := h.offerStores(r, form, ref); err != nil {
			return err
		}
		form.Action, form.Name, form.NameFixed = views.SecretURL(s.Name), s.Name, true
		m.Form, m.Row.DeleteURL = form, views.SecretDeleteURL(s.Name)
	}
	return web.Render(w, r, status, views.SecretPage(m))
}

// replaceSecret replaces the value of an existing secret.
func (h *Pages) replaceSecret(w http.ResponseWriter, r *http.Request) error {
	name := chi.URLParam(r, "name")
	s, err := h.Secrets.Get(r.Context(), name)
	if err != nil {
		return err
	}
	if !s.Editable() {
		return apperr.New(apperr.Conflict, "The secret %q comes from %s. Change it there.", name, s.Source)
	}
	edit, err := readSecret(w, r, name)
	if err != nil {
		return err
	}
	_, err = h.Secrets.Put(r.Context(), edit)
	if form := secretProblem(edit, err); form != nil {
		return h.renderSecret(w, r, web.Status(apperr.CodeOf(err)), form)
	}
	if err != nil {
		return err
	}
	http.Redirect(w, r, views.SecretURL(name), http.StatusSeeOther)
	return nil
}

// deleteSecret deletes a secret of the current project.
func (h *Pages) deleteSecret(w http.ResponseWriter, r *http.Request) error {
	name := chi.URLParam(r, "name")
	if err := h.Secrets.Delete(r.Context(), name); err != nil {
		return err
	}
	http.Redirect(w, r, views.SecretsURL()+"?deleted="+url.QueryEscape(name), http.StatusSeeOther)
	return nil
}

// readSecret reads the form of a secret. With name "" it uses the name in the form.
func readSecret(w http.ResponseWriter, r *http.Request, name string) (secret.Edit, error) {
	r.Body = http.MaxBytesReader(w, r.Body, maxSecretForm)
	if err := r.ParseForm(); err != nil {
		return secret.Edit{}, apperr.Wrap(apperr.Invalid, err, "The upload was interrupted. Send the form again.")
	}
	if name == "" {
		name = r.PostForm.Get("name")
	}
	edit := secret.Edit{Name: name, Reference: typedReference(r), Description: r.PostForm.Get("description")}
	if edit.Reference == nil {
		edit.Value = typedLines(r.PostForm.Get("value"))
	}
	return edit, nil
}

// typedReference is the reference to a secret store in a form; nil without a store.
func typedReference(r *http.Request) *secret.Reference {
	store := r.PostForm.Get("store")
	if store == "" {
		return nil
	}
	typed := func(name string) string { return strings.TrimSpace(r.PostForm.Get(name)) }
	return &secret.Reference{Store: store, Path: typed("path"), Key: typed("key"), Version: typed("version")}
}

// typedLines restores the line breaks that a text area changed.
func typedLines(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// secretProblem is the form with the errors of edit; nil if err is another failure or nil.
// The form does not contain the value.
func secretProblem(edit secret.Edit, err error) *views.SecretForm {
	if code := apperr.CodeOf(err); code != apperr.Invalid && code != apperr.Conflict {
		return nil
	}
	form := &views.SecretForm{Name: edit.Name, Description: edit.Description, Failed: apperr.MessageOf(err), Errors: map[string]string{}}
	for _, f := range apperr.FieldsOf(err) {
		form.Errors[f.Path] = f.Message
	}
	return form
}

func (h *Pages) secretRow(r *http.Request, s secret.Secret) views.SecretRow {
	clock := h.Page.Clock(r)
	row := views.SecretRow{Name: s.Name, URL: views.SecretURL(s.Name), Description: s.Description, Source: s.Source}
	if s.Reference != nil {
		row.Reference = s.Reference.Store + ", " + s.Reference.Place()
	}
	if s.Editable() {
		row.Added = clock.Moment(s.CreatedAt).Text + " by " + s.CreatedBy
		if s.UpdatedAt.After(s.CreatedAt) {
			row.Changed = clock.Moment(s.UpdatedAt).Text + " by " + s.UpdatedBy
		}
	}
	for _, u := range s.Uses {
		if u.Workflow == "" {
			row.Uses = append(row.Uses, views.SecretUse{Workflow: "Metaflow datastore", When: clock.Moment(u.At)})
			continue
		}
		row.Uses = append(row.Uses, views.SecretUse{
			Workflow: u.Workflow, URL: views.WorkflowURL(u.Workflow), Execution: label.ShortID(u.ExecutionID),
			ExecutionURL: views.ExecutionURL(u.ExecutionID.String()), When: clock.Moment(u.At),
		})
	}
	return row
}
