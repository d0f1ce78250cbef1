package execution

import (
	"context"
	"fmt"

	"github.com/flowforge/flowforge/data/artifact"
	"github.com/flowforge/flowforge/db"
)

// artifactOutputs are the artifacts that the results of a flush publish.
type artifactOutputs struct {
	feature

	part artifactsPart
}

type artifactsPart struct{ fresh []artifact.New }

// add publishes artifacts with the next flush.
func (ao *artifactOutputs) add(list []artifact.New) { ao.part.fresh = append(ao.part.fresh, list...) }

func (ao *artifactOutputs) pending() bool { return len(ao.part.fresh) > 0 }

func (ao *artifactOutputs) reset() { ao.part = artifactsPart{} }

func (ao *artifactOutputs) write(ctx context.Context, q *db.Queries) error {
	if len(ao.part.fresh) == 0 {
		return nil
	}
	if err := ao.loop.driver.artifacts.Publish(ctx, q, ao.loop.row.TenantID, ao.loop.row.ProjectID, ao.part.fresh); err != nil {
		return fmt.Errorf("publish artifacts: %w", err)
	}
	return nil
}
