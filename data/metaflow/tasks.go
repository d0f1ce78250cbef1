package metaflow

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// endStep is the step that decides whether a run succeeded.
const endStep = "end"

// Steps returns the steps of a run.
func (s *Service) Steps(ctx context.Context, flow, run string) ([]Step, error) {
	r, q, err := s.readRun(ctx, flow, run)
	if err != nil {
		return nil, err
	}
	rows, err := q.MetaflowSteps(ctx, r.RunNumber.Number)
	if err != nil {
		return nil, fmt.Errorf("list steps of %s/%s: %w", flow, run, err)
	}
	steps := make([]Step, 0, len(rows))
	for _, row := range rows {
		steps = append(steps, stepOf(r, row))
	}
	return steps, nil
}

// readRun authorizes a read and returns the run.
func (s *Service) readRun(ctx context.Context, flow, run string) (Run, *db.Queries, error) {
	subject, q, err := s.reader(ctx)
	if err != nil {
		return Run{}, nil, err
	}
	r, err := findRun(ctx, q, subject.ProjectID, flow, run)
	return r, q, err
}

// writeRun authorizes a report and returns the run.
func (s *Service) writeRun(ctx context.Context, flow, run string) (Run, *db.Queries, error) {
	subject, q, err := s.writer(ctx)
	if err != nil {
		return Run{}, nil, err
	}
	r, err := findRun(ctx, q, subject.ProjectID, flow, run)
	if err == nil {
		err = checkRun(subject, r.FlowID, r.RunNumber.String())
	}
	return r, q, err
}

// Step returns a step; apperr.NotFound if it does not exist.
func (s *Service) Step(ctx context.Context, flow, run, step string) (Step, error) {
	r, q, err := s.readRun(ctx, flow, run)
	if err != nil {
		return Step{}, err
	}
	row, err := q.MetaflowStep(ctx, r.RunNumber.Number, step)
	if err != nil {
		return Step{}, absent(err, "step %s/%s/%s", flow, run, step)
	}
	return stepOf(r, row), nil
}

// CreateStep records a step; apperr.Conflict if it exists.
func (s *Service) CreateStep(ctx context.Context, flow, run, step, user string) (Step, error) {
	r, q, err := s.writeRun(ctx, flow, run)
	if err != nil {
		return Step{}, err
	}
	row, err := q.InsertMetaflowStep(ctx, r.RunNumber.Number, step, user, s.epoch())
	return stepOf(r, row), stored(err, fmt.Sprintf("a step %s/%s/%s", flow, run, step))
}

func stepOf(r Run, row db.MetaflowStep) Step {
	return Step{
		FlowID: r.FlowID, RunNumber: r.RunNumber, StepName: row.StepName, UserName: row.UserName, TSEpoch: row.TsEpoch,
		Tags: r.Tags, SystemTags: r.SystemTags,
	}
}

// Tasks returns the tasks of a step, newest first, and the cursor of the next page;
// apperr.NotFound if the step does not exist.
func (s *Service) Tasks(ctx context.Context, flow, run, step string, p Page) ([]Task, string, error) {
	r, q, err := s.readRun(ctx, flow, run)
	if err != nil {
		return nil, "", err
	}
	if _, err := q.MetaflowStep(ctx, r.RunNumber.Number, step); err != nil {
		return nil, "", absent(err, "step %s/%s/%s", flow, run, step)
	}
	for _, f := range p.tagged { // the tags of a task are those of its run
		if !tagged(slices.Concat(r.Tags, r.SystemTags), f) {
			return []Task{}, "", nil
		}
	}
	rows, err := q.MetaflowTasks(ctx, db.MetaflowTasksParams{
		RunNumber: r.RunNumber.Number, StepName: step, BeforeEpoch: p.cursor.Epoch, BeforeID: p.cursor.ID, Wants: encode(p.wants), RowLimit: p.fetch(),
	})
	if err != nil {
		return nil, "", filtered(err, "list tasks of "+flow+"/"+run+"/"+step)
	}
	tasks := make([]Task, 0, len(rows))
	for _, row := range rows {
		tasks = append(tasks, taskOf(r, db.MetaflowTaskRow(row)))
	}
	tasks, next := page(p, tasks, func(t Task) cursor { return cursor{t.TSEpoch, t.TaskID.Number} })
	return tasks, next, nil
}

