package api

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/data/index"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/preset"
	"github.com/flowforge/flowforge/engine/schedule"
	"github.com/flowforge/flowforge/engine/sweep"
	"github.com/flowforge/flowforge/engine/trigger"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/web/contract"
)

type launchInput struct {
	DryRun         bool   `query:"dry_run" doc:"Validate the request and return a forecast with status 200, without launching"`
	IdempotencyKey string `header:"Idempotency-Key" doc:"Idempotency key: a repeated request with the same key does not launch another execution" maxLength:"200"`
	Body           launchBody
}

// launchBody is the schema of the request, which must have one of two properties.
type launchBody struct{ contract.LaunchBody }

// TransformSchema implements huma.SchemaTransformer.
func (launchBody) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	return needsOne(s, "workflow_id", "workflow")
}

// ExecutionPath names an execution. huma reads embedded parameters only from exported types;
// this also applies to similar types below.
type ExecutionPath struct {
	ID string `path:"execution_id" doc:"Execution ID"`
}

func (p ExecutionPath) id() (uuid.UUID, error) { return request.ParseID(p.ID, "execution") }

type executionQuery struct {
	Page     string     `query:"page" doc:"Cursor: next_page from the previous response" maxLength:"4000"`
	Cursor   string     `query:"cursor" doc:"Alias of page" maxLength:"4000"`
	Limit    int        `query:"limit" doc:"Number of rows per page" minimum:"1" maximum:"200" default:"50"`
	Workflow string     `query:"workflow" doc:"Workflow name" maxLength:"200"`
	Status   stateNames `query:"status" doc:"Comma-separated states; APPROVAL alone returns the RUNNING executions that only wait for approvals"`
	User     string     `query:"user" doc:"Name of the user who launched it" maxLength:"200"`
	Text     string     `query:"q" doc:"Text to find in the name, workflow name or ID" maxLength:"200"`
	Purpose  string     `query:"purpose" doc:"Return only executions with this purpose; by default, executions that list options are included only if the request selects them by workflow, text or ID" enum:"work,options,any"`
	Sweeps   string     `query:"sweeps" doc:"each lists every run of a sweep; grouped lists one matching run for each sweep, at the time of the sweep's launch, with the number of its runs. A request with q, where, sort, columns or view always lists every run" enum:"each,grouped" default:"each"`
	From     time.Time  `query:"from" doc:"Return executions launched at or after this time"`
	To       time.Time  `query:"to" doc:"Return executions launched before this time"`
	TableQuery
}

// executionAPI serves executions: launch, list, read, resume and cancel.
type executionAPI struct {
	Log        *slog.Logger
	Now        func() time.Time
	Workflows  *workflow.Service
	Executions *execution.Service
	Presets    *preset.Service
	Schedules  *schedule.Service
	Triggers   *trigger.Service
	Sweeps     *sweep.Service
	presets    *presetAPI
	table      *tableAPI
}

func (h *executionAPI) mount(api *operations) {
	launch := post("launch-execution", "/executions", "Launch a workflow", "Executions")
	launch.DefaultStatus = http.StatusCreated
	launch.Responses = launchResponses(api)
	operation(api, api.ledBy(launch, isDryRun), h.apiLaunch)
	operation(api, get("list-executions", "/executions", "List executions, newest first", "Executions"), h.apiExecutions)
	operation(api, get("get-workflow-grid", "/workflows/{workflow_id}/grid", "Get node states and durations across the executions of a workflow", "Executions"), h.apiGrid)
	operation(api, get("get-execution", "/executions/{execution_id}", "Get an execution with its progress and nodes", "Executions"), h.apiExecution)
	operation(api, get("list-nodes", "/executions/{execution_id}/nodes", "List the nodes of an execution, or the children of one node", "Executions"), h.apiNodes)
	h.mountResume(api)
	operation(api, post("cancel-execution", "/executions/{execution_id}/cancel", "Cancel an execution", "Executions"), h.apiCancel)
}

