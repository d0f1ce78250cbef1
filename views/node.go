package views

import (
	"github.com/flowforge/flowforge/views/ui"
)

const (
	nodeFactsID   = "node-facts"
	nodeInputsID  = "node-inputs"
	nodeOutputsID = "node-outputs"
)

// NodeStill is what of a node changes with its state alone.
type NodeStill struct {
	Facts           []ui.Fact
	Inputs, Outputs []Value
}

// Node is the page of one node of an execution.
type Node struct {
	Page
	Head            NodeHead
	Runs            bool      // attempts of it run somewhere
	Wait            WaitPanel // why it waits, while it does
	Facts           []ui.Fact
	Attempts        []AttemptLine
	Pods            AttemptPods
	Command         string // as it is run, or the script
	CommandKind     string // "command", "script", "request"
	Environment     []ui.Fact
	Resources       []ui.Fact
	Policy          []ui.Fact
	Inputs, Outputs []Value
	Place           NodePath
	Metrics         Metrics
	Usage           Usage
	Logs            Logs
	StreamURL       string
}
