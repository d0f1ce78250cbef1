package quota

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/engine/quota/fair"
)

// ClusterProject is a project for the launcher of a cluster. Bounds is the maximum use
// under its limits and those above it, borrowed amounts included; only the cluster
// bounds an absent resource.
type ClusterProject struct {
	ID, TenantID uuid.UUID
	Name         string
	Namespace    string
	Archived     bool
	Bounds       fair.Vector
}

// ClusterProjects returns all projects. The process that manages their namespaces calls
// it.
func (l *Levels) ClusterProjects(ctx context.Context) ([]ClusterProject, error) {
	rows, err := l.queries.ClusterProjects(ctx)
	if err != nil {
		return nil, fmt.Errorf("list projects: %w", err)
	}
	tree := l.fair.Tree()
	projects := make([]ClusterProject, 0, len(rows))
	for _, r := range rows {
		p := ClusterProject{ID: r.ID, Name: r.Name, Archived: r.Archived, Bounds: boundsOf(tree, r.ID)}
		if r.TenantID != nil {
			p.TenantID = *r.TenantID
		}
		if r.Namespace != nil {
			p.Namespace = *r.Namespace
		}
		if p.Namespace != "" {
			projects = append(projects, p)
		}
	}
	return projects, nil
}

// boundsOf is the lowest maximum of the levels below the installation on the path of
// project.
func boundsOf(tree *fair.Tree, project uuid.UUID) fair.Vector {
	bounds := fair.Vector{}
	for _, id := range tree.Path(project) {
		level, ok := tree.Level(id)
		if !ok || id == auth.Installation {
			continue
		}
		for r, limit := range level.Limits.Limit {
			most := limit + level.Limits.Borrow[r]
			if before, bounded := bounds[r]; !bounded || most < before {
				bounds[r] = most
			}
		}
	}
	return bounds
}
