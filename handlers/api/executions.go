package api

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/execution"

	"github.com/flowforge/flowforge/handlers/request"
)

type launchInput struct {
	DryRun         bool   `query:"dry_run" doc:"Validate the request and return a forecast with status 200, without launching"`
	IdempotencyKey string `header:"Idempotency-Key" doc:"Repeating a request with the same key launches nothing more" maxLength:"200"`
	Body           launchBody
}

// launchBody says what to launch.
type launchBody struct {
	WorkflowID     string          `json:"workflow_id,omitempty" doc:"ID or name of the workflow" maxLength:"200"`
	Workflow       string          `json:"workflow,omitempty" doc:"Name of the workflow, instead of workflow_id" maxLength:"200"`
	Version        string          `json:"version,omitempty" doc:"Semantic version; the latest when empty" maxLength:"100"`
	Name           string          `json:"name,omitempty" doc:"A name for this execution" maxLength:"200"`
	Inputs         json.RawMessage `json:"inputs,omitempty" doc:"Input values by name"`
	Priority       any             `json:"priority,omitempty" doc:"LOW, NORMAL or HIGH, or a number from 0 to 100"`
	IdempotencyKey string          `json:"idempotency_key,omitempty" doc:"Alternative to the Idempotency-Key header" maxLength:"200"`
	Cache          *cacheInput     `json:"cache,omitempty" doc:"Use of cached results"`
	TTL            any             `json:"ttl,omitempty" doc:"How long the execution is kept after its end: a time span such as 30d, or an object with after_completion, after_success, after_failure; where it says nothing the definition does"`
}

// TransformSchema implements huma.SchemaTransformer.
func (launchBody) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	return needsOne(s, "workflow_id", "workflow")
}

type launched struct {
	ExecutionID         uuid.UUID  `json:"execution_id"`
	DagID               uuid.UUID  `json:"dag_id" doc:"ID of the version whose plan runs"`
	Status              string     `json:"status"`
	Created             bool       `json:"created" doc:"False when the idempotency key was used before"`
	EstimatedCompletion *time.Time `json:"estimated_completion,omitempty" doc:"When history allows an estimate"`
	URL                 string     `json:"ui_url"`
}

type executionBody struct {
	ExecutionID         uuid.UUID          `json:"execution_id"`
	WorkflowID          uuid.UUID          `json:"workflow_id"`
	WorkflowName        string             `json:"workflow_name"`
	Version             string             `json:"version"`
	Name                string             `json:"name,omitempty"`
	Status              string             `json:"status" enum:"PENDING,RUNNING,SUCCEEDED,FAILED,CANCELLED,PAUSED"`
	Priority            int                `json:"priority"`
	SubmittedBy         string             `json:"submitted_by"`
	CreatedAt           time.Time          `json:"created_at"`
	StartedAt           *time.Time         `json:"started_at,omitempty"`
	FinishedAt          *time.Time         `json:"finished_at,omitempty"`
	EstimatedCompletion *time.Time         `json:"estimated_completion,omitempty"`
	TraceID             string             `json:"trace_id,omitempty" doc:"OpenTelemetry trace of the launch"`
	RelaunchOf          *uuid.UUID         `json:"relaunch_of,omitempty"`
	ResumeOf            *uuid.UUID         `json:"resume_of,omitempty" doc:"Execution that this one resumes"`
	ResumeFrom          string             `json:"resume_from,omitempty" doc:"Node that the resume started from; empty for the first failures"`
	TTL                 any                `json:"ttl,omitempty" doc:"Retention after the end, as set by the launch"`
	ExpiresAt           *time.Time         `json:"expires_at,omitempty" doc:"Time of removal, unless a user keeps the execution"`
	KeptBy              string             `json:"kept_by,omitempty" doc:"User who keeps the execution beyond expires_at"`
	Progress            progressBody       `json:"progress"`
	Reason              *execution.Reason  `json:"reason,omitempty" doc:"Reason for PENDING, if a limit delays the execution"`
	Error               *execution.Failure `json:"error,omitempty"`
	Inputs              map[string]any     `json:"inputs,omitempty"`
	Outputs             map[string]any     `json:"outputs,omitempty"`
	Nodes               []nodeBody         `json:"nodes,omitempty"`
	NodesNextPage       string             `json:"nodes_next_page,omitempty" doc:"Cursor of the next nodes, for /executions/{id}/nodes?page="`
}

