package backfill

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/schedule"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/typeregistry"
)

// Config configures a Service. The fields up to Acting are required.
type Config struct {
	Pool       *pgxpool.Pool
	Schedules  *schedule.Service
	Workflows  *workflow.Service
	Executions *execution.Service
	// Acting returns a person with the permissions that they have now, in a project. Executions are
	// launched by the owner of the backfill.
	Acting func(id uuid.UUID, name string, project uuid.UUID) (auth.Subject, error)

	Every time.Duration // time between two passes over running backfills; zero means a second
	Watch *db.Watch     // reports new backfills; nil: the loop polls at the interval Every
	// Crash, when set, is called with the name of each point where a crash must be harmless.
	Crash  func(point string)
	Logger *slog.Logger
	Now    func() time.Time
}

// Service stores backfills, and runs them in the process that calls Run. It is safe for
// concurrent use.
type Service struct {
	config  Config
	queries *db.Queries
	wake    chan struct{}
}

// New returns a Service that launches nothing yet.
func New(c Config) *Service {
	c.Every = cmp.Or(c.Every, time.Second)
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

func (s *Service) now() time.Time { return s.config.Now().UTC().Truncate(time.Microsecond) }

// Wake makes the loop of this process check the backfills now.
func (s *Service) Wake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func absent(id uuid.UUID) error { return apperr.New(apperr.NotFound, "There is no backfill %s.", id) }

// DryRun describes what a backfill would do.
type DryRun struct {
	Schedule   schedule.Schedule
	Version    string
	Slots      []Planned
	Runs, Kept int
	PerRun     time.Duration // 0: unknown
	Total      time.Duration // estimated; 0: unknown
	GPUHours   float64       // of all runs; 0: none or unknown
	Basis      int           // earlier attempts that the estimate is based on
}

// dayAhead is how far in the future an end may be and still mean now: the end of today, even on
// a day with 25 hours.
const dayAhead = 25 * time.Hour

// prepared is a checked Spec.
type prepared struct {
	DryRun

	spec    Spec
	version workflow.Version
	subject auth.Subject
}

// MayCreate returns an error if the caller cannot create backfills of a schedule.
func (s *Service) MayCreate(ctx context.Context, of uuid.UUID) error {
	sc, err := s.config.Schedules.Get(ctx, of)
	if err != nil {
		return err
	}
	_, err = auth.AuthorizeIn(ctx, auth.ExecutionLaunch, sc.ProjectID, apperr.New(apperr.NotFound, "There is no schedule %s.", of))
	return err
}

// prepare fills in the defaults of a spec, checks it and decides which slots run.
func (s *Service) prepare(ctx context.Context, sp Spec) (*prepared, error) {
	sc, err := s.config.Schedules.Get(ctx, sp.Schedule)
	if err != nil {
		return nil, err
	}
	subject, err := auth.AuthorizeIn(ctx, auth.ExecutionLaunch, sc.ProjectID, apperr.New(apperr.NotFound, "There is no schedule %s.", sp.Schedule))
	if err != nil {
		return nil, err
	}
	sp.Rerun, sp.Parallelism = cmp.Or(sp.Rerun, RerunMissing), cmp.Or(sp.Parallelism, DefaultParallelism)
	sp.Version = cmp.Or(sp.Version, sc.Version)
	if sp.Priority == query.Declared {
		sp.Priority = sc.Priority
	}
	version, err := s.config.Workflows.Version(ctx, sc.WorkflowID.String(), sp.Version)
	if apperr.Is(err, apperr.NotFound) && sp.Version != "" {
		return nil, refused([]apperr.Field{{Path: "version", Message: apperr.MessageOf(err)}})
	}
	if err != nil {
		return nil, err
	}
	sp.Version = version.Version
	if now := s.now(); sp.Until.After(now) && sp.Until.Sub(now) <= dayAhead {
		sp.Until = now
	}
	p := &prepared{spec: sp, version: version, subject: subject, DryRun: DryRun{Schedule: sc, Version: version.Version}}
	slots, fields := s.slots(sp, sc)
	if len(fields) == 0 {
		fields = s.checkInputs(ctx, p, slots[0])
	}
	if len(fields) > 0 {
		return nil, refused(fields)
	}
	found, err := existingOf(ctx, s.queries, sp)
	if err != nil {
		return nil, err
	}
	for _, slot := range slots { // of these, the schedule has not decided yet, such as those that the jitter delays
		if !sc.Paused && sc.NextAt != nil && !slot.Fire.Before(*sc.NextAt) {
			await(found, slot.Fire)
		}
	}
	p.Slots = plan(slots, found, sp.Rerun)
	for _, slot := range p.Slots {
		if slot.Runs {
			p.Runs++
		}
	}
	p.Kept = len(p.Slots) - p.Runs
	return p, nil
}

func refused(fields []apperr.Field) error {
	return apperr.InvalidFields("The backfill cannot be created with these values.", fields)
}

// slots returns the times of a spec, or its invalid fields.
func (s *Service) slots(sp Spec, sc schedule.Schedule) ([]schedule.Slot, []apperr.Field) {
	var fields []apperr.Field
	refuse := func(bad bool, path, format string, args ...any) {
		if bad {
			fields = append(fields, apperr.Field{Path: path, Message: fmt.Sprintf(format, args...)})
		}
	}
	refuse(!slices.Contains(Reruns(), sp.Rerun), "rerun", "Use missing, failed or all.")
	refuse(sp.Parallelism < 1 || sp.Parallelism > MaxParallelism, "parallelism", "Enter 1 to %d.", MaxParallelism)
	refuse(sp.Priority < query.Declared || sp.Priority > query.MaxPriority, "priority", "Enter a priority from 0 to 100.")
	refuse(sp.From.IsZero() || sp.From.Year() < 1970, "from", "Enter a day after 1970.")
	refuse(!sp.Until.After(sp.From), "until", "The end must be after the start.")
	refuse(sp.Until.After(s.now()), "until", "A backfill cannot include future times. Choose an end that is not in the future.")
	refuse(sc.At != nil, "schedule", "A schedule that runs once has no past times to launch.")
	if len(fields) > 0 {
		return nil, fields
	}
	slots, all, fields := sc.Slots(sp.From, sp.Until, MaxSlots)
	refuse(len(fields) == 0 && !all, "until", "The range has more than %d runs of the schedule. Choose a shorter one.", MaxSlots)
	refuse(len(fields) == 0 && len(slots) == 0, "until", "The schedule does not run in this range.")
	return slots, fields
}

// checkInputs checks the inputs of one slot against the version.
func (s *Service) checkInputs(ctx context.Context, p *prepared, slot schedule.Slot) []apperr.Field {
	inputs, fields := slot.Render(p.Schedule.Inputs, zoneOf(p.Schedule.Timezone))
	if len(fields) > 0 {
		return fields
	}
	_, problems := p.version.Definition.Inputs.CheckAll(inputs, typeregistry.Env{Now: s.now(), Exists: s.config.Executions.Launches.References(ctx)})
	for _, pr := range problems {
		fields = append(fields, apperr.Field{Path: "inputs." + pr.Path, Message: pr.Message})
	}
	return fields
}

func zoneOf(name string) *time.Location {
	zone, err := time.LoadLocation(name)
	if err != nil {
		return time.UTC // the schedule was checked with this zone when it was saved
	}
	return zone
}

// existingOf returns the latest executions of the times of a spec, and the times that wait in the queue of the
// schedule.
func existingOf(ctx context.Context, q *db.Queries, sp Spec) (map[int64]existing, error) {
	rows, err := q.ExistingFires(ctx, sp.Schedule, sp.From, sp.Until)
	if err != nil {
		return nil, fmt.Errorf("executions of schedule %s: %w", sp.Schedule, err)
	}
	out := map[int64]existing{}
	for _, r := range rows {
		out[r.FireAt.UnixMicro()] = existing{execution: r.ExecutionID, status: r.Status, outcome: r.Outcome}
	}
	queued, err := q.QueuedFires(ctx, sp.Schedule, sp.From, sp.Until)
	if err != nil {
		return nil, fmt.Errorf("queued runs of schedule %s: %w", sp.Schedule, err)
	}
	for _, at := range queued {
		await(out, at)
	}
	return out, nil
}

// await marks a time as one that the schedule itself is about to launch.
func await(found map[int64]existing, at time.Time) {
	e := found[at.UnixMicro()]
	e.awaited = true
	found[at.UnixMicro()] = e
}

// nothingToRun returns why no slot of a plan runs.
func nothingToRun(slots []Planned) error {
	if slices.ContainsFunc(slots, func(s Planned) bool { return s.ExecutionID == nil }) {
		return refused([]apperr.Field{{Path: "until", Message: "The schedule is about to launch the times in this range that have no execution. Choose another range."}})
	}
	return refused([]apperr.Field{{Path: "rerun", Message: "All times in this range already have an execution. Choose another range, or run failed or all times again."}})
}

// Preview is a dry run: the existing executions, the slots that would run, and their cost. It
// returns Invalid with fields.
func (s *Service) Preview(ctx context.Context, sp Spec) (DryRun, error) {
	p, err := s.prepare(ctx, sp)
	if err != nil {
		return DryRun{}, err
	}
	priority := p.spec.Priority
	if priority == query.Declared {
		priority = query.Normal
	}
	f, err := s.config.Executions.Forecasts.Forecast(ctx, p.version.ID, priority)
	if err != nil { // a server that does not lead cannot forecast; a workflow without history has no estimate
		s.config.Logger.Debug("estimate a backfill", "error", err)
		return p.DryRun, nil
	}
	p.PerRun, p.Basis = f.Duration, f.Basis
	p.Total, p.GPUHours = span(p.Runs, p.spec.Parallelism, f.Duration), float64(p.Runs)*f.GPUHours
	return p.DryRun, nil
}

// Create stores a backfill, which starts immediately. The caller becomes its owner. It returns
// Invalid with fields, and Conflict if another backfill will launch one of the times, or one of them
// has just been launched.
func (s *Service) Create(ctx context.Context, sp Spec) (Backfill, error) {
	p, err := s.prepare(ctx, sp)
	if err != nil {
		return Backfill{}, err
	}
	if p.Runs == 0 {
		return Backfill{}, nothingToRun(p.Slots)
	}
	id, err := uuid.NewV7()
	if err != nil {
		return Backfill{}, fmt.Errorf("make backfill id: %w", err)
	}
	inputs, err := json.Marshal(p.Schedule.Inputs)
	if err != nil {
		return Backfill{}, fmt.Errorf("encode inputs: %w", err)
	}
	err = db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
		if _, err := q.LockActiveProject(ctx, p.Schedule.ProjectID); db.IsNoRows(err) {
			return apperr.New(apperr.Conflict, "The project is archived, so no backfill can be created in it.")
		} else if err != nil {
			return err
		}
		return s.insert(ctx, q, id, p, inputs)
	})
	if db.Constraint(err) == "backfill_slots_pending_key" {
		return Backfill{}, apperr.New(apperr.Conflict, "Another backfill of this schedule will launch some of these times. Wait until it ends, or cancel it.")
	}
	if err != nil {
		return Backfill{}, fmt.Errorf("create backfill: %w", err)
	}
	s.Wake()
	return s.Get(ctx, id)
}

