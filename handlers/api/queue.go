package api

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/quota/fair"

	"github.com/flowforge/flowforge/handlers/request"

	"github.com/flowforge/flowforge/handlers/sentence"
)

type queueBody struct {
	Entries       []queueEntryBody  `json:"entries"`
	NextPage      string            `json:"next_page,omitempty"`
	InCluster     []clusterWaitBody `json:"in_cluster,omitempty" doc:"Nodes that are within their limits and have been handed to the cluster, which has not begun them: those handed over first come first. On the first page, as far as you may see them"`
	InClusterMore int               `json:"in_cluster_more,omitempty" doc:"Number of further nodes that wait in the cluster"`
}

type clusterWaitBody struct {
	ExecutionID   uuid.UUID        `json:"execution_id"`
	WorkflowName  string           `json:"workflow_name"`
	ExecutionName string           `json:"execution_name,omitempty"`
	Node          string           `json:"node"`
	ProjectID     uuid.UUID        `json:"project_id"`
	ProjectName   string           `json:"project_name"`
	Priority      int              `json:"priority"`
	WaitingSince  time.Time        `json:"waiting_since" doc:"When it was handed to the cluster"`
	Asked         fair.Amount      `json:"asked" doc:"By all its pods together"`
	Reason        execution.Reason `json:"reason" doc:"code is UNSCHEDULABLE, IMAGE_PULL, POD_STARTING (longer than 30 s), GANG, RESIDENT_QUEUE or CLUSTER_AWAY; message has the cluster's own words"`
}

type queueEntryBody struct {
	Position      int               `json:"position" doc:"In the order of admission over the whole installation, 1 is next"`
	ExecutionID   *uuid.UUID        `json:"execution_id,omitempty" doc:"Absent without permission to read it"`
	WorkflowName  string            `json:"workflow_name,omitempty"`
	ExecutionName string            `json:"execution_name,omitempty"`
	Node          string            `json:"node,omitempty" doc:"Absent for an execution that may not begin yet"`
	ProjectID     *uuid.UUID        `json:"project_id,omitempty"`
	Priority      int               `json:"priority"`
	WaitingSince  time.Time         `json:"waiting_since"`
	Asked         fair.Amount       `json:"asked"`
	AboutToStart  bool              `json:"about_to_start"`
	Reason        *execution.Reason `json:"reason,omitempty"`
}

type whyBody struct {
	ExecutionID  uuid.UUID         `json:"execution_id"`
	Node         string            `json:"node,omitempty"`
	Waiting      bool              `json:"waiting"`
	Status       string            `json:"status,omitempty" doc:"State of the node"`
	WaitingSince *time.Time        `json:"waiting_since,omitempty"`
	AboutToStart bool              `json:"about_to_start"`
	Reason       *execution.Reason `json:"reason,omitempty"`
	Holders      []whyHolder       `json:"holders,omitempty" doc:"Executions that hold the missing resources"`
	Queue        []queueEntryBody  `json:"queue,omitempty" doc:"Neighbouring entries of the queue"`
	Decisions    []whyDecision     `json:"decisions,omitempty" doc:"The latest first"`
}

type whyHolder struct {
	ExecutionID  *uuid.UUID `json:"execution_id,omitempty" doc:"Absent without permission to read it"`
	WorkflowName string     `json:"workflow_name,omitempty"`
	Node         string     `json:"node,omitempty"`
	CountsFor    string     `json:"counts_for" doc:"The team, department or tenant"`
	Amount       int64      `json:"amount"`
	Borrowed     bool       `json:"borrowed"`
	EndsFrom     *time.Time `json:"ends_from,omitempty"`
	EndsTo       *time.Time `json:"ends_to,omitempty"`
}

type whyDecision struct {
	At   time.Time `json:"at"`
	Kind string    `json:"kind"`
	Text string    `json:"text"`
}

func (h *API) queueAPI(api huma.API) {
	operation(h, api, h.ledBy(get("list-queue", "/queue", "List waiting nodes and executions, in the order of admission", "Queue"), nil), h.apiQueue)
	operation(h, api, h.ledBy(get("why-execution", "/executions/{execution_id}/why", "Explain why an execution waits", "Queue"), nil), h.apiWhyExecution)
	operation(h, api, h.ledBy(get("why-node", "/executions/{execution_id}/nodes/{node}/why", "Explain why a node waits", "Queue"), nil), h.apiWhyNode)
}

