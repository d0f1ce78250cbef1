package replica

import "context"

// Stale reports whether a read of ctx may have come from the replica.
func Stale(ctx context.Context) bool {
	q, _ := ctx.Value(contextKey{}).(*request)
	if q == nil {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.decided && !q.primary
}
