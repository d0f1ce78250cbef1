package execution

import (
	"context"
	"fmt"
)

// tooLate reports whether the retry policy of node i allows no attempt after e, because its
// first one is too long ago. If the history cannot be read, the end of the attempt is applied again.
func (es *attemptEnds) tooLate(ctx context.Context, i int, e ending) bool {
	limit := es.loop.operator(i).Retry.MaxDuration
	if limit <= 0 {
		return false
	}
	attempts, err := es.loop.driver.queries.ListAttempts(ctx, es.loop.id, int32(i)) //nolint:gosec // fewer nodes than maxNodes
	if err != nil {
		es.loop.cannotRead(&readError{fmt.Errorf("attempts of node %d: %w", i, err)})
		return false
	}
	if len(attempts) == 0 {
		return false
	}
	first := attempts[0].QueuedAt
	for _, a := range attempts {
		if a.QueuedAt.Before(first) {
			first = a.QueuedAt
		}
	}
	return e.FinishedAt.Sub(first) >= limit
}
