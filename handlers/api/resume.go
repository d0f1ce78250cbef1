package api

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/workflow"
)

// cacheInput selects how a launch uses the cache.
type cacheInput struct {
	Mode  string            `json:"mode,omitempty" enum:"on,off,refresh" doc:"on takes results and keeps new ones, off does neither, refresh takes none and keeps new ones"`
	Nodes map[string]string `json:"nodes,omitempty" doc:"The same for single operators, by name"`
}

// use decodes in, which may be nil.
func (in *cacheInput) use() (execution.CacheUse, error) {
	if in == nil {
		return execution.CacheUse{}, nil
	}
	return execution.ParseCacheUse(in.Mode, in.Nodes)
}

// decodeTTL takes what a definition may say.
func decodeTTL(v any) (workflow.TTL, error) {
	ttl, fields := workflow.ParseTTL(v)
	return ttl, apperr.InvalidFields("The time that the execution is to be kept cannot be read.", fields)
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
	DryRun         bool   `query:"dry_run" doc:"Return a plan with status 200 without resuming: which nodes would run, and why"`
	IdempotencyKey string `header:"Idempotency-Key" doc:"Repeating a request with the same key resumes nothing more" maxLength:"200"`
	Body           struct {
		FromNode       any                                   `json:"from_node,omitempty" doc:"Name, node_id or task id of a node that runs again with all that depends on it; empty: the first failures"`
		Version        string                                `json:"version,omitempty" doc:"Another version of the workflow; empty: the one that ran" maxLength:"100"`
		OverrideInputs json.RawMessage                       `json:"override_inputs,omitempty" doc:"Inputs with other values, by name; null takes the default"`
		Resources      map[string]execution.ResourceOverride `json:"resources,omitempty" doc:"Resources of attempts that override the definition, by operator name; * applies to all operators that run tasks"`
		Name           string                                `json:"name,omitempty" doc:"A name for the new execution" maxLength:"200"`
		Priority       any                                   `json:"priority,omitempty" doc:"LOW, NORMAL or HIGH, or a number from 0 to 100; that of the earlier execution when empty"`
		IdempotencyKey string                                `json:"idempotency_key,omitempty" doc:"Alternative to the Idempotency-Key header" maxLength:"200"`
		TTL            any                                   `json:"ttl,omitempty" doc:"How long the new execution is kept, as for a launch; that of the earlier execution when empty"`
		Cache          *cacheInput                           `json:"cache,omitempty" doc:"Use of cached results"`
	}
}

// resumePlanBody says what a resume would do.
type resumePlanBody struct {
	DryRun  bool              `json:"dry_run"`
	Valid   bool              `json:"valid" doc:"True if the resume would be accepted"`
	Refusal string            `json:"refusal,omitempty" doc:"Reason for a refusal"`
	Version string            `json:"version"`
	Runs    int               `json:"runs" doc:"Number of nodes of the plan that would run"`
	Kept    int               `json:"kept" doc:"Number of nodes of the plan that would keep their results"`
	Changes []inputChangeBody `json:"changed_inputs,omitempty"`
	Nodes   []resumeNodeBody  `json:"nodes"`
}

type inputChangeBody struct {
	Name   string `json:"name"`
	Before any    `json:"before"`
	After  any    `json:"after"`
}

type resumeNodeBody struct {
	Node   string `json:"node"`
	Runs   bool   `json:"runs"`
	Ground string `json:"ground" enum:"taken,changed,unfinished,downstream,at_the_end,serving"`
	Why    string `json:"why"`
	Before string `json:"before,omitempty" doc:"Previous state"`
	Inside int    `json:"inside,omitempty" doc:"Number of nodes that it was expanded into"`
	Kept   int    `json:"kept_inside,omitempty" doc:"Number of those that keep their results, as far as known"`
}

