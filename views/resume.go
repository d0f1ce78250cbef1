package views

import (
	"net/url"

	"github.com/flowforge/flowforge/views/forms"
	"github.com/flowforge/flowforge/views/ui"
)

// ResumeURL is the page that resumes an execution, from a node or, with "", from its
// first failures.
func ResumeURL(execution, from string) string {
	target := ExecutionURL(execution) + "/resume"
	if from != "" {
		target += "?from=" + url.QueryEscape(from)
	}
	return target
}

// ResumePage is the page that resumes an execution that has ended.
type ResumePage struct {
	Page
	Action   string // where the form is sent
	Title    string // of the execution
	Short    string // its id
	State    string
	Key      string // of this rendered form: the same one twice resumes once
	Shown    string // version that the form was drawn for
	Form     *forms.Form
	Failed   string          // heading of the error summary, "" when nothing failed
	Troubles []forms.Trouble // lines of the error summary
	From     string
	Nodes    []string // that may be chosen
	Versions []ui.Option
	Name     string
	Preview  ResumePreview

	Priorities []ui.Option
	Options    LaunchOptions
	Rooms      []Room // resources of operators, the first row for all; none when nothing runs tasks
	MoreRooms  int    // operators that are not offered here
	RoomsOpen  bool
}

// Room is what attempts of an operator get, as it was typed, and what the definition says.
type Room struct {
	Operator, Label                        string
	CPU, Memory, GPUs                      string
	DefinedCPU, DefinedMemory, DefinedGPUs string
	Error                                  string
}

// Typed reports whether anything was said.
func (r Room) Typed() bool { return r.CPU != "" || r.Memory != "" || r.GPUs != "" }

// RoomPrefix begins the names of the controls for resources.
const RoomPrefix = "room."

// RoomID is the id of the first control of an operator's resources.
func RoomID(operator string) string { return "room-" + operator + "-cpu" }

// ResumePreview says what a resume would do.
type ResumePreview struct {
	Refusal string          // why it cannot be done, "" when it can
	Summary string          // "2 of 5 nodes run"
	Faults  []forms.Trouble // what is wrong beside the inputs
	Changes []ResumeChange
	Nodes   []ResumeNode
}

// ResumeChange is an input with another value than before.
type ResumeChange struct {
	Name, Target, Before, After string
}

// ResumeNode is what becomes of one node.
type ResumeNode struct {
	Name   string
	URL    string // of the node in the earlier execution; "" when it had none
	State  string // that it had
	Runs   bool
	Why    string
	Inside string // "38 of the 40 in it keep their results"
}

// launchPage is the part of the page that the launch form draws.
func (p ResumePage) launchPage() LaunchPage { return LaunchPage{Form: p.Form, View: LaunchForm} }

// state is the state symbol of the preview.
func (p ResumePreview) state() string {
	if p.Refusal != "" {
		return "FAILED"
	}
	return "SUCCEEDED"
}

// NodeOrigin says which node of an earlier execution another goes on from.
type NodeOrigin struct {
	Text string // "Its result is that of"
	URL  string
	Name string // of the node and its execution
}

// NodeCache says what the cache had of a node.
type NodeCache struct {
	Found string // "Taken from the cache."
	Why   string
	URL   string // of the result that was taken or compared with, "" for none
	Name  string
}