func (s *Service) insert(ctx context.Context, q *db.Queries, id uuid.UUID, p *prepared, inputs json.RawMessage) error {
	sc, sp, now := p.Schedule, p.spec, s.now()
	err := q.InsertBackfill(ctx, db.InsertBackfillParams{
		ID: id, TenantID: p.version.TenantID, ProjectID: sc.ProjectID, WorkflowID: sc.WorkflowID, WorkflowName: sc.Workflow, ScheduleID: sc.ID, ScheduleName: sc.Name,
		Timezone: sc.Timezone, Version: sp.Version, Inputs: inputs, FromAt: sp.From, UntilAt: sp.Until, Rerun: string(sp.Rerun), NewestFirst: sp.NewestFirst,
		Parallelism: int32(sp.Parallelism), Priority: int32(sp.Priority), OwnerID: p.subject.ID, OwnerName: p.subject.Name, Now: now, //nolint:gosec // checked
	})
	if err != nil {
		return err
	}
	slots := db.InsertBackfillSlotsParams{BackfillID: id, ScheduleID: sc.ID, Now: now}
	for _, slot := range p.Slots {
		state, execution := SlotPending, ""
		if !slot.Runs {
			state = SlotKept
			if slot.ExecutionID != nil {
				execution = slot.ExecutionID.String()
			}
		}
		slots.Fires, slots.Starts = append(slots.Fires, slot.Fire), append(slots.Starts, slot.Start)
		slots.States, slots.Executions = append(slots.States, string(state)), append(slots.Executions, execution)
	}
	if err := q.InsertBackfillSlots(ctx, slots); err != nil {
		return err
	}
	// From here on, no other backfill can launch these times. One may have done so since they were planned.
	found, err := existingOf(ctx, q, sp)
	if err != nil {
		return err
	}
	if launchedSince(p.Slots, found) {
		return apperr.New(apperr.Conflict, "Some of these times have just been launched. Check again which times remain.")
	}
	return audit.Record(ctx, q, audit.Entry{
		Action: "backfill.create", Kind: "backfill", ID: id.String(), Name: sc.Name, TenantID: p.version.TenantID, ProjectID: sc.ProjectID,
		New: map[string]any{"schedule": sc.Name, "from": sp.From, "until": sp.Until, "rerun": sp.Rerun, "runs": p.Runs, "version": sp.Version},
	})
}