// tagged is metaflow_tagged of the database.
func tagged(tags []string, f want) bool {
	has := func(w string) bool {
		if strings.HasPrefix(f.Op, "like") {
			return slices.ContainsFunc(tags, func(t string) bool { return strings.Contains(t, w) })
		}
		return slices.Contains(tags, w)
	}
	if strings.HasSuffix(f.Op, "any") {
		return slices.ContainsFunc(f.Values, has)
	}
	return !slices.ContainsFunc(f.Values, func(w string) bool { return !has(w) })
}

// Task returns a task; apperr.NotFound if it does not exist.
func (s *Service) Task(ctx context.Context, flow, run, step, task string) (Task, error) {
	r, q, err := s.readRun(ctx, flow, run)
	if err != nil {
		return Task{}, err
	}
	return findTask(ctx, q, r, step, task)
}

func findTask(ctx context.Context, q *db.Queries, r Run, step, task string) (Task, error) {
	id := parseID(task)
	row, err := q.MetaflowTask(ctx, r.RunNumber.Number, step, id.Number, id.Text)
	if err != nil {
		return Task{}, absent(err, "task %s/%s/%s/%s", r.FlowID, r.RunNumber, step, task)
	}
	return taskOf(r, row), nil
}

func taskOf(r Run, row db.MetaflowTaskRow) Task {
	return Task{
		FlowID: r.FlowID, RunNumber: r.RunNumber, StepName: row.StepName, TaskID: idOf(row.TaskNumber, row.TaskID), UserName: row.UserName,
		TSEpoch: row.TsEpoch, Tags: r.Tags, SystemTags: r.SystemTags, LastHeartbeat: row.LastHeartbeatTs,
	}
}

// CreateTask records a task; task is "" for a number from the service. It is a heartbeat of the
// run too. Errors: apperr.Invalid for a task ID that is a number, apperr.NotFound for an
// unknown step, apperr.Conflict for a task ID that exists.
func (s *Service) CreateTask(ctx context.Context, flow, run, step, task, user string) (Task, error) {
	if isNumber(task) {
		return Task{}, apperr.New(apperr.Invalid, "provided task_name may not be a numeric")
	}
	r, q, err := s.writeRun(ctx, flow, run)
	if err != nil {
		return Task{}, err
	}
	row, err := q.InsertMetaflowTask(ctx, db.InsertMetaflowTaskParams{
		RunNumber: r.RunNumber.Number, StepName: step, TaskID: optional(task), UserName: user, TsEpoch: s.epoch(),
	})
	if err != nil {
		return Task{}, stored(err, fmt.Sprintf("a task %s/%s/%s/%s", flow, run, step, task))
	}
	made := db.MetaflowTaskRow{TaskNumber: row.TaskNumber, StepName: row.StepName, TaskID: row.TaskID, UserName: row.UserName, TsEpoch: row.TsEpoch}
	if sendsHeartbeats(r.SystemTags) {
		now := s.now().Unix()
		if err := q.BeatMetaflow(ctx, r.RunNumber.Number, now, row.TaskNumber); err != nil {
			return Task{}, err
		}
		made.LastHeartbeatTs = &now
	}
	return taskOf(r, made), nil
}

// BeatTask records a heartbeat of a task and of its run.
func (s *Service) BeatTask(ctx context.Context, flow, run, step, task string) error {
	r, q, err := s.writeRun(ctx, flow, run)
	if err != nil {
		return err
	}
	t, err := findTask(ctx, q, r, step, task)
	if err != nil {
		return err
	}
	return q.BeatMetaflow(ctx, r.RunNumber.Number, s.now().Unix(), t.TaskID.Number)
}

