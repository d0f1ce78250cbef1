// Package metaflow is the metadata service of Metaflow: it records what the unmodified client
// reports about flows, runs, steps, tasks, metadata and artifacts, and returns it in the shapes
// of Metaflow's own service, version 2.5.1. All times are Unix times: ts_epoch in
// milliseconds, heartbeats in seconds.
package metaflow

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
)

// Service records and reads runs of Metaflow in the project of the caller. It is safe for
// concurrent use.
type Service struct {
	pool *pgxpool.Pool
	now  func() time.Time
}

// NewService returns a Service on the clock now.
func NewService(pool *pgxpool.Pool, now func() time.Time) *Service {
	return &Service{pool: pool, now: now}
}

// ID is the ID of a run or a task: a number, or the text that the client has given.
type ID struct {
	Number int64
	Text   string
}

// MarshalJSON writes the text if there is one, otherwise the number.
func (id ID) MarshalJSON() ([]byte, error) {
	if id.Text != "" {
		return json.Marshal(id.Text)
	}
	return json.Marshal(id.Number)
}

// String returns the ID as it appears in a path.
func (id ID) String() string {
	if id.Text != "" {
		return id.Text
	}
	return strconv.FormatInt(id.Number, 10)
}

func idOf(number int64, text *string) ID {
	if text != nil {
		return ID{number, *text}
	}
	return ID{Number: number}
}

// parseID reads an ID of a path. Digits are always a number.
func parseID(text string) ID {
	if !isNumber(text) {
		return ID{Number: -1, Text: text}
	}
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return ID{Number: -1} // beyond every number
	}
	return ID{Number: number}
}

func isNumber(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// Flow is a flow.
type Flow struct {
	FlowID     string   `json:"flow_id"`
	UserName   *string  `json:"user_name"`
	TSEpoch    int64    `json:"ts_epoch"`
	Tags       []string `json:"tags"`
	SystemTags []string `json:"system_tags"`
}

// Run is an execution of a flow.
type Run struct {
	FlowID        string   `json:"flow_id"`
	RunNumber     ID       `json:"run_number"`
	UserName      string   `json:"user_name"`
	TSEpoch       int64    `json:"ts_epoch"`
	Tags          []string `json:"tags"`
	SystemTags    []string `json:"system_tags"`
	LastHeartbeat *int64   `json:"last_heartbeat_ts"`
	Status        string   `json:"status"` // running, completed or failed
	User          string   `json:"user"`
}

// Step is a step of a run.
type Step struct {
	FlowID     string   `json:"flow_id"`
	RunNumber  ID       `json:"run_number"`
	StepName   string   `json:"step_name"`
	UserName   string   `json:"user_name"`
	TSEpoch    int64    `json:"ts_epoch"`
	Tags       []string `json:"tags"` // of the run
	SystemTags []string `json:"system_tags"`
}

// Task is a task of a step.
type Task struct {
	FlowID        string   `json:"flow_id"`
	RunNumber     ID       `json:"run_number"`
	StepName      string   `json:"step_name"`
	TaskID        ID       `json:"task_id"`
	UserName      string   `json:"user_name"`
	TSEpoch       int64    `json:"ts_epoch"`
	Tags          []string `json:"tags"` // of the run
	SystemTags    []string `json:"system_tags"`
	LastHeartbeat *int64   `json:"last_heartbeat_ts"`
}

// Metadata is one fact about a task.
type Metadata struct {
	ID         int64    `json:"id"`
	FlowID     string   `json:"flow_id"`
	RunNumber  ID       `json:"run_number"`
	StepName   string   `json:"step_name"`
	TaskID     taskID   `json:"task_id"`
	FieldName  string   `json:"field_name"`
	Value      string   `json:"value"`
	Type       string   `json:"type"`
	UserName   string   `json:"user_name"`
	TSEpoch    int64    `json:"ts_epoch"`
	Tags       []string `json:"tags"` // its own, such as attempt_id:0
	SystemTags []string `json:"system_tags"`
}

// Artifact names a value in the client's datastore.
type Artifact struct {
	FlowID      string   `json:"flow_id"`
	RunNumber   ID       `json:"run_number"`
	StepName    string   `json:"step_name"`
	TaskID      taskID   `json:"task_id"`
	Name        string   `json:"name"`
	Location    string   `json:"location"`
	DSType      string   `json:"ds_type"`
	SHA         string   `json:"sha"`
	Type        string   `json:"type"`
	ContentType string   `json:"content_type"`
	UserName    string   `json:"user_name"`
	AttemptID   int64    `json:"attempt_id"`
	TSEpoch     int64    `json:"ts_epoch"`
	Tags        []string `json:"tags"` // of the run
	SystemTags  []string `json:"system_tags"`
}

// taskID is an ID that a query returns as text.
type taskID string

// MarshalJSON writes digits as a number.
func (id taskID) MarshalJSON() ([]byte, error) {
	if isNumber(string(id)) {
		return []byte(id), nil
	}
	return json.Marshal(string(id))
}

// reader authorizes reads and returns the subject with the queries.
func (s *Service) reader(ctx context.Context) (auth.Subject, *db.Queries, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionRead)
	return subject, db.New(s.pool), err
}

// writer authorizes reports of runs.
func (s *Service) writer(ctx context.Context) (auth.Subject, *db.Queries, error) {
	subject, err := auth.Authorize(ctx, auth.ExecutionLaunch)
	return subject, db.New(s.pool), err
}

// absent returns NotFound for a missing row, and err with what otherwise.
func absent(err error, format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	if db.IsNoRows(err) {
		return apperr.New(apperr.NotFound, "There is no %s.", what)
	}
	return fmt.Errorf("read %s: %w", what, err)
}

// stored translates a violated constraint of an insert.
func stored(err error, what string) error {
	switch name := db.Constraint(err); {
	case err == nil:
		return nil
	case strings.HasSuffix(name, "_fkey"):
		return apperr.Wrap(apperr.NotFound, err, "The parent of "+what+" does not exist.")
	case strings.HasSuffix(name, "_key"), strings.HasSuffix(name, "_pkey"):
		return apperr.Wrap(apperr.Conflict, err, "There is already "+what+".")
	case strings.HasSuffix(name, "_check"):
		return apperr.Wrap(apperr.Invalid, err, "The name of "+what+" is empty.")
	}
	return fmt.Errorf("store %s: %w", what, err)
}

// filtered returns Invalid for a pattern of a filter that is not one, and err with what otherwise.
func filtered(err error, what string) error {
	if db.InvalidPattern(err) {
		return apperr.Wrap(apperr.Invalid, err, "Invalid pattern")
	}
	return fmt.Errorf("%s: %w", what, err)
}

func (s *Service) epoch() int64 { return s.now().UnixMilli() }

func list[T any](values []T) []T {
	if values == nil {
		return []T{}
	}
	return values
}
