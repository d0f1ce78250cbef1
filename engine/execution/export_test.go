package execution

import (
	"context"

	"github.com/google/uuid"
)

// RenewLeases renews the leases of the loops of this process now.
func (s *Service) RenewLeases(ctx context.Context) error { return s.Driver.renewOnce(ctx) }

// FindMissing searches for lost attempts, one of which was already missing in the search before.
func (s *Service) FindMissing(ctx context.Context, execution uuid.UUID, node, attempt int) error {
	return s.Driver.findMissing(ctx, map[attemptID]int{{execution, attemptKey{node, attempt}}: 1})
}

// Starting reports whether a loop of this process may still have to start attempts.
func (s *Service) Starting(execution uuid.UUID) bool { return s.Driver.starting(execution) }

// Drives reports whether a loop of this process drives an execution.
func (s *Service) Drives(execution uuid.UUID) bool {
	_, ok := s.Driver.live.get(execution)
	return ok
}
