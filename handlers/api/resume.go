package api

import (
	"cmp"
	"context"
	"net/http"
	"reflect"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/web/contract"
)

// cacheUse decodes in, which may be nil.
func cacheUse(in *contract.CacheInput) (execution.CacheUse, error) {
	if in == nil {
		return execution.CacheUse{}, nil
	}
	return execution.ParseCacheUse(in.Mode, in.Nodes)
}

// decodeTTL accepts what a definition may contain.
func decodeTTL(v any) (workflow.TTL, error) {
	ttl, fields := workflow.ParseTTL(v)
	return ttl, apperr.InvalidFields("The retention of the execution is not valid.", fields)
}

// keptFor returns the retention that a launch sets; nil if it sets none.
func keptFor(ttl workflow.TTL) any {
	if ttl.IsZero() {
		return nil
	}
	return ttl
}

type resumeInput struct {
	ExecutionPath
	DryRun         bool   `query:"dry_run" doc:"Return a plan with status 200 without resuming. The plan lists the nodes that would run, and why"`
	IdempotencyKey string `header:"Idempotency-Key" doc:"Idempotency key: a repeated request with the same key does not resume the execution again" maxLength:"200"`
	Body           contract.ResumeInputBody
}

func (h *executionAPI) mountResume(api *operations) {
	resume := post("resume-execution", "/executions/{execution_id}/resume", "Resume an execution that has ended, from its first failures or from a node", "Executions")
	resume.DefaultStatus = http.StatusCreated
	resume.Responses = map[string]*huma.Response{
		strconv.Itoa(http.StatusCreated): answerOf(api, "Resumed", reflect.TypeFor[contract.Launched]()),
		strconv.Itoa(http.StatusOK):      answerOf(api, "With dry_run, nothing is resumed", reflect.TypeFor[contract.ResumePlanBody]()),
	}
	operation(api, resume, h.apiResume)
}

// request decodes the request.
func (in *resumeInput) request() (execution.ResumeRequest, error) {
	id, err := in.id()
	if err != nil {
		return execution.ResumeRequest{}, err
	}
	r := execution.ResumeRequest{
		Of: id, Version: in.Body.Version, Resources: map[string]execution.ResourceOverride{}, Name: in.Body.Name,
		IdempotencyKey: cmp.Or(in.Body.IdempotencyKey, in.IdempotencyKey),
	}
	for operator, override := range in.Body.Resources {
		r.Resources[operator] = execution.ResourceOverride(override)
	}
	if r.Inputs, err = decodeInputs(in.Body.OverrideInputs); err != nil {
		return r, err
	}
	if in.Body.Priority != nil {
		priority, err := decodePriority(in.Body.Priority)
		if err != nil {
			return r, err
		}
		r.Priority = &priority
	}
	if r.TTL, err = decodeTTL(in.Body.TTL); err != nil {
		return r, err
	}
	r.Cache, err = cacheUse(in.Body.Cache)
	return r, err
}

// nodeNamed is the name of the node of an execution that v refers to: by its name, by its
// position in the plan (node_id), or by the ID of a task.
func (h *executionAPI) nodeNamed(ctx context.Context, id uuid.UUID, v any) (string, error) {
	var index int
	switch v := v.(type) {
	case nil:
		return "", nil
	case float64:
		index = int(v)
	case string:
		if _, err := h.Executions.Nodes.Get(ctx, id, v); err == nil || v == "" {
			return v, nil
		}
		ref, err := execution.ParseTaskID(v)
		if err == nil && ref.Execution == id {
			index = ref.Node
			break
		}
		if index, err = strconv.Atoi(v); err != nil {
			return v, nil //nolint:nilerr // a name that does not exist: the resume says so
		}
	default:
		return "", apperr.InvalidFields("The node cannot be read.", []apperr.Field{{Path: "from_node", Message: "Send the name of a node, or its node_id."}})
	}
	return h.Executions.Nodes.Name(ctx, id, index)
}

func (h *executionAPI) apiResume(ctx context.Context, in *resumeInput) (*launchAnswer, error) {
	request, err := in.request()
	if err != nil {
		return nil, err
	}
	if request.From, err = h.nodeNamed(ctx, request.Of, in.Body.FromNode); err != nil {
		return nil, err
	}
	if in.DryRun {
		plan, err := h.Executions.Resumption.Plan(ctx, request)
		if err != nil {
			return nil, err
		}
		return &launchAnswer{http.StatusOK, toResumePlanBody(plan)}, nil
	}
	e, created, err := h.Executions.Resumption.Resume(ctx, request)
	if err != nil {
		return nil, err
	}
	return &launchAnswer{http.StatusCreated, contract.Launched{
		ExecutionID: e.ID, DagID: e.VersionID, Status: string(e.Status), Created: created, URL: "/executions/" + e.ID.String(),
	}}, nil
}

func toResumePlanBody(p execution.ResumePlan) contract.ResumePlanBody {
	out := contract.ResumePlanBody{
		DryRun: true, Valid: p.Refusal == "", Refusal: p.Refusal, Version: p.Version.Version, Runs: p.Runs, Kept: p.Kept,
		Nodes: make([]contract.ResumeNodeBody, 0, len(p.Nodes)),
	}
	for _, c := range p.Changes {
		out.Changes = append(out.Changes, contract.InputChangeBody(c))
	}
	for _, n := range p.Nodes {
		out.Nodes = append(out.Nodes, contract.ResumeNodeBody{
			Node: n.Name, Runs: n.Runs, Ground: groundName(n.Ground), Why: n.Why, Before: string(n.Before), Inside: n.Inside, Kept: n.Kept,
		})
	}
	return out
}

func groundName(g dag.RunReason) string {
	switch g {
	case dag.Reused:
		return "taken"
	case dag.Changed:
		return "changed"
	case dag.Unfinished:
		return "unfinished"
	case dag.Downstream:
		return "downstream"
	case dag.Final:
		return "at_the_end"
	case dag.Serving:
		return "serving"
	}
	return ""
}

func toOriginBody(n query.Node) *contract.OriginBody {
	if n.OriginExecution == nil {
		return nil
	}
	return &contract.OriginBody{ExecutionID: *n.OriginExecution, Use: string(n.OriginUse)}
}
