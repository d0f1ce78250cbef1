package execution

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/db"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/execution/stored"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/typeregistry"
)

// ResumeService resumes executions that have ended.
type ResumeService struct {
	*core

	launches *LaunchService
	past     *pastResults
}

// ResumeRequest requests an execution that resumes one that has ended: nodes that succeeded
// do not run again unless something that they depend on changes.
type ResumeRequest struct {
	Of             uuid.UUID
	From           string                      // a node to rerun with all its dependents; "": the first failures
	Version        string                      // of the same workflow; "" is the version that ran
	Inputs         map[string]any              // replace inputs of the earlier execution; a nil value restores the default
	Resources      map[string]ResourceOverride // by the names of operators, or EveryOperator
	Name           string
	Priority       *query.Priority // nil: the priority of the earlier execution
	IdempotencyKey string
	Cache          CacheUse
	TTL            workflow.TTL // zero: the TTL of the earlier execution

	deadLetter uuid.UUID // a dead letter that the caller settles itself
}

// ResourceOverride replaces resources of an operator's definition for each attempt.
type ResourceOverride struct {
	CPUMillis *int `json:"cpu_millis,omitempty"`
	MemoryMiB *int `json:"memory_mib,omitempty"`
	GPUs      *int `json:"gpus,omitempty"`
}

// resumed is the part of a ResumeRequest that the row of the execution stores.
type resumed struct {
	From      string                      `json:"from,omitempty"`
	Resources map[string]ResourceOverride `json:"resources,omitempty"`
}

// ResumeNode is the decision about one node of the plan.
type ResumeNode struct {
	Name   string
	Runs   bool
	Ground dag.RunReason
	Why    string
	Before dag.State // its earlier state; "" when it did not exist
	Inside int       // of a group: the number of its children
	Kept   int       // how many of those keep their results, as far as it is known in advance
}

// InputChange is an input with a changed value. Before and After are nil for no value.
type InputChange struct {
	Name   string
	Before any
	After  any
}

// ResumePlan is the result of a dry run of a resume.
type ResumePlan struct {
	Of      query.Execution
	Version workflow.Version
	Inputs  map[string]any
	Changes []InputChange
	Nodes   []ResumeNode
	Runs    int    // nodes of the plan that run
	Kept    int    // nodes of the plan that keep their results
	Refusal string // why the resume is impossible; "" when it is possible
}

// resumption is a resume that was checked.
type resumption struct {
	request   ResumeRequest
	launch    LaunchRequest // of the new execution
	row       db.Execution
	subject   auth.Subject
	reusePlan reusePlan
	inputs    map[string]any
	before    map[string]any // inputs of the earlier execution
	past      map[string]*pastNode
	nodes     []decision // of the plan of the new version
}

// Plan is a dry run of Resume. It returns the errors of Resume, except the refusal of
// an execution in which no node would run.
func (s *ResumeService) Plan(ctx context.Context, r ResumeRequest) (ResumePlan, error) {
	x, err := s.resumption(ctx, r)
	if err != nil {
		return ResumePlan{}, err
	}
	plan := ResumePlan{Of: query.ExecutionFrom(x.row), Version: x.reusePlan.new, Inputs: x.inputs, Refusal: x.refusal()}
	for _, name := range slices.Sorted(maps.Keys(x.reusePlan.changed)) {
		plan.Changes = append(plan.Changes, InputChange{name, x.before[name], x.inputs[name]})
	}
	g := x.reusePlan.new.Definition.Main()
	for k, d := range x.nodes {
		n := ResumeNode{Name: g.Operators[k].Name, Runs: d.RunReason != dag.Reused, Ground: d.RunReason, Why: d.why}
		if past := x.past[n.Name]; past != nil {
			n.Before, n.Inside = past.state(), int(past.row.ChildCount)
		}
		if n.Runs {
			plan.Runs++
			if n.Kept, err = s.countReusedInside(ctx, x, k); err != nil {
				return ResumePlan{}, err
			}
		} else {
			plan.Kept++
		}
		plan.Nodes = append(plan.Nodes, n)
	}
	return plan, nil
}

