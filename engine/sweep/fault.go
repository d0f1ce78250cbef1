package sweep

import (
	"context"
	"runtime/debug"

	"github.com/google/uuid"
)

// guarded advances a sweep. A panic pauses the sweep and does not end the server, since every leader
// after this one would end in the same way.
func (s *Service) guarded(ctx context.Context, id uuid.UUID) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			s.config.Logger.Error("a sweep panicked, so it is paused", "sweep", id, "panic", cause, "stack", string(debug.Stack()))
			err = s.halt(ctx, id, Paused, ReasonFault, "An internal error occurred, so the sweep is paused. Resume it to try again; the log of the server has the cause.")
		}
	}()
	return s.advance(ctx, id)
}
