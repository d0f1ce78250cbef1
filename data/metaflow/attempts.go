package metaflow

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/db"
)

// ParametersStep is the step of the task that has the parameters of a run as artifacts. It runs no
// code of the flow.
const ParametersStep = "_parameters"

// States of a task that no attempt has started.
const (
	Waiting = "waiting" // the run is running
	Omitted = "omitted" // the run has ended
)

// silence is how long a run or a task without heartbeats counts as running, in milliseconds, as in
// metaflow_run_rows.
const silence = 6 * 60 * 1000

// Attempt is an attempt of a task. Times are milliseconds; 0 is unknown.
type Attempt struct {
	Number  int64
	Started int64
	Ended   int64
	State   string // Running, Completed or Failed

	Exception string // as a client of the design document reports it
}

// TaskProgress is a task with its attempts.
type TaskProgress struct {
	Step     string
	ID       ID
	Epoch    int64  // when it was registered
	Path     string // the indexes of the foreach steps around it: "start:0,inner:2"
	Items    string // the values of the foreach steps around it, as the client sends them
	Origin   string // the run from which a resumed run has reused the task, or ""
	Attempts []Attempt
	State    string // Waiting, Omitted, Running, Completed or Failed
}

// Started is when the first attempt started; 0 before.
func (t *TaskProgress) Started() int64 {
	if len(t.Attempts) == 0 {
		return 0
	}
	return t.Attempts[0].Started
}

// Ended is when the latest attempt ended; 0 before.
func (t *TaskProgress) Ended() int64 {
	if len(t.Attempts) == 0 {
		return 0
	}
	return t.Attempts[len(t.Attempts)-1].Ended
}

// StepSummary counts the tasks of a step. Times are milliseconds; 0 is unknown.
type StepSummary struct {
	Name    string
	Tasks   map[string]int64 // by state
	Started int64            // the first start of a task
	Ended   int64            // the last end of a task
	Only    *TaskProgress    // the task of a step that has one
	last    int64            // the number of the latest task
}

// Total is the number of tasks.
func (s StepSummary) Total() int64 {
	var n int64
	for _, some := range s.Tasks {
		n += some
	}
	return n
}

// Overview is a run with its steps in the order of their first task. The parameters are no step.
type Overview struct {
	Run    RunSummary
	Steps  []StepSummary
	Origin string // the run that it resumes, or ""
}

// Overview returns a run with its steps; apperr.NotFound if the run does not exist. It counts tasks
// in the database and reads only those that are alone in their step.
func (s *Service) Overview(ctx context.Context, flow, run string) (Overview, error) {
	subject, q, err := s.reader(ctx)
	if err != nil {
		return Overview{}, err
	}
	var o Overview
	if o.Run, err = summary(ctx, q, subject.ProjectID, flow, run); err != nil {
		return o, err
	}
	rows, err := q.MetaflowStepCounts(ctx, o.Run.Status == Running, o.Run.LastHeartbeat != nil, s.epoch(), o.Run.RunNumber.Number)
	if err != nil {
		return o, fmt.Errorf("count the tasks of %s/%s: %w", flow, run, err)
	}
	for _, row := range rows {
		o.add(row)
	}
	var alone []int64
	for _, step := range o.Steps {
		if step.Total() == 1 {
			alone = append(alone, step.last)
		}
	}
	if len(alone) == 0 {
		return o, nil
	}
	tasks, err := s.progress(ctx, q, o.Run, alone...)
	for i := range tasks {
		n := slices.IndexFunc(o.Steps, func(step StepSummary) bool { return step.Name == tasks[i].Step })
		o.Steps[n].Only = &tasks[i]
	}
	return o, err
}

