package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/db"
)

// unreadableError reports that stored JSON does not have the format that this server expects.
type unreadableError struct {
	part  string // such as "space"
	cause error
}

func (e *unreadableError) Error() string { return fmt.Sprintf("decode %s: %v", e.part, e.cause) }

func (e *unreadableError) Unwrap() error { return e.cause }

func unreadable(err error) bool {
	_, ok := errors.AsType[*unreadableError](err)
	return ok
}

// part decodes a stored part of a sweep or of a run; NULL changes nothing.
func part(name string, raw json.RawMessage, into any) error {
	if raw == nil {
		return nil
	}
	if err := decode(raw, into); err != nil {
		return &unreadableError{name, err}
	}
	return nil
}

// unreadableMessage is the text of an unreadableError for users.
func unreadableMessage(err error) string {
	e, ok := errors.AsType[*unreadableError](err)
	if !ok {
		return ""
	}
	return fmt.Sprintf("This server cannot read the stored field %q (%v). A newer server may have written it.", e.part, e.cause)
}

// legible returns the readable parts of a sweep, so that one faulty row does not hide a list.
func legible(row db.InputSweep) Sweep {
	sw, err := fromRow(row)
	if err != nil {
		sw.Reason, sw.Message = ReasonUnreadable, unreadableMessage(err)
	}
	return sw
}

// setAside pauses a sweep that cannot be read. A stopping sweep stays in that state. The driver
// ignores it until a user resumes or stops it, because nothing would have changed.
func (s advancer) setAside(ctx context.Context, id uuid.UUID, cause error) error {
	changed := false
	err := s.change(auth.AsSystem(ctx), id, "sweep.pause", func(_ *db.Queries, row *db.InputSweep) (bool, error) {
		if State(row.State).Ended() || row.Reason == ReasonUnreadable {
			return false, nil
		}
		if State(row.State) == Running {
			row.State = string(Paused)
		}
		row.Reason, row.Message = ReasonUnreadable, unreadableMessage(cause)
		changed = true
		return true, nil
	})
	if err == nil && changed {
		s.config.Logger.Error("a sweep cannot be read, so it is set aside until it is resumed or stopped", "sweep", id, "error", cause)
	}
	return err
}
