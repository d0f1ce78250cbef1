package views

import (
	"net/url"

	"github.com/flowforge/flowforge/views/forms"
	"github.com/flowforge/flowforge/views/ui"
)

// CommandPage asks for, and by POST does, something with an execution or a node.
type CommandPage struct {
	Page
	Heading string
	Lead    string
	URL     string
	Back    string
	Fields  []forms.Control // of outputs or of an approval
	Failed  string
	Reason  string
	Answers []ui.Option // the buttons: Value is the command
	Danger  bool        // the last button does harm
}

// PauseURL and UnpauseURL pause an execution and let it go on.
func PauseURL(id string) string { return ExecutionURL(id) + "/pause" }

// UnpauseURL lets a paused execution go on.
func UnpauseURL(id string) string { return ExecutionURL(id) + "/unpause" }

// NodeCommandURL is the page of a command about a node: hold, release, skip, succeed,
// retry or answer.
func NodeCommandURL(id, node, command string) string {
	return ExecutionURL(id) + "/commands/" + url.PathEscape(command) + "?" + url.Values{"node": {node}}.Encode()
}