func (h *executionAPI) apiLaunch(ctx context.Context, in *launchInput) (*launchAnswer, error) {
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
		return nil, apperr.InvalidFields("The request does not name a workflow to launch.", []apperr.Field{{Path: "workflow", Message: "Send the name of a workflow, or its ID as workflow_id."}})
	}
	use, err := cacheUse(in.Body.Cache)
	if err != nil {
		return nil, err
	}
	ttl, err := decodeTTL(in.Body.TTL)
	if err != nil {
		return nil, err
	}
	used, err := h.presets.presetInputs(ctx, ref, in.Body.Version, in.Body.Preset, inputs)
	if err != nil {
		return nil, err
	}
	labels, err := h.table.Table.Index.AtLaunch(ctx, index.Labels{Tags: in.Body.Tags, Note: in.Body.Note})
	if err != nil {
		return nil, err
	}
	request := execution.LaunchRequest{
		Cache: use, TTL: ttl, Workflow: ref, Version: in.Body.Version, Name: in.Body.Name,
		Inputs: inputs, Priority: priority, IdempotencyKey: cmp.Or(in.Body.IdempotencyKey, in.IdempotencyKey), Within: labels,
	}
	if in.DryRun {
		return h.apiDryRun(ctx, request)
	}
	e, created, err := h.Executions.Launches.Launch(ctx, request)
	if err != nil {
		return nil, err
	}
	if used != "" && created {
		if err := h.Presets.Used(ctx, ref, used); err != nil {
			h.Log.Warn("count the use of a preset", "error", err)
		}
	}
	return &launchAnswer{http.StatusCreated, contract.Launched{
		ExecutionID: e.ID, DagID: e.VersionID, Status: string(e.Status), Created: created,
		EstimatedCompletion: e.EstimatedCompletion, URL: "/executions/" + e.ID.String(),
	}}, nil
}

// decodePriority accepts a name or a number. Without one, the priority of the definition
// applies.
func decodePriority(v any) (query.Priority, error) {
	text := "?" // neither
	switch v := v.(type) {
	case nil:
		return query.Declared, nil
	case string, float64:
		text = fmt.Sprint(v)
	}
	if text == "" {
		return query.Declared, nil
	}
	priority, err := query.ParsePriority(text)
	if err != nil {
		message := apperr.MessageOf(err)
		return 0, apperr.InvalidFields(message, []apperr.Field{{Path: "priority", Message: message}})
	}
	return priority, nil
}

// decodeInputs keeps numbers exactly as they were written.
func decodeInputs(raw json.RawMessage) (map[string]any, error) {
	inputs := map[string]any{}
	if len(raw) == 0 || string(raw) == "null" {
		return inputs, nil
	}
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	if err := d.Decode(&inputs); err != nil {
		return nil, apperr.InvalidFields("The inputs are not a JSON object.", []apperr.Field{{Path: "inputs", Message: "Send an object with a value for each input."}})
	}
	return inputs, nil
}
func (h *executionAPI) apiExecutions(ctx context.Context, in *executionQuery) (*body[contract.ExecutionPage], error) {
	filter := query.Filter{
		Workflow: in.Workflow, User: in.User, Query: in.Text, From: in.From, To: in.To, After: cmp.Or(in.Page, in.Cursor), Limit: in.Limit,
		Purpose: query.Purpose(strings.ToUpper(in.Purpose)), BySweep: in.Sweeps == "grouped" && in.Text == "",
	}
	for status := range strings.SplitSeq(string(in.Status), ",") {
		if string(in.Status) == awaitingApproval {
			filter.Status, filter.Approval = []query.State{query.Running}, query.OnlyAwaiting
		} else if status != "" {
			state, err := query.ParseState(status)
			if err != nil {
				return nil, apperr.InvalidFields(apperr.MessageOf(err), []apperr.Field{{Path: "status", Message: apperr.MessageOf(err)}})
			}
			filter.Status = append(filter.Status, state)
		}
	}
	if in.View != "" || in.Where != "" || in.Sort != "" || in.Columns != "" {
		return h.table.searchExecutions(ctx, filter, in.TableQuery)
	}
	page, err := h.Executions.List(ctx, filter)
	if err != nil {
		return nil, err
	}
	out := contract.ExecutionPage{NextPage: page.Next}
	if out.Executions, err = h.table.executionBodies(ctx, page.Executions); err != nil {
		return nil, err
	}
	if filter.BySweep {
		err = h.addSweeps(ctx, page, out.Executions)
	}
	return reply(out), err
}

// nodesWithExecution is the number of nodes returned with an execution. The others are on
// further pages.
const nodesWithExecution = 200

func (h *executionAPI) apiExecution(ctx context.Context, in *ExecutionPath) (*body[contract.ExecutionBody], error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	e, err := h.Executions.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	nodes, next, err := h.Executions.Nodes.List(ctx, id, query.NodeFilter{Limit: nodesWithExecution, Top: true})
	if err != nil {
		return nil, err
	}
	bodies, err := h.table.executionBodies(ctx, []query.Execution{e})
	if err != nil {
		return nil, err
	}
	out := bodies[0]
	out.NodesNextPage = next
	if err := h.launchers(ctx, id, &out); err != nil {
		return nil, err
	}
	if out.Nodes, err = h.nodeBodies(ctx, id, nodes); err != nil {
		return nil, err
	}
	return reply(out), nil
}

