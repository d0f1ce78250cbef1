package account

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/identity"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// keyDefaults are the initial values of the form for a new key.
const (
	defaultKeyScope = auth.ScopeLaunch
	defaultKeyDays  = "90"
)

// accountKeys lists the keys that the reader manages.
func (h *Pages) accountKeys(w http.ResponseWriter, r *http.Request) error {
	return h.renderKeys(w, r, http.StatusOK, keyInput{scope: defaultKeyScope, days: defaultKeyDays}, nil, nil)
}

// keyInput contains the submitted values of the form for a new key.
type keyInput struct{ name, owner, project, scope, days string }

// renderKeys shows the page with the submitted values, after err or with the new key.
func (h *Pages) renderKeys(w http.ResponseWriter, r *http.Request, status int, in keyInput, err error, fresh *views.CreatedKey) error {
	keys, kerr := h.Identity.Keys(r.Context())
	if kerr != nil {
		return kerr
	}
	form, kerr := h.keyForm(r, in, err)
	if kerr != nil {
		return kerr
	}
	m := views.AccountKeys{
		Page: h.Page.Base(r, "API keys", views.SectionNone, views.Crumb{Name: "Your account", URL: views.AccountURL()}), Form: form, Fresh: fresh,
	}
	m.Page.Path = views.AccountKeysURL()
	if err != nil {
		m.Page.Title = "Error: " + m.Page.Title
	}
	if r.URL.Query().Get("done") == "revoked" {
		m.Done = "The key was revoked. Requests that use it are rejected."
	}
	subject, _ := auth.SubjectOf(r.Context())
	clock := h.Page.Clock(r)
	for _, k := range keys {
		m.Keys = append(m.Keys, keyView(k, subject.ID, clock, h.Now()))
	}
	return web.Render(w, r, status, views.AccountKeysPage(m))
}

func keyView(k identity.Key, reader uuid.UUID, clock ui.Clock, now time.Time) views.AccountKey {
	v := views.AccountKey{
		ID: k.ID, Name: k.Name, Prefix: "ffk_" + k.ID + "_…", Scope: scopeName(k.Scopes), Project: k.Project,
		Created: clock.Moment(k.CreatedAt), Address: k.LastUsedAddress, RevokeURL: views.AccountKeyRevokeURL(k.ID),
	}
	if k.OwnerID != reader {
		v.Owner = k.Owner
	}
	if v.Project == "" {
		v.Project = "every project"
	}
	if k.ExpiresAt != nil {
		v.Expires, v.Expired = clock.Moment(*k.ExpiresAt), !now.Before(*k.ExpiresAt)
	}
	if k.LastUsedAt != nil {
		v.Used = clock.Moment(*k.LastUsedAt)
	}
	return v
}

// scopeName is the name of the scopes of a key on pages.
func scopeName(scopes []string) string {
	if len(scopes) == 0 {
		return "everything"
	}
	return strings.Join(scopes, ", ")
}

func (h *Pages) keyForm(r *http.Request, in keyInput, err error) (views.KeyForm, error) {
	me, merr := h.Identity.Me(r.Context())
	if merr != nil {
		return views.KeyForm{}, merr
	}
	accounts, merr := h.Identity.Accounts(r.Context())
	if merr != nil {
		return views.KeyForm{}, merr
	}
	form := views.KeyForm{Name: in.name, Projects: []ui.Option{{Name: "Every project", Selected: in.project == ""}}}
	if len(accounts) > 0 {
		form.Owners = append(form.Owners, ui.Option{Name: me.Subject.Name + " (you)", Selected: in.owner == ""})
	}
	for _, a := range accounts {
		form.Owners = append(form.Owners, ui.Option{Value: a.ID.String(), Name: a.Name + " (service account of " + a.Project + ")", Selected: in.owner == a.ID.String()})
	}
	for _, p := range me.Places {
		form.Projects = append(form.Projects, ui.Option{Value: p.ID.String(), Name: p.Label(), Selected: in.project == p.ID.String()})
	}
	for _, s := range auth.Scopes() {
		form.Scopes = append(form.Scopes, views.KeyScope{Value: s.Name, Name: strings.ToUpper(s.Name[:1]) + s.Name[1:], About: s.About, Selected: in.scope == s.Name})
	}
	for _, e := range []ui.Option{{Value: "7", Name: "In 7 days"}, {Value: "30", Name: "In 30 days"}, {Value: "90", Name: "In 90 days"}, {Value: "365", Name: "In a year"}, {Value: "0", Name: "Never"}} {
		e.Selected = in.days == e.Value
		form.Expiries = append(form.Expiries, e)
	}
	if err != nil {
		form.Failed = apperr.MessageOf(err)
		for _, f := range apperr.FieldsOf(err) {
			form.Problems = append(form.Problems, views.KeyProblem{Field: f.Path, Message: f.Message})
		}
	}
	return form, nil
}

// makeKey creates a key and shows it. It cannot be shown again.
func (h *Pages) makeKey(w http.ResponseWriter, r *http.Request) error {
	in := keyInput{
		name: r.PostFormValue("name"), owner: r.PostFormValue("owner"), project: r.PostFormValue("project"),
		scope: r.PostFormValue("scope"), days: r.PostFormValue("expires_in_days"),
	}
	keyRequest, err := in.request()
	var key identity.Key
	var token string
	if err == nil {
		key, token, err = h.Identity.CreateKey(r.Context(), keyRequest)
	}
	switch {
	case apperr.Is(err, apperr.Invalid), apperr.Is(err, apperr.Forbidden):
		return h.renderKeys(w, r, web.Status(apperr.CodeOf(err)), in, err, nil)
	case err != nil:
		return err
	}
	fresh := &views.CreatedKey{Name: key.Name, Token: token, Command: "flowforge login --server " + request.PublicURL(r, h.PublicURL) + " --token"}
	return h.renderKeys(w, r, http.StatusOK, keyInput{scope: defaultKeyScope, days: defaultKeyDays}, nil, fresh)
}

func (in keyInput) request() (identity.KeyRequest, error) {
	request := identity.KeyRequest{Name: in.name, Scopes: []string{in.scope}}
	var fields []apperr.Field
	for _, id := range []struct {
		field, text string
		into        *uuid.UUID
	}{{"owner", in.owner, &request.OwnerID}, {"project", in.project, &request.ProjectID}} {
		if id.text == "" {
			continue
		}
		parsed, err := uuid.Parse(id.text)
		if err != nil {
			fields = append(fields, apperr.Field{Path: id.field, Message: "Choose an option from the list."})
		}
		*id.into = parsed
	}
	days, err := strconv.Atoi(in.days)
	if err != nil || days < 0 || days > 5*365 {
		fields = append(fields, apperr.Field{Path: "expires_in_days", Message: "Choose an option from the list."})
	}
	request.ExpiresIn = time.Duration(days) * 24 * time.Hour
	return request, apperr.InvalidFields("The key cannot be created.", fields)
}

// revokeKey revokes a key. Its next use fails.
func (h *Pages) revokeKey(w http.ResponseWriter, r *http.Request) error {
	if _, err := h.Identity.RevokeKey(r.Context(), chi.URLParam(r, "id")); err != nil {
		return err
	}
	http.Redirect(w, r, views.AccountKeysURL()+"?done=revoked", http.StatusSeeOther)
	return nil
}
