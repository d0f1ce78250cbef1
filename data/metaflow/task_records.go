package metaflow

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/flowforge/flowforge/apperr"
)

// TaskRecord is a task in the shape of the design document, with its latest attempt.
type TaskRecord struct {
	TaskID     string     `json:"task_id"` // unique among all tasks
	RunID      string     `json:"run_id"`
	StepName   string     `json:"step_name"`
	AttemptID  int64      `json:"attempt_id"`
	Status     string     `json:"status"`
	StartedAt  time.Time  `json:"started_at"`
	FinishedAt *time.Time `json:"finished_at,omitempty"`
	Exception  string     `json:"exception,omitempty"`
	Pathspec   string     `json:"pathspec"`

	flow, name string // name is the task ID of Metaflow's client
}

// taskRecords returns the tasks of a run, or one of them unless number is 0.
func (s Records) taskRecords(ctx context.Context, flow, run string, number int64) ([]TaskRecord, error) {
	subject, q, err := s.reader(ctx)
	if err != nil {
		return nil, err
	}
	r, err := summary(ctx, q, subject.ProjectID, flow, run)
	if err != nil {
		return nil, err
	}
	numbers := []int64{}
	if number > 0 {
		numbers = append(numbers, number)
	}
	rows, err := q.MetaflowAttempts(ctx, r.RunNumber.Number, numbers)
	if err != nil {
		return nil, fmt.Errorf("attempts of %s/%s: %w", flow, run, err)
	}
	known := tasksOf(r, rows, s.epoch(), false)
	tasks := make([]TaskRecord, 0, len(known))
	for i := range known {
		tasks = append(tasks, taskRecord(r, &known[i]))
	}
	return tasks, nil
}

func taskRecord(r RunSummary, p *TaskProgress) TaskRecord {
	t := TaskRecord{
		TaskID: strconv.FormatInt(p.ID.Number, 10), RunID: r.RunNumber.String(), StepName: p.Step, Status: p.State, StartedAt: moment(p.Epoch),
		Pathspec: strings.Join([]string{r.FlowID, r.RunNumber.String(), p.Step, p.ID.String()}, "/"), flow: r.FlowID, name: p.ID.String(),
	}
	switch p.State {
	case Waiting:
		t.Status = Pending
	case Omitted:
		t.Status = Failed
	}
	if len(p.Attempts) > 0 {
		last := p.Attempts[len(p.Attempts)-1]
		t.AttemptID, t.Exception = last.Number, last.Exception
		if last.Ended > 0 {
			t.FinishedAt = new(moment(last.Ended))
		}
	}
	return t
}

// NewTaskRecord is a task that a client of the design document registers.
type NewTaskRecord struct {
	RunID     Text   `json:"run_id"`
	StepName  string `json:"step_name"`
	User      string `json:"user"`
	AttemptID int64  `json:"attempt_id"`
}

// StartTask records a task, and its step if it is new.
func (s Records) StartTask(ctx context.Context, n NewTaskRecord) (TaskRecord, error) {
	if _, _, err := s.writer(ctx); err != nil {
		return TaskRecord{}, err
	}
	if n.StepName == "" || n.RunID == "" {
		return TaskRecord{}, apperr.New(apperr.Invalid, "run_id and step_name are required")
	}
	r, err := s.FindRun(ctx, string(n.RunID))
	if err != nil {
		return TaskRecord{}, err
	}
	if _, err := s.CreateStep(ctx, r.FlowID, r.RunID, n.StepName, n.User); err != nil && !apperr.Is(err, apperr.Conflict) {
		return TaskRecord{}, err
	}
	t, err := s.CreateTask(ctx, r.FlowID, r.RunID, n.StepName, "", n.User)
	if err != nil {
		return TaskRecord{}, err
	}
	if err := s.BeatTask(ctx, r.FlowID, r.RunID, n.StepName, t.TaskID.String()); err != nil {
		return TaskRecord{}, err
	}
	made := TaskRecord{RunID: r.RunID, StepName: n.StepName, flow: r.FlowID, name: t.TaskID.String()}
	if err := s.report(ctx, made, n.AttemptID, map[string]string{"attempt": strconv.FormatInt(n.AttemptID, 10)}); err != nil {
		return TaskRecord{}, err
	}
	return s.FindTask(ctx, made.name)
}

// FindTask returns a task of any run; apperr.NotFound if it does not exist.
func (s Records) FindTask(ctx context.Context, id string) (TaskRecord, error) {
	subject, q, err := s.reader(ctx)
	if err != nil {
		return TaskRecord{}, err
	}
	number := parseID(id).Number
	at, err := q.MetaflowTaskPlace(ctx, subject.ProjectID, number)
	if err != nil {
		return TaskRecord{}, absent(err, "task %q", id)
	}
	tasks, err := s.taskRecords(ctx, at.FlowID, idOf(at.RunNumber, at.RunID).String(), number)
	if err == nil && len(tasks) == 0 {
		err = fmt.Errorf("read task %s: it has no row", id)
	}
	if err != nil {
		return TaskRecord{}, err
	}
	return tasks[0], nil
}

// TaskChange changes a task.
type TaskChange struct {
	Status    string `json:"status"` // running is a heartbeat
	Exception string `json:"exception"`
	AttemptID *int64 `json:"attempt_id"` // nil: the latest
}

// ChangeTask reports the state of an attempt of a task. A run whose step "end" completes is
// completed.
func (s Records) ChangeTask(ctx context.Context, id string, c TaskChange) (TaskRecord, error) {
	if _, _, err := s.writer(ctx); err != nil {
		return TaskRecord{}, err
	}
	t, err := s.FindTask(ctx, id)
	if err != nil {
		return TaskRecord{}, err
	}
	attempt, facts := t.AttemptID, map[string]string{}
	if c.AttemptID != nil {
		attempt = *c.AttemptID
		facts["attempt"] = strconv.FormatInt(attempt, 10)
	}
	switch c.Status {
	case "":
	case Running:
		if err := s.BeatTask(ctx, t.flow, t.RunID, t.StepName, t.name); err != nil {
			return TaskRecord{}, err
		}
	case Completed:
		facts[attemptOK] = "True"
	case Failed:
		facts[attemptOK] = "False"
	default:
		return TaskRecord{}, apperr.New(apperr.Invalid, "status %q is not a valid state: use running, completed or failed", c.Status)
	}
	if c.Exception != "" {
		facts["exception"] = c.Exception
	}
	if err := s.report(ctx, t, attempt, facts); err != nil {
		return TaskRecord{}, err
	}
	return s.FindTask(ctx, id)
}

// maxAttempt is the highest number of an attempt.
const maxAttempt = 1 << 20

// report records facts about an attempt of a task.
func (s Records) report(ctx context.Context, t TaskRecord, attempt int64, facts map[string]string) error {
	if attempt < 0 || attempt > maxAttempt {
		return apperr.New(apperr.Invalid, "attempt_id must be a number from 0 to %d", maxAttempt)
	}
	var rows []NewMetadata
	for name, value := range facts {
		rows = append(rows, NewMetadata{FieldName: name, Value: Text(value), Type: name, Tags: []string{"attempt_id:" + strconv.FormatInt(attempt, 10)}})
	}
	_, err := s.AddMetadata(ctx, t.flow, t.RunID, t.StepName, t.name, rows)
	return err
}
