package quota

import (
	"context"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/engine/quota/fair"
)

// StepDown makes this process a follower: it makes no decisions, clears its queue, and
// leaves the counters and samples to the leader. A Service is a leader until StepDown
// is called.
func (s *Service) StepDown() {
	s.follower.Store(true)
	s.forgetQueue()
}

// TakeOver makes this process the leader, with the state of the rows.
func (s *Service) TakeOver(ctx context.Context) error {
	s.forgetQueue()
	if err := s.Prepare(ctx); err != nil {
		return err
	}
	s.follower.Store(false)
	return nil
}

// forgetQueue clears the queue; the loops repeat their requests at the new leader.
func (s *Service) forgetQueue() {
	seen := map[uuid.UUID]struct{}{}
	for _, w := range s.fair.Queue(fair.Filter{}) {
		if _, known := seen[w.Execution]; !known {
			seen[w.Execution] = struct{}{}
			s.fair.Withdraw(w.Execution, nil)
		}
	}
}
