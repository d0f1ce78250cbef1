package views

import (
	"net/url"

	"github.com/flowforge/flowforge/views/forms"
	"github.com/flowforge/flowforge/views/ui"
)

// ResumeURL is the page that resumes an execution from a node, or from its failed nodes if
// node is "".
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
	Action     string // target of the form
	Title      string // of the execution
	Short      string // its id
	State      string
	Key        string // idempotency key of this form: submitting it twice resumes once
	Shown      string // version for which the form was rendered
	Form       *forms.Form
	Failed     string            // heading of the error summary, "" without errors
	ErrorLines []forms.ErrorLine // lines of the error summary
	From       string
	Nodes      []string // nodes to choose from
	Versions   []ui.Option
	Name       string
	Preview    ResumePreview

	Priorities        []ui.Option
	Options           LaunchOptions
	ResourceOverrides []ResourceOverride // resources per operator, the first row for all; none without tasks
	MoreOverrides     int                // operators omitted here
	OverridesOpen     bool
}

// ResourceOverride is the resource override of an operator as entered, with the values of the definition.
type ResourceOverride struct {
	Operator, Label                        string
	CPU, Memory, GPUs                      string
	DefinedCPU, DefinedMemory, DefinedGPUs string
	Error                                  string
}

// Typed reports whether the user entered a value.
func (r ResourceOverride) Typed() bool { return r.CPU != "" || r.Memory != "" || r.GPUs != "" }

// ResourceOverridePrefix is the prefix of the names of the resource controls.
const ResourceOverridePrefix = "resource."

// ResourceOverrideID is the id of the first resource control of an operator.
func ResourceOverrideID(operator string) string { return "resource-" + operator + "-cpu" }

// ResumePreview shows the effect of a resume.
type ResumePreview struct {
	Refusal string            // why the execution cannot be resumed, or ""
	Summary string            // "2 of 5 nodes run"
	Faults  []forms.ErrorLine // errors outside the inputs
	Changes []ResumeChange
	Nodes   []ResumeNode
	States  string // what the rules of fields say about the values, as JSON; "" without rules
}

// ResumeChange is an input with a changed value.
type ResumeChange struct {
	Name, Target, Before, After string
}

// ResumeNode is the effect on one node.
type ResumeNode struct {
	Name   string
	URL    string // of the node in the earlier execution; "" if it had none
	State  string // in the earlier execution
	Runs   bool
	Why    string
	Inside string // "38 of the 40 in it keep their results"
}

// launchPage is the part of the page shared with the launch form.
func (p ResumePage) launchPage() LaunchPage { return LaunchPage{Form: p.Form, View: LaunchForm} }

// state is the state symbol of the preview.
func (p ResumePreview) state() string {
	if p.Refusal != "" {
		return "FAILED"
	}
	return "SUCCEEDED"
}

// NodeOrigin is the node of an earlier execution whose result was reused.
type NodeOrigin struct {
	Text string // "Its result is that of"
	URL  string
	Name string // of the node and its execution
}

// NodeCache is the outcome of the cache lookup of a node.
type NodeCache struct {
	Found string // "Taken from the cache."
	Why   string
	URL   string // of the reused or compared result, or ""
	Name  string
}
