package schedule

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// Save creates the calendar of the caller's project with this name, or replaces it. Schedules
// that use it follow the new days immediately. It returns Invalid with fields, and Forbidden for
// users who may not cancel other users' executions.
func (l Calendars) Save(ctx context.Context, c Calendar) (Calendar, error) {
	return l.store(ctx, c, func(*db.ScheduleCalendar) error { return nil })
}

// Create is Save for a name that the project does not have yet. For an existing name, it returns
// Invalid with the field name.
func (l Calendars) Create(ctx context.Context, c Calendar) (Calendar, error) {
	return l.store(ctx, c, func(found *db.ScheduleCalendar) error {
		if found == nil {
			return nil
		}
		return apperr.InvalidFields("The calendar cannot be saved with these values.", []apperr.Field{{Path: "name", Message: fmt.Sprintf("There is already a calendar %q in the project. Change that calendar, or choose another name.", found.Name)}})
	})
}

// Update is Save for a calendar that was last changed at based. It returns Conflict if the
// calendar was changed or deleted since then.
func (l Calendars) Update(ctx context.Context, c Calendar, based time.Time) (Calendar, error) {
	return l.store(ctx, c, func(found *db.ScheduleCalendar) error {
		switch {
		case found == nil:
			return apperr.New(apperr.Conflict, "Another user has deleted the calendar in the meantime. To keep your version, create a calendar with these values.")
		case !found.UpdatedAt.Equal(based):
			return apperr.New(apperr.Conflict, "Another user has changed the calendar in the meantime. To compare, open the calendar in another tab. To replace that version with yours, save again.")
		}
		return nil
	})
}

// store saves a calendar if accept returns nil for the existing one of that name, which is nil
// if there is none.
func (l Calendars) store(ctx context.Context, c Calendar, accept func(found *db.ScheduleCalendar) error) (Calendar, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionCancelAny)
	if err != nil {
		return Calendar{}, err
	}
	c.fill()
	if fields := c.problems(); len(fields) > 0 {
		return Calendar{}, apperr.InvalidFields("The calendar cannot be saved with these values.", fields)
	}
	err = db.Tx(ctx, l.service.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
		if _, err := q.LockActiveProject(ctx, subject.ProjectID); db.IsNoRows(err) {
			return apperr.New(apperr.Conflict, "The project is archived, so its calendars cannot be changed.")
		} else if err != nil {
			return err
		}
		return l.write(ctx, q, subject, c, accept)
	})
	if err != nil {
		return Calendar{}, fmt.Errorf("save calendar %q: %w", c.Name, err)
	}
	l.service.Wake()
	return l.Get(ctx, c.Name)
}

// write writes a calendar. The project is locked.
func (l Calendars) write(ctx context.Context, q *db.Queries, subject auth.Subject, c Calendar, accept func(*db.ScheduleCalendar) error) error {
	holidays, err := encode(c.Holidays)
	if err != nil {
		return err
	}
	blackouts, err := encode(c.Blackouts)
	if err != nil {
		return err
	}
	row, err := q.LockCalendarByName(ctx, subject.ProjectID, c.Name)
	if db.IsNoRows(err) {
		if err := accept(nil); err != nil {
			return err
		}
		id, err := uuid.NewV7()
		if err != nil {
			return fmt.Errorf("make calendar id: %w", err)
		}
		row = db.ScheduleCalendar{
			ID: id, TenantID: subject.TenantID, ProjectID: subject.ProjectID, Name: c.Name, Description: c.Description, Weekend: c.Weekend, Holidays: holidays, Blackouts: blackouts,
		}
		if err := q.InsertCalendar(ctx, db.InsertCalendarParams{
			ID: id, TenantID: row.TenantID, ProjectID: row.ProjectID, Name: row.Name, Description: row.Description, Weekend: row.Weekend,
			Holidays: row.Holidays, Blackouts: row.Blackouts, Now: l.service.now(),
		}); db.Constraint(err) == "schedule_calendars_name_key" {
			return apperr.Wrap(apperr.Conflict, err, "Another user has just created the calendar "+c.Name+". Open that calendar and change it, or choose another name.")
		} else if err != nil {
			return fmt.Errorf("insert calendar: %w", err)
		}
		return audit.Record(ctx, q, calendarEntry("schedule_calendar.create", row, nil, calendarFacts(row)))
	}
	if err != nil {
		return fmt.Errorf("find calendar %q: %w", c.Name, err)
	}
	if err := accept(&row); err != nil {
		return err
	}
	before := calendarFacts(row)
	row.Name, row.Description, row.Weekend, row.Holidays, row.Blackouts = c.Name, c.Description, c.Weekend, holidays, blackouts
	if err := q.UpdateCalendar(ctx, db.UpdateCalendarParams{
		ID: row.ID, Name: row.Name, Description: row.Description, Weekend: row.Weekend, Holidays: row.Holidays, Blackouts: row.Blackouts, Now: l.service.now(),
	}); err != nil {
		return fmt.Errorf("update calendar: %w", err)
	}
	if err := l.follow(ctx, q, row.ID); err != nil {
		return err
	}
	return audit.Record(ctx, q, calendarEntry("schedule_calendar.update", row, before, calendarFacts(row)))
}

