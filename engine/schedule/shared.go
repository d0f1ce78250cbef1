package schedule

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// shared contains what schedules that are due together have in common: most are due at the same
// times. It is read and computed once.
type shared struct {
	now       time.Time
	calendars map[uuid.UUID]*Calendar
	timings   map[timingKey]timingResult
	steps     map[stepKey]step
}

func newShared(now time.Time) *shared {
	return &shared{now: now, calendars: map[uuid.UUID]*Calendar{}, timings: map[timingKey]timingResult{}, steps: map[stepKey]step{}}
}

// timingKey contains the fields of a schedule that its timing depends on.
type timingKey struct {
	expressions, timezone, gap, fold, exclude string
	at, starts, ends, anchor                  time.Time
	businessDays                              bool
	calendar                                  uuid.UUID
}

func timingKeyOf(row db.Schedule) timingKey {
	key := timingKey{
		expressions: strings.Join(row.Expressions, "\n"), timezone: row.Timezone, gap: row.Gap, fold: row.Fold, exclude: string(row.Exclude),
		at: orZero(row.At), starts: orZero(row.StartsAt), ends: orZero(row.EndsAt), anchor: row.Anchor.UTC(), businessDays: row.BusinessDays,
	}
	if row.CalendarID != nil {
		key.calendar = *row.CalendarID
	}
	return key
}

func orZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

// timingResult is the result of When.read.
type timingResult struct {
	timing timing
	fields []apperr.Field
}

// stepKey contains what decide depends on, besides the time.
type stepKey struct {
	timing     timingKey
	next       time.Time
	misfire    Misfire
	catchUp    time.Duration
	catchUpMax int
	delay      time.Duration
}

// decide returns the next step of a schedule.
func (c *shared) decide(ctx context.Context, row db.Schedule, t timing, sc Schedule) (step, error) {
	key := stepKey{timing: timingKeyOf(row), next: *sc.NextAt, misfire: sc.Misfire, catchUp: sc.CatchUp, catchUpMax: sc.CatchUpMax, delay: sc.Delay}
	if st, known := c.steps[key]; known {
		return st, nil
	}
	st, err := decide(ctx, t, sc.Spec, *sc.NextAt, c.now, sc.Delay)
	if err == nil {
		c.steps[key] = st
	}
	return st, err
}

// readShared returns the schedule of a row with its calendar and its timing, and the problems of the
// timing.
func (s *Service) readShared(ctx context.Context, q *db.Queries, row db.Schedule, c *shared) (Schedule, timing, []apperr.Field, error) {
	sc, err := fromRow(row)
	if err != nil {
		return sc, timing{}, nil, err
	}
	if row.CalendarID != nil {
		if sc.calendar, err = c.calendar(ctx, q, *row.CalendarID); err != nil {
			return sc, timing{}, nil, fmt.Errorf("calendar of schedule %s: %w", row.ID, err)
		}
		sc.Calendar = sc.calendar.Name
	}
	key := timingKeyOf(row)
	result, known := c.timings[key]
	if !known {
		result.timing, result.fields = sc.When.read()
		c.timings[key] = result
	}
	return sc, result.timing, result.fields, nil
}

func (c *shared) calendar(ctx context.Context, q *db.Queries, id uuid.UUID) (*Calendar, error) {
	if known, ok := c.calendars[id]; ok {
		return known, nil
	}
	row, err := q.GetCalendar(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("get calendar %s: %w", id, err)
	}
	calendar, err := calendarOf(row)
	if err == nil {
		c.calendars[id] = calendar
	}
	return calendar, err
}