// add adds the tasks of a step in one state.
func (o *Overview) add(row db.MetaflowStepCountsRow) {
	if row.Origin != "" {
		o.Origin = row.Origin
	}
	n := slices.IndexFunc(o.Steps, func(step StepSummary) bool { return step.Name == row.StepName })
	if n < 0 {
		n = len(o.Steps)
		o.Steps = append(o.Steps, StepSummary{Name: row.StepName, Tasks: map[string]int64{}})
	}
	step := &o.Steps[n]
	step.Tasks[row.State] += row.Tasks
	if row.Started > 0 && (step.Started == 0 || row.Started < step.Started) {
		step.Started = row.Started
	}
	step.Ended, step.last = max(step.Ended, row.Ended), max(step.last, row.LastTask)
}

// MaxOrdered is the maximum number of tasks of a run whose steps are ordered by their times.
const MaxOrdered = 2000

// Order returns the order of the steps of a run by the times of its tasks; in a row for a run with
// more than MaxOrdered tasks. It is for runs whose graph cannot be read.
func (s *Service) Order(ctx context.Context, o Overview) ([]StepOrder, error) {
	subject, q, err := s.reader(ctx)
	if err != nil {
		return nil, err
	}
	var total int64
	for _, step := range o.Steps {
		total += step.Total()
	}
	if total > MaxOrdered {
		return inRow(o.Steps), nil
	}
	tasks, err := s.progress(ctx, q, o.Run)
	if err != nil {
		return nil, err
	}
	steps, before, err := s.order(ctx, q, subject.ProjectID, o.Run, tasks)
	return arrange(steps, before), err
}

// inRow orders steps one after the other.
func inRow(steps []StepSummary) []StepOrder {
	out := make([]StepOrder, len(steps))
	for i, step := range steps {
		out[i] = StepOrder{Name: step.Name, Level: i}
		if i > 0 {
			out[i].After = []int{i - 1}
		}
	}
	return out
}

// TaskFilter selects tasks of a run. Empty fields match every task.
type TaskFilter struct {
	Step, State string
	Before      int64 // the number of the last task of the page before
	Limit       int
}

// RunTasks returns a page of the tasks of a run, newest first, and whether another page follows.
func (s *Service) RunTasks(ctx context.Context, r RunSummary, f TaskFilter) ([]TaskProgress, bool, error) {
	subject, q, err := s.reader(ctx)
	if err != nil {
		return nil, false, err
	}
	if r, err = summary(ctx, q, subject.ProjectID, r.FlowID, r.RunNumber.String()); err != nil {
		return nil, false, err
	}
	numbers, err := q.MetaflowTaskPage(ctx, db.MetaflowTaskPageParams{
		RunNumber: r.RunNumber.Number, StepName: f.Step, State: f.State, Before: f.Before, RowLimit: int32(f.Limit) + 1, //nolint:gosec // a page
		Running: r.Status == Running, Beats: r.LastHeartbeat != nil, NowMs: s.epoch(),
	})
	if err != nil || len(numbers) == 0 {
		return nil, false, err
	}
	more := len(numbers) > f.Limit
	numbers = numbers[:min(f.Limit, len(numbers))]
	tasks, err := s.progress(ctx, q, r, numbers...)
	slices.Reverse(tasks)
	return tasks, more, err
}

// TaskProgress returns a task with its attempts; apperr.NotFound if it does not exist.
func (s *Service) TaskProgress(ctx context.Context, flow, run, step, task string) (RunSummary, TaskProgress, error) {
	subject, q, err := s.reader(ctx)
	if err != nil {
		return RunSummary{}, TaskProgress{}, err
	}
	r, err := summary(ctx, q, subject.ProjectID, flow, run)
	if err != nil {
		return r, TaskProgress{}, err
	}
	t, err := findTask(ctx, q, r.Run, step, task)
	if err != nil {
		return r, TaskProgress{}, err
	}
	tasks, err := s.progress(ctx, q, r, t.TaskID.Number)
	if err != nil || len(tasks) == 0 {
		return r, TaskProgress{}, fmt.Errorf("read task %s/%s/%s/%s: %w", flow, run, step, task, err)
	}
	return r, tasks[0], nil
}

