package views

import "github.com/flowforge/flowforge/views/ui"

// Approvals lists the nodes that await approval.
type Approvals struct {
	Page
	Pending []PendingApproval
	Models  []PendingPromotion
}

// PendingPromotion is an open request to move a version of a model to another stage.
type PendingPromotion struct {
	Name, URL, Stage, By, Reason string
	Mine                         bool // the reader made it, so another person decides
	Since                        ui.Moment
}

// rest is the end of the sentence about the request.
func (p PendingPromotion) rest() string {
	text := ""
	if p.Reason != "" {
		text = ": “" + p.Reason + "”"
	}
	if p.Mine {
		text += ". Another person must decide."
	}
	return text
}

// PendingApproval is a node that awaits approval.
type PendingApproval struct {
	Message, Node, NodeURL  string
	Execution, ExecutionURL string
	By, AnswerURL           string
	Since                   ui.Moment
}

// ApprovalsURL lists the nodes that await approval.
func ApprovalsURL() string { return "/approvals" }
