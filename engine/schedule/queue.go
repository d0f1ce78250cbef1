package schedule

import (
	"context"
	"errors"
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
	r := &run{row: row, schedule: sc, timing: t, record: &occurrenceRow{ScheduleID: id, FireAt: waiting.FireAt, IntervalStart: waiting.IntervalStart, DecidedAt: s.now()}}
	series := s.config.Executions.Launches.Series()
	defer series.Close()
	s.launch(ctx, series, []*run{r}, s.settleQueued)
	return r.err
}

// settleQueued writes what happened to queued runs.
func (s loop) settleQueued(ctx context.Context, q *db.Queries, runs []*run) error {
	for _, r := range runs {
		if r.err = s.claimForLaunch(ctx, q, r.row); errors.Is(r.err, errNotDue) {
			continue
		} else if r.err != nil {
			return r.err
		}
		o := r.record
		n, err := q.SettleOccurrence(ctx, db.SettleOccurrenceParams{
			ScheduleID: r.row.ID, FireAt: o.FireAt, State: string(o.State), Reason: o.Reason, Message: o.Message, ExecutionID: o.ExecutionID, Now: o.DecidedAt,
		})
		if err != nil {
			return fmt.Errorf("settle a queued fire of schedule %s: %w", r.row.ID, err)
		}
		if n == 0 {
			r.err = errNotDue
		}
	}
	return nil
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
	loads, err := s.loads(ctx, q, []uuid.UUID{row.ID})
	if err != nil {
		return err
	}
	if row.Paused || !row.UpdatedAt.Equal(was.UpdatedAt) || len(loads[row.ID].live) >= int(row.MaxRunning) {
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
			if err := recordManualRun(ctx, q, t, occurrenceRow{
				ScheduleID: id, FireAt: now, Fires: 1, IntervalStart: start, State: Launched, Reason: ReasonManual, ExecutionID: &execution, DecidedAt: now,
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
func recordManualRun(ctx context.Context, q *db.Queries, t timing, o occurrenceRow) error {
	for ; ; o.FireAt = o.FireAt.Add(time.Microsecond) {
		if t.next(o.FireAt.Add(-time.Nanosecond)).Equal(o.FireAt) {
			continue
		}
		o.LastFireAt = o.FireAt
		written, err := insertOccurrences(ctx, q, []occurrenceRow{o})
		if err != nil {
			return fmt.Errorf("record a launch of schedule %s: %w", o.ScheduleID, err)
		}
		if len(written) > 0 {
			return nil
		}
	}
}