// progress reads tasks of a run by their numbers; all of them but the parameters without a number.
func (s *Service) progress(ctx context.Context, q *db.Queries, r RunSummary, numbers ...int64) ([]TaskProgress, error) {
	rows, err := q.MetaflowAttempts(ctx, r.RunNumber.Number, append([]int64{}, numbers...))
	if err != nil {
		return nil, fmt.Errorf("attempts of %s/%s: %w", r.FlowID, r.RunNumber, err)
	}
	return tasksOf(r, rows, s.epoch(), len(numbers) == 0), nil
}

// tasksOf joins the rows of attempts to tasks. now is in milliseconds.
func tasksOf(r RunSummary, rows []db.MetaflowAttemptsRow, now int64, ofFlow bool) []TaskProgress {
	var tasks []TaskProgress
	var beats []int64
	last := int64(0)
	for _, row := range rows {
		if ofFlow && row.StepName == ParametersStep {
			continue
		}
		if row.TaskNumber != last {
			last = row.TaskNumber
			tasks = append(tasks, TaskProgress{Step: row.StepName, ID: idOf(row.TaskNumber, row.TaskID), Epoch: row.TsEpoch})
			beat := row.TsEpoch
			if row.LastHeartbeatTs != nil {
				beat = *row.LastHeartbeatTs * 1000
			}
			beats = append(beats, beat)
		}
		tasks[len(tasks)-1].add(row)
	}
	for i := range tasks {
		tasks[i].settle(r.Status == Running, r.LastHeartbeat == nil || now-beats[i] < silence)
	}
	return tasks
}

// add adds an attempt. The facts that a client sends when it registers a task name an attempt that
// has not started.
func (t *TaskProgress) add(row db.MetaflowAttemptsRow) {
	if row.Path != "" {
		t.Path, t.Items = row.Path, row.Items
	}
	if row.Origin != "" {
		t.Origin = row.Origin
	}
	if row.Attempt < 0 || row.Started == 0 && row.Ended == 0 {
		return
	}
	a := Attempt{Number: row.Attempt, Started: row.Started, Ended: row.Ended, State: Running, Exception: row.Exception}
	if a.Started == 0 {
		a.Started = t.Epoch
	}
	switch row.Ok {
	case "True":
		a.State = Completed
	case "False":
		a.State = Failed
	}
	t.Attempts = append(t.Attempts, a)
}

// settle decides the states of attempts without an end and of the task. An attempt that another
// one follows has failed; the latest one is running while its run is running and it is alive. The
// parameters are complete once they are registered.
func (t *TaskProgress) settle(running, alive bool) {
	for i := range t.Attempts {
		a := &t.Attempts[i]
		if a.State == Running && (i < len(t.Attempts)-1 || !running || !alive) {
			a.State = Failed
		}
	}
	switch {
	case len(t.Attempts) > 0:
		t.State = t.Attempts[len(t.Attempts)-1].State
	case t.Step == ParametersStep:
		t.State = Completed
	case running:
		t.State = Waiting
	default:
		t.State = Omitted
	}
}

// order returns the steps of a run in the order of their first task, and which of them precede
// which, by name. Times of reused tasks say nothing about the order, so it comes from their run.
func (s *Service) order(ctx context.Context, q *db.Queries, project uuid.UUID, r RunSummary, tasks []TaskProgress) ([]string, precedence, error) {
	steps, before := precede(tasks)
	origin, reused := "", map[string]bool{}
	for i := range tasks {
		if tasks[i].Origin != "" {
			origin, reused[tasks[i].Step] = tasks[i].Origin, true
		}
	}
	if origin == "" {
		return steps, before, nil
	}
	earlier, err := summary(ctx, q, project, r.FlowID, strings.TrimPrefix(origin, r.FlowID+"/"))
	if err != nil || earlier.RunNumber.Number >= r.RunNumber.Number {
		return steps, before, nil //nolint:nilerr // a run of another service: the times are all there is
	}
	known, err := s.progress(ctx, q, earlier)
	if err != nil {
		return nil, nil, err
	}
	was, there, err := s.order(ctx, q, project, earlier, known)
	if err != nil {
		return nil, nil, err
	}
	steps, before = reorder(steps, before, reused, was, there)
	return steps, before, nil
}
