package query

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// openLogLimit is how long readers of a log wait for lines of an attempt that has ended.
const openLogLimit = time.Hour

// LogFollows reports whether lines of attempts that have ended are still arriving. The
// caller has read the execution.
func (q *Reader) LogFollows(ctx context.Context, id uuid.UUID) (bool, error) {
	open, err := q.queries.HasOpenLogs(ctx, id, q.now().Add(-openLogLimit))
	if err != nil {
		return false, fmt.Errorf("find open logs: %w", err)
	}
	return open, nil
}
