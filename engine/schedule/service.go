package schedule

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/workflow"
)

// Config configures a Service. The fields up to Acting are required.
type Config struct {
	Pool       *pgxpool.Pool
	Workflows  *workflow.Service
	Executions *execution.Service
	// Acting returns a user with their current permissions, in a project. Executions are
	// launched by the owner of the schedule.
	Acting func(id uuid.UUID, name string, project uuid.UUID) (auth.Subject, error)

	// Every is the minimum time between two checks for schedules that other processes made due. Zero means a second.
	Every time.Duration
	// Watch reports such schedules. Nil: the loop polls at the interval Every.
	Watch *db.Watch
	// Crash, when set, is called with the name of each point where a crash must be harmless.
	Crash func(point string)

	Logger *slog.Logger
	Now    func() time.Time
}

// Service stores schedules, and runs them in the process that calls Run. It is safe for
// concurrent use.
type Service struct {
	config  Config
	queries *db.Queries
	wake    chan struct{}
}

// New returns a Service that runs nothing yet.
func New(c Config) *Service {
	if c.Every == 0 {
		c.Every = time.Second
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
	return &Service{config: c, queries: db.New(c.Pool), wake: make(chan struct{}, 1)}
}

// now is the current time in UTC, with the precision of Postgres.
func (s *Service) now() time.Time { return s.config.Now().UTC().Truncate(time.Microsecond) }

// Wake makes the loop of this process check the schedules now.
func (s *Service) Wake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func absent(id uuid.UUID) error { return apperr.New(apperr.NotFound, "There is no schedule %s.", id) }

// readable returns a schedule that the caller may read.
func (s *Service) readable(ctx context.Context, id uuid.UUID) (db.Schedule, error) {
	if _, err := auth.SignedIn(ctx); err != nil {
		return db.Schedule{}, err
	}
	row, err := s.queries.GetSchedule(ctx, id)
	if db.IsNoRows(err) {
		return row, absent(id)
	}
	if err != nil {
		return row, fmt.Errorf("get schedule %s: %w", id, err)
	}
	_, err = auth.AuthorizeIn(ctx, auth.ExecutionRead, row.ProjectID, absent(id))
	return row, err
}

// changeable returns a schedule that the caller may change: its owner, and users who may cancel
// other users' executions.
func (s *Service) changeable(ctx context.Context, id uuid.UUID) (db.Schedule, auth.Subject, error) {
	row, err := s.readable(ctx, id)
	if err != nil {
		return row, auth.Subject{}, err
	}
	subject, err := auth.AuthorizeOwner(ctx, auth.ExecutionLaunch, auth.ExecutionCancelAny, row.ProjectID, row.OwnerID, absent(id))
	return row, subject, err
}

// Create stores a schedule. The caller becomes its owner. It returns Invalid with fields, and
// Conflict for a name that exists in the project.
func (s *Service) Create(ctx context.Context, sp Spec) (Schedule, error) {
	p, err := s.check(ctx, sp)
	if err != nil {
		return Schedule{}, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return Schedule{}, fmt.Errorf("make schedule id: %w", err)
	}
	now := s.now()
	row := db.Schedule{ID: id, TenantID: p.version.TenantID, ProjectID: p.version.ProjectID, WorkflowID: p.version.WorkflowID, WorkflowName: p.version.Name, ResumedAt: now}
	if err := p.apply(&row); err != nil {
		return Schedule{}, err
	}
	setNext(&row, p.timing, now)
	err = db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
		if _, err := q.LockActiveProject(ctx, row.ProjectID); db.IsNoRows(err) {
			return apperr.New(apperr.Conflict, "The project is archived, so schedules cannot be created in it.")
		} else if err != nil {
			return err
		}
		return insert(ctx, q, row, now)
	})
	if err != nil {
		return Schedule{}, fmt.Errorf("create schedule: %w", err)
	}
	s.Wake()
	return s.Get(ctx, id)
}

// insert writes a new schedule and its audit entry.
func insert(ctx context.Context, q *db.Queries, row db.Schedule, now time.Time) error {
	n, err := q.CountSchedules(ctx, row.ProjectID)
	if err != nil {
		return fmt.Errorf("count schedules: %w", err)
	}
	if n >= MaxPerProject {
		return apperr.New(apperr.Conflict, "The project has reached the maximum of %d schedules. Delete unused schedules.", n)
	}
	if err := q.InsertSchedule(ctx, insertion(row, now)); err != nil {
		return taken(err, row.Name)
	}
	return audit.Record(ctx, q, entry("schedule.create", row, nil, factsOf(row)))
}

// errDeclared is the error for changing a schedule that a definition declares.
func errDeclared(row db.Schedule) error {
	return apperr.New(apperr.Conflict, "The definition of %s declares this schedule. Change or remove it there, and register the definition again.", row.WorkflowName)
}

// Replace replaces a schedule. The caller becomes its owner, because it then launches the values
// that the caller entered. Errors are those of Create.
func (s *Service) Replace(ctx context.Context, id uuid.UUID, sp Spec) (Schedule, error) {
	row, _, err := s.changeable(ctx, id)
	if err != nil {
		return Schedule{}, err
	}
	if row.DeclaredAs != nil {
		return Schedule{}, errDeclared(row)
	}
	if sp.Anchor.IsZero() && sp.Starts == nil { // intervals keep their times
		sp.Anchor = row.Anchor
	}
	p, err := s.check(ctx, sp)
	if err != nil {
		return Schedule{}, err
	}
	return s.change(ctx, id, "schedule.update", func(_ *db.Queries, row *db.Schedule) error {
		if p.version.WorkflowID != row.WorkflowID {
			return apperr.InvalidFields("The schedule has invalid values.", []apperr.Field{
				{Path: "workflow", Message: "The workflow of a schedule cannot be changed. Create another schedule instead."},
			})
		}
		return p.update(row, s.now())
	})
}

