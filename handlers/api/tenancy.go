package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/access/tenancy"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/handlers/request"
)

type scopeBody struct {
	ID          uuid.UUID  `json:"id"`
	Kind        string     `json:"kind" enum:"tenant,department,team,project"`
	Name        string     `json:"name"`
	Description string     `json:"description"`
	ParentID    *uuid.UUID `json:"parent_id,omitempty" doc:"ID of the parent; absent for tenants"`
	TenantID    uuid.UUID  `json:"tenant_id"`
	Namespace   string     `json:"namespace,omitempty" doc:"Kubernetes namespace; only for projects"`
	Path        []pathStep `json:"path,omitempty" doc:"Path from the tenant; only in single-object responses"`
	CreatedAt   time.Time  `json:"created_at"`
	ArchivedAt  *time.Time `json:"archived_at,omitempty"`
	Revision    string     `json:"revision" doc:"Revision for optimistic locking: a change with an outdated revision is rejected"`
}

type pathStep struct {
	ID   uuid.UUID `json:"id"`
	Kind string    `json:"kind"`
	Name string    `json:"name"`
}

type scopePage struct {
	Items    []scopeBody `json:"items"`
	NextPage string      `json:"next_page,omitempty"`
}

// ScopePath names a tenant, department, team or project.
type ScopePath struct {
	ID uuid.UUID `path:"id" doc:"ID"`
}

// NewTenant creates a tenant.
type NewTenant struct {
	Key  string `header:"Idempotency-Key" doc:"Idempotency key: a repeated request with the same key does not create another object" maxLength:"200"`
	Body struct {
		Name        string `json:"name" doc:"Name, unique among tenants" minLength:"1" maxLength:"100"`
		Description string `json:"description,omitempty" maxLength:"2000"`
	}
}

// NewScope creates a department, a team or a project.
type NewScope struct {
	Key  string `header:"Idempotency-Key" doc:"Idempotency key: a repeated request with the same key does not create another object" maxLength:"200"`
	Body struct {
		ParentID    uuid.UUID `json:"parent_id" doc:"ID of the tenant, department or team that contains it"`
		Name        string    `json:"name" doc:"Name, unique within its parent" minLength:"1" maxLength:"100"`
		Description string    `json:"description,omitempty" maxLength:"2000"`
	}
}

// ScopeEdit changes a tenant, department, team or project.
type ScopeEdit struct {
	ScopePath
	Body struct {
		Name        *string `json:"name,omitempty" minLength:"1" maxLength:"100"`
		Description *string `json:"description,omitempty" maxLength:"2000"`
		Revision    string  `json:"revision,omitempty" doc:"Revision that the change is based on" maxLength:"40"`
	}
}

// ScopeReason archives or restores a tenant, department, team or project.
type ScopeReason struct {
	ScopePath
	Body *struct {
		Reason string `json:"reason,omitempty" doc:"Reason, recorded in the audit log" maxLength:"1000"`
	}
}

func (p ScopeReason) reason() string {
	if p.Body == nil {
		return ""
	}
	return p.Body.Reason
}

// ScopeQuery narrows a list of tenants, departments, teams or projects.
type ScopeQuery struct {
	PageQuery
	Text     string `query:"q" doc:"Text to find in the name" maxLength:"200"`
	Below    string `query:"below" doc:"ID of an ancestor, at any depth" format:"uuid"`
	Archived bool   `query:"archived" doc:"Include archived objects"`
}

const tenancyTag = "Tenancy"

// scopeKinds are the kinds with their names in addresses.
func scopeKinds() []struct {
	kind tenancy.Kind
	path string
} {
	return []struct {
		kind tenancy.Kind
		path string
	}{{tenancy.Tenant, "/tenants"}, {tenancy.Department, "/departments"}, {tenancy.Team, "/teams"}, {tenancy.Project, "/projects"}}
}

// tenancyAPI serves tenants, departments, teams and projects, with their members.
type tenancyAPI struct {
	Tenancy *tenancy.Service
}

func (h *tenancyAPI) mount(api *operations) {
	for _, k := range scopeKinds() {
		h.mountScope(api, k.kind, k.path)
		h.mountMembers(api, k.kind, k.path)
	}
}

