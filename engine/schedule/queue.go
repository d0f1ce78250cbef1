package schedule

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/execution"
)

// launchQueued launches the first queued occurrence of a schedule if the limit of running
// executions allows it.
func (s loop) launchQueued(ctx context.Context, id uuid.UUID) error {
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
	sc, t, fields, err := s.read(ctx, s.queries, row)
	if err != nil {
		return err
	}
	if len(fields) > 0 {
		return s.pause(ctx, row, PausedByAccess, unreadable(fields))
	}
	o := db.InsertOccurrenceParams{ScheduleID: id, FireAt: waiting.FireAt, IntervalStart: waiting.IntervalStart, Now: s.now()}
	return s.launch(ctx, row, sc, t, o, func(ctx context.Context, q *db.Queries, o db.InsertOccurrenceParams) error {
		if err := s.claimForLaunch(ctx, q, row); err != nil {
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

// claimForLaunch locks a schedule, and returns errNotDue if it was changed in the meantime, is paused, or
// has reached its limit of running executions because of another launch.
func (s loop) claimForLaunch(ctx context.Context, q *db.Queries, was db.Schedule) error {
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

// RunNow launches an execution of a schedule now, with the permissions of the caller. It does
// not change the times of the schedule, and does not wait for running executions.
func (s *Service) RunNow(ctx context.Context, id uuid.UUID) (uuid.UUID, error) {
	row, _, err := s.changeable(ctx, id)
	if err != nil {
		return uuid.Nil, err
	}
	sc, t, err := s.legible(ctx, s.queries, row)
	if err != nil {
		return uuid.Nil, err
	}
	now := s.now()
	start := t.before(now)
	inputs, fields := render(sc.Inputs, t.times(start, now))
	if len(fields) > 0 {
		return uuid.Nil, apperr.InvalidFields("The inputs cannot be used.", fields)
	}
	e, _, err := s.config.Executions.Launches.Launch(ctx, execution.LaunchRequest{
		Workflow: row.WorkflowID.String(), Version: row.Version, Inputs: inputs, Priority: sc.Priority, Name: execution.RunName(row.Name, "launched manually"),
		Within: func(ctx context.Context, q *db.Queries, execution uuid.UUID) error {
			if err := s.recordManualRun(ctx, q, t, db.InsertOccurrenceParams{
				ScheduleID: id, FireAt: now, Fires: 1, IntervalStart: start, State: string(Launched), Reason: ReasonManual, ExecutionID: &execution, Now: now,
			}); err != nil {
				return err
			}
			return audit.Record(ctx, q, entry("schedule.run", row, nil, map[string]any{"execution": execution}))
		},
	})
	return e.ID, err
}

// recordManualRun records a launch by a user. The time of an occurrence is unique in its schedule,
// so it becomes a microsecond later than a run or another launch at the same time.
func (s *Service) recordManualRun(ctx context.Context, q *db.Queries, t timing, o db.InsertOccurrenceParams) error {
	for ; ; o.FireAt = o.FireAt.Add(time.Microsecond) {
		if t.next(o.FireAt.Add(-time.Nanosecond)).Equal(o.FireAt) {
			continue
		}
		o.LastFireAt = o.FireAt
		n, err := q.InsertOccurrence(ctx, o)
		if err != nil {
			return fmt.Errorf("record a launch of schedule %s: %w", o.ScheduleID, err)
		}
		if n > 0 {
			return nil
		}
	}
}