type progressBody struct {
	Total        int      `json:"total_operators"`
	Completed    int      `json:"completed"`
	Running      int      `json:"running"`
	Pending      int      `json:"pending"`
	Waiting      int      `json:"waiting"`
	Failed       int      `json:"failed"`
	Skipped      int      `json:"skipped"`
	Cancelled    int      `json:"cancelled"`
	Levels       int      `json:"levels"`
	LevelsDone   int      `json:"levels_completed"`
	Percent      int      `json:"percent" doc:"Of the nodes"`
	LayerPercent int      `json:"layer_percent" doc:"Of the levels: 40 when 2 of 5 are done"`
	Layer        string   `json:"layer,omitempty" doc:"Progress by layer, such as: Layer 2/5 - Executing: detect_objects"`
	CurrentNodes []string `json:"current_nodes,omitempty"`
}

type nodeBody struct {
	NodeID     int                  `json:"node_id" doc:"Position in the plan"`
	Operator   string               `json:"operator"`
	Status     string               `json:"status"`
	Level      int                  `json:"level"`
	Attempt    int                  `json:"attempt"`
	Reason     *execution.Reason    `json:"reason,omitempty" doc:"Reason for waiting"`
	Error      *execution.Failure   `json:"error,omitempty"`
	Progress   *execution.Progress  `json:"progress,omitempty"`
	StartedAt  *time.Time           `json:"started_at,omitempty"`
	FinishedAt *time.Time           `json:"finished_at,omitempty"`
	RetryAt    *time.Time           `json:"retry_at,omitempty"`
	Outputs    map[string]any       `json:"outputs,omitempty"`
	ParentID   *int                 `json:"parent_id,omitempty" doc:"node_id of the node that was expanded into this one; absent for nodes of the plan"`
	ItemIndex  *int                 `json:"item_index,omitempty" doc:"Index of the item in a fan-out, from 0"`
	Item       any                  `json:"item,omitempty" doc:"The item itself"`
	Origin     *originBody          `json:"origin,omitempty" doc:"Node of an earlier execution that this one continues"`
	Cache      *execution.CacheNote `json:"cache,omitempty" doc:"Result of the cache lookup"`
	Children   *childrenBody        `json:"children,omitempty" doc:"Nodes that this one was expanded into; list them with parent="`
}

type childrenBody struct {
	Total  int            `json:"total"`
	States map[string]int `json:"states" doc:"Number of nodes in each state"`
}

type executionPage struct {
	Executions []executionBody `json:"executions"`
	NextPage   string          `json:"next_page,omitempty"`
}

type nodePage struct {
	Nodes    []nodeBody `json:"nodes"`
	NextPage string     `json:"next_page,omitempty"`
}

// ExecutionPath names an execution; huma reads embedded parameters of exported types
// alone, here and in the types like it.
type ExecutionPath struct {
	ID string `path:"execution_id" doc:"ID of the execution"`
}

func (p ExecutionPath) id() (uuid.UUID, error) { return request.ParseID(p.ID, "execution") }

type executionQuery struct {
	PageQuery
	Workflow string     `query:"workflow" doc:"Name of the workflow" maxLength:"200"`
	Status   stateNames `query:"status" doc:"States, separated by commas"`
	User     string     `query:"user" doc:"Name of the user who launched it" maxLength:"200"`
	Text     string     `query:"q" doc:"Text in the name, the workflow's name or the id" maxLength:"200"`
	From     time.Time  `query:"from" doc:"Launched at or after"`
	To       time.Time  `query:"to" doc:"Launched before"`
}

func (h *API) executionAPI(api huma.API) {
	launch := post("launch-execution", "/executions", "Launch a workflow", "Executions")
	launch.DefaultStatus = http.StatusCreated
	launch.Responses = launchResponses(api)
	operation(h, api, h.ledBy(launch, isDryRun), h.apiLaunch)
	operation(h, api, get("list-executions", "/executions", "List executions, newest first", "Executions"), h.apiExecutions)
	operation(h, api, get("get-execution", "/executions/{execution_id}", "Get an execution with its progress and nodes", "Executions"), h.apiExecution)
	operation(h, api, get("list-nodes", "/executions/{execution_id}/nodes", "List the nodes of an execution, or those that one node was expanded into", "Executions"), h.apiNodes)
	h.resumeAPI(api)
	operation(h, api, post("cancel-execution", "/executions/{execution_id}/cancel", "Cancel an execution", "Executions"), h.apiCancel)
}

