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

func (s *Service) taskRecords(ctx context.Context, run int64, step string, task int64) ([]TaskRecord, error) {
	subject, q, err := s.reader(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := q.MetaflowTaskRecords(ctx, subject.ProjectID, run, step, task)
	if err != nil {
		return nil, fmt.Errorf("read tasks: %w", err)
	}
	tasks := make([]TaskRecord, 0, len(rows))
	for _, row := range rows {
		t := TaskRecord{
			TaskID: strconv.FormatInt(row.TaskNumber, 10), RunID: row.RunID, StepName: row.StepName, AttemptID: row.Attempt, Status: Running,
			StartedAt: moment(row.TsEpoch), Exception: row.Exception, Pathspec: strings.Join([]string{row.FlowID, row.RunID, row.StepName, row.TaskID}, "/"),
			flow: row.FlowID, name: row.TaskID,
		}
		if row.AttemptOk != "" {
			t.FinishedAt, t.Status = new(moment(row.EndedEpoch)), Failed
			if row.AttemptOk == "True" {
				t.Status = Completed
			}
		}
		tasks = append(tasks, t)
	}
	return tasks, nil
}

// NewTaskRecord is a task that a client of the design document registers.
type NewTaskRecord struct {
	RunID     Text   `json:"run_id"`
	StepName  string `json:"step_name"`
	User      string `json:"user"`
	AttemptID int64  `json:"attempt_id"`
}

// StartTask records a task, and its step if it is new.
func (s *Service) StartTask(ctx context.Context, n NewTaskRecord) (TaskRecord, error) {
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
	found, err := s.FindTask(ctx, t.TaskID.String())
	if err != nil {
		return TaskRecord{}, err
	}
	return found, s.report(ctx, found, n.AttemptID, map[string]string{"attempt": strconv.FormatInt(n.AttemptID, 10)})
}

// FindTask returns a task of any run; apperr.NotFound if it does not exist.
func (s *Service) FindTask(ctx context.Context, id string) (TaskRecord, error) {
	number := parseID(id).Number
	if number > 0 {
		tasks, err := s.taskRecords(ctx, 0, "", number)
		if err != nil || len(tasks) == 1 {
			return append(tasks, TaskRecord{})[0], err
		}
	}
	return TaskRecord{}, apperr.New(apperr.NotFound, "There is no task %q.", id)
}

// TaskChange changes a task.
type TaskChange struct {
	Status    string `json:"status"` // running is a heartbeat
	Exception string `json:"exception"`
	AttemptID *int64 `json:"attempt_id"` // nil: the latest
}

// ChangeTask reports the state of an attempt of a task. A run whose step "end" completes is
// completed.
func (s *Service) ChangeTask(ctx context.Context, id string, c TaskChange) (TaskRecord, error) {
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
		return TaskRecord{}, apperr.New(apperr.Invalid, "status %q is not a state: use running, completed or failed", c.Status)
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
func (s *Service) report(ctx context.Context, t TaskRecord, attempt int64, facts map[string]string) error {
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
