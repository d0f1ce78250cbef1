package sweep

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/sweep/space"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/typeregistry"
)

// plan is a Spec that was checked.
type plan struct {
	spec    Spec
	version workflow.Version
	subject auth.Subject // in the project of the workflow
	space   space.Checked
	inputs  map[string]any // with the defaults of inputs whose parts the space varies
	check   execution.LaunchCheck
	grid    int
}

// Create stores a sweep and starts it. It returns Invalid with fields that are those of the API
// ("space.0.values.2", "inputs.lr", "runs"), NotFound for an unknown workflow, and Conflict for an
// archived workflow or the key of another request. created is false when the idempotency key was
// used before for the same request.
func (s *Service) Create(ctx context.Context, spec Spec) (sw Sweep, created bool, err error) {
	p, problems, err := s.check(ctx, spec)
	if err != nil {
		return Sweep{}, false, err
	}
	if len(problems) > 0 {
		return Sweep{}, false, apperr.InvalidFields("The sweep has invalid values.", problems)
	}
	ctx = auth.WithSubject(ctx, p.subject)
	request, err := encode(spec)
	if err != nil {
		return Sweep{}, false, err
	}
	hash := sha256.Sum256(request)
	if id, err := s.repeated(ctx, p, hash[:]); err != nil || id != uuid.Nil {
		if err == nil {
			sw, err = s.Get(ctx, id)
		}
		return sw, false, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return Sweep{}, false, fmt.Errorf("make sweep id: %w", err)
	}
	params, err := p.row(id)
	if err != nil {
		return Sweep{}, false, err
	}
	params.RequestHash, params.Now = hash[:], s.now()
	err = db.Tx(ctx, s.config.Pool, func(_ pgx.Tx, q *db.Queries) error {
		if _, err := q.LockActiveProject(ctx, p.version.ProjectID); db.IsNoRows(err) {
			return apperr.New(apperr.Conflict, "The project is archived, so sweeps cannot be created in it.")
		} else if err != nil {
			return err
		}
		if err := q.InsertInputSweep(ctx, params); err != nil {
			return err
		}
		return audit.Record(ctx, q, audit.Entry{
			Action: "sweep.create", Kind: "sweep", ID: id.String(), Name: params.Name, TenantID: params.TenantID, ProjectID: params.ProjectID,
			New: facts{string(Running), "", params.Method, params.Planned, params.Parallelism, params.GpuHours, params.Space, params.Stopping},
		})
	})
	if db.Constraint(err) == "input_sweeps_request_key" {
		if id, err = s.repeated(ctx, p, hash[:]); err == nil {
			sw, err = s.Get(ctx, id)
		}
		return sw, false, err
	}
	if err != nil {
		return Sweep{}, false, fmt.Errorf("create sweep: %w", err)
	}
	s.config.Crash("create.committed")
	s.Wake()
	sw, err = s.Get(ctx, id)
	return sw, true, err
}

// repeated returns the sweep of an earlier request with the same key, uuid.Nil without one.
func (s *Service) repeated(ctx context.Context, p *plan, hash []byte) (uuid.UUID, error) {
	if p.spec.IdempotencyKey == "" {
		return uuid.Nil, nil
	}
	row, err := s.queries.InputSweepOfRequest(ctx, p.version.ProjectID, p.spec.IdempotencyKey)
	switch {
	case db.IsNoRows(err):
		return uuid.Nil, nil
	case err != nil:
		return uuid.Nil, fmt.Errorf("find the sweep of a request: %w", err)
	case string(row.RequestHash) != string(hash):
		return uuid.Nil, apperr.New(apperr.Conflict, "The idempotency key was used for another request.")
	}
	return row.ID, nil
}

func (p *plan) row(id uuid.UUID) (db.InsertInputSweepParams, error) {
	spec, v := p.spec, p.version
	params := db.InsertInputSweepParams{
		ID: id, TenantID: v.TenantID, ProjectID: v.ProjectID, WorkflowID: v.WorkflowID, VersionID: v.ID, WorkflowName: v.Name, Version: v.Version,
		Name: spec.Name, Method: string(spec.Method),
		Planned: int32(spec.Runs), Parallelism: int32(spec.Parallelism), GpuHours: spec.GPUHours, Seed: spec.Seed, Priority: int32(spec.Priority), //nolint:gosec // checked
		CreatedBy: p.subject.ID, CreatedByName: p.subject.Name, RequestKey: spec.IdempotencyKey, Tags: spec.Tags, Note: spec.Note,
	}
	if params.Seed == 0 {
		params.Seed = newSeed()
	}
	var err error
	for _, part := range []struct {
		into *json.RawMessage
		from any
	}{{&params.Space, p.space.Parameters()}, {&params.Inputs, p.inputs}, {&params.Stopping, spec.EarlyStopping}, {&params.Objective, spec.Objective}} {
		if part.from == (*Objective)(nil) {
			continue
		}
		if *part.into, err = encode(part.from); err != nil {
			return params, err
		}
	}
	return params, nil
}

func newSeed() int64 { return 1 + rand.Int64N(1<<31) } //nolint:gosec // a seed, not a secret

