package executions

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// MaxQuestions is the maximum number of questions on the page.
const MaxQuestions = 200

// approvals lists the nodes that are awaiting approval.
func (h *Pages) approvals(w http.ResponseWriter, r *http.Request) error {
	open, err := h.Executions.OpenQuestions(r.Context(), MaxQuestions)
	if err != nil {
		return err
	}
	m := views.Approvals{Page: h.Page.Base(r, "Approvals", views.SectionApprovals)}
	for _, q := range open {
		m.Questions = append(m.Questions, QuestionOf(h.Page.Clock(r), q))
	}
	return web.Render(w, r, http.StatusOK, views.ApprovalsPage(m))
}

// QuestionOf is an open question as a row of a list.
func QuestionOf(clock ui.Clock, q execution.Question) views.Question {
	id := q.ExecutionID.String()
	return views.Question{
		Message: q.Message, Node: q.Node, NodeURL: views.NodeURL(id, q.Node),
		Execution: cmp.Or(q.Execution, q.Workflow) + " " + label.ShortID(q.ExecutionID), ExecutionURL: views.ExecutionURL(id),
		By: q.LaunchedBy, AnswerURL: views.NodeCommandURL(id, q.Node, "answer"), Since: clock.Ago(q.Since),
	}
}

// questions lists the nodes of the execution that are awaiting approval, or returns the zero
// panel.
func (x *executionView) questions(ctx context.Context) (views.WaitPanel, error) {
	if x.Status.Ended() || x.Counts.Running == 0 {
		return views.WaitPanel{}, nil
	}
	open, err := x.h.Executions.Questions(ctx, x.ID)
	if err != nil || len(open) == 0 {
		return views.WaitPanel{}, err
	}
	first := open[0]
	panel := views.WaitPanel{
		Line: first.Node + " is awaiting approval: " + first.Message, Code: execution.ReasonApproval,
		Actions: []ui.Action{{Name: "Answer…", URL: views.NodeCommandURL(x.ID.String(), first.Node, "answer"), Icon: "check"}},
	}
	if len(open) > 1 {
		panel.Line = strings.TrimSuffix(panel.Line, ".") + ", and " + ui.Plural(len(open)-1, "other", "others") + "."
	}
	return panel, nil
}
