package execution

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/workflow"
)

// LaunchService launches executions.
type LaunchService struct {
	*core

	driver     *Driver // whose loops have the values of tags
	forecasts  *ForecastService
	configMaps *configMaps
}

// LaunchRequest requests an execution. Version "" is the latest. A request with an
// IdempotencyKey that was used before in the project returns the execution of the first
// request.
type LaunchRequest struct {
	Workflow       string // name or id
	Version        string
	Inputs         map[string]any // decoded JSON
	Priority       query.Priority // Declared: that of the definition
	IdempotencyKey string
	Name           string
	RelaunchOf     *uuid.UUID
	Cache          CacheUse
	TTL            workflow.TTL // how long the execution is kept after its end; the definition sets what it leaves out
	Sweep          *SweepRun    // nil: it belongs to no sweep
	ScheduledAt    *time.Time   // the time of the run of the schedule that launches it; nil: no schedule does
	By             string       // the schedule or the trigger that launches it, such as "schedule nightly"; "": the caller
	Purpose        query.Purpose
	// Within, when set, is called with the ID of the new execution in the transaction that writes
	// it. Its error rolls the launch back and is returned.
	Within func(ctx context.Context, q *db.Queries, id uuid.UUID) error

	resume   *resumption // nil: everything runs
	identity identity    // of the new execution
}

// ErrRunNotWaiting means that a run of a sweep has an execution, or that the sweep does not launch now.
var ErrRunNotWaiting = errors.New("the run is not waiting for its launch")

// SweepRun is the run of a sweep that an execution is. A run is launched once: otherwise the launch
// returns ErrRunNotWaiting as Conflict.
type SweepRun struct {
	ID     uuid.UUID // of the sweep
	Number int
}

const (
	maxNameLength = 200
	maxKeyLength  = 200
)

// RunName is the name of an execution that a schedule, a backfill, a sweep or a trigger launches: "nightly,
// 2026-11-24 02:00". A long name is shortened.
func RunName(name, which string) string {
	end := ", " + which
	return shortened(name, max(maxNameLength-len(end), 0)) + shortened(end, maxNameLength)
}

// Launch validates the inputs, writes the execution with its nodes, and enqueues its drive,
// in one transaction. created is false when the idempotency key was used before for the same
// request. It returns Invalid with fields "inputs.<path>", NotFound for an unknown workflow,
// and Conflict for the key of another request or an archived workflow.
func (s *LaunchService) Launch(ctx context.Context, r LaunchRequest) (e query.Execution, created bool, err error) {
	subject, version, err := s.launchable(ctx, r)
	if err != nil {
		return query.Execution{}, false, err
	}
	ctx = auth.WithSubject(ctx, subject)
	r.Priority = priorityOf(r.Priority, version.Definition)
	if err := s.checkOrigin(ctx, &r); err != nil {
		return query.Execution{}, false, err
	}
	if r.identity, err = s.newIdentity(); err != nil {
		return query.Execution{}, false, err
	}
	inputs, err := s.checkLaunch(ctx, r, version, subject.ProjectID)
	if err != nil {
		return query.Execution{}, false, err
	}
	return s.launch(ctx, r, subject, version, inputs)
}

// priorityOf returns the requested priority, or that of the definition.
func priorityOf(requested query.Priority, d *workflow.Definition) query.Priority {
	switch {
	case requested != query.Declared:
		return requested
	case d.Priority == nil:
		return query.Normal
	}
	return query.Priority(*d.Priority)
}

// launch writes an execution whose request and inputs were checked.
func (s *LaunchService) launch(ctx context.Context, r LaunchRequest, subject auth.Subject, version workflow.Version, inputs map[string]any) (e query.Execution, created bool, err error) {
	ctx = auth.WithSubject(ctx, subject)
	id := r.identity.id
	l := &launch{id: id, request: r, subject: subject, version: version, now: r.identity.at}
	if inputs, err = s.pin(ctx, l, inputs); err != nil {
		return query.Execution{}, false, err
	}
	l.inputs = mustJSON(inputs)
	s.config.Crash("launch.begin")
	err = db.Tx(ctx, s.pool, func(tx pgx.Tx, q *db.Queries) error { return s.insert(ctx, tx, q, l) })
	if err != nil {
		return query.Execution{}, false, err
	}
	s.config.Crash("launch.committed")
	if l.id == id {
		s.hub.rememberProject(id, subject.ProjectID)
		s.changed(id)
	}
	e, err = s.reader.Get(ctx, l.id)
	return e, l.id == id, err
}

// launch is a launch that is being written. id becomes the id of the earlier execution when
// the idempotency key was used before.
type launch struct {
	id      uuid.UUID
	request LaunchRequest
	subject auth.Subject
	version workflow.Version
	inputs  json.RawMessage
	now     time.Time
	entries []entryUse
	ready   int32 // nodes that are READY from the start
}

