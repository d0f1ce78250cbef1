package quota

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// maintain runs every minute.
func (s *Service) maintain(ctx context.Context) error {
	if s.follower.Load() {
		return errors.Join(s.Storage.refresh(ctx), s.refresh(ctx))
	}
	return s.Maintain(ctx)
}

// Maintain is what Run does every minute in the leader: it releases abandoned
// reservations, compares counters with reservations, corrects the image in memory,
// drops requests that wait elsewhere, and stores samples.
func (s *Service) Maintain(ctx context.Context) error {
	_, err := s.Reconciler.Collect(ctx)
	return errors.Join(err, s.Reconciler.Reconcile(ctx), s.Storage.refresh(ctx), s.refresh(ctx), s.forgetForeign(ctx), s.samples.store(ctx))
}

// forgetForeign removes requests of executions from the queue that have ended or that
// another server drives now: no loop here would claim their offers.
func (s *Service) forgetForeign(ctx context.Context) error {
	waiting := s.fair.WaitingExecutions()
	if len(waiting) == 0 {
		return nil
	}
	ids, err := s.queries.DrivenElsewhere(ctx, waiting, s.config.Instance+"/")
	if err != nil {
		return fmt.Errorf("find requests that wait elsewhere: %w", err)
	}
	for _, id := range ids {
		s.fair.WithdrawAll(id)
	}
	return nil
}

// longestTransaction is the maximum time between a decision in memory and its commit.
const longestTransaction = time.Minute

// refresh corrects the image in memory from the rows.
func (s *Service) refresh(ctx context.Context) error {
	asOf := s.now().Add(-longestTransaction)
	held, err := heldReservations(ctx, s.queries)
	if err != nil {
		return err
	}
	s.fair.Refresh(asOf, held)
	return nil
}
