package schedule

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
)

// Check returns the error that Create would return, or Replace for the schedule with an ID. It
// stores nothing.
func (s *Service) Check(ctx context.Context, sp Spec, id *uuid.UUID) error {
	if id != nil {
		if _, _, err := s.changeable(ctx, *id); err != nil {
			return err
		}
	}
	_, err := s.check(ctx, sp)
	return err
}

// Sample returns the inputs of the next run of a When, with their tags replaced. ok is false for
// a When that is invalid or never runs. The fields name the tags that cannot be replaced.
func (s *Service) Sample(ctx context.Context, w When, inputs map[string]any) (out map[string]any, fire time.Time, fields []apperr.Field, ok bool) {
	sp := Spec{When: w}
	sp.fill(s.now())
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil || s.findCalendar(ctx, subject.ProjectID, &sp.When) != nil {
		return nil, time.Time{}, nil, false
	}
	t, problems := sp.read()
	if len(problems) > 0 {
		return nil, time.Time{}, nil, false
	}
	next := t.next(s.now())
	if next.IsZero() {
		return nil, time.Time{}, nil, false
	}
	times := t.times(t.before(next), next)
	out, fields = render(inputs, times)
	return out, times.Scheduled, fields, true
}

// HasTag reports whether a text contains a tag of a schedule.
func HasTag(text string) bool { return tag.MatchString(text) }

// SetPaused pauses or resumes the schedules of the caller's project with these IDs, and returns
// how many it changed. Resumed schedules drop their missed runs. It stops at the first schedule
// that the caller may not change.
func (s *Service) SetPaused(ctx context.Context, ids []uuid.UUID, paused bool) (int, error) {
	if _, err := auth.Authorize(ctx, auth.ExecutionRead); err != nil {
		return 0, err
	}
	changed := 0
	for _, id := range ids {
		sc, err := s.Get(ctx, id)
		if err != nil {
			return changed, err
		}
		if sc.Paused == paused {
			continue
		}
		if paused {
			_, err = s.Pause(ctx, id)
		} else {
			_, err = s.Resume(ctx, id, false)
		}
		if err != nil {
			return changed, fmt.Errorf("change schedule %q: %w", sc.Name, err)
		}
		changed++
	}
	return changed, nil
}