// launchable returns the requested version, and the caller in its project: a workflow that
// is identified by its id is launched in its own project.
func (s *LaunchService) launchable(ctx context.Context, r LaunchRequest) (auth.Subject, workflow.Version, error) {
	w, err := s.workflows.Get(ctx, r.Workflow)
	if err != nil {
		return auth.Subject{}, workflow.Version{}, err
	}
	absent := apperr.New(apperr.NotFound, "There is no workflow %q.", w.Name)
	subject, err := auth.AuthorizeIn(ctx, auth.ExecutionLaunch, w.ProjectID, absent)
	if err != nil {
		return auth.Subject{}, workflow.Version{}, err
	}
	if w.Status == workflow.Archived {
		return auth.Subject{}, workflow.Version{}, apperr.New(apperr.Conflict, "The workflow %s is archived.", w.Name)
	}
	version, err := s.workflows.Version(ctx, r.Workflow, r.Version)
	if err == nil && len(version.Plan.Nodes) == 0 {
		return auth.Subject{}, workflow.Version{}, apperr.New(apperr.Invalid, "%s has no entrypoint, so it cannot be launched. Other workflows can reference its templates.", w.Name)
	}
	subject.TenantID, subject.ProjectID = version.TenantID, version.ProjectID
	return subject, version, err
}

// checkOrigin returns NotFound for an earlier execution that the caller cannot see.
func (s *LaunchService) checkOrigin(ctx context.Context, r *LaunchRequest) error {
	if r.RelaunchOf == nil {
		return nil
	}
	_, _, err := s.reader.Scope(ctx, *r.RelaunchOf)
	if apperr.Is(err, apperr.NotFound) {
		r.RelaunchOf = nil
		return nil
	}
	return err
}

// checkLaunch returns the normalised inputs, or all problems at once.
func (s *LaunchService) checkLaunch(ctx context.Context, r LaunchRequest, v workflow.Version, project uuid.UUID) (map[string]any, error) {
	var fields []apperr.Field
	if r.Priority < 0 || r.Priority > query.MaxPriority {
		fields = append(fields, apperr.Field{Path: "priority", Message: "Enter a priority from 0 to 100."})
	}
	if len(r.Name) > maxNameLength {
		fields = append(fields, apperr.Field{Path: "name", Message: fmt.Sprintf("At most %d characters.", maxNameLength)})
	}
	if len(r.IdempotencyKey) > maxKeyLength {
		fields = append(fields, apperr.Field{Path: "idempotency_key", Message: fmt.Sprintf("At most %d characters.", maxKeyLength)})
	}
	values := r.Inputs
	if values == nil {
		values = map[string]any{}
	}
	inputs, problems := v.Definition.Inputs.CheckAll(values, s.Env(ctx))
	for _, p := range problems {
		fields = append(fields, apperr.Field{Path: "inputs." + p.Path, Message: p.Message})
	}
	missing, err := s.configMaps.check(ctx, v.Definition, project, inputs)
	if err != nil {
		return nil, err
	}
	fields = append(fields, missing...)
	fields = append(fields, s.replaceInputTags(ctx, r, v, inputs)...)
	fields = append(fields, r.Cache.problems(v)...)
	var beyond uuid.UUID
	fields = append(fields, s.forecasts.tooLarge(v, project, &beyond)...)
	fields = append(fields, s.configMaps.withoutCluster(v)...)
	fields = append(fields, s.missingVariables(ctx, v)...)
	unknown, err := s.unusablePools(ctx, v)
	if err != nil {
		return nil, err
	}
	fields = append(fields, unknown...)
	if len(fields) == 0 {
		return inputs, nil
	}
	refused := &apperr.Error{Code: apperr.Invalid, Message: "The launch has invalid values.", Fields: fields}
	if beyond != uuid.Nil {
		refused.Err = &BeyondLimitError{Level: beyond}
	}
	return inputs, refused
}

