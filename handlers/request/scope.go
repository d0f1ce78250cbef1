// Package request reads the object in the path of a request and the project of the request.
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
	"github.com/flowforge/flowforge/data/report"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/web"
)

// Every request is in one project, the subject's. A request that names an execution, an
// artifact or a workflow by its id is in the project of that object if the caller may read
// it there. So a link works for every member in any current project, and everything on the
// page belongs to the same project.

// APIPrefix is the path prefix of the JSON API.
const APIPrefix = "/api/v1"

// Scope finds the project of a request.
type Scope struct {
	Site       *web.Site
	Executions *query.Reader
	Artifacts  *artifact.Service
	Workflows  *workflow.Service
	Reports    *report.Service
}

type homeKey struct{}

// Of moves r into the project of the object in its path. A request for an object that does
// not exist, or that the caller may not see, keeps its project, and the service rejects it.
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
	return h.In(r, tenant, project)
}

// In moves r into a project, in which the caller may read the object that r is about.
func (h Scope) In(r *http.Request, tenant, project uuid.UUID) *http.Request {
	subject, ok := auth.SubjectOf(r.Context())
	if !ok || subject.ProjectID == project {
		return r
	}
	ctx := context.WithValue(r.Context(), homeKey{}, subject.ProjectID)
	subject.TenantID, subject.ProjectID = tenant, project
	return r.WithContext(auth.WithSubject(ctx, subject))
}

// objectOf reads the object of the route of r: the noun and the id at the beginning of the
// path.
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
	case "reports":
		return h.Reports.Scope(ctx, id)
	case "workflows", "launch":
		tenant, project, err = h.Workflows.Scope(ctx, id)
		if err != nil && noun == "workflows" { // in the design document's API, these are executions
			return h.Executions.Scope(ctx, id)
		}
		return tenant, project, err
	}
	subject, err := auth.SignedIn(ctx)
	return subject.TenantID, subject.ProjectID, err
}

// Visiting reports whether the project of ctx is not the caller's current project. Names can
// differ between projects, so links use ids then.
func Visiting(ctx context.Context) bool {
	_, ok := ctx.Value(homeKey{}).(uuid.UUID)
	return ok
}

// WorkflowRef is the name of a workflow for links, or its id where the name would not lead
// to it.
func WorkflowRef(ctx context.Context, name string, id uuid.UUID) string {
	if Visiting(ctx) {
		return id.String()
	}
	return name
}

// Page serves f to signed-in callers, in the project of the object in the path. The services
// check the permissions of the caller.
func (h Scope) Page(f web.HandlerFunc) http.HandlerFunc {
	return h.Site.Handler(func(w http.ResponseWriter, r *http.Request) error {
		if _, ok := auth.SubjectOf(r.Context()); !ok {
			return apperr.New(apperr.Unauthenticated, "Sign in to continue.")
		}
		return f(w, h.Of(r))
	})
}