// FilterTasks returns the paths (Flow/run/step/task) of the tasks of a step that have a metadata
// value that matches pattern, a regular expression. An empty field means every field, and an
// empty pattern every value. Errors: apperr.Invalid for a pattern that is not one.
func (s *Service) FilterTasks(ctx context.Context, flow, run, step, field, pattern string) ([]string, error) {
	r, q, err := s.readRun(ctx, flow, run)
	if err != nil {
		return nil, err
	}
	ids, err := q.FilterMetaflowTasks(ctx, r.RunNumber.Number, step, field, pattern)
	if err != nil {
		return nil, filtered(err, "filter tasks of "+flow+"/"+run+"/"+step)
	}
	paths := make([]string, 0, len(ids))
	for _, id := range ids {
		paths = append(paths, strings.Join([]string{flow, r.RunNumber.String(), step, id}, "/"))
	}
	return paths, nil
}

// NewMetadata is a fact that a client reports about a task.
type NewMetadata struct {
	FieldName string   `json:"field_name"`
	Value     Text     `json:"value"`
	Type      string   `json:"type"`
	UserName  string   `json:"user_name"`
	Tags      []string `json:"tags"`
}

// Text is a value that is stored as text: the client sends some values as lists, which are kept
// as JSON.
type Text string

// UnmarshalJSON reads a text, and any other value as its JSON; null is "".
func (t *Text) UnmarshalJSON(raw []byte) error {
	if raw[0] == '"' {
		return json.Unmarshal(raw, (*string)(t))
	}
	if *t = Text(raw); *t == "null" {
		*t = ""
	}
	return nil
}

// attemptOK is the field that reports whether an attempt of a task succeeded.
const attemptOK = "attempt_ok"

// AddMetadata records facts about a task and returns their number. Repeated facts are kept.
func (s *Service) AddMetadata(ctx context.Context, flow, run, step, task string, facts []NewMetadata) (int64, error) {
	r, q, err := s.writeRun(ctx, flow, run)
	if err != nil {
		return 0, err
	}
	t, err := findTask(ctx, q, r, step, task)
	if err != nil || len(facts) == 0 {
		return 0, err
	}
	report := reportOf(facts)
	if report.empty() {
		return insertMetadata(ctx, q, t, facts, s.epoch())
	}
	var n int64
	err = db.Tx(ctx, s.pool, func(_ pgx.Tx, q *db.Queries) error {
		now := s.epoch()
		if n, err = insertMetadata(ctx, q, t, facts, now); err != nil {
			return err
		}
		if err := q.ReportMetaflowAttempt(ctx, report.params(t.TaskID.Number, now)); err != nil {
			return err
		}
		if ok := report.ok == "True"; step == endStep && report.ended {
			return q.EndMetaflowRun(ctx, &ok, &now, r.RunNumber.Number)
		}
		return nil
	})
	return n, err
}

func insertMetadata(ctx context.Context, q *db.Queries, t Task, facts []NewMetadata, now int64) (int64, error) {
	rows, err := json.Marshal(facts)
	if err != nil {
		return 0, fmt.Errorf("encode metadata: %w", err)
	}
	n, err := q.InsertMetaflowMetadata(ctx, t.TaskID.Number, now, rows)
	return n, stored(err, "the metadata")
}

