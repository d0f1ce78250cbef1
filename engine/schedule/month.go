package schedule

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// Limits of months.
const (
	// MaxMonthDays bounds the time span of a month: six weeks.
	MaxMonthDays = 43
	// MaxMonthFires is how many runs of one schedule a month computes: more than one every 15
	// minutes of six weeks. Schedules that run more often are listed without their runs.
	MaxMonthFires = 4200
	maxDayFires   = 2000
)

// Month contains the runs of all schedules of a project in a time span.
type Month struct {
	Days     []MonthDay
	Frequent []Schedule // those that run too often to be drawn
}

// MonthDay is a day of a month, in the time zone of its reader.
type MonthDay struct {
	Day      time.Time // its beginning
	Past     int       // runs that were decided
	Failed   int       // of Past
	Upcoming int
	Hours    [24]int // runs by hour of the clock, past and planned
	Decided  [24]int // of Hours: runs that were decided
}

// MonthFire is one run on a day: planned, or decided.
type MonthFire struct {
	Schedule   string
	ScheduleID uuid.UUID
	At         time.Time
	Occurrence *Occurrence // nil: coming
}

// Month returns the days from one until before another, in their time zone. Runs before now come
// from the occurrences. Later ones are computed for schedules that are not paused.
func (r Reader) Month(ctx context.Context, from, until time.Time) (Month, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return Month{}, err
	}
	var out Month
	for day := from; day.Before(until); day = day.AddDate(0, 0, 1) {
		out.Days = append(out.Days, MonthDay{Day: day})
	}
	if len(out.Days) == 0 || len(out.Days) > MaxMonthDays {
		return Month{}, apperr.New(apperr.Invalid, "Choose 1 to %d days.", MaxMonthDays)
	}
	zone := from.Location()
	at := func(t time.Time) *MonthDay {
		t = t.In(zone)
		i, found := slices.BinarySearchFunc(out.Days, t, func(d MonthDay, t time.Time) int { return d.Day.Compare(t) })
		if !found {
			i--
		}
		if i < 0 || i >= len(out.Days) {
			return nil
		}
		return &out.Days[i]
	}
	counts, err := r.schedules.queries.CountOccurrencesByHour(ctx, zone.String(), subject.ProjectID, from, until)
	if err != nil {
		return Month{}, fmt.Errorf("count occurrences: %w", err)
	}
	for _, c := range counts {
		h, err := time.Parse("2006-01-02 15", c.Hour)
		if err != nil {
			return Month{}, fmt.Errorf("hour of occurrences: %w", err)
		}
		if d := at(time.Date(h.Year(), h.Month(), h.Day(), 12, 0, 0, 0, zone)); d != nil {
			d.Past += int(c.Fires)
			d.Failed += int(c.Failed)
			d.Hours[h.Hour()] += int(c.Fires)
			d.Decided[h.Hour()] += int(c.Fires)
		}
	}
	err = r.eachUpcoming(ctx, subject.ProjectID, from, until, func(sc Schedule, fires []time.Time, all bool) {
		if !all {
			out.Frequent = append(out.Frequent, sc)
			return
		}
		for _, fire := range fires {
			if d := at(fire); d != nil {
				d.Upcoming++
				d.Hours[fire.In(zone).Hour()]++
			}
		}
	})
	return out, err
}

// eachUpcoming calls f with the planned runs of each schedule in a time span; all is false if
// there are more than MaxMonthFires.
func (r Reader) eachUpcoming(ctx context.Context, project uuid.UUID, from, until time.Time, f func(sc Schedule, fires []time.Time, all bool)) error {
	rows, err := r.schedules.queries.SearchSchedules(ctx, db.SearchSchedulesParams{ProjectID: project, Paused: new(false), MaxRows: MaxPerProject})
	if err != nil {
		return fmt.Errorf("list schedules: %w", err)
	}
	for _, row := range rows {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("compute fires: %w", err)
		}
		if row.NextAt == nil || !row.NextAt.Before(until) {
			continue
		}
		sc, t, fields, err := r.schedules.read(ctx, r.schedules.queries, row)
		if err != nil {
			return err
		}
		if len(fields) > 0 {
			continue // the loop pauses it and says why
		}
		fires, all := t.between(maxTime(from, *sc.NextAt), until)
		f(sc, fires, all)
	}
	return nil
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// between returns the runs from one time until before another; all is false if there are more
// than MaxMonthFires.
func (t timing) between(from, until time.Time) (fires []time.Time, all bool) {
	for at := t.next(from.Add(-time.Nanosecond)); !at.IsZero() && at.Before(until); at = t.next(at) {
		if len(fires) == MaxMonthFires {
			return nil, false
		}
		fires = append(fires, at)
	}
	return fires, true
}

// Day returns the runs of a day, oldest first, and false if there are more than a page contains.
func (r Reader) Day(ctx context.Context, day time.Time) ([]MonthFire, bool, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return nil, false, err
	}
	until := day.AddDate(0, 0, 1)
	rows, err := r.schedules.queries.ListProjectOccurrences(ctx, subject.ProjectID, day, until, maxDayFires+1)
	if err != nil {
		return nil, false, fmt.Errorf("list occurrences of a day: %w", err)
	}
	var out []MonthFire
	for _, row := range rows {
		o := Occurrence{
			FireAt: row.FireAt.UTC(), LastFireAt: row.LastFireAt.UTC(), Fires: row.Fires, IntervalStart: row.IntervalStart.UTC(), State: State(row.State), Reason: row.Reason,
			Message: row.Message, ExecutionID: row.ExecutionID, DecidedAt: row.DecidedAt.UTC(), StartedAt: row.StartedAt, FinishedAt: row.FinishedAt, Failure: row.Failure,
		}
		if row.Status != nil {
			o.Status = *row.Status
		}
		out = append(out, MonthFire{Schedule: row.Name, ScheduleID: row.ScheduleID, At: o.FireAt, Occurrence: &o})
	}
	err = r.eachUpcoming(ctx, subject.ProjectID, day, until, func(sc Schedule, fires []time.Time, _ bool) {
		for _, fire := range fires {
			out = append(out, MonthFire{Schedule: sc.Name, ScheduleID: sc.ID, At: fire})
		}
	})
	if err != nil {
		return nil, false, err
	}
	slices.SortStableFunc(out, func(a, b MonthFire) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Schedule, b.Schedule)) })
	if len(out) > maxDayFires {
		return out[:maxDayFires], false, nil
	}
	return out, true, nil
}