// launchers sets the schedule or the trigger that launched an execution.
func (h *executionAPI) launchers(ctx context.Context, id uuid.UUID, out *contract.ExecutionBody) error {
	s, err := h.Schedules.Reader().OriginOf(ctx, id)
	if err != nil {
		return err
	}
	if s != nil {
		out.Schedule = &contract.LauncherBody{ID: s.ID, Name: s.Name}
	}
	t, err := h.Triggers.OriginOf(ctx, id)
	if err != nil {
		return err
	}
	if t != nil {
		out.Trigger = &contract.LauncherBody{ID: t.ID, Name: t.Trigger}
	}
	return nil
}

func (h *executionAPI) apiNodes(ctx context.Context, in *struct {
	ExecutionPath
	PageQuery
	Status string `query:"status" doc:"Return only nodes in this state" maxLength:"20"`
	Text   string `query:"q" doc:"Text to find in the name; with parent, also in the item and the error" maxLength:"200"`
	Parent string `query:"parent" doc:"Name of a fan-out or graph node; only the nodes that it was expanded into are returned" maxLength:"2000"`
	All    bool   `query:"all" doc:"Include nodes created by fan-outs and graphs"`
}) (*body[contract.NodePage], error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	nodes, next, err := h.Executions.Nodes.List(ctx, id, query.NodeFilter{
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
	return reply(contract.NodePage{Nodes: bodies, NextPage: next}), nil
}

func (h *executionAPI) apiCancel(ctx context.Context, in *struct {
	ExecutionPath
	Body *contract.CancelInput
}) (*body[contract.ExecutionBody], error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	reason := ""
	if in.Body != nil {
		reason = in.Body.Reason
	}
	if err := h.Executions.Commands.Cancel(ctx, id, reason); err != nil {
		return nil, err
	}
	e, err := h.Executions.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	return reply(toExecutionBody(e)), nil
}

func toExecutionBody(e query.Execution) contract.ExecutionBody {
	c := e.Counts
	p := contract.ProgressBody{
		Total: c.Total, Completed: c.Succeeded, Running: c.Running + c.Queued, AwaitingApproval: c.AwaitingApproval, Pending: c.Pending, Waiting: c.Ready + c.Retrying,
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
	out := contract.ExecutionBody{
		ExecutionID: e.ID, WorkflowID: e.WorkflowID, WorkflowName: e.WorkflowName, Version: e.Version, Name: e.Name,
		Status: string(e.Status), Priority: int(e.Priority), SubmittedBy: e.SubmittedBy.Name, CreatedAt: e.CreatedAt,
		StartedAt: e.StartedAt, FinishedAt: e.FinishedAt, EstimatedCompletion: e.EstimatedCompletion, SweepID: e.SweepID, RelaunchOf: e.RelaunchOf, ResumeOf: e.ResumeOf, ResumeFrom: e.ResumeFrom, TTL: keptFor(e.TTL), ExpiresAt: e.ExpiresAt, KeptBy: e.KeptBy, TraceID: e.TraceID(),
		Progress: p, Reason: e.Reason, Error: e.Error, Inputs: e.Inputs, Outputs: e.Outputs,
	}
	out.AwaitsApproval = e.AwaitsApproval
	if e.Purpose == query.ListOptions {
		out.Purpose = "options"
	}
	return out
}

// nodeBodies returns nodes with the number of their child nodes in each state.
func (h *executionAPI) nodeBodies(ctx context.Context, id uuid.UUID, nodes []query.Node) ([]contract.NodeBody, error) {
	var groups []int
	for _, n := range nodes {
		if n.Children > 0 {
			groups = append(groups, n.Index)
		}
	}
	counts, err := h.Executions.Nodes.ChildCounts(ctx, id, groups)
	if err != nil {
		return nil, err
	}
	out := toNodeBodies(nodes)
	for i, n := range nodes {
		if !n.Expanded {
			continue
		}
		out[i].Children = &contract.ChildrenBody{Total: n.Children, States: map[string]int{}}
		for state, count := range counts[n.Index] {
			out[i].Children.States[string(state)] = count
		}
	}
	return out, nil
}

func toNodeBodies(nodes []query.Node) []contract.NodeBody {
	out := make([]contract.NodeBody, 0, len(nodes))
	for _, n := range nodes {
		b := contract.NodeBody{
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
