package runner

import (
	"context"
	"time"
)

// idleMemory is how long the supervisor is idle before it returns freed memory to the system.
const idleMemory = 10 * time.Second

// releaseMemory calls release when the supervisor has started, and each time it has become idle, until
// ctx ends.
func (s *Supervisor) releaseMemory(ctx context.Context, after time.Duration, release func()) {
	for {
		timer := time.NewTimer(after)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		changed := s.Changed()
		if _, kept := s.counts(); kept == 0 {
			release()
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}
