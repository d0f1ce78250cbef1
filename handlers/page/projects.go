package page

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/views"
)

// Projects are the projects that the reader of ctx can open, sorted by label.
func (h *Shell) Projects(ctx context.Context) []views.Project {
	subject, ok := auth.SubjectOf(ctx)
	if !ok || h.Policies == nil {
		return nil
	}
	var mine []auth.ProjectRef
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
