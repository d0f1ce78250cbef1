package jobs

import (
	"context"

	"github.com/google/uuid"
	"github.com/riverqueue/river"

	"github.com/flowforge/flowforge/engine/execution"
)

// WorkInEndedTerm runs the drive job of an execution in a term that has ended.
func WorkInEndedTerm(ctx context.Context, driver *execution.Driver, id uuid.UUID) error {
	ended := newTerm()
	ended.end()
	w := driveWorker{driver: driver, term: ended}
	return w.Work(ctx, &river.Job[execution.DriveArgs]{Args: execution.DriveArgs{ExecutionID: id}})
}
