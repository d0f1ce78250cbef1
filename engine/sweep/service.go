package sweep

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/data/telemetry"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/sweep/optuna"
	"github.com/flowforge/flowforge/engine/sweep/space"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/typeregistry"
)

// Config configures a Service. The fields up to Acting are required.
type Config struct {
	Pool       *pgxpool.Pool
	Workflows  *workflow.Service
	Executions *execution.Service
	Telemetry  *telemetry.Service
	Index      *index.Service // writes the tags of runs
	Optuna     *optuna.Program
	// Acting returns a user with their current permissions, in a project. Runs are launched
	// by the user who created the sweep.
	Acting func(id uuid.UUID, name string, project uuid.UUID) (auth.Subject, error)

	// Every is how often the driver looks at sweeps that have not ended. Zero means a second.
	Every time.Duration
	// Watch reports new sweeps. Nil: the driver polls as often.
	Watch *db.Watch
	// Settle is how long points of a metric may arrive after the end of a run. Zero means 3 s.
	Settle time.Duration
	// Crash, when set, is called with the name of each point where a crash must be harmless.
	Crash func(point string)

	Logger *slog.Logger
	Now    func() time.Time
}

// Service creates sweeps, and drives them in the process that calls Run. It is safe for concurrent
// use.
type Service struct {
	config  Config
	queries *db.Queries
	wake    chan struct{}

	mu     sync.Mutex
	ranked map[uuid.UUID]ranked // importances by sweep
}

// New returns a Service that drives nothing yet.
func New(c Config) *Service {
	if c.Every == 0 {
		c.Every = time.Second
	}
	if c.Settle == 0 {
		c.Settle = 3 * time.Second
	}
	if c.Crash == nil {
		c.Crash = func(string) {}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{config: c, queries: db.New(c.Pool), wake: make(chan struct{}, 1), ranked: map[uuid.UUID]ranked{}}
}

// now is the current time in UTC, with the precision of Postgres.
func (s *Service) now() time.Time { return s.config.Now().UTC().Truncate(time.Microsecond) }

// Wake makes the driver of this process check the sweeps soon.
func (s *Service) Wake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func absent(id uuid.UUID) error { return apperr.New(apperr.NotFound, "There is no sweep %s.", id) }

// readable returns a sweep that the caller may read.
func (s *Service) readable(ctx context.Context, id uuid.UUID) (db.InputSweep, auth.Subject, error) {
	if _, err := auth.SignedIn(ctx); err != nil {
		return db.InputSweep{}, auth.Subject{}, err
	}
	row, err := s.queries.GetInputSweep(ctx, id)
	if db.IsNoRows(err) {
		return row, auth.Subject{}, absent(id)
	}
	if err != nil {
		return row, auth.Subject{}, fmt.Errorf("get sweep %s: %w", id, err)
	}
	subject, err := auth.AuthorizeIn(ctx, auth.ExecutionRead, row.ProjectID, absent(id))
	return row, subject, err
}

// changeable checks that the caller may change a sweep: the user who created it, and users who may
// cancel the executions of others.
func (s *Service) changeable(ctx context.Context, id uuid.UUID) error {
	row, _, err := s.readable(ctx, id)
	if err != nil {
		return err
	}
	_, err = auth.AuthorizeOwner(ctx, auth.ExecutionCancel, auth.ExecutionCancelAny, row.ProjectID, row.CreatedBy, absent(id))
	return err
}

// change locks a sweep, changes it and writes the audit entry. f reports whether it changed the row.
func (s *Service) change(ctx context.Context, id uuid.UUID, action string, f func(q *db.Queries, row *db.InputSweep) (bool, error)) error {
	err := db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
		row, err := q.LockInputSweep(ctx, id)
		if db.IsNoRows(err) {
			return absent(id)
		}
		if err != nil {
			return err
		}
		before := factsOf(row)
		changed, err := f(q, &row)
		if err != nil || !changed {
			return err
		}
		if err := s.save(ctx, q, &row); err != nil {
			return err
		}
		entry := audit.Entry{Action: action, Kind: "sweep", ID: id.String(), Name: row.Name, TenantID: row.TenantID, ProjectID: row.ProjectID, Old: before, New: factsOf(row)}
		return audit.Record(ctx, q, entry)
	})
	if err != nil {
		return fmt.Errorf("%s %s: %w", action, id, err)
	}
	s.Wake()
	return nil
}

