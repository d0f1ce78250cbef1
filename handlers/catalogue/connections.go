package catalogue

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/flowforge/flowforge/access/connection"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/page"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/web"
)

// maxConnectionForm limits the form of one connection, whose values are encoded.
const maxConnectionForm = 4 * connection.MaxEdit

// connectionsPage lists the connections of the current project.
func (h *Pages) connectionsPage(w http.ResponseWriter, r *http.Request) error {
	list, err := h.Connections.List(r.Context(), "")
	if err != nil {
		return err
	}
	m := views.Connections{Page: h.Page.Base(r, "Connections", views.SectionConnections)}
	for _, c := range list {
		m.Rows = append(m.Rows, h.connectionRow(r, c))
	}
	if page.MayWriteSecrets(r) {
		m.NewURL = views.NewConnectionURL("")
	}
	if name := r.URL.Query().Get("deleted"); name != "" && len(name) <= 100 {
		m.Notice = "The connection " + name + " was deleted."
	}
	return web.Render(w, r, http.StatusOK, views.ConnectionsPage(m))
}

// newConnectionPage is the form for a new connection of the kind in the address.
func (h *Pages) newConnectionPage(w http.ResponseWriter, r *http.Request) error {
	kind, ok := connection.KindNamed(r.URL.Query().Get("kind"))
	var form *views.ConnectionForm
	if ok {
		form = connectionForm(kind, connection.Connection{Kind: kind.Name}, nil)
	}
	return h.renderNewConnection(w, r, http.StatusOK, kind.Name, form)
}

func (h *Pages) renderNewConnection(w http.ResponseWriter, r *http.Request, status int, kind string, form *views.ConnectionForm) error {
	if !page.MayWriteSecrets(r) {
		return apperr.New(apperr.Forbidden, "You cannot add connections to this project. Ask an administrator of the team.")
	}
	m := views.NewConnection{
		Page: h.Page.Base(r, "New connection", views.SectionConnections, views.Crumb{Name: "Connections", URL: views.ConnectionsURL()}), Form: form,
	}
	for _, k := range connection.Kinds() {
		m.Kinds = append(m.Kinds, views.ConnectionKind{Label: k.Label, Summary: k.Summary, URL: views.NewConnectionURL(k.Name), Chosen: k.Name == kind})
	}
	if form != nil {
		form.Action = views.ConnectionsURL()
	}
	return web.Render(w, r, status, views.NewConnectionPage(m))
}

// addConnection stores a new connection.
func (h *Pages) addConnection(w http.ResponseWriter, r *http.Request) error {
	if err := readConnectionForm(w, r); err != nil {
		return err
	}
	kind, _ := connection.KindNamed(r.PostForm.Get("kind"))
	edit, err := readConnection(r, connection.Connection{Name: r.PostForm.Get("name"), Kind: kind.Name})
	if err == nil {
		edit.Create = true
		_, err = h.Connections.Put(r.Context(), edit)
	}
	if code := apperr.CodeOf(err); code == apperr.Invalid || code == apperr.Conflict {
		return h.renderNewConnection(w, r, web.Status(code), kind.Name, refusedForm(kind, connection.Connection{Name: edit.Name, Kind: kind.Name, Declared: edit.Declared}, r.PostForm, err))
	}
	if err != nil {
		return err
	}
	http.Redirect(w, r, views.ConnectionURL(edit.Name), http.StatusSeeOther)
	return nil
}

// connectionPage shows one connection, without its secret fields.
func (h *Pages) connectionPage(w http.ResponseWriter, r *http.Request) error {
	c, err := h.Connections.Get(r.Context(), chi.URLParam(r, "name"))
	if err != nil {
		return err
	}
	notice := ""
	if r.URL.Query().Get("saved") == "1" {
		notice = "The connection was saved. New attempts use it."
	}
	return h.renderConnection(w, r, http.StatusOK, c, nil, nil, notice)
}

