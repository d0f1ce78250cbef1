package schedule

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

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

// run is the next step of a schedule, or a queued run.
type run struct {
	row      db.Schedule
	schedule Schedule
	timing   timing
	step     step           // of a queued run: zero
	record   *occurrenceRow // nil: the step has no run, or it is recorded already
	launches bool
	replaces []uuid.UUID               // executions that the launched run replaces
	cancels  []*execution.Cancellation // of these
	err      error                     // why it was not written
}

// fireDue processes the due runs of schedules, one step of each at a time. To let other schedules
// proceed, it processes a limited number; the next pass continues. Executions of several groups start
// when all of them are launched, or after turnTime. A series keeps its connection for all steps: as soon
// as executions start, thousands of drives wait for connections.
func (s loop) fireDue(ctx context.Context, ids []uuid.UUID) error {
	if len(ids) == 0 {
		return nil
	}
	groups := (len(ids) + groupSize - 1) / groupSize
	holding, release := context.WithTimeout(ctx, turnTime)
	defer release()
	all := make(chan *execution.LaunchSeries, maxSeries)
	for range max(1, min(maxSeries, groups, int(s.config.Pool.Config().MaxConns)/2)) {
		series := s.config.Executions.Launches.Series()
		defer series.Close()
		if groups > 1 {
			series.HoldStarts(holding.Done())
		}
		all <- series
	}
	start := time.Now()
	failed := problems{}
	var failures []error
	for n := 0; n < turnSteps && len(ids) > 0 && (n == 0 || time.Since(start) < turnTime) && ctx.Err() == nil; n++ {
		again, failure := s.fireSteps(ctx, all, ids, failed)
		failures, ids = append(failures, failure), again
	}
	return errors.Join(errors.Join(failures...), s.show(ctx, "process the run of this schedule", failed))
}

// fireSteps processes one step of each schedule, in groups. It returns the schedules that are still
// due, adds those that failed to failed, and returns the errors of groups that could not be read.
func (s loop) fireSteps(ctx context.Context, all chan *execution.LaunchSeries, ids []uuid.UUID, failed problems) (again []uuid.UUID, err error) {
	var mu sync.Mutex
	results := each(slices.Collect(slices.Chunk(ids, groupSize)), cap(all), func(ids []uuid.UUID) error {
		series := <-all
		defer func() { all <- series }()
		if ctx.Err() != nil {
			return nil
		}
		more, problems, err := s.fireGroup(ctx, series, ids)
		mu.Lock()
		defer mu.Unlock()
		again = append(again, more...)
		maps.Copy(failed, problems)
		return err
	})
	return again, joined(slices.DeleteFunc(results, func(err error) bool { return err == nil }))
}

// fireGroup processes one step of each schedule of a group. The steps are written together, but each
// takes effect on its own. It returns the schedules that are still due, and those that failed.
func (s loop) fireGroup(ctx context.Context, series *execution.LaunchSeries, ids []uuid.UUID) (again []uuid.UUID, failed problems, err error) {
	database, err := series.Database(ctx)
	if err != nil {
		return nil, nil, err
	}
	s = s.on(database)
	rows, loads, failed, err := s.readDue(ctx, ids)
	if err != nil {
		return nil, failed, err
	}
	var runs, launched, settled []*run
	c := newShared(s.now())
	for _, row := range rows {
		r, err := s.nextRun(ctx, row, loads[row.ID], c)
		switch {
		case err != nil:
			failed[row.ID] = err
			continue
		case r == nil:
			continue
		case r.launches:
			launched = append(launched, r)
		default:
			settled = append(settled, r)
		}
		runs = append(runs, r)
	}
	s.launch(ctx, series, launched, s.advance)
	s.settle(ctx, settled)
	s.settle(ctx, decidedBefore(runs))
	for _, r := range runs {
		switch {
		case errors.Is(r.err, errNotDue):
		case r.err != nil:
			failed[r.row.ID] = r.err
		case !r.step.next.IsZero() && !r.step.next.Add(r.schedule.Delay).After(s.now()):
			again = append(again, r.row.ID)
		}
	}
	return again, failed, nil
}

// mostFailures is the maximum number of failures in a message of the log.
const mostFailures = 10

// joined returns failures as one error, with the number of those beyond mostFailures.
func joined(failures []error) error {
	if more := len(failures) - mostFailures; more > 0 {
		failures = append(slices.Clone(failures[:mostFailures]), fmt.Errorf("and %d more", more))
	}
	return errors.Join(failures...)
}

