package sweep

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/sweep/space"
)

// Get returns a sweep that the caller may read, or NotFound.
func (s *Service) Get(ctx context.Context, id uuid.UUID) (Sweep, error) {
	row, subject, err := s.readable(ctx, id)
	if err != nil {
		return Sweep{}, err
	}
	list, err := s.complete(ctx, subject, []db.InputSweep{row})
	if err != nil {
		return Sweep{}, err
	}
	return list[0], nil
}

const (
	defaultSweeps = 50
	maxSweeps     = 200
)

// List returns sweeps of the caller's project, newest first, and where the next page begins.
func (s *Service) List(ctx context.Context, l Listed) ([]Sweep, *uuid.UUID, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return nil, nil, err
	}
	params := db.ListInputSweepsParams{ProjectID: subject.ProjectID, State: string(l.State), Before: l.Before, Query: db.EscapeLike(l.Text)}
	if l.Workflow != "" {
		w, err := s.config.Workflows.Get(ctx, l.Workflow)
		if err != nil {
			return nil, nil, err
		}
		params.WorkflowID, params.ProjectID = &w.ID, w.ProjectID
	}
	limit := min(cmp.Or(max(l.Limit, 0), defaultSweeps), maxSweeps)
	params.MaxRows = int32(limit + 1) //nolint:gosec // bounded
	rows, err := s.queries.ListInputSweeps(ctx, params)
	if err != nil {
		return nil, nil, fmt.Errorf("list sweeps: %w", err)
	}
	var next *uuid.UUID
	if len(rows) > limit {
		rows = rows[:limit]
		next = &rows[limit-1].ID
	}
	list, err := s.complete(ctx, subject, rows)
	return list, next, err
}

// Installing reports whether this server installs what the method needs.
func (s *Service) Installing(m Method) bool { return m == TPE && s.config.Optuna.Installing() }

