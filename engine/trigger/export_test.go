package trigger

import (
	"context"

	"github.com/google/uuid"
)

// RetryTrigger delivers the waiting events of a trigger in the goroutine of the caller.
func (s *Service) RetryTrigger(ctx context.Context, id uuid.UUID) error {
	return s.retryTrigger(ctx, id)
}