// Resume launches an execution that resumes one that has ended. It returns the errors of
// Launch, NotFound for a node that the execution or the version does not have, and Conflict
// for an execution that has not ended, one that succeeded when no node is given, and one in
// which no node would run.
func (s *ResumeService) Resume(ctx context.Context, r ResumeRequest) (e query.Execution, created bool, err error) {
	x, err := s.resumption(ctx, r)
	if err != nil {
		return query.Execution{}, false, err
	}
	if text := x.refusal(); text != "" {
		return query.Execution{}, false, apperr.New(apperr.Conflict, "%s", text)
	}
	launched := x.launch
	launched.TTL, launched.resume = x.ttl(), x
	ctx = auth.WithSubject(ctx, x.subject)
	l, err := s.launches.newLaunch(ctx, launched, x.subject, x.reusePlan.new, x.inputs)
	if err != nil {
		return query.Execution{}, false, err
	}
	return s.launches.launch(ctx, l)
}

// ttl is how long the new execution is kept, as far as the launches set it.
func (x *resumption) ttl() workflow.TTL {
	if x.request.TTL.IsZero() {
		return query.TTLFrom(x.row)
	}
	return x.request.TTL
}

// refusal explains why the resume is impossible; "" when it is possible.
func (x *resumption) refusal() string {
	verdicts := make([]dag.Verdict, len(x.nodes))
	for k, d := range x.nodes {
		verdicts[k] = d.Verdict
	}
	switch {
	case query.State(x.row.Status) == query.Succeeded && x.request.From == "":
		return "The execution succeeded. Choose the node to rerun from."
	case dag.Runs(verdicts):
		return ""
	}
	for k, op := range x.reusePlan.new.Definition.Operators {
		past := x.past[op.Name]
		if x.nodes[k].RunReason == dag.Final && (x.request.From == op.Name || past == nil || past.state() != dag.Succeeded) {
			return ""
		}
	}
	return "No node would run, because every node keeps its result."
}

// resumption checks a request and decides about the nodes of the plan.
func (s *ResumeService) resumption(ctx context.Context, r ResumeRequest) (*resumption, error) {
	row, err := s.rows.Execution(ctx, r.Of)
	if err != nil {
		return nil, err
	}
	if _, err := auth.AuthorizeIn(ctx, auth.ExecutionLaunch, row.ProjectID, query.Absent(r.Of)); err != nil {
		return nil, err
	}
	if !query.State(row.Status).Ended() {
		return nil, apperr.New(apperr.Conflict, "The execution has not ended. Only ended executions can be resumed.")
	}
	x := &resumption{request: r, row: row, before: stored.Object(row.Inputs), past: map[string]*pastNode{}}
	old, err := s.workflows.VersionByID(auth.AsSystem(ctx), row.VersionID)
	if err != nil {
		return nil, err
	}
	request := LaunchRequest{
		Workflow: row.WorkflowID.String(), Version: old.Version, Name: r.Name, Priority: query.Priority(row.Priority),
		IdempotencyKey: r.IdempotencyKey, Cache: r.Cache,
	}
	if r.Version != "" {
		request.Version = r.Version
	}
	if r.Priority != nil {
		request.Priority = *r.Priority
	}
	var next workflow.Version
	if x.subject, next, err = s.launches.launchable(ctx, request); err != nil {
		return nil, err
	}
	ctx = auth.WithSubject(ctx, x.subject)
	request.Inputs = overlay(next.Definition.Inputs, x.before, r.Inputs)
	if request.identity, err = s.launches.newIdentity(); err != nil {
		return nil, err
	}
	request.Version = next.Version
	x.launch = request
	if x.inputs, err = s.launches.checkLaunch(ctx, request, next, newCommon()); err != nil {
		return nil, err
	}
	if err := s.checkResourceOverrides(r.Resources, next); err != nil {
		return nil, err
	}
	if err := s.checkFrom(ctx, row, next, r.From); err != nil {
		return nil, err
	}
	x.reusePlan = reusePlan{old: old, new: next, from: r.From, changed: changedInputs(x.before, x.inputs)}
	return x, s.decide(ctx, x)
}

