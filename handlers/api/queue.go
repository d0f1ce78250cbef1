package api

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/quota"
	"github.com/flowforge/flowforge/engine/quota/fair"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/web/contract"

	"github.com/flowforge/flowforge/handlers/sentence"
)

type queueBody struct {
	Entries       []contract.QueueEntryBody `json:"entries"`
	NextPage      string                    `json:"next_page,omitempty"`
	InCluster     []clusterWaitBody         `json:"in_cluster,omitempty" doc:"Nodes within their limits that were submitted to the cluster but have not started, in order of submission. Only on the first page, and only nodes that you can view"`
	InClusterMore int                       `json:"in_cluster_more,omitempty" doc:"Number of additional nodes that wait in the cluster"`
}

type clusterWaitBody struct {
	ExecutionID   uuid.UUID    `json:"execution_id"`
	WorkflowName  string       `json:"workflow_name"`
	ExecutionName string       `json:"execution_name,omitempty"`
	Node          string       `json:"node"`
	ProjectID     uuid.UUID    `json:"project_id"`
	ProjectName   string       `json:"project_name"`
	Priority      int          `json:"priority"`
	WaitingSince  time.Time    `json:"waiting_since" doc:"Time when the node was submitted to the cluster"`
	Requested     fair.Amount  `json:"asked" doc:"Resources requested by all pods of the attempt"`
	Reason        query.Reason `json:"reason" doc:"Reason for waiting. code is UNSCHEDULABLE, IMAGE_PULL, POD_STARTING (longer than 30 s), GANG, RESIDENT_QUEUE or CLUSTER_AWAY; message contains the cluster's own message"`
}

// queueAPI serves what waits for capacity, and why.
type queueAPI struct {
	Executions *query.Reader
}

func (h *queueAPI) mount(api *operations) {
	operation(api, api.ledBy(get("list-queue", "/queue", "List waiting nodes and executions, in the order of admission", "Queue"), nil), h.apiQueue)
	operation(api, api.ledBy(get("why-execution", "/executions/{execution_id}/why", "Explain why an execution waits", "Queue"), nil), h.apiWhyExecution)
	operation(api, api.ledBy(get("why-node", "/executions/{execution_id}/nodes/{node}/why", "Explain why a node waits", "Queue"), nil), h.apiWhyNode)
}

func (h *queueAPI) apiQueue(ctx context.Context, in *struct {
	PageQuery
	Place string `query:"place" doc:"ID of a tenant, department, team or project; defaults to the current project" maxLength:"36"`
}) (*body[queueBody], error) {
	var place uuid.UUID
	if in.Place != "" {
		var err error
		if place, err = request.ParseID(in.Place, "place"); err != nil {
			return nil, err
		}
	}
	page, err := h.Executions.Waits.Queue(ctx, place, in.Page, in.Limit)
	if err != nil {
		return nil, err
	}
	out := queueBody{Entries: make([]contract.QueueEntryBody, 0, len(page.Entries)), NextPage: page.Next}
	for _, e := range page.Entries {
		out.Entries = append(out.Entries, toQueueEntry(e.Queued))
	}
	if in.Page != "" {
		return reply(out), nil
	}
	waits, err := h.Executions.Waits.InCluster(ctx, place, in.Limit)
	if err != nil {
		return nil, err
	}
	out.InClusterMore = waits.More
	for _, w := range waits.Entries {
		out.InCluster = append(out.InCluster, clusterWaitBody{
			ExecutionID: w.Execution, WorkflowName: w.Name.Workflow, ExecutionName: w.Name.Execution, Node: w.Name.Node,
			ProjectID: w.Project.ID, ProjectName: w.Project.Name, Priority: int(w.Priority), WaitingSince: w.Since, Requested: w.Requested, Reason: w.Reason,
		})
	}
	return reply(out), nil
}

func toQueueEntry(q quota.Queued) contract.QueueEntryBody {
	e := contract.QueueEntryBody{Position: q.Position, WaitingSince: q.Since, Requested: q.Amount}
	if q.Hidden() {
		return e
	}
	e.ExecutionID, e.ProjectID, e.Reason = new(q.Execution), new(q.Project), new(q.Reason)
	e.WorkflowName, e.ExecutionName, e.Node = q.Name.Workflow, q.Name.Execution, q.Name.Node
	e.Priority, e.AboutToStart = q.Priority, q.Offered
	return e
}

func (h *queueAPI) apiWhyExecution(ctx context.Context, in *ExecutionPath) (*body[contract.WhyBody], error) {
	return h.why(ctx, in, "")
}

func (h *queueAPI) apiWhyNode(ctx context.Context, in *struct {
	ExecutionPath
	Node string `path:"node" doc:"Node name" maxLength:"2000"`
}) (*body[contract.WhyBody], error) {
	return h.why(ctx, &in.ExecutionPath, in.Node)
}

func (h *queueAPI) why(ctx context.Context, in *ExecutionPath, node string) (*body[contract.WhyBody], error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	w, err := h.Executions.Waits.Why(ctx, id, node)
	if err != nil {
		return nil, err
	}
	out := contract.WhyBody{ExecutionID: id, Node: w.Node, Waiting: w.Reason.Code != "", Status: string(w.State), AboutToStart: w.Offered}
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
		out.Decisions = append(out.Decisions, contract.WhyDecision{At: d.At, Kind: d.Kind, Text: sentence.Event(d)})
	}
	return reply(out), nil
}

func toWhyHolder(h quota.Holder) contract.WhyHolder {
	out := contract.WhyHolder{CountsFor: "another team", Nodes: h.Nodes, Amount: h.Amount, Borrowed: h.Borrowed, EndsFrom: h.EndsFrom, EndsTo: h.EndsTo}
	if h.Owner.Name != "" {
		out.CountsFor = h.Owner.String()
	}
	if h.Execution != uuid.Nil {
		out.ExecutionID, out.WorkflowName, out.Node = new(h.Execution), h.Name.Workflow, h.Name.Node
	}
	return out
}
