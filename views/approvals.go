package views

import "github.com/flowforge/flowforge/views/ui"

// Approvals is the page of what waits for the answer of a person.
type Approvals struct {
	Page
	Questions []Question
}

// Question is one node that waits for an answer.
type Question struct {
	Message, Node, NodeURL  string
	Execution, ExecutionURL string
	By, AnswerURL           string
	Since                   ui.Moment
}

// ApprovalsURL lists what waits for the answer of a person.
func ApprovalsURL() string { return "/approvals" }
