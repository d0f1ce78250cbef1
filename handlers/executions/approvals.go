package executions

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// MaxApprovals is the maximum number of approvals on the page.
const MaxApprovals = 200

// approvals lists the nodes that are awaiting approval, and the requests for stages of models.
func (h *lists) approvals(w http.ResponseWriter, r *http.Request) error {
	open, err := h.Executions.Approvals.List(r.Context(), MaxApprovals)
	if err != nil {
		return err
	}
	m := views.Approvals{Page: h.Page.Base(r, "Approvals", views.SectionApprovals)}
	for _, q := range open {
		m.Pending = append(m.Pending, ApprovalOf(h.Page.Clock(r), q))
	}
	requests, err := h.Models.OpenRequests(r.Context(), MaxApprovals)
	if err != nil {
		return err
	}
	for _, q := range requests {
		m.Models = append(m.Models, views.PendingPromotion{
			Name: q.Model + "@" + q.Version, URL: views.ModelURL(q.Model, q.Version), Stage: string(q.Stage), By: q.By, Mine: q.Mine, Reason: q.Reason, Since: h.Page.Clock(r).Ago(q.At),
		})
	}
	return web.Render(w, r, http.StatusOK, views.ApprovalsPage(m))
}

// ApprovalOf is a pending approval as a row of a list.
func ApprovalOf(clock ui.Clock, q query.PendingApproval) views.PendingApproval {
	id := q.ExecutionID.String()
	return views.PendingApproval{
		Message: q.Message, Node: q.Node, NodeURL: views.NodeURL(id, q.Node),
		Execution: cmp.Or(q.Execution, q.Workflow) + " " + label.ShortID(q.ExecutionID), ExecutionURL: views.ExecutionURL(id),
		By: q.LaunchedBy, AnswerURL: views.NodeCommandURL(id, q.Node, "answer"), Since: clock.Ago(q.Since),
	}
}

// pendingApprovals lists the nodes of the execution that are awaiting approval, or returns the zero
// panel.
func (x *executionView) pendingApprovals(ctx context.Context) (views.WaitPanel, error) {
	if x.Status.Ended() || x.Counts.AwaitingApproval == 0 {
		return views.WaitPanel{}, nil
	}
	open, err := x.h.Executions.Approvals.OfExecution(ctx, x.ID)
	if err != nil || len(open) == 0 {
		return views.WaitPanel{}, err
	}
	first := open[0]
	panel := views.WaitPanel{
		Line: first.Node + " is awaiting approval: " + first.Message, Code: execution.ReasonApproval,
		Actions: []ui.Action{{Name: "Answer…", URL: views.NodeCommandURL(x.ID.String(), first.Node, "answer"), Icon: "check", Primary: true}},
	}
	if len(open) > 1 {
		panel.Line = strings.TrimSuffix(panel.Line, ".") + ", and " + units.Plural(len(open)-1, "other", "others") + "."
	}
	return panel, nil
}
