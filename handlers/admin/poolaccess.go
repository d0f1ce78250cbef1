package admin

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/tenancy"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

// fillPoolAccess adds which projects may use the pool, and the form that changes it.
func (h poolPages) fillPoolAccess(r *http.Request, m *views.Pool, open openForm) error {
	access, err := h.Pools.Access(r.Context(), m.Name)
	if err != nil {
		return err
	}
	branches, err := h.Tenancy.Tree(r.Context(), auth.Installation, false)
	if err != nil {
		return err
	}
	m.Restricted = access.Restricted
	listed := map[uuid.UUID]bool{}
	for _, n := range access.Nodes {
		listed[n.ID] = true
		entry := views.PoolAccess{ID: n.ID.String(), Name: strings.Join(n.Path, " / "), URL: views.AdminNodeURL(n.ID.String()), Kind: n.Kind}
		if n.Archived {
			entry.Kind += ", archived"
		}
		m.Access = append(m.Access, entry)
	}
	options := nodeOptions(branches, listed)
	add := "Restrict the pool"
	if access.Restricted {
		add = "Allow"
	}
	m.AccessForm = views.AdminForm{
		ID: "access-form", Label: "Access to the pool", Action: views.PoolURL(m.Name) + "/access", Buttons: []views.AdminButton{{Text: add}},
		Fields: []views.AdminField{open.field("access", views.AdminField{
			Name: "nodes", Label: "Tenant, department, team or project", Help: "All projects below it may use the pool.", Options: options,
		}, "")},
	}
	return nil
}

// nodeOptions are the tenants, departments, teams and projects to choose from, except some.
func nodeOptions(branches []tenancy.Branch, except map[uuid.UUID]bool) []ui.Option {
	options := []ui.Option{{Name: "Select…"}}
	var path []string
	for _, b := range branches {
		if b.Kind == tenancy.Installation {
			continue
		}
		path = append(path[:b.Depth-1], b.Name)
		if !except[b.ID] {
			options = append(options, ui.Option{Value: b.ID.String(), Name: strings.Join(path, " / ") + " (" + string(b.Kind) + ")"})
		}
	}
	return options
}

// setPoolAccess lets every project use a pool, or adds or removes one project.
func (h poolPages) setPoolAccess(w http.ResponseWriter, r *http.Request) error {
	name := request.PathValue(r, "pool")
	form, err := sent(r, "access", "")
	if err != nil {
		return err
	}
	form.err = h.changeAccess(r.Context(), name, form.values)
	if form.err == nil {
		return seeOther(w, r, views.PoolURL(name)+"?did=access")
	}
	if !shownInForm(form.err) {
		return form.err
	}
	return h.showPool(w, r, name, poolPage{form: form})
}

func (h poolPages) changeAccess(ctx context.Context, name string, values url.Values) error {
	if values.Get("everyone") != "" {
		_, err := h.Pools.AllowEveryone(ctx, name)
		return err
	}
	change, field := h.Pools.Allow, values.Get("nodes")
	if remove := values.Get("remove"); remove != "" {
		change, field = h.Pools.Disallow, remove
	}
	id, err := uuid.Parse(field)
	if err != nil {
		return apperr.InvalidFields("Access to the pool was not changed.", []apperr.Field{{Path: "nodes", Message: "Select a tenant, department, team or project."}})
	}
	_, err = change(ctx, name, id)
	return err
}
