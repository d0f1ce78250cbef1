package schedule

import (
	"time"

	"github.com/flowforge/flowforge/db"
)

// apply writes a plan to a row. The owner is the caller.
func (p *plan) apply(row *db.Schedule) (err error) {
	sp := p.spec
	row.Name, row.Expressions, row.At, row.Timezone, row.Anchor = sp.Name, sp.Expressions, sp.At, sp.Timezone, sp.Anchor
	row.Gap, row.Fold, row.StartsAt, row.EndsAt = string(sp.Gap), string(sp.Fold), sp.Starts, sp.Ends
	row.Version, row.Priority, row.Misfire, row.Overlap = sp.Version, int32(sp.Priority), string(sp.Misfire), string(sp.Overlap)                                      //nolint:gosec // checked
	row.CatchUp, row.CatchUpMax, row.MaxRunning, row.Jitter = int32(sp.CatchUp/time.Second), int32(sp.CatchUpMax), int32(sp.MaxRunning), int32(sp.Jitter/time.Second) //nolint:gosec // checked
	row.PauseAfter = int32(sp.PauseAfter)                                                                                                                             //nolint:gosec // checked
	if sp.Paused != row.Paused {
		row.Paused, row.Reason, row.Message = sp.Paused, "", ""
		if sp.Paused {
			row.Reason, row.Message = PausedByPerson, "Paused by "+p.subject.Name+"."
		}
	}
	row.Condition, row.StopWhen, row.KeepSucceeded, row.KeepFailed = sp.Condition, sp.StopWhen, column(sp.KeepSucceeded), column(sp.KeepFailed)
	row.CalendarID, row.BusinessDays = nil, sp.BusinessDays
	if sp.calendar != nil {
		row.CalendarID = &sp.calendar.ID
	}
	row.OwnerID, row.OwnerName = p.subject.ID, p.subject.Name
	if row.Exclude, err = encode(sp.Exclude); err != nil {
		return err
	}
	row.Inputs, err = encode(sp.Inputs)
	return err
}

func column(n *int) *int32 {
	if n == nil {
		return nil
	}
	return new(int32(*n)) //nolint:gosec // checked
}

// setNext sets the next run to the first one after a time.
func setNext(row *db.Schedule, t timing, after time.Time) {
	row.NextAt, row.DueAt = nil, nil
	if next := t.next(after); !next.IsZero() {
		row.NextAt, row.DueAt = &next, new(next.Add(delay(row.ID, seconds(row.Jitter))))
	}
}

// keepNext sets the next run after an edit. A run that is due or that the jitter delays is kept
// if the new times include it.
func keepNext(row *db.Schedule, t timing, now time.Time) {
	if next := row.NextAt; next != nil && !next.After(now) && t.next(next.Add(-time.Nanosecond)).Equal(*next) {
		row.DueAt = new(next.Add(delay(row.ID, seconds(row.Jitter))))
		return
	}
	setNext(row, t, decided(row, now))
}

// resumeNext sets the next run after a pause whose missed runs are dropped. A run that the
// jitter still delays was not missed.
func resumeNext(row *db.Schedule, t timing, now time.Time) {
	since := now.Add(-delay(row.ID, seconds(row.Jitter)))
	if row.CreatedAt.After(since) && !row.CreatedAt.After(now) {
		since = row.CreatedAt
	}
	setNext(row, t, decided(row, since))
}

// decided returns the time until which all runs are decided: since, or the last run. A last run
// that is in the future, because the clock was set back, is ignored.
func decided(row *db.Schedule, since time.Time) time.Time {
	if last := row.LastAt; last != nil && last.After(since) && last.Before(since.Add(ClockBack)) {
		return *last
	}
	return since
}

func insertion(row db.Schedule, now time.Time) db.InsertScheduleParams {
	return db.InsertScheduleParams{
		ID: row.ID, TenantID: row.TenantID, ProjectID: row.ProjectID, WorkflowID: row.WorkflowID, WorkflowName: row.WorkflowName, Name: row.Name,
		Expressions: row.Expressions, At: row.At, Timezone: row.Timezone, Anchor: row.Anchor, Gap: row.Gap, Fold: row.Fold, StartsAt: row.StartsAt, EndsAt: row.EndsAt,
		Version: row.Version, Inputs: row.Inputs, Priority: row.Priority, Misfire: row.Misfire, CatchUp: row.CatchUp, CatchUpMax: row.CatchUpMax, Overlap: row.Overlap,
		MaxRunning: row.MaxRunning, Jitter: row.Jitter, PauseAfter: row.PauseAfter, Paused: row.Paused, Reason: row.Reason, Message: row.Message,
		OwnerID: row.OwnerID, OwnerName: row.OwnerName, Now: now, NextAt: row.NextAt, DueAt: row.DueAt,
		CalendarID: row.CalendarID, BusinessDays: row.BusinessDays, Exclude: row.Exclude, Condition: row.Condition, StopWhen: row.StopWhen,
		KeepSucceeded: row.KeepSucceeded, KeepFailed: row.KeepFailed, DeclaredAs: row.DeclaredAs,
	}
}

func update(row db.Schedule) db.UpdateScheduleParams {
	return db.UpdateScheduleParams{
		ID: row.ID, Name: row.Name, Expressions: row.Expressions, At: row.At, Timezone: row.Timezone, Anchor: row.Anchor, Gap: row.Gap, Fold: row.Fold,
		StartsAt: row.StartsAt, EndsAt: row.EndsAt, Version: row.Version, Inputs: row.Inputs, Priority: row.Priority, Misfire: row.Misfire, CatchUp: row.CatchUp,
		CatchUpMax: row.CatchUpMax, Overlap: row.Overlap, MaxRunning: row.MaxRunning, Jitter: row.Jitter, PauseAfter: row.PauseAfter, Paused: row.Paused,
		Reason: row.Reason, Message: row.Message, OwnerID: row.OwnerID, OwnerName: row.OwnerName, ResumedAt: row.ResumedAt, LastAt: row.LastAt, NextAt: row.NextAt,
		DueAt: row.DueAt, UpdatedAt: row.UpdatedAt,
		CalendarID: row.CalendarID, BusinessDays: row.BusinessDays, Exclude: row.Exclude, Condition: row.Condition, StopWhen: row.StopWhen,
		KeepSucceeded: row.KeepSucceeded, KeepFailed: row.KeepFailed,
	}
}