// readDue returns those of the schedules that are due, and the loads of those that limit how many
// executions run. It pauses schedules that failed too often, and returns those that could not be paused.
func (s loop) readDue(ctx context.Context, ids []uuid.UUID) ([]db.Schedule, map[uuid.UUID]load, problems, error) {
	failed := problems{}
	rows, err := s.queries.SchedulesByID(ctx, ids)
	if err != nil {
		return nil, nil, failed, fmt.Errorf("get %d schedules: %w", len(ids), err)
	}
	now := s.now()
	rows = slices.DeleteFunc(rows, func(row db.Schedule) bool { return row.Paused || row.DueAt == nil || row.DueAt.After(now) })
	var limited, failing []uuid.UUID
	for _, row := range rows {
		if row.PauseAfter > 0 {
			failing = append(failing, row.ID)
		}
		if Overlap(row.Overlap) != OverlapAllow {
			limited = append(limited, row.ID)
		}
	}
	if len(failing) > 0 {
		results, err := s.pauseFailing(ctx, failing)
		if err != nil {
			return nil, nil, failed, err
		}
		rows = slices.DeleteFunc(rows, func(row db.Schedule) bool {
			err, found := results[row.ID]
			if err != nil {
				failed[row.ID] = fmt.Errorf("%s: %w", couldNotPause, err)
			}
			return found
		})
	}
	loads, err := s.loads(ctx, s.queries, limited)
	return rows, loads, failed, err
}

// decidedBefore returns the runs that were decided before. Only their schedules must advance.
func decidedBefore(runs []*run) (decided []*run) {
	for _, r := range runs {
		if errors.Is(r.err, errDecided) {
			r.record = nil
			decided = append(decided, r)
		}
	}
	return decided
}

// nextRun decides the next step of a schedule that is due: whether it launches, queues or skips a
// run. It returns nil for a schedule that it pauses instead.
func (s loop) nextRun(ctx context.Context, row db.Schedule, in load, c *shared) (*run, error) {
	sc, t, fields, err := s.readShared(ctx, s.queries, row, c)
	if err != nil {
		return nil, err
	}
	if len(fields) > 0 {
		return nil, s.pause(ctx, row, PausedByAccess, unreadable(fields))
	}
	st, err := c.decide(ctx, row, t, sc)
	if err != nil {
		return nil, err
	}
	r := &run{row: row, schedule: sc, timing: t, step: st}
	if st.fire == nil {
		return r, nil
	}
	conditions, err := s.evaluateConditions(ctx, row)
	if err != nil {
		return nil, err
	}
	if conditions.stop {
		return nil, s.pause(ctx, row, PausedByStop, conditions.message)
	}
	o := &occurrenceRow{ScheduleID: row.ID, FireAt: *st.fire, LastFireAt: *st.fire, Fires: 1, IntervalStart: st.start, DecidedAt: s.now()}
	r.record = o
	if conditions.skip {
		o.State, o.Reason, o.Message = Skipped, ReasonWhen, conditions.message
		return r, nil
	}
	switch overlapping(sc.Spec, len(in.live), in.queued, st.late) {
	case enqueue:
		o.State, o.Reason, o.Message = Queued, ReasonOverlap, "An execution of this schedule was still running."
	case omit:
		o.State, o.Reason, o.Message = Skipped, ReasonOverlap, "An execution of this schedule was still running."
	case full:
		o.State, o.Reason, o.Message = Skipped, ReasonFull, fmt.Sprintf("%d runs are already waiting for executions of this schedule, which is the maximum.", in.queued)
	case launchAlone:
		r.launches, r.replaces = true, in.live
	case launchNow:
		r.launches = true
	}
	return r, nil
}

// load is what a schedule runs, and what waits for it.
type load struct {
	live   []uuid.UUID // executions that have not ended
	queued int         // occurrences
}

// loads returns the loads of schedules.
func (s loop) loads(ctx context.Context, q *db.Queries, ids []uuid.UUID) (map[uuid.UUID]load, error) {
	loads := make(map[uuid.UUID]load, len(ids))
	if len(ids) == 0 {
		return loads, nil
	}
	live, err := q.LiveOccurrences(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("executions of %d schedules: %w", len(ids), err)
	}
	for _, o := range live {
		of := loads[o.ScheduleID]
		of.live = append(of.live, o.ID)
		loads[o.ScheduleID] = of
	}
	waiting, err := q.CountQueuedOccurrences(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("queues of %d schedules: %w", len(ids), err)
	}
	for _, o := range waiting {
		of := loads[o.ScheduleID]
		of.queued = int(o.Queued)
		loads[o.ScheduleID] = of
	}
	return loads, nil
}
