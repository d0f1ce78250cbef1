package api

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/protect"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/web/contract"
)

type breakerBody struct {
	ID            uuid.UUID  `json:"id"`
	WorkflowID    uuid.UUID  `json:"workflow_id"`
	WorkflowName  string     `json:"workflow_name"`
	Operator      string     `json:"operator" doc:"Operator name; graph/operator inside a graph"`
	Version       string     `json:"version" doc:"Latest workflow version that changed the breaker's state"`
	State         string     `json:"state" enum:"closed,open,half_open"`
	Failures      int        `json:"failures" doc:"Number of failures since the last success, within the window"`
	Threshold     int        `json:"threshold" doc:"Number of failures that open the breaker"`
	Window        float64    `json:"window_seconds"`
	OpenFor       float64    `json:"open_for_seconds" doc:"Seconds until one trial attempt is allowed"`
	OpenedAt      *time.Time `json:"opened_at,omitempty"`
	OpenUntil     *time.Time `json:"open_until,omitempty"`
	Trial         *uuid.UUID `json:"trial_execution_id,omitempty" doc:"Execution that runs the trial attempt"`
	Waiting       int        `json:"waiting" doc:"Number of nodes that wait for the breaker"`
	LastError     string     `json:"last_error,omitempty"`
	LastExecution *uuid.UUID `json:"last_execution_id,omitempty"`
	LastNode      string     `json:"last_node,omitempty"`
	ChangedAt     time.Time  `json:"changed_at"`
}

type breakerList struct {
	Breakers []breakerBody `json:"breakers"`
}

type tenantBudgetBody struct {
	TenantID  uuid.UUID  `json:"tenant_id"`
	Limited   bool       `json:"limited"`
	Retries   int        `json:"retries,omitempty" doc:"Retries per period, shared by all projects of the tenant"`
	Period    float64    `json:"period_seconds,omitempty"`
	Burst     int        `json:"burst,omitempty" doc:"Maximum number of unused retries that can accumulate"`
	Left      int        `json:"left" doc:"Number of retries available now"`
	Delayed   int64      `json:"delayed" doc:"Number of retries delayed so far"`
	ChangedAt *time.Time `json:"changed_at,omitempty"`
	ChangedBy string     `json:"changed_by,omitempty"`
	Version   int64      `json:"version"`
}

type workflowBudgetBody struct {
	WorkflowID   uuid.UUID  `json:"workflow_id"`
	WorkflowName string     `json:"workflow_name"`
	Retries      int        `json:"retries" doc:"Retries per window, shared by all executions"`
	Window       float64    `json:"window_seconds"`
	Left         int        `json:"left"`
	NextAt       *time.Time `json:"next_at,omitempty" doc:"Time when the next retry becomes available, if none is left"`
	Delayed      int64      `json:"delayed"`
}

type retryBudgetsBody struct {
	Tenant    tenantBudgetBody     `json:"tenant"`
	Workflows []workflowBudgetBody `json:"workflows" doc:"Budgets that the project's workflows have used"`
}

type retryBudgetInput struct {
	Retries int    `json:"retries,omitempty" doc:"Retries per period; 0 for no limit" minimum:"0" maximum:"1000000"`
	Period  string `json:"period,omitempty" doc:"Length of a period, such as 1m, 1h or 24h" maxLength:"20"`
	Burst   int    `json:"burst,omitempty" doc:"Maximum number of unused retries that can accumulate" minimum:"0" maximum:"1000000"`
	Version int64  `json:"version" doc:"Version of the budget that the change is based on; 0 if there was none"`
	Reason  string `json:"reason,omitempty" maxLength:"4000"`
}

// settleInput is an optional body with a reason for the events.
type settleInput struct {
	Body *contract.SettleReason `required:"false"`
}

func (in settleInput) reason() string {
	if in.Body == nil {
		return ""
	}
	return in.Body.Reason
}

// protectionAPI serves breakers, retry budgets, dead letters and undelivered events.
type protectionAPI struct {
	Executions *execution.Service
}

