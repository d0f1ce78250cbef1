package metaflow

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// Pending is the state of a run or a step of which nothing has begun.
const Pending = "pending"

// Records are runs, tasks and artifacts as the design document has them: each has an ID of its own.
type Records struct{ *Service }

// RunRecord is a run in the shape of the design document.
type RunRecord struct {
	RunID      string          `json:"run_id"`
	FlowID     string          `json:"flow_id"`
	User       string          `json:"user"`
	Status     string          `json:"status"`
	StartTime  time.Time       `json:"start_time"`
	EndTime    *time.Time      `json:"end_time,omitempty"`
	UserTags   []string        `json:"user_tags"`
	SystemTags []string        `json:"system_tags"`
	Parameters json.RawMessage `json:"parameters,omitempty"` // not in a search
	Pathspec   string          `json:"pathspec"`

	number int64
}

// StepRecord is a step in the shape of the design document.
type StepRecord struct {
	RunID     string     `json:"run_id"`
	StepName  string     `json:"step_name"`
	Status    string     `json:"status"`
	StartTime time.Time  `json:"start_time"`
	EndTime   *time.Time `json:"end_time,omitempty"`
	Tasks     int        `json:"tasks"`
	Pathspec  string     `json:"pathspec"`
}

// FindRun returns a run of any flow. Errors: apperr.NotFound, and apperr.Conflict for an ID that a
// client gave to runs of several flows.
func (s Records) FindRun(ctx context.Context, id string) (RunRecord, error) {
	subject, q, err := s.reader(ctx)
	if err != nil {
		return RunRecord{}, err
	}
	parsed := parseID(id)
	rows, err := q.MetaflowRunsByID(ctx, subject.ProjectID, parsed.Number, parsed.Text)
	switch {
	case err != nil:
		return RunRecord{}, fmt.Errorf("find run %s: %w", id, err)
	case len(rows) == 0:
		return RunRecord{}, apperr.New(apperr.NotFound, "There is no run %q.", id)
	case len(rows) > 1:
		return RunRecord{}, apperr.New(apperr.Conflict, "Several flows have a run called %q. Use /flows/{flow_id}/runs/%s.", id, id)
	}
	r := recordOf(summaryOf(rows[0]))
	r.Parameters = rows[0].Parameters
	if r.Status == Running && rows[0].LastHeartbeatTs == nil {
		steps, err := q.MetaflowSteps(ctx, r.number)
		if err != nil {
			return RunRecord{}, fmt.Errorf("steps of run %s: %w", id, err)
		}
		if len(steps) == 0 {
			r.Status = Pending
		}
	}
	return r, nil
}

func recordOf(s RunSummary) RunRecord {
	r := RunRecord{
		RunID: s.RunNumber.String(), FlowID: s.FlowID, User: s.User, Status: s.Status, StartTime: moment(s.TSEpoch), UserTags: s.Tags,
		SystemTags: s.SystemTags, Pathspec: s.FlowID + "/" + s.RunNumber.String(), number: s.RunNumber.Number,
	}
	if s.EndedEpoch > 0 {
		r.EndTime = new(moment(s.EndedEpoch))
	}
	return r
}

// SearchRuns returns runs of all flows; see FindRuns.
func (s Records) SearchRuns(ctx context.Context, f RunFilter) ([]RunRecord, string, error) {
	runs, next, err := s.FindRuns(ctx, f)
	found := make([]RunRecord, 0, len(runs))
	for _, r := range runs {
		found = append(found, recordOf(r))
	}
	return found, next, err
}

// NewRunRecord is a run that a client of the design document registers.
type NewRunRecord struct {
	FlowID     string                     `json:"flow_id"`
	User       string                     `json:"user"`
	Parameters map[string]json.RawMessage `json:"parameters"`
	Tags       []string                   `json:"tags"`
}

// StartRun records a run, and its flow if it is new. Errors: apperr.Invalid.
func (s Records) StartRun(ctx context.Context, n NewRunRecord) (RunRecord, error) {
	if _, _, err := s.writer(ctx); err != nil {
		return RunRecord{}, err
	}
	if n.FlowID == "" {
		return RunRecord{}, apperr.New(apperr.Invalid, "flow_id is missing: enter the run's flow")
	}
	if _, err := s.CreateFlow(ctx, n.FlowID, optional(n.User)); err != nil && !apperr.Is(err, apperr.Conflict) {
		return RunRecord{}, err
	}
	var system []string
	if n.User != "" {
		system = []string{"user:" + n.User}
	}
	r, err := s.CreateRun(ctx, NewRun{FlowID: n.FlowID, UserName: n.User, Tags: n.Tags, SystemTags: system})
	if err != nil {
		return RunRecord{}, err
	}
	if len(n.Parameters) > 0 {
		if err := db.New(s.pool).SetMetaflowParameters(ctx, encode(n.Parameters), r.RunNumber.Number); err != nil {
			return RunRecord{}, fmt.Errorf("parameters of run %s: %w", r.RunNumber, err)
		}
	}
	return s.FindRun(ctx, r.RunNumber.String())
}

