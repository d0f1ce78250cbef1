package schedule

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/execution"
)

// errNotDue means that another server or a user changed the schedule in the meantime.
var errNotDue = errors.New("the schedule changed in the meantime")

// errDecided means that the run was decided before, because the clock was set back.
var errDecided = errors.New("the run was decided before")

// Reasons of occurrences.
const (
	ReasonMissed  = "missed"
	ReasonOverlap = "overlap"
	ReasonInputs  = "inputs"
	ReasonAccess  = "access"
	ReasonManual  = "manual" // launched by a user
	ReasonFull    = "queue_full"
	ReasonWhen    = "when" // the condition was not true
)

// fireDue processes the due runs of a schedule. To let other schedules proceed, it processes a
// limited number; the next pass continues.
func (s loop) fireDue(ctx context.Context, id uuid.UUID) error {
	start := time.Now()
	for n := 0; n < turnSteps && time.Since(start) < turnTime && ctx.Err() == nil; n++ {
		more, err := s.fireOnce(ctx, id)
		if errors.Is(err, errNotDue) {
			return nil
		}
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// fireOnce processes one step of a schedule. more reports whether the schedule may still be due.
func (s loop) fireOnce(ctx context.Context, id uuid.UUID) (more bool, err error) {
	row, err := s.queries.GetSchedule(ctx, id)
	if db.IsNoRows(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("get schedule %s: %w", id, err)
	}
	now := s.now()
	if row.Paused || row.DueAt == nil || row.DueAt.After(now) {
		return false, nil
	}
	if row.PauseAfter > 0 {
		if n, err := s.pauseFailing(ctx, &id); err != nil || n > 0 {
			return false, err
		}
	}
	return s.fireRow(ctx, row, now)
}

// fireRow processes one step of a schedule that is due.
func (s loop) fireRow(ctx context.Context, row db.Schedule, now time.Time) (more bool, err error) {
	sc, t, fields, err := s.read(ctx, s.queries, row)
	if err != nil {
		return false, err
	}
	if len(fields) > 0 {
		return false, s.pause(ctx, row, PausedByAccess, unreadable(fields))
	}
	st, err := decide(ctx, t, sc.Spec, *sc.NextAt, now, sc.Delay)
	if err != nil {
		return false, err
	}
	if st.fire == nil {
		return st.missed.fires > 0, s.settle(ctx, row, st, nil)
	}
	conditions, err := s.evaluateConditions(ctx, row)
	if err != nil {
		return false, err
	}
	if conditions.stop {
		return false, s.pause(ctx, row, PausedByStop, conditions.message)
	}
	err = s.fireStep(ctx, row, sc, t, st, conditions)
	if errors.Is(err, errDecided) {
		return true, s.settle(ctx, row, st, nil)
	}
	return true, err
}

// fireStep launches, queues or skips the run of a step.
func (s loop) fireStep(ctx context.Context, row db.Schedule, sc Schedule, t timing, st step, conditions conditionResult) error {
	o := db.InsertOccurrenceParams{ScheduleID: row.ID, FireAt: *st.fire, LastFireAt: *st.fire, Fires: 1, IntervalStart: st.start, Now: s.now()}
	if conditions.skip {
		o.State, o.Reason, o.Message = string(Skipped), ReasonWhen, conditions.message
		return s.settle(ctx, row, st, &o)
	}
	var live []uuid.UUID
	queued := 0
	if sc.Overlap != OverlapAllow {
		var err error
		if live, queued, err = s.load(ctx, s.queries, row.ID); err != nil {
			return err
		}
	}
	switch overlapping(sc.Spec, len(live), queued, st.late) {
	case enqueue:
		o.State, o.Reason, o.Message = string(Queued), ReasonOverlap, "An execution of this schedule was still running."
		return s.settle(ctx, row, st, &o)
	case omit:
		o.State, o.Reason, o.Message = string(Skipped), ReasonOverlap, "An execution of this schedule was still running."
		return s.settle(ctx, row, st, &o)
	case full:
		o.State, o.Reason, o.Message = string(Skipped), ReasonFull, fmt.Sprintf("%d runs are already waiting for executions of this schedule, which is the maximum.", queued)
		return s.settle(ctx, row, st, &o)
	case launchAlone:
		return s.replace(ctx, row, sc, t, st, o, live)
	case launchNow:
	}
	return s.launch(ctx, row, sc, t, o, func(ctx context.Context, q *db.Queries, o db.InsertOccurrenceParams) error {
		return s.advance(ctx, q, row, st, &o)
	})
}

// replace launches a run and cancels the executions that it replaces, in one transaction. They
// continue if the run cannot be launched.
func (s loop) replace(ctx context.Context, row db.Schedule, sc Schedule, t timing, st step, o db.InsertOccurrenceParams, live []uuid.UUID) error {
	replaced := make([]*execution.Cancellation, 0, len(live))
	for _, e := range live {
		c, err := s.config.Executions.Commands.PrepareCancel(ctx, e, "The next run of schedule "+row.Name+" replaces this execution.")
		if err != nil {
			return fmt.Errorf("cancel an execution of schedule %s: %w", row.ID, err)
		}
		replaced = append(replaced, c)
	}
	launched := false
	err := s.launch(ctx, row, sc, t, o, func(writing context.Context, q *db.Queries, o db.InsertOccurrenceParams) error {
		launched = o.State == string(Launched)
		if err := s.advance(writing, q, row, st, &o); err != nil || !launched {
			return err
		}
		for _, c := range replaced {
			if err := c.Write(ctx, q); err != nil { // on behalf of FlowForge, not of the owner
				return err
			}
		}
		return nil
	})
	if err != nil || !launched {
		return err
	}
	for _, c := range replaced {
		c.Announce()
	}
	return nil
}

// load returns the running executions of a schedule, and the number of queued occurrences.
func (s loop) load(ctx context.Context, q *db.Queries, id uuid.UUID) (live []uuid.UUID, queued int, err error) {
	if live, err = q.LiveOccurrences(ctx, id); err != nil {
		return nil, 0, fmt.Errorf("executions of schedule %s: %w", id, err)
	}
	n, err := q.CountQueuedOccurrences(ctx, id)
	if err != nil {
		return nil, 0, fmt.Errorf("queue of schedule %s: %w", id, err)
	}
	return live, int(n), nil
}

// settle records a step that launches nothing.
func (s loop) settle(ctx context.Context, row db.Schedule, st step, o *db.InsertOccurrenceParams) error {
	s.config.Crash("settle.begin")
	err := db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error { return s.advance(ctx, q, row, st, o) })
	s.config.Crash("settle.committed")
	return err
}

// advance records a step if the schedule has not changed since the step was decided. It is part
// of the transaction that launches the execution.
func (s loop) advance(ctx context.Context, q *db.Queries, was db.Schedule, st step, o *db.InsertOccurrenceParams) error {
	row, err := q.ClaimSchedule(ctx, was.ID)
	if db.IsNoRows(err) {
		return errNotDue
	}
	if err != nil {
		return fmt.Errorf("claim schedule %s: %w", was.ID, err)
	}
	if row.Paused || row.NextAt == nil || !row.NextAt.Equal(*was.NextAt) || !row.UpdatedAt.Equal(was.UpdatedAt) {
		return errNotDue
	}
	if st.missed.fires > 0 {
		_, err := q.InsertOccurrence(ctx, db.InsertOccurrenceParams{
			ScheduleID: row.ID, FireAt: st.missed.first, LastFireAt: st.missed.last, Fires: st.missed.fires, IntervalStart: st.missed.first,
			State: string(Skipped), Reason: ReasonMissed, Message: st.missed.message(), Now: s.now(),
		})
		if err != nil {
			return fmt.Errorf("record missed fires of schedule %s: %w", row.ID, err)
		}
	}
	if o != nil {
		if err := s.occur(ctx, q, *o); err != nil {
			return err
		}
	}
	var next, due *time.Time
	if !st.next.IsZero() {
		next, due = &st.next, new(st.next.Add(delay(row.ID, seconds(row.Jitter))))
	}
	if err := q.AdvanceSchedule(ctx, &st.last, next, due, row.ID); err != nil {
		return fmt.Errorf("advance schedule %s: %w", row.ID, err)
	}
	return nil
}

// occur records a run. It returns errDecided if the run is already recorded; a run that was
// skipped because it was missed is decided again.
func (s loop) occur(ctx context.Context, q *db.Queries, o db.InsertOccurrenceParams) error {
	n, err := q.InsertOccurrence(ctx, o)
	if err == nil && n == 0 {
		if n, err = q.ForgetMissedOccurrence(ctx, o.ScheduleID, o.FireAt); err == nil && n > 0 {
			n, err = q.InsertOccurrence(ctx, o)
		}
	}
	if err != nil {
		return fmt.Errorf("record a fire of schedule %s: %w", o.ScheduleID, err)
	}
	if n == 0 {
		return errDecided
	}
	return nil
}

// record writes an occurrence in a transaction.
type record func(ctx context.Context, q *db.Queries, o db.InsertOccurrenceParams) error

// launch launches the execution of an occurrence with the current permissions of the owner. If
// the launch is refused, the occurrence is refused; if the owner lacks the permission, the
// schedule is paused.
func (s loop) launch(ctx context.Context, row db.Schedule, sc Schedule, t timing, o db.InsertOccurrenceParams, write record) error {
	inputs, fields := render(sc.Inputs, t.times(o.IntervalStart, o.FireAt))
	if len(fields) > 0 {
		return s.refuse(ctx, row, t, o, write, apperr.InvalidFields("The inputs cannot be used.", fields))
	}
	subject, err := s.config.Acting(row.OwnerID, row.OwnerName, row.ProjectID)
	if err != nil {
		return s.refuse(ctx, row, t, o, write, err)
	}
	s.config.Crash("launch.begin")
	_, _, err = s.config.Executions.Launches.Launch(auth.WithSubject(ctx, subject), execution.LaunchRequest{
		Workflow: row.WorkflowID.String(), Version: row.Version, Inputs: inputs, Priority: sc.Priority,
		Name: execution.RunName(row.Name, FireName(o.FireAt.In(t.clock.Zone))), ScheduledAt: &o.FireAt, By: "schedule " + row.Name,
		Within: func(ctx context.Context, q *db.Queries, id uuid.UUID) error {
			o.State, o.ExecutionID = string(Launched), &id
			s.config.Crash("launch.within")
			return write(ctx, q, o)
		},
	})
	s.config.Crash("launch.committed")
	if err == nil || errors.Is(err, errNotDue) || errors.Is(err, errDecided) {
		return err
	}
	return s.refuse(ctx, row, t, o, write, err)
}

// refuse records an occurrence that cannot be launched. Other errors are retried. The first
// refusal after a launch is recorded in the audit log, which causes notifications, unless it
// pauses the schedule.
func (s loop) refuse(ctx context.Context, row db.Schedule, t timing, o db.InsertOccurrenceParams, write record, cause error) error {
	o.State, o.ExecutionID, o.Message, o.Now = string(Refused), nil, apperr.TextOf(cause), s.now()
	switch apperr.CodeOf(cause) { //nolint:exhaustive // the others pass
	case apperr.Invalid:
		o.Reason = ReasonInputs
	case apperr.Forbidden, apperr.NotFound, apperr.Unauthenticated, apperr.Conflict:
		o.Reason = ReasonAccess
	default:
		return fmt.Errorf("launch a fire of schedule %s: %w", row.ID, cause)
	}
	return db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
		if err := write(ctx, q, o); err != nil {
			return err
		}
		if o.Reason != ReasonAccess {
			return s.noteRefused(ctx, q, row, t, o)
		}
		return s.pauseIn(ctx, q, row.ID, PausedByAccess, row.OwnerName+", who owns the schedule, cannot launch the workflow: "+o.Message)
	})
}

