package sweep

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/sweep/space"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/typeregistry"
)

// Pause prevents a sweep from launching more runs. Runs that have started continue. Pausing a
// paused sweep changes nothing. It returns Conflict for a sweep that is stopping or has ended.
func (s *Service) Pause(ctx context.Context, id uuid.UUID) error {
	return s.command(ctx, id, "sweep.pause", func(_ *db.Queries, row *db.InputSweep, by string) (bool, error) {
		switch State(row.State) {
		case Paused:
			return false, nil
		case Running:
			row.State, row.Reason, row.Message = string(Paused), ReasonPerson, "Paused by "+by+"."
			return true, nil
		case Stopping, Succeeded, Stopped:
		}
		return false, ended(row)
	})
}

// Resume continues a paused sweep. It returns Conflict for one that is stopping or has ended.
func (s *Service) Resume(ctx context.Context, id uuid.UUID) error {
	return s.command(ctx, id, "sweep.resume", func(_ *db.Queries, row *db.InputSweep, _ string) (bool, error) {
		switch State(row.State) {
		case Running:
			return false, nil
		case Paused:
			row.State, row.Reason, row.Message, row.Refused = string(Running), "", "", 0
			return true, nil
		case Stopping, Succeeded, Stopped:
		}
		return false, ended(row)
	})
}

// Stop ends a sweep: it launches no more runs. Runs that have started finish, or are cancelled.
// Another Stop can cancel those that would finish. It returns Conflict for a sweep that has
// ended.
func (s *Service) Stop(ctx context.Context, id uuid.UUID, cancel bool) error {
	err := s.command(ctx, id, "sweep.stop", func(q *db.Queries, row *db.InputSweep, by string) (bool, error) {
		switch State(row.State) {
		case Stopping:
			again := row.Reason == ReasonUnreadable // try once more
			row.Reason, row.Message = ReasonPerson, "Stopped by "+by+"."
			return again, nil
		case Running, Paused:
			row.State, row.Reason, row.Message = string(Stopping), ReasonPerson, "Stopped by "+by+"."
			return true, q.CancelProposedRuns(ctx, row.Message, new(s.now()), id)
		case Succeeded, Stopped:
		}
		return false, ended(row)
	})
	if err != nil || !cancel {
		return err
	}
	live, err := s.queries.LiveSweepExecutions(ctx, id)
	if err != nil {
		return fmt.Errorf("list the executions of sweep %s: %w", id, err)
	}
	for _, execution := range live {
		// The right to stop the sweep includes cancelling its runs.
		if err := s.config.Executions.Commands.Cancel(ctx, execution, "The sweep was stopped."); err != nil && !apperr.Is(err, apperr.Conflict) {
			return fmt.Errorf("cancel an execution of sweep %s: %w", id, err)
		}
	}
	return nil
}

func ended(row *db.InputSweep) error {
	if State(row.State) == Stopping {
		return apperr.New(apperr.Conflict, "The sweep is stopping. Add runs to continue it once it has ended.")
	}
	return apperr.New(apperr.Conflict, "The sweep has ended. Add runs to continue it.")
}

// command is a change by a user.
func (s *Service) command(ctx context.Context, id uuid.UUID, action string, f func(q *db.Queries, row *db.InputSweep, by string) (bool, error)) error {
	if err := s.changeable(ctx, id); err != nil {
		return err
	}
	subject, _ := auth.SubjectOf(ctx)
	return s.change(ctx, id, action, func(q *db.Queries, row *db.InputSweep) (bool, error) { return f(q, row, subject.Name) })
}

// Change changes a sweep. It returns Invalid with fields, and Conflict for a sweep that is
// stopping. More runs continue a sweep that has ended.
func (s *Service) Change(ctx context.Context, id uuid.UUID, e Edit) (Sweep, error) {
	if err := s.changeable(ctx, id); err != nil {
		return Sweep{}, err
	}
	checked, err := s.checkEdit(ctx, id, e)
	if err != nil {
		return Sweep{}, err
	}
	err = s.change(ctx, id, "sweep.update", func(q *db.Queries, row *db.InputSweep) (bool, error) {
		if State(row.State) == Stopping {
			return false, ended(row)
		}
		sw, err := fromRow(*row)
		if err != nil {
			return false, apperr.Wrap(apperr.Conflict, err, "The sweep cannot be changed. "+unreadableMessage(err))
		}
		fields, err := s.apply(ctx, q, sw, checked, row)
		if err == nil && len(fields) > 0 {
			err = apperr.InvalidFields("The sweep has invalid values.", fields)
		}
		return err == nil, err
	})
	if err != nil {
		return Sweep{}, err
	}
	return s.Get(ctx, id)
}

