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

// Reasons of occurrences.
const (
	ReasonMissed  = "missed"
	ReasonOverlap = "overlap"
	ReasonInputs  = "inputs"
	ReasonAccess  = "access"
	ReasonManual  = "manual" // launched by a user
)

// fireDue does the steps of a schedule that is due, until it no longer is or others must have their
// turn. The next look continues.
func (s *Service) fireDue(ctx context.Context, id uuid.UUID) error {
	begun := time.Now()
	for n := 0; n < turnSteps && time.Since(begun) < turnTime && ctx.Err() == nil; n++ {
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

// fireOnce does one step of a schedule. more: it may still be due.
func (s *Service) fireOnce(ctx context.Context, id uuid.UUID) (more bool, err error) {
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
	sc, err := fromRow(row)
	if err != nil {
		return false, err
	}
	t, fields := sc.read()
	if len(fields) > 0 { // such as a time zone that a newer database no longer has
		return false, s.pause(ctx, row, PausedByAccess, "The schedule can no longer be read: "+fields[0].Message)
	}
	st, err := decide(ctx, t, sc.Spec, *sc.NextAt, now, sc.Delay, sc.LastAt)
	if err != nil {
		return false, err
	}
	if st.fire == nil {
		return st.missed.fires > 0, s.settle(ctx, row, st, nil)
	}
	live, queued, err := s.load(ctx, s.queries, id)
	if err != nil {
		return false, err
	}
	o := db.InsertOccurrenceParams{ScheduleID: id, FireAt: *st.fire, LastFireAt: *st.fire, Fires: 1, IntervalStart: st.start, Now: now}
	switch overlapping(sc.Overlap, len(live), queued, sc.MaxRunning) {
	case enqueue:
		o.State, o.Reason, o.Message = string(Queued), ReasonOverlap, "An execution of this schedule was still running."
		return true, s.settle(ctx, row, st, &o)
	case omit:
		o.State, o.Reason, o.Message = string(Skipped), ReasonOverlap, "An execution of this schedule was still running."
		return true, s.settle(ctx, row, st, &o)
	case launchAlone:
		return true, s.replace(ctx, row, sc, t, st, o, live)
	case launchNow:
	}
	return true, s.launch(ctx, row, sc, t, o, func(ctx context.Context, q *db.Queries, o db.InsertOccurrenceParams) error {
		return s.advance(ctx, q, row, st, &o)
	})
}

// replace launches a fire, and then cancels the executions that it replaces. They continue if the
// fire cannot be launched.
func (s *Service) replace(ctx context.Context, row db.Schedule, sc Schedule, t timing, st step, o db.InsertOccurrenceParams, live []uuid.UUID) error {
	launched := false
	err := s.launch(ctx, row, sc, t, o, func(ctx context.Context, q *db.Queries, o db.InsertOccurrenceParams) error {
		launched = o.State == string(Launched)
		return s.advance(ctx, q, row, st, &o)
	})
	if err != nil || !launched {
		return err
	}
	for _, e := range live {
		if err := s.config.Executions.Cancel(ctx, e, "The next fire of schedule "+row.Name+" replaces this execution."); err != nil && !apperr.Is(err, apperr.Conflict) {
			return fmt.Errorf("cancel an execution of schedule %s: %w", row.ID, err)
		}
		s.config.Crash("fire.cancelled")
	}
	return nil
}

// load returns the executions of a schedule that run, and how many occurrences wait.
func (s *Service) load(ctx context.Context, q *db.Queries, id uuid.UUID) (live []uuid.UUID, queued int, err error) {
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
func (s *Service) settle(ctx context.Context, row db.Schedule, st step, o *db.InsertOccurrenceParams) error {
	s.config.Crash("settle.begin")
	err := db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error { return s.advance(ctx, q, row, st, o) })
	s.config.Crash("settle.committed")
	return err
}

// advance records a step, if the schedule is as it was when the step was decided. It is part of the
// transaction that launches the execution.
func (s *Service) advance(ctx context.Context, q *db.Queries, was db.Schedule, st step, o *db.InsertOccurrenceParams) error {
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
		err := q.InsertOccurrence(ctx, db.InsertOccurrenceParams{
			ScheduleID: row.ID, FireAt: st.missed.first, LastFireAt: st.missed.last, Fires: st.missed.fires, IntervalStart: st.missed.first,
			State: string(Skipped), Reason: ReasonMissed, Message: "The schedule could not fire in time.", Now: s.now(),
		})
		if err != nil {
			return fmt.Errorf("record missed fires of schedule %s: %w", row.ID, err)
		}
	}
	if o != nil {
		if err := q.InsertOccurrence(ctx, *o); err != nil {
			return fmt.Errorf("record a fire of schedule %s: %w", row.ID, err)
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

// record writes an occurrence in a transaction.
type record func(ctx context.Context, q *db.Queries, o db.InsertOccurrenceParams) error

// launch launches the execution of an occurrence with the rights that the owner has now. What the
// launch does not accept becomes a refused occurrence; an owner without rights pauses the schedule.
func (s *Service) launch(ctx context.Context, row db.Schedule, sc Schedule, t timing, o db.InsertOccurrenceParams, write record) error {
	inputs, fields := render(sc.Inputs, t.times(o.IntervalStart, o.FireAt))
	if len(fields) > 0 {
		return s.refuse(ctx, row, o, write, apperr.InvalidFields("The inputs cannot be used.", fields))
	}
	subject, err := s.config.Acting(row.OwnerID, row.OwnerName, row.ProjectID)
	if err != nil {
		return s.refuse(ctx, row, o, write, err)
	}
	s.config.Crash("launch.begin")
	_, _, err = s.config.Executions.Launch(auth.WithSubject(ctx, subject), execution.LaunchRequest{
		Workflow: row.WorkflowID.String(), Version: row.Version, Inputs: inputs, Priority: sc.Priority,
		Name: runName(row.Name, o.FireAt.In(t.clock.Zone).Format("2006-01-02 15:04")),
		Within: func(ctx context.Context, q *db.Queries, id uuid.UUID) error {
			o.State, o.ExecutionID = string(Launched), &id
			s.config.Crash("launch.within")
			return write(ctx, q, o)
		},
	})
	s.config.Crash("launch.committed")
	if err == nil || errors.Is(err, errNotDue) {
		return err
	}
	return s.refuse(ctx, row, o, write, err)
}

// refuse records an occurrence that cannot be launched. Other errors are retried.
func (s *Service) refuse(ctx context.Context, row db.Schedule, o db.InsertOccurrenceParams, write record, cause error) error {
	o.State, o.ExecutionID, o.Message, o.Now = string(Refused), nil, sentenceOf(cause), s.now()
	switch apperr.CodeOf(cause) { //nolint:exhaustive // the others pass
	case apperr.Invalid:
		o.Reason = ReasonInputs
	case apperr.Forbidden, apperr.NotFound, apperr.Unauthenticated, apperr.Conflict:
		o.Reason = ReasonAccess
	default:
		return fmt.Errorf("launch a fire of schedule %s: %w", row.ID, cause)
	}
	return db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
		if err := write(ctx, q, o); err != nil || o.Reason != ReasonAccess {
			return err
		}
		return s.pauseIn(ctx, q, row.ID, PausedByAccess, row.OwnerName+", who owns the schedule, cannot launch the workflow: "+o.Message)
	})
}

// pause pauses a schedule by itself.
func (s *Service) pause(ctx context.Context, row db.Schedule, reason, message string) error {
	return db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
		return s.pauseIn(ctx, q, row.ID, reason, message)
	})
}