func (h *API) resumeAPI(api huma.API) {
	resume := post("resume-execution", "/executions/{execution_id}/resume", "Resume an execution that has ended, from its first failures or from a node", "Executions")
	resume.DefaultStatus = http.StatusCreated
	resume.Responses = map[string]*huma.Response{
		strconv.Itoa(http.StatusCreated): answerOf(api, "Resumed", reflect.TypeFor[launched]()),
		strconv.Itoa(http.StatusOK):      answerOf(api, "With dry_run: nothing was resumed", reflect.TypeFor[resumePlanBody]()),
	}
	operation(h, api, resume, h.apiResume)
}

// request decodes what is requested.
func (in *resumeInput) request() (execution.ResumeRequest, error) {
	id, err := in.id()
	if err != nil {
		return execution.ResumeRequest{}, err
	}
	r := execution.ResumeRequest{
		Of: id, Version: in.Body.Version, Resources: in.Body.Resources, Name: in.Body.Name,
		IdempotencyKey: cmp.Or(in.Body.IdempotencyKey, in.IdempotencyKey),
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
	r.Cache, err = in.Body.Cache.use()
	return r, err
}

// nodeNamed is the name of the node of an execution that v names: by its name, by its
// place in the plan (node_id), or by the id of a task.
func (h *API) nodeNamed(ctx context.Context, id uuid.UUID, v any) (string, error) {
	var index int
	switch v := v.(type) {
	case nil:
		return "", nil
	case float64:
		index = int(v)
	case string:
		if _, err := h.Executions.Node(ctx, id, v); err == nil || v == "" {
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
		return "", apperr.InvalidFields("The node cannot be read.", []apperr.Field{{Path: "from_node", Message: "Give the name of a node, or its node_id."}})
	}
	return h.Executions.NodeName(ctx, id, index)
}

func (h *API) apiResume(ctx context.Context, in *resumeInput) (*launchAnswer, error) {
	request, err := in.request()
	if err != nil {
		return nil, err
	}
	if request.From, err = h.nodeNamed(ctx, request.Of, in.Body.FromNode); err != nil {
		return nil, err
	}
	if in.DryRun {
		plan, err := h.Executions.PlanResume(ctx, request)
		if err != nil {
			return nil, err
		}
		return &launchAnswer{http.StatusOK, toResumePlanBody(plan)}, nil
	}
	e, created, err := h.Executions.Resume(ctx, request)
	if err != nil {
		return nil, err
	}
	return &launchAnswer{http.StatusCreated, launched{
		ExecutionID: e.ID, DagID: e.VersionID, Status: string(e.Status), Created: created, URL: "/executions/" + e.ID.String(),
	}}, nil
}

func toResumePlanBody(p execution.ResumePlan) resumePlanBody {
	out := resumePlanBody{
		DryRun: true, Valid: p.Refusal == "", Refusal: p.Refusal, Version: p.Version.Version, Runs: p.Runs, Kept: p.Kept,
		Nodes: make([]resumeNodeBody, 0, len(p.Nodes)),
	}
	for _, c := range p.Changes {
		out.Changes = append(out.Changes, inputChangeBody(c))
	}
	for _, n := range p.Nodes {
		out.Nodes = append(out.Nodes, resumeNodeBody{
			Node: n.Name, Runs: n.Runs, Ground: groundName(n.Ground), Why: n.Why, Before: string(n.Before), Inside: n.Inside, Kept: n.Kept,
		})
	}
	return out
}

func groundName(g dag.RunReason) string {
	switch g {
	case dag.Taken:
		return "taken"
	case dag.Changed:
		return "changed"
	case dag.Unfinished:
		return "unfinished"
	case dag.Downstream:
		return "downstream"
	case dag.AtTheEnd:
		return "at_the_end"
	case dag.Serving:
		return "serving"
	}
	return ""
}

// originBody is the node of an earlier execution that a node continues.
type originBody struct {
	ExecutionID uuid.UUID `json:"execution_id"`
	Use         string    `json:"use" enum:"TAKEN,CACHED,BEFORE" doc:"TAKEN and CACHED: the result was reused. BEFORE: the node ran again from a saved checkpoint"`
}

func toOriginBody(n execution.Node) *originBody {
	if n.OriginExecution == nil {
		return nil
	}
	return &originBody{*n.OriginExecution, string(n.OriginUse)}
}
