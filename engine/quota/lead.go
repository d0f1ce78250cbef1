package quota

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/engine/quota/fair"
)

// StepDown makes this process a follower: it decides about nobody, forgets who waits,
// and leaves the counters and samples to the process that decides. A Service that was
// never told so decides by itself.
func (s *Service) StepDown() {
	s.follower.Store(true)
	s.forgetQueue()
}

// TakeOver makes this process the one that decides, from what the rows say now.
func (s *Service) TakeOver(ctx context.Context) error {
	s.forgetQueue()
	if err := s.Prepare(ctx); err != nil {
		return err
	}
	s.follower.Store(false)
	return nil
}

// forgetQueue takes everybody out of the queue; the loops of whoever decides ask anew.
func (s *Service) forgetQueue() {
	seen := map[uuid.UUID]struct{}{}
	for _, w := range s.fair.Queue(fair.Filter{}) {
		if _, known := seen[w.Execution]; !known {
			seen[w.Execution] = struct{}{}
			s.fair.Withdraw(w.Execution, nil)
		}
	}
}

// maintain is what Run does every minute.
func (s *Service) maintain(ctx context.Context) error {
	if s.follower.Load() {
		return errors.Join(s.refreshStorage(ctx), s.refresh(ctx))
	}
	return s.Maintain(ctx)
}
