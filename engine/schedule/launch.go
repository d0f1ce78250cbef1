package schedule

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/execution"
)

// launch launches the executions of runs with the current permissions of the owners, and sets the
// errors of the runs. If a launch is refused, its run is refused; if the owner lacks the permission,
// the schedule is paused.
func (s loop) launch(ctx context.Context, series *execution.LaunchSeries, runs []*run, write write) {
	var accepted []*run
	var group execution.LaunchGroup
	for _, r := range runs {
		if r.err = s.prepareReplacement(ctx, r); r.err != nil {
			continue
		}
		request, err := s.request(r)
		if err != nil {
			r.err = s.refuse(ctx, r, write, err)
			continue
		}
		accepted, group.Requests = append(accepted, r), append(group.Requests, request)
	}
	if len(accepted) == 0 {
		return
	}
	group.Claim = func(ctx context.Context, q *db.Queries, ids map[int]uuid.UUID) (map[int]error, error) {
		s.config.Crash("launch.within")
		part := make([]*run, 0, len(ids))
		for i, id := range ids {
			r := accepted[i]
			r.record.State, r.record.ExecutionID, r.record.DecidedAt = Launched, &id, s.now()
			part = append(part, r)
		}
		if err := write(ctx, q, part); err != nil {
			return nil, err
		}
		s.config.Crash("launch.recorded")
		refused := map[int]error{}
		for i := range ids {
			if err := accepted[i].err; err != nil {
				refused[i] = err
				continue
			}
			for _, c := range accepted[i].cancels {
				if err := c.Write(ctx, q); err != nil {
					return nil, err
				}
			}
		}
		return refused, nil
	}
	s.config.Crash("launch.begin")
	outcomes := series.Launch(ctx, group)
	s.config.Crash("launch.committed")
	for i, outcome := range outcomes {
		r := accepted[i]
		if r.err = outcome.Err; r.err != nil && !errors.Is(r.err, errNotDue) && !errors.Is(r.err, errDecided) {
			r.err = s.refuse(ctx, r, write, outcome.Err)
			continue
		}
		if r.err == nil {
			for _, c := range r.cancels {
				c.Announce()
			}
		}
	}
}

// request returns the request of the execution of a run.
func (s loop) request(r *run) (execution.LaunchRequest, error) {
	inputs, fields := render(r.schedule.Inputs, r.timing.times(r.record.IntervalStart, r.record.FireAt))
	if len(fields) > 0 {
		return execution.LaunchRequest{}, apperr.InvalidFields("The inputs cannot be used.", fields)
	}
	owner, err := s.config.Acting(r.row.OwnerID, r.row.OwnerName, r.row.ProjectID)
	if err != nil {
		return execution.LaunchRequest{}, err
	}
	return execution.LaunchRequest{
		Workflow: r.row.WorkflowID.String(), Version: r.row.Version, Inputs: inputs, Priority: r.schedule.Priority,
		Name: execution.RunName(r.row.Name, FireName(r.record.FireAt.In(r.timing.clock.Zone))), ScheduledAt: &r.record.FireAt, By: "schedule " + r.row.Name, As: &owner,
	}, nil
}

// prepareReplacement prepares the cancellation of the executions that a run replaces. They are
// cancelled in the transaction that launches it, and continue if it cannot be launched.
func (s loop) prepareReplacement(ctx context.Context, r *run) error {
	for _, e := range r.replaces {
		c, err := s.config.Executions.Commands.PrepareCancel(ctx, e, "The next run of schedule "+r.row.Name+" replaces this execution.")
		if err != nil {
			return fmt.Errorf("cancel an execution of schedule %s: %w", r.row.ID, err)
		}
		r.cancels = append(r.cancels, c)
	}
	return nil
}

// refuse records a run that cannot be launched. Other errors are retried. The first refusal after a
// launch is recorded in the audit log, which causes notifications, unless it pauses the schedule.
func (s loop) refuse(ctx context.Context, r *run, write write, cause error) error {
	o := r.record
	o.State, o.ExecutionID, o.Message, o.DecidedAt = Refused, nil, apperr.TextOf(cause), s.now()
	switch apperr.CodeOf(cause) { //nolint:exhaustive // the others pass
	case apperr.Invalid:
		o.Reason = ReasonInputs
	case apperr.Forbidden, apperr.NotFound, apperr.Unauthenticated, apperr.Conflict:
		o.Reason = ReasonAccess
	default:
		return fmt.Errorf("launch a fire of schedule %s: %w", r.row.ID, cause)
	}
	return db.Tx(ctx, s.database, func(_ pgx.Tx, q *db.Queries) error {
		if err := write(ctx, q, []*run{r}); err != nil {
			return err
		}
		if r.err != nil {
			return r.err
		}
		if o.Reason != ReasonAccess {
			return s.noteRefused(ctx, q, r)
		}
		return s.pauseIn(ctx, q, r.row.ID, PausedByAccess, r.row.OwnerName+", who owns the schedule, cannot launch the workflow: "+o.Message)
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

// noteRefused records a refused run in the audit log if it is the first one since a launch.
func (s loop) noteRefused(ctx context.Context, q *db.Queries, r *run) error {
	before, err := q.StateBeforeOccurrence(ctx, r.row.ID, r.record.FireAt)
	if err != nil {
		return fmt.Errorf("last run of schedule %s: %w", r.row.ID, err)
	}
	if State(before) == Refused {
		return nil
	}
	at := r.record.FireAt.In(r.timing.clock.Zone).Format("2006-01-02 15:04 MST")
	return audit.Record(ctx, q, entry("schedule.refuse", r.row, nil, map[string]string{"workflow": r.row.WorkflowName, "run": at, "message": r.record.Message}))
}