func (h *API) apiQueue(ctx context.Context, in *struct {
	PageQuery
	Place string `query:"place" doc:"ID of a tenant, department, team or project; the current project if empty" maxLength:"36"`
}) (*body[queueBody], error) {
	var place uuid.UUID
	if in.Place != "" {
		var err error
		if place, err = request.ParseID(in.Place, "place"); err != nil {
			return nil, err
		}
	}
	page, err := h.Executions.Queue(ctx, place, in.Page, in.Limit)
	if err != nil {
		return nil, err
	}
	out := queueBody{Entries: make([]queueEntryBody, 0, len(page.Entries)), NextPage: page.Next}
	for _, e := range page.Entries {
		out.Entries = append(out.Entries, toQueueEntry(e.Queued))
	}
	if in.Page != "" {
		return reply(out), nil
	}
	waits, err := h.Executions.InCluster(ctx, place, in.Limit)
	if err != nil {
		return nil, err
	}
	out.InClusterMore = waits.More
	for _, w := range waits.Entries {
		out.InCluster = append(out.InCluster, clusterWaitBody{
			ExecutionID: w.Execution, WorkflowName: w.Name.Workflow, ExecutionName: w.Name.Execution, Node: w.Name.Node,
			ProjectID: w.Project.ID, ProjectName: w.Project.Name, Priority: int(w.Priority), WaitingSince: w.Since, Asked: w.Asked, Reason: w.Reason,
		})
	}
	return reply(out), nil
}

func toQueueEntry(q quota.Queued) queueEntryBody {
	e := queueEntryBody{Position: q.Position, WaitingSince: q.Since, Asked: q.Amount}
	if q.Hidden() {
		return e
	}
	e.ExecutionID, e.ProjectID, e.Reason = new(q.Execution), new(q.Project), new(q.Reason)
	e.WorkflowName, e.ExecutionName, e.Node = q.Name.Workflow, q.Name.Execution, q.Name.Node
	e.Priority, e.AboutToStart = q.Priority, q.Offered
	return e
}

func (h *API) apiWhyExecution(ctx context.Context, in *ExecutionPath) (*body[whyBody], error) {
	return h.why(ctx, in, "")
}

func (h *API) apiWhyNode(ctx context.Context, in *struct {
	ExecutionPath
	Node string `path:"node" doc:"Name of the node" maxLength:"2000"`
}) (*body[whyBody], error) {
	return h.why(ctx, &in.ExecutionPath, in.Node)
}

func (h *API) why(ctx context.Context, in *ExecutionPath, node string) (*body[whyBody], error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	w, err := h.Executions.Why(ctx, id, node)
	if err != nil {
		return nil, err
	}
	out := whyBody{ExecutionID: id, Node: w.Node, Waiting: w.Reason.Code != "", Status: string(w.State), AboutToStart: w.Offered}
	if out.Waiting {
		out.Reason = &w.Reason
	}
	if !w.Since.IsZero() {
		out.WaitingSince = &w.Since
	}
	for _, holder := range w.Holders {
		out.Holders = append(out.Holders, toWhyHolder(holder))
	}
	for _, q := range w.Nearby {
		out.Queue = append(out.Queue, toQueueEntry(q))
	}
	for _, d := range w.Decisions {
		out.Decisions = append(out.Decisions, whyDecision{d.At, d.Kind, sentence.Event(d)})
	}
	return reply(out), nil
}

func toWhyHolder(h quota.Holder) whyHolder {
	out := whyHolder{CountsFor: "another team", Amount: h.Amount, Borrowed: h.Borrowed, EndsFrom: h.EndsFrom, EndsTo: h.EndsTo}
	if h.Owner.Name != "" {
		out.CountsFor = h.Owner.String()
	}
	if h.Execution != uuid.Nil {
		out.ExecutionID, out.WorkflowName, out.Node = new(h.Execution), h.Name.Workflow, h.Name.Node
	}
	return out
}