// checkedEdit is an Edit with what must be read before the transaction of the change, which has the
// only connection of this goroutine.
type checkedEdit struct {
	Edit
	version  workflow.Version       // of a sweep whose space is read
	next     space.Checked          // the new space
	problems []typeregistry.Problem // of the new space
}

func (s *Service) checkEdit(ctx context.Context, id uuid.UUID, e Edit) (checkedEdit, error) {
	out := checkedEdit{Edit: e}
	row, err := s.queries.GetInputSweep(ctx, id)
	if db.IsNoRows(err) {
		return out, absent(id)
	}
	if err != nil {
		return out, fmt.Errorf("get sweep %s: %w", id, err)
	}
	if e.Space == nil && Method(row.Method) != Grid {
		return out, nil
	}
	reader := ctx
	if e.Space == nil {
		reader = auth.AsSystem(ctx)
	}
	if out.version, err = s.config.Workflows.VersionByID(reader, row.VersionID); err != nil {
		return out, fmt.Errorf("version of sweep %s: %w", id, err)
	}
	if e.Space != nil {
		out.next, out.problems = space.Check(e.Space, out.version.Definition.Inputs, s.env(ctx))
	}
	return out, nil
}

// apply changes row, and returns the problems of an edit.
func (s *Service) apply(ctx context.Context, q *db.Queries, sw Sweep, e checkedEdit, row *db.InputSweep) (fields []apperr.Field, err error) {
	if e.Name != nil {
		row.Name = strings.TrimSpace(*e.Name)
		if row.Name == "" || utf8.RuneCountInString(row.Name) > MaxName {
			fields = append(fields, apperr.Field{Path: "name", Message: fmt.Sprintf("Enter a name of at most %d characters.", MaxName)})
		}
	}
	if e.Parallelism != nil {
		if *e.Parallelism < 1 || *e.Parallelism > MaxParallelism {
			fields = append(fields, apperr.Field{Path: "parallelism", Message: fmt.Sprintf("Enter 1 to %d concurrent runs.", MaxParallelism)})
		} else {
			row.Parallelism = int32(*e.Parallelism)
		}
	}
	if e.GPUHours != nil {
		if !(*e.GPUHours >= 0) || *e.GPUHours > 1e12 {
			fields = append(fields, apperr.Field{Path: "gpu_hours", Message: "Enter 0 for no budget, or a number above 0."})
		} else {
			row.GpuHours = *e.GPUHours
		}
	}
	if e.EarlyStopping != nil {
		more, err := applyStopping(sw, *e.EarlyStopping, row)
		if err != nil {
			return nil, err
		}
		fields = append(fields, more...)
	}
	if e.Space != nil {
		more, err := applySpace(sw, e, row)
		if err != nil {
			return nil, err
		}
		fields = append(fields, more...)
	}
	if len(fields) > 0 {
		return fields, nil
	}
	return s.applyRuns(ctx, q, sw, e, row)
}

func applyStopping(sw Sweep, e EarlyStopping, row *db.InputSweep) (fields []apperr.Field, err error) {
	fields = e.fill()
	if e.Rule != NoRule && (sw.Objective == nil || sw.Objective.Metric == "") {
		fields = append(fields, apperr.Field{Path: "early_stopping.rule", Message: "Early stopping requires a metric as the objective, which this sweep does not have."})
	}
	row.Stopping, err = encode(e)
	return fields, err
}

