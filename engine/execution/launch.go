package execution

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/audit"
	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/typeregistry"
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
	ScheduledAt    *time.Time   // the time of the run of the schedule that launches it; nil: no schedule does
	By             string       // the schedule or the trigger that launches it, such as "schedule nightly"; "": the caller
	Purpose        query.Purpose
	SweepID        *uuid.UUID    // the sweep whose run it is; nil: none
	As             *auth.Subject // who launches it, with their current permissions; nil: the caller
	// Within, when set, is called with the ID of the new execution in the transaction that writes
	// it. Its error rolls the launch back and is returned.
	Within func(ctx context.Context, q *db.Queries, id uuid.UUID) error

	resume   *resumption // nil: everything runs
	identity identity    // of the new execution
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
	l, err := s.prepare(ctx, r, newCommon())
	if err != nil {
		return query.Execution{}, false, err
	}
	return s.launch(ctx, l)
}

// prepare checks a request and returns its launch.
func (s *LaunchService) prepare(ctx context.Context, r LaunchRequest, c *common) (*launch, error) {
	if r.As != nil {
		ctx = auth.WithSubject(ctx, *r.As)
	}
	subject, version, err := s.target(ctx, r, c)
	if err != nil {
		return nil, err
	}
	ctx = auth.WithSubject(ctx, subject)
	r.Priority = priorityOf(r.Priority, version.Definition)
	if err := s.dropHiddenOrigin(ctx, &r); err != nil {
		return nil, err
	}
	if r.identity, err = s.newIdentity(); err != nil {
		return nil, err
	}
	inputs, err := s.checkLaunch(ctx, r, version, c)
	if err != nil {
		return nil, err
	}
	return s.newLaunch(ctx, r, subject, version, inputs)
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

// launch is a launch that is being written. id becomes the id of the earlier execution when
// the idempotency key was used before.
type launch struct {
	id          uuid.UUID
	request     LaunchRequest
	subject     auth.Subject
	version     workflow.Version
	inputs      json.RawMessage
	now         time.Time
	traceparent string
	entries     []entryUse
	ready       int32 // nodes that are READY from the start
	position    int   // in its group
	ended       bool  // its transaction has ended
	err         error // why it was not written
}

// newLaunch returns the launch of a request whose inputs were checked.
func (s *LaunchService) newLaunch(ctx context.Context, r LaunchRequest, subject auth.Subject, version workflow.Version, inputs map[string]any) (*launch, error) {
	l := &launch{id: r.identity.id, request: r, subject: subject, version: version, now: r.identity.at, traceparent: s.traceOf(ctx)}
	inputs, err := s.pin(ctx, l, inputs)
	if err != nil {
		return nil, err
	}
	l.inputs = mustJSON(inputs)
	return l, nil
}

// created reports whether l creates an execution: it has no idempotency key that was used before.
func (l *launch) created() bool { return l.err == nil && l.id == l.request.identity.id }

// launchable returns the requested version, and the caller in its project: a workflow that
// is identified by its id is launched in its own project.
func (s *LaunchService) launchable(ctx context.Context, r LaunchRequest) (auth.Subject, workflow.Version, error) {
	w, err := s.workflows.Summary(ctx, r.Workflow)
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

// dropHiddenOrigin removes from a request an earlier execution that the caller cannot see: the launch
// then has no origin.
func (s *LaunchService) dropHiddenOrigin(ctx context.Context, r *LaunchRequest) error {
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
func (s *LaunchService) checkLaunch(ctx context.Context, r LaunchRequest, v workflow.Version, c *common) (map[string]any, error) {
	var fields []apperr.Field
	if r.Priority < 0 || r.Priority > query.MaxPriority {
		fields = append(fields, apperr.Field{Path: "priority", Message: "Enter a priority from 0 to 100."})
	}
	if utf8.RuneCountInString(r.Name) > maxNameLength {
		fields = append(fields, apperr.Field{Path: "name", Message: fmt.Sprintf("At most %d characters.", maxNameLength)})
	}
	if utf8.RuneCountInString(r.IdempotencyKey) > maxKeyLength {
		fields = append(fields, apperr.Field{Path: "idempotency_key", Message: fmt.Sprintf("At most %d characters.", maxKeyLength)})
	}
	values := r.Inputs
	if values == nil {
		values = map[string]any{}
	}
	env := s.Env(ctx)
	var failed error // a failed lookup does not make a value invalid
	env.Exists = func(kind typeregistry.Kind, ref string) bool {
		exists, err := s.exists(ctx, kind, ref)
		failed = cmp.Or(failed, err)
		return exists
	}
	inputs, problems := v.Definition.Inputs.CheckAll(values, env)
	if failed != nil {
		return nil, fmt.Errorf("look up what the inputs refer to: %w", failed)
	}
	for _, p := range problems {
		fields = append(fields, apperr.Field{Path: "inputs." + p.Path, Message: p.Message})
	}
	missing, err := s.configMaps.check(ctx, v.Definition, v.ProjectID, inputs)
	if err != nil {
		return nil, err
	}
	fields = append(fields, missing...)
	fields = append(fields, s.replaceInputTags(ctx, r, v, inputs)...)
	fields = append(fields, r.Cache.problems(v)...)
	runnable, err := s.runnable(ctx, v, c)
	if err != nil {
		return nil, err
	}
	fields = append(fields, runnable.fields...)
	if len(fields) == 0 {
		return inputs, nil
	}
	refused := &apperr.Error{Code: apperr.Invalid, Message: "The launch has invalid values.", Fields: fields}
	if runnable.beyond != uuid.Nil {
		refused.Err = &BeyondLimitError{Level: runnable.beyond}
	}
	return inputs, refused
}

// entry is the audit log entry of the launch. The inputs are in the execution.
func (l *launch) entry() audit.Entry {
	return audit.Entry{
		Action: "execution.launch", Kind: "execution", ID: l.id.String(), Name: l.version.Name + " " + l.version.Version,
		TenantID: l.subject.TenantID, ProjectID: l.subject.ProjectID, By: &l.subject,
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
	l.ready = 0
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
