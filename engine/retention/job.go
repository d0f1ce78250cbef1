package retention

import (
	"context"
	"time"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
)

// SweepArgs requests a sweep when one is due.
type SweepArgs struct{}

// Kind names the job.
func (SweepArgs) Kind() string { return "sweep" }

// SweepWhenDue sweeps unless the latest sweep began less than every ago, or one is
// running. The maintenance job calls it, also at every start of a server.
func (s *Service) SweepWhenDue(ctx context.Context, every time.Duration) error {
	latest, err := s.queries.LatestSweep(ctx)
	if err != nil {
		return err
	}
	if s.now().Sub(latest) < every-every/10 { // jobs do not run on the exact second
		return nil
	}
	_, err = s.Sweep(auth.AsSystem(ctx), false)
	if apperr.Is(err, apperr.Conflict) {
		return nil
	}
	return err
}