// Metadata returns the metadata of all attempts of a task, newest first. Without a step and
// a task it returns that of the run.
func (s *Service) Metadata(ctx context.Context, flow, run, step, task string) ([]Metadata, error) {
	r, q, err := s.readRun(ctx, flow, run)
	if err != nil {
		return nil, err
	}
	var number int64
	if task != "" {
		t, err := findTask(ctx, q, r, step, task)
		if err != nil {
			return nil, err
		}
		number = t.TaskID.Number
	}
	rows, err := q.MetaflowMetadata(ctx, r.RunNumber.Number, number)
	if err != nil {
		return nil, fmt.Errorf("metadata of %s/%s: %w", flow, run, err)
	}
	facts := make([]Metadata, 0, len(rows))
	for _, m := range rows {
		facts = append(facts, Metadata{
			ID: m.ID, FlowID: r.FlowID, RunNumber: r.RunNumber, StepName: m.StepName, TaskID: taskID(m.TaskID), FieldName: m.FieldName,
			Value: m.Value, Type: m.Type, UserName: m.UserName, TSEpoch: m.TsEpoch, Tags: list(m.Tags), SystemTags: r.SystemTags,
		})
	}
	return facts, nil
}

// NewArtifact is an artifact that a client registers.
type NewArtifact struct {
	AttemptID   int64  `json:"attempt_id"`
	Name        string `json:"name"`
	Location    string `json:"location"`
	DSType      string `json:"ds_type"`
	SHA         string `json:"sha"`
	Type        string `json:"type"`
	ContentType string `json:"content_type"`
	UserName    string `json:"user_name"`
}

// AddArtifacts records artifacts of a task and returns the number of new ones: the same name of
// the same attempt is recorded once.
func (s *Service) AddArtifacts(ctx context.Context, flow, run, step, task string, artifacts []NewArtifact) (int64, error) {
	r, q, err := s.writeRun(ctx, flow, run)
	if err != nil {
		return 0, err
	}
	t, err := findTask(ctx, q, r, step, task)
	if err != nil {
		return 0, err
	}
	rows, err := json.Marshal(list(artifacts))
	if err != nil {
		return 0, fmt.Errorf("encode artifacts: %w", err)
	}
	n, err := q.InsertMetaflowArtifacts(ctx, t.TaskID.Number, s.epoch(), rows)
	return n, stored(err, "an artifact")
}

// LatestAttempt selects the artifacts of the latest attempt of each task.
const LatestAttempt = -1

// ArtifactFilter selects artifacts of a run.
type ArtifactFilter struct {
	Step    string // "": of all steps
	Task    string // "": of all tasks
	Name    string // "": all names
	Attempt int64  // LatestAttempt or a number
}

// Artifacts returns artifacts of a run; apperr.NotFound if the run, the task or, with a name, the
// artifact does not exist.
func (s *Service) Artifacts(ctx context.Context, flow, run string, f ArtifactFilter) ([]Artifact, error) {
	r, q, err := s.readRun(ctx, flow, run)
	if err != nil {
		return nil, err
	}
	params := db.MetaflowArtifactsParams{RunNumber: r.RunNumber.Number, StepName: f.Step, Name: f.Name, Attempt: f.Attempt}
	if f.Task != "" {
		t, err := findTask(ctx, q, r, f.Step, f.Task)
		if err != nil {
			return nil, err
		}
		params.TaskNumber = t.TaskID.Number
	}
	rows, err := q.MetaflowArtifacts(ctx, params)
	if err != nil {
		return nil, fmt.Errorf("artifacts of %s/%s: %w", flow, run, err)
	}
	if f.Name != "" && len(rows) == 0 {
		return nil, apperr.New(apperr.NotFound, "There is no artifact %q.", f.Name)
	}
	artifacts := make([]Artifact, 0, len(rows))
	for _, a := range rows {
		artifacts = append(artifacts, Artifact{
			FlowID: r.FlowID, RunNumber: r.RunNumber, StepName: a.StepName, TaskID: taskID(a.TaskID), Name: a.Name, Location: a.Location,
			DSType: a.DsType, SHA: a.Sha, Type: a.Type, ContentType: a.ContentType, UserName: a.UserName, AttemptID: a.AttemptID,
			TSEpoch: a.TsEpoch, Tags: r.Tags, SystemTags: r.SystemTags,
		})
	}
	return artifacts, nil
}