// check checks a spec and fills in its defaults.
func (s *Service) check(ctx context.Context, spec Spec) (*plan, []apperr.Field, error) {
	w, err := s.config.Workflows.Get(ctx, spec.Workflow)
	if apperr.Is(err, apperr.NotFound) && s.isSweep(ctx, spec.Workflow) {
		return nil, nil, apperr.InvalidFields("A sweep cannot launch another sweep.", []apperr.Field{
			{Path: "workflow", Message: "This is a sweep ID. Use the sweep's workflow instead, with all inputs to vary in one space."},
		})
	}
	if err != nil {
		return nil, nil, err
	}
	subject, err := auth.AuthorizeIn(ctx, auth.ExecutionLaunch, w.ProjectID, apperr.New(apperr.NotFound, "There is no workflow %q.", w.Name))
	if err != nil {
		return nil, nil, err
	}
	version, err := s.config.Workflows.Version(ctx, spec.Workflow, spec.Version)
	if err != nil {
		return nil, nil, err
	}
	subject.TenantID, subject.ProjectID = version.TenantID, version.ProjectID
	ctx = auth.WithSubject(ctx, subject)
	p := &plan{spec: spec, version: version, subject: subject}
	var problems []typeregistry.Problem
	p.space, problems = space.Check(spec.Space, version.Definition.Inputs, s.env(ctx))
	fields := located("space", problems)
	fields = append(fields, p.fill(len(problems) == 0)...)
	if len(problems) > 0 {
		return p, fields, nil
	}
	if _, err := s.config.Index.AtLaunch(ctx, index.Labels{Tags: p.spec.Tags, Note: p.spec.Note}); err != nil {
		if !apperr.Is(err, apperr.Invalid) {
			return p, nil, err
		}
		fields = append(fields, apperr.FieldsOf(err)...)
	}
	more, err := s.checkFirst(ctx, p)
	return p, append(fields, more...), err
}

// located puts the path of problems below that of a field.
func located(path string, problems []typeregistry.Problem) []apperr.Field {
	fields := make([]apperr.Field, len(problems))
	for i, problem := range problems {
		fields[i] = apperr.Field{Path: strings.TrimSuffix(path+"."+problem.Path, "."), Message: problem.Message}
	}
	return fields
}

func (s *Service) isSweep(ctx context.Context, ref string) bool {
	id, err := uuid.Parse(ref)
	if err != nil {
		return false
	}
	_, _, err = s.readable(ctx, id)
	return err == nil
}

// fill sets defaults and returns the problems outside the space.
func (p *plan) fill(spaced bool) []apperr.Field {
	var fields []apperr.Field
	spec := &p.spec
	wrong := func(path, format string, args ...any) {
		fields = append(fields, apperr.Field{Path: path, Message: fmt.Sprintf(format, args...)})
	}
	if spec.Name = strings.TrimSpace(spec.Name); spec.Name == "" {
		spec.Name = "Sweep of " + p.version.Name
	}
	spec.Tags, spec.Note = compact(spec.Tags), strings.TrimSpace(spec.Note)
	if utf8.RuneCountInString(spec.Name) > MaxName {
		wrong("name", "Enter at most %d characters.", MaxName)
	}
	if spec.Method == "" {
		spec.Method = Random
	}
	if !slices.Contains(Methods(), spec.Method) {
		wrong("method", "%q is not a method. Use grid, random, sobol or tpe.", spec.Method)
	}
	if spec.Parallelism == 0 {
		spec.Parallelism = DefaultParallel
	}
	if spec.Parallelism < 1 || spec.Parallelism > MaxParallelism {
		wrong("parallelism", "Enter 1 to %d concurrent runs.", MaxParallelism)
	}
	if !(spec.GPUHours >= 0) || spec.GPUHours > 1e12 {
		wrong("gpu_hours", "Enter 0 for no budget, or a number above 0.")
	}
	if spec.Priority != query.Declared && (spec.Priority < 0 || spec.Priority > query.MaxPriority) {
		wrong("priority", "Enter a priority from 0 to 100.")
	}
	if utf8.RuneCountInString(spec.IdempotencyKey) > MaxName {
		wrong("idempotency_key", "Enter at most %d characters.", MaxName)
	}
	if spaced {
		fields = append(fields, p.fillRuns()...)
	}
	fields = append(fields, p.checkObjective()...)
	return append(fields, spec.EarlyStopping.fill()...)
}

// fillRuns checks the number of runs.
func (p *plan) fillRuns() []apperr.Field {
	wrong := func(path, format string, args ...any) []apperr.Field {
		return []apperr.Field{{Path: path, Message: fmt.Sprintf(format, args...)}}
	}
	size, continuous := p.space.Combinations()
	p.grid = size
	runs := p.spec.Runs
	switch {
	case p.spec.Method == Grid && len(continuous) > 0:
		return wrong("space", "A grid requires a finite number of values. Set values, step or steps for %s, or use another method.", strings.Join(continuous, ", "))
	case p.spec.Method == Grid && runs == 0 && size > MaxRuns:
		return wrong("runs", "The grid has %d combinations, but a sweep can have at most %d runs. Use fewer values, or use another method with a number of runs.", size, MaxRuns)
	case p.spec.Method == Grid && runs == 0:
		p.spec.Runs = size
	case p.spec.Method == Grid && runs > size:
		return wrong("runs", "The grid has %d combinations. Enter at most %d runs.", size, size)
	case runs < 1:
		return wrong("runs", "Enter the number of runs, 1 to %d.", MaxRuns)
	case runs > MaxRuns:
		return wrong("runs", "A sweep has at most %d runs.", MaxRuns)
	}
	return nil
}