func (h *protectionAPI) mount(api *operations) {
	const tag = "Failures"
	operation(api, get("list-breakers", "/breakers", "List the circuit breakers of the project", tag), h.apiBreakers)
	operation(api, post("reset-breaker", "/breakers/{breaker_id}/reset", "Close a circuit breaker", tag), h.apiResetBreaker)
	operation(api, get("get-retry-budgets", "/retry-budgets", "Get the retry budgets of the tenant and of the project's workflows", tag), h.apiRetryBudgets)
	put := post("put-retry-budget", "/retry-budgets/tenant", "Change the retry budget of the tenant", tag)
	put.Method = http.MethodPut
	operation(api, put, h.apiPutRetryBudget)
	operation(api, get("list-dead-letters", "/dead-letters", "List nodes that failed permanently", tag), h.apiDeadLetters)
	operation(api, get("get-dead-letter", "/dead-letters/{letter_id}", "Get a node that failed permanently", tag), h.apiDeadLetter)
	operation(api, post("requeue-dead-letter", "/dead-letters/{letter_id}/requeue", "Retry a node that failed permanently", tag), h.apiRequeueDeadLetter)
	dismiss := post("dismiss-dead-letter", "/dead-letters/{letter_id}/dismiss", "Dismiss a dead letter without retrying its node", tag)
	dismiss.DefaultStatus = http.StatusNoContent
	operation(api, dismiss, h.apiDismissDeadLetter)
	operation(api, post("dismiss-dead-letters", "/dead-letters/dismiss", "Dismiss all dead letters of the project, or those of a class, without retrying their nodes", tag), h.apiDismissDeadLetters)
	operation(api, get("list-dead-deliveries", "/dead-deliveries", "List undelivered events", tag), h.apiDeadDeliveries)
	again := post("requeue-dead-delivery", "/dead-deliveries/{delivery_id}/requeue", "Deliver an undelivered event again", tag)
	again.DefaultStatus = http.StatusNoContent
	operation(api, again, h.apiRedeliver)
	drop := post("dismiss-dead-delivery", "/dead-deliveries/{delivery_id}/dismiss", "Dismiss an undelivered event, which is then never delivered", tag)
	drop.DefaultStatus = http.StatusNoContent
	operation(api, drop, h.apiDismissDelivery)
}

func (h *protectionAPI) apiBreakers(ctx context.Context, _ *struct{}) (*body[breakerList], error) {
	list, err := h.Executions.Protection.Breakers(ctx)
	if err != nil {
		return nil, err
	}
	out := breakerList{Breakers: make([]breakerBody, 0, len(list))}
	for _, b := range list {
		out.Breakers = append(out.Breakers, toBreakerBody(b))
	}
	return reply(out), nil
}

func toBreakerBody(b execution.Breaker) breakerBody {
	out := breakerBody{
		ID: b.ID, WorkflowID: b.WorkflowID, WorkflowName: b.Workflow, Operator: b.Operator, Version: b.Version, State: string(b.State),
		Failures: len(b.Failures), Threshold: b.Rule.Failures, Window: b.Rule.Window.Seconds(), OpenFor: b.Rule.OpenFor.Seconds(), Trial: b.TrialOf,
		Waiting: b.Waiting, LastError: b.LastError, LastExecution: b.LastExecution, LastNode: b.LastNode, ChangedAt: b.ChangedAt,
	}
	if !b.OpenedAt.IsZero() {
		out.OpenedAt = &b.OpenedAt
	}
	if b.State == protect.Open {
		out.OpenUntil = &b.Until
	}
	return out
}

func (h *protectionAPI) apiResetBreaker(ctx context.Context, in *struct {
	settleInput
	ID string `path:"breaker_id" doc:"Circuit breaker ID" maxLength:"36"`
}) (*body[breakerBody], error) {
	id, err := request.ParseID(in.ID, "breaker_id")
	if err != nil {
		return nil, err
	}
	b, err := h.Executions.Protection.ResetBreaker(ctx, id, in.reason())
	if err != nil {
		return nil, err
	}
	return reply(toBreakerBody(b)), nil
}