// RunChange changes a run. An empty field changes nothing.
type RunChange struct {
	Status string    `json:"status"` // running is a heartbeat
	Tags   *[]string `json:"tags"`   // replaces the user tags
}

// ChangeRun sets the state and the tags of a run. Errors: apperr.NotFound and apperr.Invalid.
func (s Records) ChangeRun(ctx context.Context, id string, c RunChange) (RunRecord, error) {
	subject, _, err := s.writer(ctx)
	if err != nil {
		return RunRecord{}, err
	}
	r, err := s.FindRun(ctx, id)
	if err == nil {
		err = checkRun(subject, r.FlowID, r.RunID)
	}
	if err != nil {
		return RunRecord{}, err
	}
	err = db.Tx(ctx, s.pool, func(_ pgx.Tx, q *db.Queries) error {
		if c.Tags != nil {
			now, err := q.LockMetaflowTags(ctx, r.number)
			if err != nil {
				return err
			}
			own := slices.DeleteFunc(tagSet(*c.Tags), func(t string) bool { return slices.Contains(now.SystemTags, t) })
			if err := q.SetMetaflowTags(ctx, own, r.number); err != nil {
				return err
			}
		}
		switch c.Status {
		case "":
			return nil
		case Running:
			if err := q.EndMetaflowRun(ctx, nil, nil, r.number); err != nil {
				return err
			}
			return q.BeatMetaflow(ctx, r.number, s.now().Unix(), 0)
		case Completed, Failed:
			return q.EndMetaflowRun(ctx, new(c.Status == Completed), new(s.epoch()), r.number)
		}
		return apperr.New(apperr.Invalid, "status %q is not a valid state: use running, completed or failed", c.Status)
	})
	if err != nil {
		return RunRecord{}, err
	}
	return s.FindRun(ctx, id)
}

// RunSteps returns the steps of a run with their states, the first one first.
func (s Records) RunSteps(ctx context.Context, id string) ([]StepRecord, error) {
	r, tasks, err := s.withTasks(ctx, id)
	if err != nil {
		return nil, err
	}
	rows, err := db.New(s.pool).MetaflowSteps(ctx, r.number)
	if err != nil {
		return nil, fmt.Errorf("steps of run %s: %w", id, err)
	}
	steps := make([]StepRecord, 0, len(rows))
	for _, row := range slices.Backward(rows) {
		steps = append(steps, stepRecord(r, row, tasks))
	}
	return steps, nil
}

// RunStep returns a step of a run; apperr.NotFound if it does not exist.
func (s Records) RunStep(ctx context.Context, id, step string) (StepRecord, error) {
	r, tasks, err := s.withTasks(ctx, id)
	if err != nil {
		return StepRecord{}, err
	}
	row, err := db.New(s.pool).MetaflowStep(ctx, r.number, step)
	if err != nil {
		return StepRecord{}, absent(err, "step %s/%s", r.Pathspec, step)
	}
	return stepRecord(r, row, tasks), nil
}

// StepTasks returns the tasks of a step; apperr.NotFound if the step does not exist.
func (s Records) StepTasks(ctx context.Context, id, step string) ([]TaskRecord, error) {
	if _, err := s.RunStep(ctx, id, step); err != nil {
		return nil, err
	}
	_, tasks, err := s.withTasks(ctx, id)
	return slices.DeleteFunc(tasks, func(t TaskRecord) bool { return t.StepName != step }), err
}

// withTasks returns a run and its tasks.
func (s Records) withTasks(ctx context.Context, id string) (RunRecord, []TaskRecord, error) {
	r, err := s.FindRun(ctx, id)
	if err != nil {
		return RunRecord{}, nil, err
	}
	tasks, err := s.taskRecords(ctx, r.FlowID, r.RunID, 0)
	return r, tasks, err
}

func stepRecord(r RunRecord, row db.MetaflowStep, tasks []TaskRecord) StepRecord {
	out := StepRecord{RunID: r.RunID, StepName: row.StepName, Status: Pending, StartTime: moment(row.TsEpoch), Pathspec: r.Pathspec + "/" + row.StepName}
	ended := map[string]int{}
	for _, t := range tasks {
		if t.StepName != row.StepName {
			continue
		}
		out.Tasks++
		ended[t.Status]++
		if t.FinishedAt != nil && (out.EndTime == nil || t.FinishedAt.After(*out.EndTime)) {
			out.EndTime = t.FinishedAt
		}
	}
	switch {
	case ended[Pending] == out.Tasks:
	case ended[Completed] == out.Tasks:
		out.Status = Completed
	case ended[Running]+ended[Pending] == 0:
		out.Status = Failed
	default:
		out.Status, out.EndTime = Running, nil
	}
	return out
}

func moment(epoch int64) time.Time { return time.UnixMilli(epoch).UTC() }