func (s *Service) save(ctx context.Context, q *db.Queries, row *db.InputSweep) error {
	return q.UpdateInputSweep(ctx, db.UpdateInputSweepParams{
		ID: row.ID, Name: row.Name, State: row.State, Reason: row.Reason, Message: row.Message, Space: row.Space, SpaceVersion: row.SpaceVersion,
		SpaceFrom: row.SpaceFrom, Stopping: row.Stopping, Planned: row.Planned, Parallelism: row.Parallelism, GpuHours: row.GpuHours, Refused: row.Refused,
		EndedAt: row.EndedAt, ExpiresAt: row.ExpiresAt, Now: s.now(),
	})
}

// facts are the fields for the audit log.
type facts struct {
	State       string          `json:"state"`
	Message     string          `json:"message,omitempty"`
	Method      string          `json:"method"`
	Runs        int32           `json:"runs"`
	Parallelism int32           `json:"parallelism"`
	GPUHours    float64         `json:"gpu_hours,omitempty"`
	Space       json.RawMessage `json:"space"`
	Stopping    json.RawMessage `json:"early_stopping"`
}

func factsOf(row db.InputSweep) facts {
	return facts{row.State, row.Message, row.Method, row.Planned, row.Parallelism, row.GpuHours, row.Space, row.Stopping}
}

// env is the environment of checks for the caller.
func (s *Service) env(ctx context.Context) typeregistry.Env {
	return typeregistry.Env{Now: s.now(), Exists: s.config.Executions.Launches.References(ctx)}
}

// decode reads JSON that this package wrote, with exact numbers.
func decode(raw json.RawMessage, into any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	return dec.Decode(into) //nolint:wrapcheck // the caller names the sweep
}

// encode writes JSON. Numbers that are not finite are an error.
func encode(v any) (json.RawMessage, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode JSON: %w", err)
	}
	return b, nil
}

// fromRow returns a sweep without its counts. With an unreadableError, the other parts are there.
func fromRow(row db.InputSweep) (Sweep, error) {
	out := Sweep{
		ID: row.ID, ProjectID: row.ProjectID, WorkflowID: row.WorkflowID, WorkflowName: row.WorkflowName, VersionID: row.VersionID, Version: row.Version,
		Name: row.Name, State: State(row.State), Reason: row.Reason, Message: row.Message, Method: Method(row.Method), SpaceVersion: int(row.SpaceVersion),
		Planned: int(row.Planned), Parallelism: int(row.Parallelism), GPUHours: row.GpuHours, Seed: row.Seed, Priority: query.Priority(row.Priority), Tags: row.Tags, Note: row.Note,
		CreatedBy: query.Person{ID: row.CreatedBy, Name: row.CreatedByName}, CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt, EndedAt: row.EndedAt,
	}
	return out, errors.Join(
		part("space", row.Space, &out.Space), part("inputs", row.Inputs, &out.Inputs), part("objective", row.Objective, &out.Objective),
		part("early_stopping", row.Stopping, &out.EarlyStopping),
	)
}

// checked returns the space of a sweep for its version.
func (s *Service) checked(ctx context.Context, sw Sweep) (space.Checked, error) {
	v, err := s.config.Workflows.VersionByID(auth.AsSystem(ctx), sw.VersionID)
	if err != nil {
		return space.Checked{}, fmt.Errorf("version of sweep %s: %w", sw.ID, err)
	}
	return spaceOf(sw, v)
}

// spaceOf returns the space of a sweep for its version v.
func spaceOf(sw Sweep, v workflow.Version) (space.Checked, error) {
	c, problems := space.Check(sw.Space, v.Definition.Inputs, typeregistry.Env{})
	if len(problems) > 0 { // it was valid when it was written
		return c, apperr.New(apperr.Invalid, "The space no longer matches the inputs: %s: %s", problems[0].Path, problems[0].Message)
	}
	return c, nil
}
