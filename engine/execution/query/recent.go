package query

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/execution/stored"
)

// recentScanned is how many executions of a user RecentInputs reads.
const recentScanned = 500

// RecentInput is the newest execution of a user with certain inputs.
type RecentInput struct {
	ID        uuid.UUID
	Name      string
	Status    State
	Version   string
	Inputs    map[string]any
	CreatedAt time.Time
}

// RecentInputs returns the caller's distinct inputs of a workflow among their last 500 executions of
// it, newest first. Runs of sweeps do not count.
func (q *Reader) RecentInputs(ctx context.Context, workflow, project uuid.UUID, limit int) ([]RecentInput, error) {
	subject, err := auth.AuthorizeIn(ctx, auth.ExecutionRead, project, Absent(workflow))
	if err != nil {
		return nil, err
	}
	rows, err := q.queries.RecentInputs(ctx, db.RecentInputsParams{
		WorkflowID: workflow, ProjectID: project, UserID: subject.ID, Scanned: recentScanned, RowLimit: int32(limit), //nolint:gosec // a constant of the caller
	})
	if err != nil {
		return nil, fmt.Errorf("recent inputs of workflow %s: %w", workflow, err)
	}
	out := make([]RecentInput, 0, len(rows))
	for _, row := range rows {
		out = append(out, RecentInput{
			ID: row.ID, Name: row.Name, Status: State(row.Status), Version: row.Version, Inputs: stored.Object(row.Inputs), CreatedAt: row.CreatedAt.UTC(),
		})
	}
	return out, nil
}