// complete adds counts and best runs to sweeps.
func (s *Service) complete(ctx context.Context, subject auth.Subject, rows []db.InputSweep) ([]Sweep, error) {
	ids := make([]uuid.UUID, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	counts, err := s.queries.CountSweepRuns(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("count runs: %w", err)
	}
	best, err := s.queries.BestSweepRuns(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("find the best runs: %w", err)
	}
	list := make([]Sweep, 0, len(rows))
	for _, r := range rows {
		sw := legible(r)
		t := totalsOf(counts, r.ID)
		sw.Counts, sw.UsedGPUHours = t.counts, t.hours
		sw.MayRun = subject.May(auth.ExecutionCancel, r.ProjectID) && (subject.ID == r.CreatedBy || subject.May(auth.ExecutionCancelAny, r.ProjectID))
		for _, b := range best {
			if b.SweepID != r.ID {
				continue
			}
			run := runOf(b)
			run.Rank, sw.Best = 1, &run
		}
		list = append(list, sw)
	}
	return list, nil
}

// runOf returns a run. One whose values cannot be decoded has none, and its message says so.
func runOf(r db.InputSweepRun) Run {
	run := Run{
		Index: int(r.Number), ExecutionID: r.ExecutionID, State: RunState(r.State), SpaceVersion: int(r.SpaceVersion), Objective: r.Objective, Step: r.Step,
		BestStep: r.BestStep, Message: r.Message, CreatedAt: r.CreatedAt, StartedAt: r.StartedAt, FinishedAt: r.FinishedAt, GPUHours: r.GpuHours,
	}
	if !run.State.Ended() {
		run.Message = r.Stop
	}
	if err := part("values", r.Chosen, &run.Values); err != nil {
		run.Values, run.Message = space.Combination{}, unreadableMessage(err)
	}
	return run
}

// comparable reports whether a run can be among the best. Failed and cancelled runs cannot.
func (r Run) comparable() bool {
	return r.Objective != nil && (r.State == RunRunning || r.State == RunSucceeded || r.State == RunStoppedEarly)
}

const defaultRuns = 100

// Runs returns the runs of a sweep that match, with their ranks among all, and how many match.
func (s *Service) Runs(ctx context.Context, id uuid.UUID, f Filter) ([]Run, int, error) {
	row, _, err := s.readable(ctx, id)
	if err != nil {
		return nil, 0, err
	}
	sw := legible(row)
	runs, err := s.allRuns(ctx, sw)
	if err != nil {
		return nil, 0, err
	}
	return selected(sw, runs, f)
}

// selected changes the order of runs.
func selected(sw Sweep, runs []Run, f Filter) ([]Run, int, error) {
	if f.State != "" {
		runs = slices.DeleteFunc(runs, func(r Run) bool { return r.State != f.State })
	}
	if err := order(runs, sw, f.Sort); err != nil {
		return nil, 0, err
	}
	total := len(runs)
	from := min(max(f.After, 0), total)
	to := min(from+cmp.Or(max(f.Limit, 0), defaultRuns), total)
	return runs[from:to], total, nil
}

// allRuns returns the runs of a sweep with their ranks, in the order of their numbers.
func (s *Service) allRuns(ctx context.Context, sw Sweep) ([]Run, error) {
	rows, err := s.queries.SweepRuns(ctx, sw.ID)
	if err != nil {
		return nil, fmt.Errorf("list the runs of sweep %s: %w", sw.ID, err)
	}
	waiting, err := s.queries.WaitingSweepRuns(ctx, sw.ID)
	if err != nil {
		return nil, fmt.Errorf("find the waiting runs of sweep %s: %w", sw.ID, err)
	}
	waits := make(map[int32]bool, len(waiting))
	for _, number := range waiting {
		waits[number] = true
	}
	runs := make([]Run, len(rows))
	var ranked []int
	for i, r := range rows {
		runs[i] = runOf(r)
		runs[i].Waiting = waits[r.Number]
		if runs[i].comparable() && sw.Objective != nil {
			ranked = append(ranked, i)
		}
	}
	slices.SortStableFunc(ranked, func(a, b int) int {
		switch x, y := *runs[a].Objective, *runs[b].Objective; {
		case sw.Objective.Better(x, y):
			return -1
		case sw.Objective.Better(y, x):
			return 1
		}
		return 0
	})
	for rank, i := range ranked {
		runs[i].Rank = rank + 1
	}
	return runs, nil
}

// order sorts runs by "index", "objective", "created" or the path of a parameter; "-" reverses.
func order(runs []Run, sw Sweep, by string) error {
	name, descending := strings.CutPrefix(by, "-")
	var compare func(a, b Run) int
	switch {
	case name == "" || name == "index" || name == "created":
		compare = func(a, b Run) int { return cmp.Compare(a.Index, b.Index) }
	case name == "objective": // the best first; those without a rank last in both directions
		compare = func(a, b Run) int { return cmp.Compare(a.Rank, b.Rank) }
	case slices.ContainsFunc(sw.Space, func(p space.Parameter) bool { return p.Path == name }):
		compare = func(a, b Run) int { return compareValues(a.Values[name], b.Values[name]) }
	default:
		return apperr.InvalidFields("The runs cannot be sorted.", []apperr.Field{{Path: "sort", Message: fmt.Sprintf("Sort by index, objective or a parameter of the sweep, not by %q.", name)}})
	}
	slices.SortStableFunc(runs, func(a, b Run) int {
		if name == "objective" && (a.Rank == 0) != (b.Rank == 0) {
			return cmp.Compare(b.Rank, a.Rank)
		}
		if descending {
			a, b = b, a
		}
		return compare(a, b)
	})
	return nil
}

func compareValues(a, b any) int {
	m, first := a.(json.Number)
	n, second := b.(json.Number)
	if first && second {
		x, _ := m.Float64()
		y, _ := n.Float64()
		return cmp.Compare(x, y)
	}
	return strings.Compare(space.Text(a), space.Text(b))
}

// OfExecution returns the sweep and the number of the run that an execution is; ok is false for an
// execution of no sweep. The caller has read the execution.
func (s *Service) OfExecution(ctx context.Context, execution uuid.UUID) (id uuid.UUID, number int, name string, ok bool, err error) {
	row, err := s.queries.SweepOfExecution(ctx, &execution)
	if db.IsNoRows(err) {
		return uuid.Nil, 0, "", false, nil
	}
	if err != nil {
		return uuid.Nil, 0, "", false, fmt.Errorf("find the sweep of execution %s: %w", execution, err)
	}
	return row.SweepID, int(row.Number), row.Name, true, nil
}

// OfRuns returns the sweeps of the executions in a list that are runs of one, by ID.
func (s *Service) OfRuns(ctx context.Context, list []query.Execution) (map[uuid.UUID]Sweep, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return nil, err
	}
	var ids []uuid.UUID
	for _, e := range list {
		if e.SweepID != nil {
			ids = append(ids, *e.SweepID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := s.queries.InputSweepsByID(ctx, subject.ProjectID, ids)
	if err != nil {
		return nil, fmt.Errorf("read sweeps: %w", err)
	}
	found, err := s.complete(ctx, subject, rows)
	if err != nil {
		return nil, err
	}
	sweeps := make(map[uuid.UUID]Sweep, len(found))
	for _, sw := range found {
		sweeps[sw.ID] = sw
	}
	return sweeps, nil
}

// Any reports whether the caller's project has sweeps.
func (s *Service) Any(ctx context.Context) (bool, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	if err != nil {
		return false, err
	}
	has, err := s.queries.HasInputSweeps(ctx, subject.ProjectID)
	if err != nil {
		return false, fmt.Errorf("find sweeps: %w", err)
	}
	return has, nil
}

// number is a value of a parameter as a number, NaN for other values.
func number(v any) float64 {
	n, ok := v.(json.Number)
	if !ok {
		return math.NaN()
	}
	x, err := n.Float64()
	if err != nil {
		return math.NaN()
	}
	return x
}