func (h *protectionAPI) apiRetryBudgets(ctx context.Context, _ *struct{}) (*body[retryBudgetsBody], error) {
	tenant, workflows, err := h.Executions.Protection.RetryBudgets(ctx)
	if err != nil {
		return nil, err
	}
	out := retryBudgetsBody{Tenant: toTenantBudget(tenant), Workflows: make([]workflowBudgetBody, 0, len(workflows))}
	for _, w := range workflows {
		b := workflowBudgetBody{
			WorkflowID: w.WorkflowID, WorkflowName: w.Workflow, Retries: w.Rule.Retries, Window: w.Rule.Window.Seconds(), Left: w.Left, Delayed: w.Delayed,
		}
		if w.Left == 0 {
			b.NextAt = &w.NextAt
		}
		out.Workflows = append(out.Workflows, b)
	}
	return reply(out), nil
}

func toTenantBudget(b execution.TenantBudget) tenantBudgetBody {
	out := tenantBudgetBody{TenantID: b.TenantID, Limited: b.Rule.On(), Version: b.Version, Left: b.Left, Delayed: b.Delayed, ChangedBy: b.ChangedBy}
	if out.Limited {
		out.Retries, out.Period, out.Burst, out.ChangedAt = b.Rule.Retries, b.Rule.Per.Seconds(), b.Rule.Burst, &b.ChangedAt
	}
	return out
}

func (h *protectionAPI) apiPutRetryBudget(ctx context.Context, in *struct{ Body retryBudgetInput }) (*body[tenantBudgetBody], error) {
	var rule protect.BucketRule
	if in.Body.Retries > 0 {
		per, err := units.ParseDuration(in.Body.Period)
		if err != nil {
			per = -1 // the service rejects it at its field
		}
		rule = protect.BucketRule{Retries: in.Body.Retries, Per: per, Burst: in.Body.Burst}
	}
	b, err := h.Executions.Protection.SetTenantBudget(ctx, rule, in.Body.Version, in.Body.Reason)
	if err != nil {
		return nil, renamed(err, "per", "period")
	}
	return reply(toTenantBudget(b)), nil
}

func (h *protectionAPI) apiDeadLetters(ctx context.Context, in *struct {
	PageQuery
	Class     string `query:"class" doc:"Return only failures of this class" enum:"user_error,out_of_memory,preempted,node_lost,image,start,timeout,network"`
	Execution string `query:"execution_id" doc:"Return only failures of this execution" maxLength:"36"`
}) (*body[contract.DeadLetterList], error) {
	filter := execution.DeadLetterFilter{Class: protect.Class(in.Class), Limit: in.Limit}
	for _, id := range []struct {
		text, name string
		to         *uuid.UUID
	}{{in.Page, "page", &filter.Before}, {in.Execution, "execution_id", &filter.Execution}} {
		if id.text == "" {
			continue
		}
		parsed, err := request.ParseID(id.text, id.name)
		if err != nil {
			return nil, err
		}
		*id.to = parsed
	}
	page, err := h.Executions.DeadLetters.List(ctx, filter)
	if err != nil {
		return nil, err
	}
	out := contract.DeadLetterList{DeadLetters: make([]contract.DeadLetterBody, 0, len(page.DeadLetters)), Open: page.Open, Matching: page.Matching}
	for _, l := range page.DeadLetters {
		out.DeadLetters = append(out.DeadLetters, toDeadLetter(l))
	}
	if page.Next != uuid.Nil {
		out.NextPage = page.Next.String()
	}
	return reply(out), nil
}

func toDeadLetter(l execution.DeadLetter) contract.DeadLetterBody {
	return contract.DeadLetterBody{
		ID: l.ID, ExecutionID: l.Execution, Status: string(l.Status), WorkflowName: l.Workflow, Version: l.Version, Node: l.Node, NodeIndex: l.NodeIndex,
		Attempts: l.Attempt, Class: string(l.Class), Error: l.Failure, At: l.At,
	}
}

