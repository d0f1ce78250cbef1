package executions

import (
	"context"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/handlers/artifacts"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
)

const artifactsShown = 50 // on the page of their execution

// artifactsOf are the first artifacts of an execution.
func (h *Pages) artifactsOf(ctx context.Context, clock ui.Clock, id uuid.UUID, ended bool, list artifactLister) (views.ExecutionArtifacts, error) {
	page, err := list(ctx, artifact.Filter{ExecutionID: &id, Limit: artifactsShown})
	if err != nil {
		return views.ExecutionArtifacts{}, err
	}
	out := views.ExecutionArtifacts{Ended: ended}
	for _, a := range page.Artifacts {
		out.Rows = append(out.Rows, artifacts.Row(clock, a))
	}
	if len(out.Rows) > 0 {
		out.MoreURL = views.ArtifactsOfURL(id.String())
	}
	return out, nil
}