// follow recomputes the next runs of the schedules that use a calendar.
func (l Calendars) follow(ctx context.Context, q *db.Queries, id uuid.UUID) error {
	rows, err := q.SchedulesWithCalendar(ctx, &id)
	if err != nil {
		return fmt.Errorf("schedules of calendar %s: %w", id, err)
	}
	for _, row := range rows {
		_, t, fields, err := l.service.read(ctx, q, row)
		if err != nil {
			return err
		}
		if len(fields) > 0 {
			continue // the next run pauses it
		}
		keepNext(&row, t, l.service.now())
		row.UpdatedAt = l.service.now()
		if err := q.UpdateSchedule(ctx, update(row)); err != nil {
			return fmt.Errorf("compute schedule %s again: %w", row.ID, err)
		}
	}
	return nil
}

// Delete removes a calendar of the caller's project by its name or ID. It returns Conflict
// while schedules use it.
func (l Calendars) Delete(ctx context.Context, ref string) error {
	subject, err := auth.Authorize(ctx, auth.ExecutionCancelAny)
	if err != nil {
		return err
	}
	return db.Tx(ctx, l.service.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
		row, err := calendarRow(ctx, q, subject.ProjectID, ref)
		if err != nil {
			return err
		}
		used, err := q.SchedulesWithCalendar(ctx, &row.ID)
		if err != nil {
			return fmt.Errorf("schedules of calendar %s: %w", row.ID, err)
		}
		if len(used) > 0 {
			return apperr.New(apperr.Conflict, "%s", inUse(row.Name, used))
		}
		if err := q.DeleteCalendar(ctx, row.ID); err != nil {
			return fmt.Errorf("delete calendar %s: %w", row.ID, err)
		}
		return audit.Record(ctx, q, calendarEntry("schedule_calendar.delete", row, calendarFacts(row), nil))
	})
}

// mostUses is the maximum number of schedules that a message names.
const mostUses = 5

// inUse states which schedules use a calendar, and how to delete it.
func inUse(calendar string, schedules []db.Schedule) string {
	names := make([]string, 0, mostUses+1)
	for i, row := range schedules {
		if i == mostUses {
			names = append(names, fmt.Sprintf("%d more", len(schedules)-i))
			break
		}
		name := row.Name
		if row.DeclaredAs != nil {
			name += " (in the definition of " + row.WorkflowName + ")"
		}
		names = append(names, name)
	}
	if len(names) == 1 {
		return fmt.Sprintf("The schedule %s uses the calendar %s. To delete the calendar, first select another calendar or no calendar in this schedule.", names[0], calendar)
	}
	last := len(names) - 1
	return fmt.Sprintf("%d schedules use the calendar %s: %s and %s. To delete the calendar, first select another calendar or no calendar in these schedules.",
		len(schedules), calendar, strings.Join(names[:last], ", "), names[last])
}

func calendarEntry(action string, row db.ScheduleCalendar, before, after any) audit.Entry {
	return audit.Entry{Action: action, Kind: "schedule_calendar", ID: row.ID.String(), Name: row.Name, TenantID: row.TenantID, ProjectID: row.ProjectID, Old: before, New: after}
}

// calendarFacts are the values of a calendar for the audit log.
func calendarFacts(row db.ScheduleCalendar) map[string]any {
	return map[string]any{"name": row.Name, "weekend": row.Weekend, "holidays": row.Holidays, "blackouts": row.Blackouts}
}
