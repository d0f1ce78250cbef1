package admin

import (
	"net/http"
	"net/url"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// openForm is the form that a page shows open, with the submitted values and the error.
type openForm struct {
	name   string // which form
	id     string // of its object
	values url.Values
	err    error
}

// shownInForm reports whether the form itself shows err. The error page shows other errors.
func shownInForm(err error) bool {
	return apperr.Is(err, apperr.Invalid) || apperr.Is(err, apperr.Conflict)
}

// status is the HTTP status of the page with the form.
func (f openForm) status() int {
	if f.err == nil {
		return http.StatusOK
	}
	return web.Status(apperr.CodeOf(f.err))
}

// value is the submitted value of a field, or its initial value.
func (f openForm) value(name, first string) string {
	if f.values == nil {
		return first
	}
	return f.values.Get(name)
}

// field is a field with its submitted value and its error.
func (f openForm) field(form string, field views.AdminField, first string) views.AdminField {
	field.ID = form + "-" + field.Name
	field.Value = first
	if f.name != form {
		return field
	}
	field.Value = f.value(field.Name, first)
	for _, wrong := range apperr.FieldsOf(f.err) {
		if wrong.Path == field.Name {
			field.Error = wrong.Message
		}
	}
	for i := range field.Options {
		field.Options[i].Selected = field.Options[i].Value == field.Value
	}
	return field
}

// problems lists the errors of the form.
func (f openForm) problems() *views.AdminProblems {
	if f.err == nil {
		return nil
	}
	p := &views.AdminProblems{Title: apperr.MessageOf(f.err)}
	for _, wrong := range apperr.FieldsOf(f.err) {
		p.Links = append(p.Links, ui.Crumb{Name: wrong.Message, URL: "#" + f.name + "-" + wrong.Path})
	}
	return p
}

// done is the message of a page after a successful form. The address contains only the key.
func done(r *http.Request) *views.AdminNotice {
	messages := map[string][2]string{
		"created":  {"Created.", "It is listed in the tree."},
		"saved":    {"Saved.", ""},
		"archived": {"Archived.", "Its data stays readable, but nothing new can be launched."},
		"restored": {"Restored.", "It can be used again."},
		"added":    {"Role assigned.", "It applies immediately."},
		"changed":  {"Role changed.", "It applies immediately."},
		"removed":  {"Role removed.", "It no longer applies."},
		"invited":  {"Group added.", "Its members receive the role at their next sign-in."},
		"made":     {"Service account created.", "Create a key for it on the API keys page."},
		"disabled": {"Disabled.", "All sessions have ended, and keys are rejected."},
		"enabled":  {"Enabled.", ""},
		"promoted": {"The user is now an administrator of the installation.", "The user must sign in again."},
		"demoted":  {"The user is no longer an administrator of the installation.", "The user must sign in again."},
	}[r.URL.Query().Get("did")]
	if messages[0] == "" {
		return nil
	}
	return &views.AdminNotice{Kind: "ok", Strong: messages[0], Text: messages[1]}
}

// sent reads the form of a page.
func sent(r *http.Request, name, id string) (openForm, error) {
	if err := r.ParseForm(); err != nil {
		return openForm{}, apperr.Wrap(apperr.Invalid, err, "The form could not be read.")
	}
	return openForm{name: name, id: id, values: r.PostForm}, nil
}

// pathID returns the id in a parameter of the path, or NotFound for any other text.
func pathID(r *http.Request, name string) (uuid.UUID, error) {
	id, err := uuid.Parse(request.PathValue(r, name))
	if err != nil {
		return id, apperr.New(apperr.NotFound, "There is no page at %s.", r.URL.Path)
	}
	return id, nil
}

// TabsAt are the pages of administration that the reader may open, with that of an address selected.
func (h *Pages) TabsAt(r *http.Request, address string) []ui.Tab {
	tabs := h.tabs(r, "", false)
	for i := range tabs {
		tabs[i].Current = tabs[i].URL == address
	}
	return tabs
}

// tabs are the pages of administration that the reader may open.
func (h *Pages) tabs(r *http.Request, current views.Section, users bool) []ui.Tab {
	subject, _ := auth.SubjectOf(r.Context())
	tabs := []ui.Tab{{Name: "Tenants and teams", URL: views.AdminURL(), Icon: "team", Current: current == views.SectionAdmin && !users}}
	if subject.May(auth.Administer, auth.Installation) {
		tabs = append(tabs, ui.Tab{Name: "People", URL: views.AdminUsersURL(), Icon: "user", Current: users})
	}
	if page.ReadsCluster(subject) {
		tabs = append(tabs, ui.Tab{Name: "Cluster", URL: views.ClusterURL(), Icon: "cpu", Current: current == views.SectionCluster})
	}
	if subject.May(auth.Administer, auth.Installation) {
		tabs = append(tabs, ui.Tab{Name: "Worker pools", URL: views.PoolsURL(), Icon: "link"})
		tabs = append(tabs, ui.Tab{Name: "Secret stores", URL: views.SecretStoresURL(), Icon: "key"})
		tabs = append(tabs, ui.Tab{Name: "Storage", URL: views.StorageURL(), Icon: "box", Current: current == views.SectionStorage})
	}
	if page.ReadsAudit(subject) {
		tabs = append(tabs, ui.Tab{Name: "Audit log", URL: views.AuditURL(), Icon: "log", Current: current == views.SectionAudit})
	}
	return tabs
}
