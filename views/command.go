package views

import (
	"net/url"

	"github.com/flowforge/flowforge/views/forms"
	"github.com/flowforge/flowforge/views/ui"
)

// CommandPage confirms a command on an execution or a node and, by POST, runs it.
type CommandPage struct {
	Page
	Heading string
	Lead    string
	URL     string
	Back    string
	Fields  []forms.Control // inputs of the command: outputs or the values of an approval
	Form    *forms.Form     // the form of the fields, with its rules
	Failed  string
	Reason  string
	Answers []ui.Option // the buttons: Value is the command
	Danger  bool        // the last button is destructive
}

// PauseURL pauses an execution.
func PauseURL(id string) string { return ExecutionURL(id) + "/pause" }

// UnpauseURL resumes a paused execution.
func UnpauseURL(id string) string { return ExecutionURL(id) + "/unpause" }

// NodeCommandURL is the page of a command on a node: hold, release, skip, succeed, retry or
// answer.
func NodeCommandURL(id, node, command string) string {
	return ExecutionURL(id) + "/commands/" + url.PathEscape(command) + "?" + url.Values{"node": {node}}.Encode()
}