func (p *plan) checkObjective() []apperr.Field {
	o := p.spec.Objective
	if o == nil {
		switch {
		case p.spec.Method == TPE:
			return []apperr.Field{{Path: "objective", Message: "The method tpe requires an objective. Set a metric or an output."}}
		case p.spec.EarlyStopping.Rule != "" && p.spec.EarlyStopping.Rule != NoRule:
			return []apperr.Field{{Path: "objective", Message: "Early stopping requires a metric. Set the metric."}}
		}
		return nil
	}
	copied := *o
	p.spec.Objective, o = &copied, &copied
	if o.Goal == "" {
		o.Goal = Maximize
	}
	if o.Value == "" {
		o.Value = BestValue
	}
	var fields []apperr.Field
	switch {
	case (o.Metric == "") == (o.Output == ""):
		fields = append(fields, apperr.Field{Path: "objective", Message: "Set either a metric or an output."})
	case o.Output != "":
		fields = append(fields, p.checkOutput(o.Output)...)
	}
	if o.Goal != Maximize && o.Goal != Minimize {
		fields = append(fields, apperr.Field{Path: "objective.goal", Message: "Enter max or min."})
	}
	if o.Value != BestValue && o.Value != LastValue {
		fields = append(fields, apperr.Field{Path: "objective.value", Message: "Enter best or last."})
	}
	if o.Metric == "" && p.spec.EarlyStopping.Rule != "" && p.spec.EarlyStopping.Rule != NoRule {
		fields = append(fields, apperr.Field{Path: "early_stopping.rule", Message: "Outputs are available only at the end of a run. To stop runs early, use a metric as the objective."})
	}
	return fields
}

// fill sets the defaults of the rule and returns its problems.
func (e *EarlyStopping) fill() []apperr.Field {
	if e.Rule == "" {
		e.Rule = NoRule
	}
	if e.Rule != NoRule && e.Rule != Median && e.Rule != Halving {
		return []apperr.Field{{Path: "early_stopping.rule", Message: "Enter none, median or halving."}}
	}
	if e.MinStep == 0 {
		e.MinStep = 1
	}
	if e.MinRuns == 0 {
		e.MinRuns = 5
	}
	if e.Factor == 0 {
		e.Factor = 3
	}
	var fields []apperr.Field
	if e.MinStep < 1 || e.MinStep > 1<<30 {
		fields = append(fields, apperr.Field{Path: "early_stopping.min_step", Message: "Enter a step of 1 or more."})
	}
	if e.MinRuns < 1 || e.MinRuns > MaxRuns {
		fields = append(fields, apperr.Field{Path: "early_stopping.min_runs", Message: fmt.Sprintf("Enter 1 to %d runs.", MaxRuns)})
	}
	if e.Factor < 2 || e.Factor > 100 {
		fields = append(fields, apperr.Field{Path: "early_stopping.factor", Message: "Enter 2 to 100."})
	}
	return fields
}

// checkFirst checks the inputs with the values of a run.
func (s *Service) checkFirst(ctx context.Context, p *plan) ([]apperr.Field, error) {
	p.inputs = maps.Clone(p.spec.Inputs)
	if p.inputs == nil {
		p.inputs = map[string]any{}
	}
	for _, path := range p.space.Paths() {
		name, _, nested := strings.Cut(path, ".")
		field, _ := p.version.Definition.Inputs.Field(name)
		if _, given := p.inputs[name]; nested && !given {
			if value, ok := field.DefaultValue(s.env(ctx)); ok {
				p.inputs[name] = value
			}
		}
	}
	inputs, problems := p.sample(s.now())
	if len(problems) > 0 {
		return located("inputs", problems), nil
	}
	check, err := s.config.Executions.Launches.Check(ctx, execution.LaunchRequest{Workflow: p.version.WorkflowID.String(), Version: p.version.Version, Inputs: inputs, Priority: p.spec.Priority})
	if err != nil {
		return nil, err
	}
	p.check = check
	return check.Problems, nil
}

// requestInputs are the inputs of a run.
func requestInputs(base map[string]any, chosen json.RawMessage) (map[string]any, space.Combination, error) {
	var values space.Combination
	if err := part("values", chosen, &values); err != nil {
		return nil, nil, err
	}
	inputs, problems := space.Apply(base, values)
	if len(problems) > 0 {
		return nil, values, apperr.InvalidFields("The run's values are not valid for its inputs.", located("inputs", problems))
	}
	return inputs, values, nil
}