// FireName is the time of a run in the name of its execution. It contains seconds if the time
// has them.
func FireName(at time.Time) string {
	if at.Second() != 0 {
		return at.Format("2006-01-02 15:04:05")
	}
	return at.Format("2006-01-02 15:04")
}

// noteRefused records a refused occurrence in the audit log if it is the first one since a
// launch.
func (s loop) noteRefused(ctx context.Context, q *db.Queries, row db.Schedule, t timing, o db.InsertOccurrenceParams) error {
	before, err := q.StateBeforeOccurrence(ctx, row.ID, o.FireAt)
	if err != nil {
		return fmt.Errorf("last run of schedule %s: %w", row.ID, err)
	}
	if State(before) == Refused {
		return nil
	}
	run := o.FireAt.In(t.clock.Zone).Format("2006-01-02 15:04 MST")
	return audit.Record(ctx, q, entry("schedule.refuse", row, nil, map[string]string{"workflow": row.WorkflowName, "run": run, "message": o.Message}))
}

// pause pauses a schedule on behalf of FlowForge.
func (s loop) pause(ctx context.Context, row db.Schedule, reason, message string) error {
	return db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
		return s.pauseIn(ctx, q, row.ID, reason, message)
	})
}

func (s loop) pauseIn(ctx context.Context, q *db.Queries, id uuid.UUID, reason, message string) error {
	row, err := q.LockSchedule(ctx, id)
	if db.IsNoRows(err) || err == nil && row.Paused {
		return nil
	}
	if err != nil {
		return fmt.Errorf("lock schedule %s: %w", id, err)
	}
	before := factsOf(row)
	row.Paused, row.Reason, row.Message, row.UpdatedAt = true, reason, message, s.now()
	if err := q.UpdateSchedule(ctx, update(row)); err != nil {
		return fmt.Errorf("pause schedule %s: %w", id, err)
	}
	return audit.Record(ctx, q, entry("schedule.pause", row, before, factsOf(row)))
}