// decide reads the earlier nodes of the plan and decides about them.
func (s *ResumeService) decide(ctx context.Context, x *resumption) error {
	rows, err := s.queries.PastNodes(ctx, x.row.ID, 0, int32(len(x.reusePlan.old.Plan.Nodes))) //nolint:gosec // at most workflow.MaxOperators
	if err != nil {
		return fmt.Errorf("load nodes of %s: %w", x.row.ID, err)
	}
	if x.past, x.reusePlan.lost, err = s.past.nodes(ctx, x.row.ProjectID, rows); err != nil {
		return err
	}
	x.nodes = x.reusePlan.scope("", "", x.past, x.reusePlan.changed)
	return nil
}

// nodes converts rows, by name, and finds the results that are no longer stored.
func (s *pastResults) nodes(ctx context.Context, project uuid.UUID, rows []db.PastNodesRow) (map[string]*pastNode, func(map[string]any) bool, error) {
	past := make(map[string]*pastNode, len(rows))
	ids := map[uuid.UUID]struct{}{}
	for _, r := range rows {
		node := pastOf(r)
		past[r.Name] = node
		artifactsIn(node.outputs, ids)
	}
	there, err := s.present(ctx, project, ids)
	return past, there.lost, err
}

// overlay replaces earlier values, as far as the schema has them. nil removes the earlier
// value.
func overlay(schema typeregistry.Schema, before, values map[string]any) map[string]any {
	merged := map[string]any{}
	for name, v := range before {
		if _, ok := schema.Field(name); ok {
			merged[name] = v
		}
	}
	for name, v := range values {
		if merged[name] = v; v == nil {
			delete(merged, name)
		}
	}
	return merged
}

// checkFrom checks that the start node is in the execution, and its operator in the version.
func (s *ResumeService) checkFrom(ctx context.Context, row db.Execution, next workflow.Version, from string) error {
	if from == "" {
		return nil
	}
	node, version, err := s.rows.Node(ctx, row, from)
	if err != nil {
		return err
	}
	op, ok := query.OperatorAt(version, node)
	if g, known := next.Definition.Graph(node.Graph); ok && known && slices.ContainsFunc(g.Operators, func(o workflow.Operator) bool { return o.Name == op.Name }) {
		return nil
	}
	return apperr.New(apperr.NotFound, "Version %s has no node called %q.", next.Version, from)
}

// checkResourceOverrides checks that the resources are for operators that use some, and are available.
func (s *ResumeService) checkResourceOverrides(overrides map[string]ResourceOverride, v workflow.Version) error {
	var fields []apperr.Field
	for _, name := range slices.Sorted(maps.Keys(overrides)) {
		if text := s.overrideProblem(name, overrides, v); text != "" {
			fields = append(fields, apperr.Field{Path: "resources." + name, Message: text})
		}
	}
	return apperr.InvalidFields("The resources are not valid.", fields)
}

func (s *ResumeService) overrideProblem(name string, overrides map[string]ResourceOverride, v workflow.Version) string {
	override := overrides[name]
	for _, n := range []*int{override.CPUMillis, override.MemoryMiB, override.GPUs} {
		if n != nil && *n < 0 {
			return "Enter 0 or more."
		}
	}
	found := false
	for _, op := range v.Definition.EveryOperator() {
		if op.Name != name && name != EveryOperator || !op.Runs() {
			continue
		}
		found = true
		override, _ = overrideOf(overrides, op.Name)
		request := s.requestOf(op, v.ProjectID)
		request.Amount = override.apply(request.Amount)
		if r := s.quota.NeverFits(request); r != nil && name == EveryOperator {
			return op.Name + ": " + r.Message
		} else if r != nil {
			return r.Message
		}
	}
	if !found && name == EveryOperator {
		return "The workflow has no operator that runs tasks."
	}
	if !found {
		return fmt.Sprintf("There is no operator called %q that runs tasks.", name)
	}
	return ""
}