// applySpace replaces the space of future runs.
func applySpace(sw Sweep, e checkedEdit, row *db.InputSweep) (fields []apperr.Field, err error) {
	if len(e.problems) > 0 {
		return located("space", e.problems), nil
	}
	c := e.next
	if _, continuous := c.Combinations(); sw.Method == Grid && len(continuous) > 0 {
		return []apperr.Field{{Path: "space", Message: fmt.Sprintf("A grid requires a finite number of values. Set values, step or steps for %s.", strings.Join(continuous, ", "))}}, nil
	}
	if _, problems := space.Apply(sw.Inputs, c.At(make([]float64, len(e.Space)))); len(problems) > 0 {
		return located("inputs", problems), nil
	}
	if row.Space, err = encode(c.Parameters()); err != nil {
		return nil, err
	}
	row.SpaceVersion, row.SpaceFrom = row.SpaceVersion+1, row.Created
	return nil, nil
}

// applyRuns changes the number of runs. It continues an ended sweep if the edit sets the number
// of runs, or the space of a grid, which determines its number of runs. Otherwise, stopped runs
// do not continue.
func (s *Service) applyRuns(ctx context.Context, q *db.Queries, sw Sweep, e checkedEdit, row *db.InputSweep) ([]apperr.Field, error) {
	path, planned := "runs", int(row.Planned)
	more := e.Runs != nil || e.AddRuns != nil || e.Space != nil && sw.Method == Grid
	switch {
	case e.Runs != nil && e.AddRuns != nil:
		return []apperr.Field{{Path: "add_runs", Message: "Enter runs or add_runs, not both."}}, nil
	case e.Runs != nil:
		planned = *e.Runs
	case e.AddRuns != nil:
		path = "add_runs"
		if *e.AddRuns < 1 || *e.AddRuns > MaxRuns {
			return []apperr.Field{{Path: path, Message: fmt.Sprintf("Enter 1 to %d runs.", MaxRuns)}}, nil
		}
		planned += *e.AddRuns
		if sw.State == Stopped { // the runs that did not begin before do not come back
			planned = int(row.Created) + *e.AddRuns
		}
	}
	if planned > MaxRuns {
		return []apperr.Field{{Path: path, Message: fmt.Sprintf("A sweep has at most %d runs; these would be %d.", MaxRuns, planned)}}, nil
	}
	if planned < max(int(row.Created), 1) {
		return []apperr.Field{{Path: path, Message: fmt.Sprintf("The sweep already has %d runs. Enter at least as many, or stop the sweep.", row.Created)}}, nil
	}
	if Method(row.Method) == Grid {
		left, err := gridLeft(ctx, q, *row, e.version)
		if err != nil {
			return nil, err
		}
		if left == 0 && e.Space != nil {
			return []apperr.Field{{Path: "space", Message: "All combinations of this grid have run. Add values to the space."}}, nil
		}
		most := int(row.Created) + left
		if e.Space != nil && e.Runs == nil && e.AddRuns == nil {
			planned = min(most, MaxRuns)
		}
		if planned > max(most, int(row.Planned)) || e.Space != nil && planned > most {
			return []apperr.Field{{Path: path, Message: fmt.Sprintf("The grid has %s that the sweep has not tried, so the sweep can have at most %s. Add values to the space.",
				units.Plural(left, "combination", "combinations"), units.Plural(most, "run", "runs"))}}, nil
		}
	}
	row.Planned = int32(planned) //nolint:gosec // checked
	if !sw.State.Ended() || !more || planned <= int(row.Created) {
		return nil, nil
	}
	if sw.Reason == ReasonBudget && row.GpuHours > 0 {
		t, err := s.totals(ctx, q, sw.ID)
		if err != nil {
			return nil, err
		}
		if t.hours >= row.GpuHours {
			return []apperr.Field{{Path: "gpu_hours", Message: "The budget is used up. Increase it to add runs."}}, nil
		}
	}
	row.State, row.Reason, row.Message, row.EndedAt, row.ExpiresAt, row.Refused = string(Running), "", "", nil, nil, 0
	return nil, nil
}

// gridLeft returns the number of combinations of the grid of row that the sweep has not tried, at most
// MaxRuns.
func gridLeft(ctx context.Context, q *db.Queries, row db.InputSweep, v workflow.Version) (int, error) {
	sw, err := fromRow(row)
	if err != nil {
		return 0, err
	}
	c, err := spaceOf(sw, v)
	if err != nil {
		return 0, err
	}
	left, err := untried(ctx, q, sw.ID, source{method: Grid, space: c, from: int(row.SpaceFrom)}, MaxRuns)
	return len(left), err
}
