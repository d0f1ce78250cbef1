package artifact

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// OfExecutions returns the artifacts of executions, by node, name and latest attempt, and the
// executions that have more than limit artifacts. projects are those of the executions.
func (s *Service) OfExecutions(ctx context.Context, executions, projects []uuid.UUID, limit int) (found []Artifact, cut []uuid.UUID, err error) {
	if _, err := auth.SignedIn(ctx); err != nil {
		return nil, nil, err
	}
	for i, p := range projects {
		if _, err := auth.AuthorizeIn(ctx, auth.ArtifactRead, p, absent(executions[i])); err != nil {
			return nil, nil, err
		}
	}
	rows, err := db.New(s.pool).ArtifactsOfExecutions(ctx, executions, int32(limit)+1) //nolint:gosec // small
	if err != nil {
		return nil, nil, fmt.Errorf("artifacts of %d executions: %w", len(executions), err)
	}
	all, err := fromRows(rows)
	if err != nil {
		return nil, nil, err
	}
	count := map[uuid.UUID]int{}
	for _, a := range all {
		if !slices.Contains(projects, a.ProjectID) {
			continue
		}
		if count[a.ExecutionID]++; count[a.ExecutionID] > limit {
			cut = append(cut, a.ExecutionID)
			continue
		}
		found = append(found, a)
	}
	return found, cut, nil
}

// Several returns those of the artifacts that exist and that the caller may read, in one query.
func (s *Service) Several(ctx context.Context, ids []uuid.UUID) ([]Artifact, error) {
	if _, err := auth.SignedIn(ctx); err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := db.New(s.pool).ArtifactsByID(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read %d artifacts: %w", len(ids), err)
	}
	may := map[uuid.UUID]bool{} // by project
	for _, row := range rows {
		if _, known := may[row.ProjectID]; known {
			continue
		}
		_, err := auth.AuthorizeIn(ctx, auth.ArtifactRead, row.ProjectID, absent(row.ID))
		if err != nil && !apperr.Is(err, apperr.NotFound) && !apperr.Is(err, apperr.Forbidden) {
			return nil, err
		}
		may[row.ProjectID] = err == nil
	}
	return fromRows(slices.DeleteFunc(rows, func(row db.Artifact) bool { return !may[row.ProjectID] }))
}
