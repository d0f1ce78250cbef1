package schedule

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
)

// FireAll is one look of the loop.
func (s *Service) FireAll(ctx context.Context) error { return s.loop().fireAll(ctx) }

// Look is one look of the loop. It returns how long the loop waits.
func (s *Service) Look(ctx context.Context) time.Duration { return s.loop().look(ctx) }

// PauseFailing is what the loop does from time to time.
func (s *Service) PauseFailing(ctx context.Context) error { return s.loop().pauseAllFailing(ctx) }

// Points are the places of a launch where a crash must be harmless.
func Points() []string {
	return []string{"launch.begin", "launch.within", "launch.recorded", "launch.committed", "settle.begin", "settle.committed"}
}

// FireOne fires one schedule.
func (s *Service) FireOne(ctx context.Context, id uuid.UUID) error {
	return s.loop().fireDue(ctx, []uuid.UUID{id})
}

// FireTogether fires several schedules.
func (s *Service) FireTogether(ctx context.Context, ids []uuid.UUID) error {
	return s.loop().fireDue(ctx, ids)
}

// LaunchQueued launches the first queued occurrence of a schedule, or does nothing without room.
func (s *Service) LaunchQueued(ctx context.Context, id uuid.UUID) error {
	if err := s.loop().launchQueued(ctx, id); !errors.Is(err, errNotDue) {
		return err
	}
	return nil
}

// FollowClock is what the loop does from time to time.
func (s *Service) FollowClock(ctx context.Context) error { return s.loop().followClock(ctx) }

// ExpireHistory is what the loop does from time to time.
func (s *Service) ExpireHistory(ctx context.Context) error { return s.loop().expireHistory(ctx) }