func (h *Pages) renderConnection(w http.ResponseWriter, r *http.Request, status int, c connection.Connection, form *views.ConnectionForm, test *views.ConnectionTest, notice string) error {
	kind, _ := connection.KindNamed(c.Kind)
	m := views.Connection{
		Page: h.Page.Base(r, c.Name, views.SectionConnections, views.Crumb{Name: "Connections", URL: views.ConnectionsURL()}),
		Row:  h.connectionRow(r, c), Test: test, Notice: notice,
	}
	for _, f := range c.Fields() {
		m.Variables = append(m.Variables, "FLOWFORGE_CONNECTION_DB_"+strings.ToUpper(f.Name))
		value := c.Text(f.Name)
		if f.Secret {
			value = map[bool]string{true: "Hidden", false: ""}[slices.Contains(c.Secrets, f.Name)]
		}
		if n := strings.Count(strings.TrimSpace(value), "\n"); n > 0 {
			value = units.Plural(n+1, "line", "lines") // the form has the whole text
		}
		if value != "" {
			m.Facts = append(m.Facts, views.ConnectionFact{Label: f.Title(), Value: value})
		}
	}
	if c.Kind != connection.Custom {
		m.Variables = append(m.Variables, "FLOWFORGE_CONNECTION_DB_URL")
	}
	if page.MayWriteSecrets(r) {
		if form == nil {
			form = connectionForm(kind, c, nil)
		}
		form.Action, form.NameFixed = views.ConnectionURL(c.Name), true
		m.Form, m.DeleteURL = form, views.ConnectionDeleteURL(c.Name)
		if kind.Tested {
			m.TestURL = views.ConnectionTestURL(c.Name)
		}
	}
	return web.Render(w, r, status, views.ConnectionPage(m))
}

// changeConnection changes an existing connection.
func (h *Pages) changeConnection(w http.ResponseWriter, r *http.Request) error {
	if err := readConnectionForm(w, r); err != nil {
		return err
	}
	c, err := h.Connections.Get(r.Context(), chi.URLParam(r, "name"))
	if err != nil {
		return err
	}
	edit, err := readConnection(r, c)
	if err == nil {
		_, err = h.Connections.Put(r.Context(), edit)
	}
	if apperr.Is(err, apperr.Invalid) {
		kind, _ := connection.KindNamed(c.Kind)
		return h.renderConnection(w, r, http.StatusUnprocessableEntity, c, refusedForm(kind, c, r.PostForm, err), nil, "")
	}
	if err != nil {
		return err
	}
	http.Redirect(w, r, views.ConnectionURL(c.Name)+"?saved=1", http.StatusSeeOther)
	return nil
}

// testConnection tests a connection and shows the result.
func (h *Pages) testConnection(w http.ResponseWriter, r *http.Request) error {
	c, err := h.Connections.Get(r.Context(), chi.URLParam(r, "name"))
	if err != nil {
		return err
	}
	result, err := h.Connections.Test(r.Context(), c.Name)
	if err != nil {
		return err
	}
	test := &views.ConnectionTest{OK: result.OK, Took: fmt.Sprintf("%.1f s", max(result.Duration, 100*time.Millisecond).Seconds())}
	for _, s := range result.Steps {
		test.Steps = append(test.Steps, views.ConnectionStep{Name: s.Name, Detail: s.Detail, OK: s.OK})
	}
	return h.renderConnection(w, r, http.StatusOK, c, nil, test, "")
}

// deleteConnection deletes a connection of the current project.
func (h *Pages) deleteConnection(w http.ResponseWriter, r *http.Request) error {
	name := chi.URLParam(r, "name")
	if err := h.Connections.Delete(r.Context(), name); err != nil {
		return err
	}
	http.Redirect(w, r, views.ConnectionsURL()+"?deleted="+url.QueryEscape(name), http.StatusSeeOther)
	return nil
}

func (h *Pages) connectionRow(r *http.Request, c connection.Connection) views.ConnectionRow {
	clock := h.Page.Clock(r)
	kind, _ := connection.KindNamed(c.Kind)
	row := views.ConnectionRow{
		Name: c.Name, URL: views.ConnectionURL(c.Name), Kind: kind.Label, Description: c.Description, Place: label.Connection(c),
		Changed: clock.Moment(c.UpdatedAt).Text + " by " + c.UpdatedBy,
	}
	for _, u := range c.Uses {
		row.Uses = append(row.Uses, views.SecretUse{
			Workflow: u.Workflow, URL: views.WorkflowURL(u.Workflow), Execution: label.ShortID(u.ExecutionID),
			ExecutionURL: views.ExecutionURL(u.ExecutionID.String()), When: clock.Moment(u.At),
		})
	}
	return row
}
