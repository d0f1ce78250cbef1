package handlers

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/auth"
	"github.com/flowforge/flowforge/tenancy"
)

type placeBody struct {
	ID          uuid.UUID  `json:"id"`
	Kind        string     `json:"kind" enum:"tenant,department,team,project"`
	Name        string     `json:"name"`
	Description string     `json:"description"`
	ParentID    *uuid.UUID `json:"parent_id,omitempty" doc:"Absent for tenants"`
	TenantID    uuid.UUID  `json:"tenant_id"`
	Namespace   string     `json:"namespace,omitempty" doc:"Of Kubernetes; projects alone"`
	Path        []pathStep `json:"path,omitempty" doc:"From the tenant to the place itself; in answers about one place"`
	CreatedAt   time.Time  `json:"created_at"`
	ArchivedAt  *time.Time `json:"archived_at,omitempty"`
	Revision    string     `json:"revision" doc:"Send it with a change, which is then refused when somebody else was first"`
}

type pathStep struct {
	ID   uuid.UUID `json:"id"`
	Kind string    `json:"kind"`
	Name string    `json:"name"`
}

type placePage struct {
	Items    []placeBody `json:"items"`
	NextPage string      `json:"next_page,omitempty"`
}

// PlacePath names a tenant, department, team or project.
type PlacePath struct {
	ID uuid.UUID `path:"id" doc:"Its id"`
}

// NewPlace makes a place.
type NewPlace struct {
	Key  string `header:"Idempotency-Key" doc:"The same key makes it once, however often it is sent" maxLength:"200"`
	Body struct {
		ParentID    *uuid.UUID `json:"parent_id,omitempty" doc:"The tenant, department or team that it stands in; not for tenants"`
		Name        string     `json:"name" doc:"Unique beside it" maxLength:"400"`
		Description string     `json:"description,omitempty" maxLength:"8000"`
	}
}

// PlaceEdit changes a place.
type PlaceEdit struct {
	PlacePath
	Body struct {
		Name        *string `json:"name,omitempty" maxLength:"400"`
		Description *string `json:"description,omitempty" maxLength:"8000"`
		Revision    string  `json:"revision,omitempty" doc:"That of the place as you saw it" maxLength:"40"`
	}
}

// PlaceReason archives or restores a place.
type PlaceReason struct {
	PlacePath
	Body *struct {
		Reason string `json:"reason,omitempty" doc:"For the audit log" maxLength:"1000"`
	}
}

func (p PlaceReason) reason() string {
	if p.Body == nil {
		return ""
	}
	return p.Body.Reason
}

// PlaceQuery narrows a list of places.
type PlaceQuery struct {
	PageQuery
	Text     string `query:"q" doc:"Part of the name" maxLength:"200"`
	Below    string `query:"below" doc:"Id of a place that they stand in, at any depth" format:"uuid"`
	Archived bool   `query:"archived" doc:"Archived ones too"`
}

const tenancyTag = "Tenancy"

// placeKinds are the kinds with their names in addresses.
func placeKinds() []struct {
	kind tenancy.Kind
	path string
} {
	return []struct {
		kind tenancy.Kind
		path string
	}{{tenancy.Tenant, "/tenants"}, {tenancy.Department, "/departments"}, {tenancy.Team, "/teams"}, {tenancy.Project, "/projects"}}
}

func (h *Handlers) tenancyAPI(api huma.API) {
	for _, k := range placeKinds() {
		h.placeAPI(api, k.kind, k.path)
		h.memberAPI(api, k.kind, k.path)
	}
	h.serviceAccountAPI(api)
	h.userAPI(api)
	h.auditAPI(api)
}