// update writes a plan to the row of an existing schedule.
func (p *plan) update(row *db.Schedule, now time.Time) error {
	resumed := row.Paused && !p.spec.Paused
	if err := p.apply(row); err != nil {
		return err
	}
	if resumed {
		row.ResumedAt = now
		resumeNext(row, p.timing, now)
		return nil
	}
	keepNext(row, p.timing, now)
	return nil
}

// Pause pauses a schedule. Running executions continue, and queued occurrences wait.
func (s *Service) Pause(ctx context.Context, id uuid.UUID) (Schedule, error) {
	_, subject, err := s.changeable(ctx, id)
	if err != nil {
		return Schedule{}, err
	}
	return s.change(ctx, id, "schedule.pause", func(_ *db.Queries, row *db.Schedule) error {
		if !row.Paused {
			row.Paused, row.Reason, row.Message = true, PausedByPerson, "Paused by "+subject.Name+"."
		}
		return nil
	})
}

// Resume resumes a paused schedule. It drops the missed runs or, with catchUp, applies the
// misfire rule to them. The owner does not change, unless the schedule was paused because its
// owner cannot launch the workflow and still cannot. In that case, the caller becomes the owner,
// and the audit log records schedule.own.
func (s *Service) Resume(ctx context.Context, id uuid.UUID, catchUp bool) (Schedule, error) {
	_, subject, err := s.changeable(ctx, id)
	if err != nil {
		return Schedule{}, err
	}
	return s.change(ctx, id, "schedule.resume", func(q *db.Queries, row *db.Schedule) error {
		if !row.Paused {
			return nil
		}
		if row.Reason == PausedByAccess && row.OwnerID != subject.ID && !s.ownerMay(ctx, *row) {
			before := map[string]any{"owner": row.OwnerName}
			row.OwnerID, row.OwnerName = subject.ID, subject.Name
			if err := audit.Record(ctx, q, entry("schedule.own", *row, before, map[string]any{"owner": row.OwnerName})); err != nil {
				return err
			}
		}
		row.Paused, row.Reason, row.Message, row.ResumedAt = false, "", "", s.now()
		if catchUp {
			return nil
		}
		_, t, err := s.legible(ctx, q, *row)
		if err != nil {
			return err
		}
		resumeNext(row, t, s.now())
		return nil
	})
}

// ownerMay reports whether the owner of a schedule may launch executions in its project now.
func (s *Service) ownerMay(ctx context.Context, row db.Schedule) bool {
	owner, err := s.config.Acting(row.OwnerID, row.OwnerName, row.ProjectID)
	if err != nil {
		return false
	}
	_, err = auth.AuthorizeIn(auth.WithSubject(ctx, owner), auth.ExecutionLaunch, row.ProjectID, absent(row.ID))
	return err == nil
}

// Delete removes a schedule and its occurrences. Its executions are kept.
func (s *Service) Delete(ctx context.Context, id uuid.UUID) error {
	row, _, err := s.changeable(ctx, id)
	if err != nil {
		return err
	}
	if row.DeclaredAs != nil {
		return errDeclared(row)
	}
	err = db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
		row, err := q.LockSchedule(ctx, id)
		if db.IsNoRows(err) {
			return absent(id)
		}
		if err != nil {
			return err
		}
		if err := q.DeleteSchedule(ctx, id); err != nil {
			return err
		}
		return audit.Record(ctx, q, entry("schedule.delete", row, factsOf(row), nil))
	})
	if err != nil {
		return fmt.Errorf("delete schedule %s: %w", id, err)
	}
	return nil
}

// change locks a schedule, changes it and writes the audit entry.
func (s *Service) change(ctx context.Context, id uuid.UUID, action string, f func(q *db.Queries, row *db.Schedule) error) (Schedule, error) {
	err := db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
		row, err := q.LockSchedule(ctx, id)
		if db.IsNoRows(err) {
			return absent(id)
		}
		if err != nil {
			return err
		}
		before := factsOf(row)
		if err := f(q, &row); err != nil {
			return err
		}
		row.UpdatedAt = s.now()
		if err := q.UpdateSchedule(ctx, update(row)); err != nil {
			return taken(err, row.Name)
		}
		return audit.Record(ctx, q, entry(action, row, before, factsOf(row)))
	})
	if err != nil {
		return Schedule{}, fmt.Errorf("%s %s: %w", action, id, err)
	}
	s.Wake()
	return s.Get(ctx, id)
}

func entry(action string, row db.Schedule, before, after any) audit.Entry {
	return audit.Entry{Action: action, Kind: "schedule", ID: row.ID.String(), Name: row.Name, TenantID: row.TenantID, ProjectID: row.ProjectID, Old: before, New: after}
}

// taken converts a violation of the unique names to a conflict.
func taken(err error, name string) error {
	if db.Constraint(err) != "schedules_name_key" {
		return err
	}
	return &apperr.Error{Code: apperr.Conflict, Message: fmt.Sprintf("A schedule called %q already exists in the project.", name),
		Fields: []apperr.Field{{Path: "name", Message: "This name is already in use. Edit the existing schedule, or choose another name."}}}
}

func encode(v any) (json.RawMessage, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode JSON: %w", err)
	}
	return b, nil
}
