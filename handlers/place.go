package handlers

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/auth"
	"github.com/flowforge/flowforge/views"
)

// Every request is in one project, its subject's. One that names an execution, an
// artifact or a workflow by its id is in the project of that object, when its
// caller may read it there: so a link works for every member, whatever project
// they have chosen, and everything on the page is of the same project.

type homeKey struct{}

// inPlace moves r into the project of the object that its path names. A request
// for what is not there, or not the caller's to see, stays where it is and is
// refused by the service.
func (h *Handlers) inPlace(r *http.Request) *http.Request {
	subject, ok := auth.SubjectOf(r.Context())
	noun, id, named := objectOf(r)
	if !ok || !named {
		return r
	}
	tenant, project, err := h.placeOf(r.Context(), noun, id)
	if err != nil || project == subject.ProjectID {
		return r
	}
	ctx := context.WithValue(r.Context(), homeKey{}, subject.ProjectID)
	subject.TenantID, subject.ProjectID = tenant, project
	return r.WithContext(auth.WithSubject(ctx, subject))
}

// objectOf reads which object the route of r is about: the noun and the id that
// its path begins with.
func objectOf(r *http.Request) (noun string, id uuid.UUID, ok bool) {
	route := strings.TrimPrefix(chi.RouteContext(r.Context()).RoutePattern(), apiPrefix)
	noun, rest, _ := strings.Cut(strings.TrimPrefix(route, "/"), "/")
	param, _, _ := strings.Cut(rest, "/")
	if !strings.HasPrefix(param, "{") {
		return "", uuid.Nil, false
	}
	id, err := uuid.Parse(chi.URLParam(r, strings.Trim(param, "{}")))
	return noun, id, err == nil
}

func (h *Handlers) placeOf(ctx context.Context, noun string, id uuid.UUID) (tenant, project uuid.UUID, err error) {
	switch noun {
	case "executions":
		return h.Executions.Place(ctx, id)
	case "artifacts":
		return h.Artifacts.Place(ctx, id)
	case "workflows", "launch":
		tenant, project, err = h.Workflows.Place(ctx, id)
		if err != nil && noun == "workflows" { // the design document's API has executions there
			return h.Executions.Place(ctx, id)
		}
		return tenant, project, err
	}
	subject, err := auth.SignedIn(ctx)
	return subject.TenantID, subject.ProjectID, err
}

// visiting reports whether ctx is of another project than the one that its caller
// has chosen. Names mean something else there: links go by ids.
func visiting(ctx context.Context) bool {
	_, ok := ctx.Value(homeKey{}).(uuid.UUID)
	return ok
}

// workflowRef is what a link names a workflow by: its name, or where that would
// not lead to it its id.
func workflowRef(ctx context.Context, name string, id uuid.UUID) string {
	if visiting(ctx) {
		return id.String()
	}
	return name
}

// apiInPlace is inPlace for the operations of the API.
func (h *Handlers) apiInPlace(ctx huma.Context, next func(huma.Context)) {
	r, _ := humachi.Unwrap(ctx)
	next(huma.WithContext(ctx, h.inPlace(r).Context()))
}

// projects are those that the reader of ctx may go to, by their labels.
func (h *Handlers) projects(ctx context.Context) []views.Project {
	subject, ok := auth.SubjectOf(ctx)
	if !ok || h.Policies == nil {
		return nil
	}
	var mine []auth.Place
	tenants := map[uuid.UUID]bool{}
	for _, place := range h.Policies.AllProjects() {
		if place.ID == subject.ProjectID || subject.May(auth.TenancyRead, place.ID) {
			mine = append(mine, place)
			tenants[place.TenantID] = true
		}
	}
	out := make([]views.Project, len(mine))
	for i, place := range mine {
		out[i] = views.Project{ID: place.ID.String(), Name: place.Name, Current: place.ID == subject.ProjectID}
		if len(place.Path) > 0 {
			out[i].Path = strings.Join(place.Path[1:], " › ")
			if len(tenants) > 1 {
				out[i].Tenant = place.Path[0]
			}
		}
	}
	return out
}