func (h *API) apiLaunch(ctx context.Context, in *launchInput) (*launchAnswer, error) {
	inputs, err := decodeInputs(in.Body.Inputs)
	if err != nil {
		return nil, err
	}
	priority, err := decodePriority(in.Body.Priority)
	if err != nil {
		return nil, err
	}
	ref := cmp.Or(in.Body.WorkflowID, in.Body.Workflow)
	if ref == "" {
		return nil, apperr.InvalidFields("The request does not say what to launch.", []apperr.Field{{Path: "workflow", Message: "Give the name of a workflow, or its id as workflow_id."}})
	}
	use, err := in.Body.Cache.use()
	if err != nil {
		return nil, err
	}
	ttl, err := decodeTTL(in.Body.TTL)
	if err != nil {
		return nil, err
	}
	request := execution.LaunchRequest{
		Cache: use, TTL: ttl, Workflow: ref, Version: in.Body.Version, Name: in.Body.Name,
		Inputs: inputs, Priority: priority, IdempotencyKey: cmp.Or(in.Body.IdempotencyKey, in.IdempotencyKey),
	}
	if in.DryRun {
		return h.apiDryRun(ctx, request)
	}
	e, created, err := h.Executions.Launch(ctx, request)
	if err != nil {
		return nil, err
	}
	return &launchAnswer{http.StatusCreated, launched{
		ExecutionID: e.ID, DagID: e.VersionID, Status: string(e.Status), Created: created,
		EstimatedCompletion: e.EstimatedCompletion, URL: "/executions/" + e.ID.String(),
	}}, nil
}

// decodePriority takes a word or a number.
func decodePriority(v any) (execution.Priority, error) {
	text := ""
	switch v := v.(type) {
	case nil:
	case string, float64:
		text = fmt.Sprint(v)
	default:
		text = "?" // neither
	}
	priority, err := execution.ParsePriority(text)
	if err != nil {
		message := apperr.MessageOf(err)
		return 0, apperr.InvalidFields(message, []apperr.Field{{Path: "priority", Message: message}})
	}
	return priority, nil
}

// decodeInputs keeps numbers as they were written.
func decodeInputs(raw json.RawMessage) (map[string]any, error) {
	inputs := map[string]any{}
	if len(raw) == 0 || string(raw) == "null" {
		return inputs, nil
	}
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	if err := d.Decode(&inputs); err != nil {
		return nil, apperr.InvalidFields("The inputs are not a JSON object.", []apperr.Field{{Path: "inputs", Message: "Give an object with a value for each input."}})
	}
	return inputs, nil
}
func (h *API) apiExecutions(ctx context.Context, in *executionQuery) (*body[executionPage], error) {
	filter := execution.Filter{
		Workflow: in.Workflow, User: in.User, Query: in.Text, From: in.From, To: in.To, After: in.Page, Limit: in.Limit,
	}
	for status := range strings.SplitSeq(string(in.Status), ",") {
		if status != "" {
			state, err := execution.ParseState(status)
			if err != nil {
				return nil, apperr.InvalidFields(apperr.MessageOf(err), []apperr.Field{{Path: "status", Message: apperr.MessageOf(err)}})
			}
			filter.Status = append(filter.Status, state)
		}
	}
	page, err := h.Executions.List(ctx, filter)
	if err != nil {
		return nil, err
	}
	out := executionPage{Executions: make([]executionBody, 0, len(page.Executions)), NextPage: page.Next}
	for _, e := range page.Executions {
		out.Executions = append(out.Executions, toExecutionBody(e))
	}
	return reply(out), nil
}

// nodesWithExecution is how many nodes come with their execution; more are paged.
const nodesWithExecution = 200

func (h *API) apiExecution(ctx context.Context, in *ExecutionPath) (*body[executionBody], error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	e, err := h.Executions.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	nodes, next, err := h.Executions.Nodes(ctx, id, execution.NodeFilter{Limit: nodesWithExecution, Top: true})
	if err != nil {
		return nil, err
	}
	out := toExecutionBody(e)
	out.NodesNextPage = next
	if out.Nodes, err = h.nodeBodies(ctx, id, nodes); err != nil {
		return nil, err
	}
	return reply(out), nil
}

func (h *API) apiNodes(ctx context.Context, in *struct {
	ExecutionPath
	PageQuery
	Status string `query:"status" doc:"Only nodes in this state" maxLength:"20"`
	Text   string `query:"q" doc:"Text in the name; with parent also in the item and in the error" maxLength:"200"`
	Parent string `query:"parent" doc:"Only nodes that the node of this name was expanded into: items of a fan-out, nodes of a graph" maxLength:"2000"`
	All    bool   `query:"all" doc:"Include the nodes that nodes of the plan were expanded into"`
}) (*body[nodePage], error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	nodes, next, err := h.Executions.Nodes(ctx, id, execution.NodeFilter{
		State: strings.ToUpper(in.Status), Query: in.Text, After: in.Page, Limit: in.Limit,
		Parent: in.Parent, Everywhere: in.Parent != "", Top: in.Parent == "" && !in.All,
	})
	if err != nil {
		return nil, err
	}
	bodies, err := h.nodeBodies(ctx, id, nodes)
	if err != nil {
		return nil, err
	}
	return reply(nodePage{Nodes: bodies, NextPage: next}), nil
}

