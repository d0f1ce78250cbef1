package views

import (
	"github.com/flowforge/flowforge/views/ui"
)

const (
	nodeFactsID   = "node-facts"
	nodeInputsID  = "node-inputs"
	nodeOutputsID = "node-outputs"
)

// NodeStill is the part of a node that changes only with its state.
type NodeStill struct {
	Facts           []ui.Fact
	Inputs, Outputs []Value
}

// NodeCode is the code of a node's operator.
type NodeCode struct {
	Text   string // to copy, and to show without Source
	Kind   string // "command", "script", "request", or the file
	Source Source
	URL    string // the file in its code package; "" without one
}

// Node is the page of one node of an execution.
type Node struct {
	Page
	Head            NodeHead
	Runs            bool      // the node has attempts
	Wait            WaitPanel // why it is waiting
	Facts           []ui.Fact
	Attempts        []AttemptLine
	Traceback       Traceback
	Pods            AttemptPods
	Code            NodeCode
	Python          PythonEnvironment
	Variables       []ui.Fact // of the environment
	Resources       []ui.Fact
	Policy          []ui.Fact
	Inputs, Outputs []Value
	Place           NodePath
	Metrics         Metrics
	Usage           Usage
	Logs            Logs
	StreamURL       string
}