func (s *Service) pauseIn(ctx context.Context, q *db.Queries, id uuid.UUID, reason, message string) error {
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

// launchQueued launches the first queued occurrence of a schedule, if there is room for it.
func (s *Service) launchQueued(ctx context.Context, id uuid.UUID) error {
	row, err := s.queries.GetSchedule(ctx, id)
	if err != nil {
		return fmt.Errorf("get schedule %s: %w", id, err)
	}
	waiting, err := s.queries.FirstQueuedOccurrence(ctx, id)
	if db.IsNoRows(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("queue of schedule %s: %w", id, err)
	}
	sc, err := fromRow(row)
	if err != nil {
		return err
	}
	t, _ := sc.read()
	o := db.InsertOccurrenceParams{ScheduleID: id, FireAt: waiting.FireAt, IntervalStart: waiting.IntervalStart, Now: s.now()}
	return s.launch(ctx, row, sc, t, o, func(ctx context.Context, q *db.Queries, o db.InsertOccurrenceParams) error {
		if err := s.room(ctx, q, row); err != nil {
			return err
		}
		n, err := q.SettleOccurrence(ctx, db.SettleOccurrenceParams{
			ScheduleID: id, FireAt: o.FireAt, State: o.State, Reason: o.Reason, Message: o.Message, ExecutionID: o.ExecutionID, Now: o.Now,
		})
		if err != nil {
			return fmt.Errorf("settle a queued fire of schedule %s: %w", id, err)
		}
		if n == 0 {
			return errNotDue
		}
		return nil
	})
}

// room claims a schedule, and returns errNotDue if it was changed in the meantime, is paused or as
// many of its executions run as it allows: another launch can have come first.
func (s *Service) room(ctx context.Context, q *db.Queries, was db.Schedule) error {
	row, err := q.ClaimSchedule(ctx, was.ID)
	if db.IsNoRows(err) {
		return errNotDue
	}
	if err != nil {
		return fmt.Errorf("claim schedule %s: %w", was.ID, err)
	}
	live, _, err := s.load(ctx, q, row.ID)
	if err != nil {
		return err
	}
	if row.Paused || !row.UpdatedAt.Equal(was.UpdatedAt) || len(live) >= int(row.MaxRunning) {
		return errNotDue
	}
	return nil
}

// RunNow launches an execution of a schedule now, with the caller's permissions. It does not change
// when the schedule fires, and does not wait for executions that run.
func (s *Service) RunNow(ctx context.Context, id uuid.UUID) (uuid.UUID, error) {
	row, _, err := s.changeable(ctx, id)
	if err != nil {
		return uuid.Nil, err
	}
	sc, err := fromRow(row)
	if err != nil {
		return uuid.Nil, err
	}
	t, _ := sc.read()
	now := s.now()
	start := before(t, now, span{}, sc.LastAt)
	inputs, fields := render(sc.Inputs, t.times(start, now))
	if len(fields) > 0 {
		return uuid.Nil, apperr.InvalidFields("The inputs cannot be used.", fields)
	}
	e, _, err := s.config.Executions.Launch(ctx, execution.LaunchRequest{
		Workflow: row.WorkflowID.String(), Version: row.Version, Inputs: inputs, Priority: sc.Priority, Name: runName(row.Name, "launched manually"),
		Within: func(ctx context.Context, q *db.Queries, execution uuid.UUID) error {
			if err := q.InsertOccurrence(ctx, db.InsertOccurrenceParams{
				ScheduleID: id, FireAt: now, LastFireAt: now, Fires: 1, IntervalStart: start, State: string(Launched), Reason: ReasonManual, ExecutionID: &execution, Now: now,
			}); err != nil {
				return fmt.Errorf("record a launch of schedule %s: %w", id, err)
			}
			return audit.Record(ctx, q, entry("schedule.run", row, nil, map[string]any{"execution": execution}))
		},
	})
	return e.ID, err
}