func (h *tenancyAPI) mountScope(api *operations, kind tenancy.Kind, path string) {
	name, one := string(kind), path+"/{id}"
	operation(api, get("list-"+name+"s", path, "List the "+name+"s that you may read", tenancyTag), func(ctx context.Context, in *ScopeQuery) (*body[scopePage], error) {
		return h.apiScopes(ctx, kind, in)
	})
	create := post("create-"+name, path, "Create a "+name, tenancyTag)
	create.DefaultStatus = http.StatusCreated
	if kind == tenancy.Tenant {
		operation(api, create, func(ctx context.Context, in *NewTenant) (*body[scopeBody], error) {
			return h.apiCreateScope(ctx, tenancy.NewNode{ParentID: auth.Installation, Kind: kind, Name: in.Body.Name, Description: in.Body.Description, Key: in.Key})
		})
	} else {
		operation(api, create, func(ctx context.Context, in *NewScope) (*body[scopeBody], error) {
			return h.apiCreateScope(ctx, tenancy.NewNode{ParentID: in.Body.ParentID, Kind: kind, Name: in.Body.Name, Description: in.Body.Description, Key: in.Key})
		})
	}
	operation(api, get("get-"+name, one, "Get a "+name, tenancyTag), func(ctx context.Context, in *ScopePath) (*body[scopeBody], error) {
		return h.apiScope(ctx, kind, in.ID)
	})
	edit := huma.Operation{OperationID: "update-" + name, Method: http.MethodPatch, Path: one, Summary: "Rename or describe a " + name, Tags: []string{tenancyTag}}
	operation(api, edit, func(ctx context.Context, in *ScopeEdit) (*body[scopeBody], error) {
		return h.apiChangeScope(ctx, kind, in.ID, func() error {
			_, err := h.Tenancy.Update(ctx, in.ID, tenancy.Edit{Name: in.Body.Name, Description: in.Body.Description, Revision: in.Body.Revision})
			return err
		})
	})
	archive := post("archive-"+name, one+"/archive", "Archive a "+name+": its content stays readable, but nothing can be launched in it", tenancyTag)
	operation(api, archive, func(ctx context.Context, in *ScopeReason) (*body[scopeBody], error) {
		return h.apiChangeScope(ctx, kind, in.ID, func() error { _, err := h.Tenancy.Archive(ctx, in.ID, in.reason()); return err })
	})
	restore := post("restore-"+name, one+"/restore", "Restore an archived "+name+"", tenancyTag)
	operation(api, restore, func(ctx context.Context, in *ScopeReason) (*body[scopeBody], error) {
		return h.apiChangeScope(ctx, kind, in.ID, func() error { _, err := h.Tenancy.Restore(ctx, in.ID, in.reason()); return err })
	})
}

func (h *tenancyAPI) apiScopes(ctx context.Context, kind tenancy.Kind, in *ScopeQuery) (*body[scopePage], error) {
	f := tenancy.Filter{Kind: kind, Text: in.Text, Archived: in.Archived, After: in.Page, Limit: in.Limit}
	if in.Below != "" {
		id, err := request.ParseID(in.Below, "place")
		if err != nil {
			return nil, err
		}
		f.Below = id
	}
	page, err := h.Tenancy.List(ctx, f)
	if err != nil {
		return nil, err
	}
	out := scopePage{Items: make([]scopeBody, 0, len(page.Items)), NextPage: page.Next}
	for _, n := range page.Items {
		out.Items = append(out.Items, toScopeBody(n))
	}
	return reply(out), nil
}

func (h *tenancyAPI) apiCreateScope(ctx context.Context, node tenancy.NewNode) (*body[scopeBody], error) {
	n, err := h.Tenancy.Create(ctx, node)
	if err != nil {
		return nil, err
	}
	return reply(toScopeBody(n)), nil
}

// place returns a tenant, department, team or project of the given kind. It does not find those
// of other kinds.
func (h *tenancyAPI) place(ctx context.Context, kind tenancy.Kind, id uuid.UUID) (tenancy.Node, []tenancy.Step, error) {
	n, steps, err := h.Tenancy.Node(ctx, id)
	if err == nil && n.Kind != kind {
		err = apperr.New(apperr.NotFound, "There is no tenant, department, team or project %s.", id)
	}
	return n, steps, err
}

func (h *tenancyAPI) apiScope(ctx context.Context, kind tenancy.Kind, id uuid.UUID) (*body[scopeBody], error) {
	n, steps, err := h.place(ctx, kind, id)
	if err != nil {
		return nil, err
	}
	out := toScopeBody(n)
	for _, s := range steps {
		out.Path = append(out.Path, pathStep{ID: s.ID, Kind: string(s.Kind), Name: s.Name})
	}
	return reply(out), nil
}

// apiChangeScope checks the kind, changes the object, and returns its new state.
func (h *tenancyAPI) apiChangeScope(ctx context.Context, kind tenancy.Kind, id uuid.UUID, change func() error) (*body[scopeBody], error) {
	if _, _, err := h.place(ctx, kind, id); err != nil {
		return nil, err
	}
	if err := change(); err != nil {
		return nil, err
	}
	return h.apiScope(ctx, kind, id)
}

func toScopeBody(n tenancy.Node) scopeBody {
	b := scopeBody{
		ID: n.ID, Kind: string(n.Kind), Name: n.Name, Description: n.Description, TenantID: n.TenantID, Namespace: n.Namespace,
		CreatedAt: n.CreatedAt, ArchivedAt: n.ArchivedAt, Revision: n.Revision,
	}
	if n.Kind != tenancy.Tenant {
		b.ParentID = &n.ParentID
	}
	return b
}
