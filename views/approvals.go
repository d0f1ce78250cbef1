package views

import "github.com/flowforge/flowforge/views/ui"

// Approvals lists the nodes that await approval.
type Approvals struct {
	Page
	Pending []PendingApproval
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