func (h *Handlers) placeAPI(api huma.API, kind tenancy.Kind, path string) {
	name, one := string(kind), path+"/{id}"
	operation(h, api, get("list-"+name+"s", path, "List the "+name+"s that you may read", tenancyTag), func(ctx context.Context, in *PlaceQuery) (*body[placePage], error) {
		return h.apiPlaces(ctx, kind, in)
	})
	create := post("create-"+name, path, "Create a "+name, tenancyTag)
	create.DefaultStatus = http.StatusCreated
	create.Errors = []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity}
	operation(h, api, create, func(ctx context.Context, in *NewPlace) (*body[placeBody], error) {
		return h.apiCreatePlace(ctx, kind, in)
	})
	operation(h, api, get("get-"+name, one, "Get a "+name, tenancyTag), func(ctx context.Context, in *PlacePath) (*body[placeBody], error) {
		return h.apiPlace(ctx, kind, in.ID)
	})
	edit := huma.Operation{OperationID: "update-" + name, Method: http.MethodPatch, Path: one, Summary: "Rename or describe a " + name, Tags: []string{tenancyTag}, Errors: create.Errors}
	operation(h, api, edit, func(ctx context.Context, in *PlaceEdit) (*body[placeBody], error) {
		return h.apiChangePlace(ctx, kind, in.ID, func() error {
			_, err := h.Tenancy.Update(ctx, in.ID, tenancy.Edit{Name: in.Body.Name, Description: in.Body.Description, Revision: in.Body.Revision})
			return err
		})
	})
	archive := post("archive-"+name, one+"/archive", "Archive a "+name+": what it holds stays legible, and nothing new happens in it", tenancyTag)
	archive.Errors = create.Errors
	operation(h, api, archive, func(ctx context.Context, in *PlaceReason) (*body[placeBody], error) {
		return h.apiChangePlace(ctx, kind, in.ID, func() error { _, err := h.Tenancy.Archive(ctx, in.ID, in.reason()); return err })
	})
	restore := post("restore-"+name, one+"/restore", "Take a "+name+" back from the archive", tenancyTag)
	restore.Errors = create.Errors
	operation(h, api, restore, func(ctx context.Context, in *PlaceReason) (*body[placeBody], error) {
		return h.apiChangePlace(ctx, kind, in.ID, func() error { _, err := h.Tenancy.Restore(ctx, in.ID, in.reason()); return err })
	})
}

func (h *Handlers) apiPlaces(ctx context.Context, kind tenancy.Kind, in *PlaceQuery) (*body[placePage], error) {
	f := tenancy.Filter{Kind: kind, Text: in.Text, Archived: in.Archived, After: in.Page, Limit: in.Limit}
	if in.Below != "" {
		id, err := parseID(in.Below, "place")
		if err != nil {
			return nil, err
		}
		f.Below = id
	}
	page, err := h.Tenancy.List(ctx, f)
	if err != nil {
		return nil, err
	}
	out := placePage{Items: make([]placeBody, 0, len(page.Items)), NextPage: page.Next}
	for _, n := range page.Items {
		out.Items = append(out.Items, toPlaceBody(n))
	}
	return reply(out), nil
}

func (h *Handlers) apiCreatePlace(ctx context.Context, kind tenancy.Kind, in *NewPlace) (*body[placeBody], error) {
	parent := auth.Installation
	switch {
	case kind == tenancy.Tenant && in.Body.ParentID != nil:
		return nil, apperr.InvalidFields("A tenant stands in nothing.", []apperr.Field{{Path: "parent_id", Message: "Leave it out."}})
	case kind == tenancy.Tenant:
	case in.Body.ParentID == nil:
		return nil, apperr.InvalidFields("The "+string(kind)+" has values that need a change.", []apperr.Field{{Path: "parent_id", Message: "Enter the id of the place that it stands in."}})
	default:
		parent = *in.Body.ParentID
	}
	n, err := h.Tenancy.Create(ctx, tenancy.NewNode{ParentID: parent, Kind: kind, Name: in.Body.Name, Description: in.Body.Description, Key: in.Key})
	if err != nil {
		return nil, err
	}
	return reply(toPlaceBody(n)), nil
}

// place returns a place of a kind. One of another kind is not there.
func (h *Handlers) place(ctx context.Context, kind tenancy.Kind, id uuid.UUID) (tenancy.Node, []tenancy.Step, error) {
	n, steps, err := h.Tenancy.Node(ctx, id)
	if err == nil && n.Kind != kind {
		err = apperr.New(apperr.NotFound, "There is no tenant, department, team or project %s.", id)
	}
	return n, steps, err
}

func (h *Handlers) apiPlace(ctx context.Context, kind tenancy.Kind, id uuid.UUID) (*body[placeBody], error) {
	n, steps, err := h.place(ctx, kind, id)
	if err != nil {
		return nil, err
	}
	out := toPlaceBody(n)
	for _, s := range steps {
		out.Path = append(out.Path, pathStep{ID: s.ID, Kind: string(s.Kind), Name: s.Name})
	}
	return reply(out), nil
}

// apiChangePlace makes sure that the place is of the kind, changes it, and
// answers with what it is now.
func (h *Handlers) apiChangePlace(ctx context.Context, kind tenancy.Kind, id uuid.UUID, change func() error) (*body[placeBody], error) {
	if _, _, err := h.place(ctx, kind, id); err != nil {
		return nil, err
	}
	if err := change(); err != nil {
		return nil, err
	}
	return h.apiPlace(ctx, kind, id)
}

func toPlaceBody(n tenancy.Node) placeBody {
	b := placeBody{
		ID: n.ID, Kind: string(n.Kind), Name: n.Name, Description: n.Description, TenantID: n.TenantID, Namespace: n.Namespace,
		CreatedAt: n.CreatedAt, ArchivedAt: n.ArchivedAt, Revision: n.Revision,
	}
	if n.Kind != tenancy.Tenant {
		b.ParentID = &n.ParentID
	}
	return b
}
