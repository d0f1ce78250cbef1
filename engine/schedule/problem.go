package schedule

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
)

// problems are the errors of schedules that could not be processed, which do not affect the others.
// The error of a schedule that could be processed is nil.
type problems map[uuid.UUID]error

// err returns the problems as one error.
func (p problems) err() error {
	var failures []error
	for id, err := range p {
		if err != nil {
			failures = append(failures, fmt.Errorf("schedule %s: %w", id, err))
		}
	}
	return joined(failures)
}

// show stores problems, so that the schedules show them, and returns them as one error. what is what could
// not be done; schedules for which it was done no longer show a problem of this kind. If the database is not available, it stores nothing: that is not a problem of the schedules.
func (s loop) show(ctx context.Context, what string, p problems) error {
	ids, texts := make([]uuid.UUID, 0, len(p)), make([]string, 0, len(p))
	for id, err := range p {
		if err != nil && (ctx.Err() != nil || apperr.Is(err, apperr.Unavailable)) {
			continue
		}
		text := ""
		if err != nil {
			text = problemText(what, err)
		}
		ids, texts = append(ids, id), append(texts, text)
	}
	if len(ids) == 0 {
		return p.err()
	}
	err := s.queries.SetScheduleProblems(ctx, problemStart(what), ids, texts)
	if err != nil {
		err = fmt.Errorf("store the problems of %d schedules: %w", len(ids), err)
	}
	return errors.Join(p.err(), err)
}

// problemStart begins the texts of all problems of the same kind.
func problemStart(what string) string { return "FlowForge could not " + what + ", and tries again. " }

// problemText describes a problem and the next step.
func problemText(what string, err error) string {
	text := problemStart(what)
	if apperr.CodeOf(err) == apperr.Internal {
		return text + "The server's log contains the cause: ask an administrator to search it for the ID of this schedule."
	}
	return text + apperr.TextOf(err)
}