// deadLetterPath names a dead letter.
type deadLetterPath struct {
	ID string `path:"letter_id" doc:"Dead letter ID" maxLength:"36"`
}

func (h *protectionAPI) apiDeadLetter(ctx context.Context, in *deadLetterPath) (*body[contract.DeadLetterBody], error) {
	id, err := request.ParseID(in.ID, "letter_id")
	if err != nil {
		return nil, err
	}
	l, err := h.Executions.DeadLetters.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	return reply(toDeadLetter(l)), nil
}

func (h *protectionAPI) apiRequeueDeadLetter(ctx context.Context, in *struct {
	settleInput
	ID string `path:"letter_id" doc:"Dead letter ID" maxLength:"36"`
}) (*body[contract.RequeuedBody], error) {
	id, err := request.ParseID(in.ID, "letter_id")
	if err != nil {
		return nil, err
	}
	execution, err := h.Executions.DeadLetters.Requeue(ctx, id, in.reason())
	if err != nil {
		return nil, err
	}
	return reply(contract.RequeuedBody{ExecutionID: execution}), nil
}

func (h *protectionAPI) apiDismissDeadLetter(ctx context.Context, in *struct {
	settleInput
	ID string `path:"letter_id" doc:"Dead letter ID" maxLength:"36"`
}) (*struct{}, error) {
	id, err := request.ParseID(in.ID, "letter_id")
	if err != nil {
		return nil, err
	}
	return nil, h.Executions.DeadLetters.Dismiss(ctx, id, in.reason())
}

func (h *protectionAPI) apiDismissDeadLetters(ctx context.Context, in *struct {
	Body *contract.DismissLettersInput `required:"false"`
}) (*body[contract.DismissedBody], error) {
	class, newest, reason := protect.Class(""), uuid.Max, ""
	if b := in.Body; b != nil {
		class, reason = protect.Class(b.Class), b.Reason
		if b.Newest != nil {
			newest = *b.Newest
		}
	}
	n, err := h.Executions.DeadLetters.DismissAll(ctx, class, newest, reason)
	if err != nil {
		return nil, err
	}
	return reply(contract.DismissedBody{Dismissed: n}), nil
}

func (h *protectionAPI) apiDeadDeliveries(ctx context.Context, _ *struct{}) (*body[contract.DeadDeliveryList], error) {
	list, err := h.Executions.DeadLetters.Deliveries(ctx)
	if err != nil {
		return nil, err
	}
	out := contract.DeadDeliveryList{DeadDeliveries: make([]contract.DeadDeliveryBody, 0, len(list))}
	for _, d := range list {
		out.DeadDeliveries = append(out.DeadDeliveries, contract.DeadDeliveryBody{
			ID: d.ID, Kind: d.Kind, ExecutionID: d.Execution, WorkflowName: d.Workflow, Version: d.Version, Tries: d.Attempts, Error: d.Error, At: d.At,
		})
	}
	return reply(out), nil
}

// deadDeliveryInput names an undelivered event, with a reason for the audit log.
type deadDeliveryInput struct {
	settleInput
	ID string `path:"delivery_id" doc:"Delivery number" maxLength:"20"`
}

func (h *protectionAPI) apiRedeliver(ctx context.Context, in *deadDeliveryInput) (*struct{}, error) {
	return nil, in.settle(ctx, h.Executions.DeadLetters.Redeliver)
}

func (h *protectionAPI) apiDismissDelivery(ctx context.Context, in *deadDeliveryInput) (*struct{}, error) {
	return nil, in.settle(ctx, h.Executions.DeadLetters.DismissDelivery)
}

func (in *deadDeliveryInput) settle(ctx context.Context, do func(context.Context, int64, string) error) error {
	id, err := strconv.ParseInt(in.ID, 10, 64)
	if err != nil {
		return apperr.New(apperr.NotFound, "There is no undelivered event %s.", in.ID)
	}
	return do(ctx, id, in.reason())
}
