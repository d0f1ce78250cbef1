// Package request reads what requests name: the object of a path, and the project
// that the request works in.
package request

import (
	"context"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/web"
)

// Every request is in one project, its subject's. One that names an execution, an
// artifact or a workflow by its id is in the project of that object, when its
// caller may read it there: so a link works for every member, whatever project
// they have chosen, and everything on the page is of the same project.

// APIPrefix is the path that the JSON API is below.
const APIPrefix = "/api/v1"

// Scope finds the project that a request works in.
type Scope struct {
	Site       *web.Site
	Executions *execution.Service
	Artifacts  *artifact.Service
	Workflows  *workflow.Service
}

type homeKey struct{}

// Of moves r into the project of the object that its path names. A request
// for what is not there, or not the caller's to see, stays where it is and is
// refused by the service.
func (h Scope) Of(r *http.Request) *http.Request {
	subject, ok := auth.SubjectOf(r.Context())
	noun, id, named := objectOf(r)
	if !ok || !named {
		return r
	}
	tenant, project, err := h.projectOf(r.Context(), noun, id)
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
	route := strings.TrimPrefix(chi.RouteContext(r.Context()).RoutePattern(), APIPrefix)
	noun, rest, _ := strings.Cut(strings.TrimPrefix(route, "/"), "/")
	param, _, _ := strings.Cut(rest, "/")
	if !strings.HasPrefix(param, "{") {
		return "", uuid.Nil, false
	}
	id, err := uuid.Parse(chi.URLParam(r, strings.Trim(param, "{}")))
	return noun, id, err == nil
}

func (h Scope) projectOf(ctx context.Context, noun string, id uuid.UUID) (tenant, project uuid.UUID, err error) {
	switch noun {
	case "executions":
		return h.Executions.Scope(ctx, id)
	case "artifacts":
		return h.Artifacts.Scope(ctx, id)
	case "workflows", "launch":
		tenant, project, err = h.Workflows.Scope(ctx, id)
		if err != nil && noun == "workflows" { // the design document's API has executions there
			return h.Executions.Scope(ctx, id)
		}
		return tenant, project, err
	}
	subject, err := auth.SignedIn(ctx)
	return subject.TenantID, subject.ProjectID, err
}

// Visiting reports whether ctx is of another project than the one that its caller
// has chosen. Names mean something else there: links go by ids.
func Visiting(ctx context.Context) bool {
	_, ok := ctx.Value(homeKey{}).(uuid.UUID)
	return ok
}

// WorkflowRef is what a link names a workflow by: its name, or where that would
// not lead to it its id.
func WorkflowRef(ctx context.Context, name string, id uuid.UUID) string {
	if Visiting(ctx) {
		return id.String()
	}
	return name
}

// Page serves f to signed-in callers, in the project of what the path names; the
// services decide what a caller may do there.
func (h Scope) Page(f web.HandlerFunc) http.HandlerFunc {
	return h.Site.Handler(func(w http.ResponseWriter, r *http.Request) error {
		if _, ok := auth.SubjectOf(r.Context()); !ok {
			return apperr.New(apperr.Unauthenticated, "Sign in to continue.")
		}
		return f(w, h.Of(r))
	})
}