type cancelInput struct {
	Reason string `json:"reason,omitempty" doc:"Why, for the events" maxLength:"500"`
}

func (h *API) apiCancel(ctx context.Context, in *struct {
	ExecutionPath
	Body *cancelInput
}) (*body[executionBody], error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	reason := ""
	if in.Body != nil {
		reason = in.Body.Reason
	}
	if err := h.Executions.Cancel(ctx, id, reason); err != nil {
		return nil, err
	}
	e, err := h.Executions.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	return reply(toExecutionBody(e)), nil
}

func toExecutionBody(e execution.Execution) executionBody {
	c := e.Counts
	p := progressBody{
		Total: c.Total, Completed: c.Succeeded, Running: c.Running + c.Queued, Pending: c.Pending, Waiting: c.Ready + c.Retrying,
		Failed: c.Failed, Skipped: c.Skipped, Cancelled: c.Cancelled, Levels: e.Levels, LevelsDone: e.LevelsDone, CurrentNodes: e.CurrentNodes,
	}
	if c.Total > 0 {
		p.Percent = 100 * (c.Succeeded + c.Failed + c.Skipped + c.Cancelled) / c.Total
	}
	if e.Levels > 0 {
		p.LayerPercent = 100 * e.LevelsDone / e.Levels
		if !e.Status.Ended() && len(e.CurrentNodes) > 0 {
			p.Layer = fmt.Sprintf("Layer %d/%d - Executing: %s", min(e.LevelsDone+1, e.Levels), e.Levels, strings.Join(e.CurrentNodes, ", "))
		}
	}
	return executionBody{
		ExecutionID: e.ID, WorkflowID: e.WorkflowID, WorkflowName: e.WorkflowName, Version: e.Version, Name: e.Name,
		Status: string(e.Status), Priority: int(e.Priority), SubmittedBy: e.SubmittedBy.Name, CreatedAt: e.CreatedAt,
		StartedAt: e.StartedAt, FinishedAt: e.FinishedAt, EstimatedCompletion: e.EstimatedCompletion, RelaunchOf: e.RelaunchOf, ResumeOf: e.ResumeOf, ResumeFrom: e.ResumeFrom, TTL: keptFor(e.TTL), ExpiresAt: e.ExpiresAt, KeptBy: e.KeptBy, TraceID: e.TraceID(),
		Progress: p, Reason: e.Reason, Error: e.Error, Inputs: e.Inputs, Outputs: e.Outputs,
	}
}

// nodeBodies returns nodes with the states of the nodes that they were expanded into.
func (h *API) nodeBodies(ctx context.Context, id uuid.UUID, nodes []execution.Node) ([]nodeBody, error) {
	var groups []int
	for _, n := range nodes {
		if n.Children > 0 {
			groups = append(groups, n.Index)
		}
	}
	counts, err := h.Executions.ChildCounts(ctx, id, groups)
	if err != nil {
		return nil, err
	}
	out := toNodeBodies(nodes)
	for i, n := range nodes {
		if !n.Expanded {
			continue
		}
		out[i].Children = &childrenBody{Total: n.Children, States: map[string]int{}}
		for state, count := range counts[n.Index] {
			out[i].Children.States[string(state)] = count
		}
	}
	return out, nil
}

func toNodeBodies(nodes []execution.Node) []nodeBody {
	out := make([]nodeBody, 0, len(nodes))
	for _, n := range nodes {
		b := nodeBody{
			NodeID: n.Index, Operator: n.Name, Status: string(n.State), Level: n.Level, Attempt: n.Attempt, Reason: n.Reason,
			Error: n.Error, Progress: n.Progress, StartedAt: n.StartedAt, FinishedAt: n.FinishedAt, RetryAt: n.RetryAt, Outputs: n.Outputs,
			ItemIndex: n.ItemIndex, Item: n.Item, Origin: toOriginBody(n), Cache: n.Cache,
		}
		if n.Parent >= 0 {
			b.ParentID = &n.Parent
		}
		out = append(out, b)
	}
	return out
}