// insert writes all rows of l.
func (s *LaunchService) insert(ctx context.Context, tx pgx.Tx, q *db.Queries, l *launch) error {
	fresh, err := s.claimKey(ctx, q, l)
	if err != nil || !fresh {
		return err
	}
	if err := holdProject(ctx, q, l.subject.ProjectID); err != nil {
		return err
	}
	if err := workflow.HoldVersion(ctx, q, l.version); err != nil {
		return err
	}
	plan := l.version.Plan
	total := int32(len(plan.Nodes)) //nolint:gosec // at most workflow.MaxOperators
	rows := nodeRowsOf(l)
	err = q.InsertExecution(ctx, db.InsertExecutionParams{
		ID: l.id, TenantID: l.subject.TenantID, ProjectID: l.subject.ProjectID,
		WorkflowID: l.version.WorkflowID, VersionID: l.version.ID, WorkflowName: l.version.Name, Version: l.version.Version,
		Name: clean(l.request.Name, maxNameLength), Priority: int32(l.request.Priority), Inputs: l.inputs, //nolint:gosec // 0 to 100
		SubmittedBy: l.subject.ID, SubmittedByName: l.subject.Name, RelaunchOf: l.request.RelaunchOf, CreatedAt: l.now, ScheduledAt: l.request.ScheduledAt,
		Total: total, Pending: total - l.ready, Ready: l.ready, Levels: int32(len(plan.Levels)), Traceparent: s.traceOf(ctx), Purpose: string(cmp.Or(l.request.Purpose, query.Work)), //nolint:gosec // at most total
	})
	if err != nil {
		return fmt.Errorf("insert execution: %w", err)
	}
	if _, err := q.InsertNodes(ctx, rows); err != nil {
		return fmt.Errorf("insert nodes: %w", err)
	}
	if err := s.insertExtras(ctx, q, l); err != nil {
		return err
	}
	if err := holdNamed(ctx, q, l); err != nil {
		return err
	}
	if err := insertEntryUses(ctx, q, l); err != nil {
		return err
	}
	err = q.InsertFirstEvent(ctx, l.now, l.launchMessage(), l.id)
	if err != nil {
		return fmt.Errorf("insert event: %w", err)
	}
	if err := audit.Record(ctx, q, l.entry()); err != nil {
		return err
	}
	if l.request.Within != nil {
		if err := l.request.Within(ctx, q, l.id); err != nil {
			return err
		}
	}
	return s.enqueueDrive(ctx, tx, l.id, 0)
}

// holdProject locks the project until the transaction ends, so that it cannot be archived
// between the launch and its commit.
func holdProject(ctx context.Context, q *db.Queries, project uuid.UUID) error {
	_, err := q.LockActiveProject(ctx, project)
	if db.IsNoRows(err) {
		return apperr.New(apperr.Conflict, "The project is archived, so workflows cannot be launched in it.")
	}
	if err != nil {
		return fmt.Errorf("lock project %s: %w", project, err)
	}
	return nil
}

// entry is the audit log entry of the launch. The inputs are in the execution.
func (l *launch) entry() audit.Entry {
	return audit.Entry{
		Action: "execution.launch", Kind: "execution", ID: l.id.String(), Name: l.version.Name + " " + l.version.Version,
		TenantID: l.subject.TenantID, ProjectID: l.subject.ProjectID,
		New: map[string]any{"workflow": l.version.Name, "version": l.version.Version, "name": l.request.Name, "priority": l.request.Priority, "relaunch_of": l.request.RelaunchOf, "resume_of": l.request.resumeOf()},
	}
}

// begins reports whether node i is READY from the start: it has no condition, expansion or
// limit to evaluate first.
func (l *launch) begins(i int) bool {
	n := &l.version.Plan.Nodes[i]
	return l.request.resume == nil && len(n.Dependencies) == 0 && !n.Conditional && !n.Final && l.version.Definition.Parallelism == 0 &&
		len(l.version.Definition.Operators[i].Locks) == 0 // a node with locks takes them first
}

// nodeRowsOf returns the nodes of a new execution, the first ones READY.
func nodeRowsOf(l *launch) []db.InsertNodesParams {
	rows := make([]db.InsertNodesParams, len(l.version.Plan.Nodes))
	for i, n := range l.version.Plan.Nodes {
		rows[i] = db.InsertNodesParams{
			ExecutionID: l.id, NodeIndex: int32(i), Name: n.Name, Level: int32(n.Level), //nolint:gosec // at most workflow.MaxOperators
			State: string(dag.Pending), PendingDependencies: int32(len(n.Dependencies)), //nolint:gosec // at most workflow.MaxOperators
		}
		if l.begins(i) {
			rows[i].State, rows[i].ReadyAt = string(dag.Ready), &l.now
			l.ready++
		}
	}
	return rows
}

// claimKey reports whether this request is the first one with its idempotency key.
func (s *LaunchService) claimKey(ctx context.Context, q *db.Queries, l *launch) (bool, error) {
	if l.request.IdempotencyKey == "" {
		return true, nil
	}
	hash := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%d\n%s%s", l.version.WorkflowID, l.request.Version, l.request.Priority, mustJSON(l.request.Inputs), l.request.extras()))
	row, err := q.ClaimIdempotencyKey(ctx, db.ClaimIdempotencyKeyParams{
		ProjectID: l.subject.ProjectID, Key: l.request.IdempotencyKey, ExecutionID: l.id, RequestHash: hash[:], CreatedAt: l.now,
	})
	if db.IsNoRows(err) {
		return false, apperr.New(apperr.Conflict, "Another request with the same idempotency key is being processed. Try again later.")
	}
	if err != nil {
		return false, fmt.Errorf("claim idempotency key: %w", err)
	}
	if row.ExecutionID == l.id {
		return true, nil
	}
	if string(row.RequestHash) != string(hash[:]) {
		return false, apperr.New(apperr.Conflict, "The idempotency key was used for another request.")
	}
	l.id = row.ExecutionID
	return false, nil
}
