package sweep

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
)

// guarded advances a sweep. A panic pauses the sweep and does not end the server, since every leader
// after this one would end in the same way.
func (s advancer) guarded(ctx context.Context, id uuid.UUID) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			s.config.Logger.Error("a sweep panicked, so it is paused", "sweep", id, "panic", cause, "stack", string(debug.Stack()))
			err = s.halt(ctx, id, Paused, ReasonFault, "An internal error occurred, so the sweep was paused. Resume it to try again; the server's log contains the cause.")
		}
	}()
	err = s.advance(ctx, id)
	if unreadable(err) {
		return s.setAside(ctx, id, err)
	}
	return err
}

// giveUp pauses a sweep whose next runs can never be chosen. Other errors are retried.
func (s advancer) giveUp(ctx context.Context, id uuid.UUID, err error) error {
	if unreadable(err) {
		return err
	}
	switch apperr.CodeOf(err) { //nolint:exhaustive // the others pass
	case apperr.NotFound, apperr.Invalid, apperr.Forbidden, apperr.Conflict:
		return s.halt(ctx, id, Paused, ReasonFault, "The next runs cannot be chosen. "+apperr.MessageOf(err))
	}
	return fmt.Errorf("propose runs of sweep %s: %w", id, err)
}
