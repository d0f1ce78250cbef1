package executions

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/dag"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/forms"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// pause pauses an execution or continues it.
func (h *Pages) pause(w http.ResponseWriter, r *http.Request) error {
	return h.pauseBy(w, r, h.Executions.Commands.Pause)
}

func (h *Pages) unpause(w http.ResponseWriter, r *http.Request) error {
	return h.pauseBy(w, r, h.Executions.Commands.Unpause)
}

func (h *Pages) pauseBy(w http.ResponseWriter, r *http.Request, do func(context.Context, uuid.UUID, string) error) error {
	id, err := request.ExecutionID(r)
	if err != nil {
		return err
	}
	if err := do(r.Context(), id, strings.TrimSpace(r.PostFormValue("reason"))); err != nil {
		return err
	}
	http.Redirect(w, r, views.ExecutionURL(id.String()), http.StatusSeeOther)
	return nil
}

// commandText contains the texts on the page of a command.
type commandText struct {
	title, lead string
	answers     []ui.Option
	danger      bool
}

func commandTexts() map[string]commandText {
	one := func(c execution.Command, name string) []ui.Option { return []ui.Option{{Value: string(c), Name: name}} }
	return map[string]commandText{
		"hold":    {"Hold %s", "It does not start until a user releases it. Nodes that do not depend on it continue.", one(execution.CommandHold, "Hold it"), false},
		"release": {"Release %s", "It starts as soon as its dependencies and limits allow.", one(execution.CommandRelease, "Release it"), false},
		"skip":    {"Skip %s", "The node does not run; if it is running, it is stopped. Nodes that require its success are also skipped.", one(execution.CommandSkip, "Skip it"), true},
		"succeed": {"Mark %s as succeeded", "The node does not run again. Nodes that depend on it continue with the outputs that you set.", one(execution.CommandSucceed, "Mark it as succeeded"), false},
		"retry":   {"Retry %s", "The node runs again, and so do the nodes that depend on it and did not run.", one(execution.CommandRetry, "Retry it"), false},
		"answer": {"Answer %s", "", []ui.Option{
			{Value: string(execution.CommandApprove), Name: "Approve"}, {Value: string(execution.CommandReject), Name: "Reject"},
		}, true},
	}
}

// nodeCommand is a command for a node, with its page.
type nodeCommand struct {
	name   string
	text   commandText
	e      query.Execution
	node   query.NodeDetail
	values url.Values
	failed string
	found  []forms.Problem
}

func (h *Pages) newCommand(r *http.Request) (*nodeCommand, error) {
	e, _, err := h.executionAndVersion(r)
	if err != nil {
		return nil, err
	}
	c := &nodeCommand{name: request.PathValue(r, "command"), e: e}
	text, ok := commandTexts()[c.name]
	if !ok {
		return nil, apperr.New(apperr.NotFound, "Unknown command %q.", c.name)
	}
	c.text = text
	if c.node, err = h.Executions.Nodes.Get(r.Context(), e.ID, r.URL.Query().Get("node")); err != nil {
		return nil, err
	}
	if c.name == "answer" && c.node.Operator.Type != workflow.TypeApproval {
		return nil, apperr.New(apperr.Conflict, "The node %s is not waiting for an approval.", c.node.Name)
	}
	return c, nil
}

// schema is the schema of the form.
func (c *nodeCommand) schema() typeregistry.Schema {
	if c.name == "answer" {
		return c.node.Operator.Approval.Form
	}
	var schema typeregistry.Schema
	if c.name == "succeed" {
		for _, o := range c.node.Operator.Outputs {
			schema.Fields = append(schema.Fields, typeregistry.Field{Name: o.Name, Type: o.Type, Description: o.Description, Required: o.Required()})
		}
	}
	return schema
}

// commandPage requests confirmation and values.
func (h *Pages) commandPage(w http.ResponseWriter, r *http.Request) error {
	c, err := h.newCommand(r)
	if err != nil {
		return err
	}
	c.values = c.schema().EncodeForm(forms.Defaults(c.schema(), h.Forms.Env(r)), forms.Prefix)
	return h.renderCommand(w, r, http.StatusOK, c)
}

// command runs the command.
func (h *Pages) command(w http.ResponseWriter, r *http.Request) error {
	c, err := h.newCommand(r)
	if err != nil {
		return err
	}
	sent, err := h.Forms.Read(w, r, nil)
	if err != nil {
		return err
	}
	c.values = sent
	form := forms.New(forms.Config{Schema: c.schema(), Values: sent, Today: h.Forms.Today(r), Now: h.Now()})
	if sent.Has("$panel") {
		return web.Render(w, r, http.StatusOK, views.FormStates(form.States()))
	}
	if values, _, pressed := forms.Edit(c.schema(), sent); pressed {
		c.values = values
		return h.renderCommand(w, r, http.StatusOK, c)
	}
	requested := execution.NodeCommand{Command: execution.Command(sent.Get("$command")), Reason: strings.TrimSpace(sent.Get("$reason"))}
	if !c.isPossible(requested.Command) {
		return apperr.New(apperr.Invalid, "Unknown command. Use a button on this page.")
	}
	takes := requested.Command == execution.CommandApprove || requested.Command == execution.CommandSucceed
	if takes && form.Moved(sent[forms.HiddenFields]) {
		c.failed = "Other fields apply with these values. Check them, then answer."
		return h.renderCommand(w, r, http.StatusUnprocessableEntity, c)
	}
	if takes {
		requested.Values, c.found = c.schema().DecodeForm(typeregistry.Form{Values: sent}, forms.Prefix)
		requested.Values, c.found = c.schema().WithoutHidden(requested.Values, c.found, h.Forms.Env(r))
	}
	if len(c.found) == 0 {
		err = h.Executions.Commands.CommandNode(r.Context(), execution.TaskRef{Execution: c.e.ID, Node: c.node.Index}, requested)
		if err == nil {
			http.Redirect(w, r, views.NodeURL(c.e.ID.String(), c.node.Name), http.StatusSeeOther)
			return nil
		}
		if !apperr.Is(err, apperr.Invalid) {
			return err
		}
		c.failed = apperr.MessageOf(err)
		for _, f := range apperr.FieldsOf(err) {
			_, path, _ := strings.Cut(f.Path, ".")
			c.found = append(c.found, forms.Problem{Path: path, Message: f.Message})
		}
	}
	if c.failed == "" {
		c.failed = units.Plural(len(c.found), "value needs attention", "values need attention") + "."
	}
	return h.renderCommand(w, r, http.StatusUnprocessableEntity, c)
}

func (c *nodeCommand) isPossible(command execution.Command) bool {
	for _, a := range c.text.answers {
		if a.Value == string(command) {
			return true
		}
	}
	return false
}

// headingShown is the length up to which the question of an approval is the heading of its page.
const headingShown = 120

// words are the heading and the lead of the page. For an approval, they are its question, which has
// the values of its tags.
func (c *nodeCommand) words(title string) (heading, lead string) {
	if c.name != "answer" || c.node.Operator.Approval.Message == "" || c.node.Reason == nil {
		return title, c.text.lead
	}
	of := fmt.Sprintf("%s of %s %s, launched by %s", c.node.Name, label.ExecutionTitle(c.e), label.ShortID(c.e.ID), c.e.SubmittedBy.Name)
	question := c.node.Reason.Message
	if utf8.RuneCountInString(question) > headingShown {
		return title, question
	}
	return question, of
}

func (h *Pages) renderCommand(w http.ResponseWriter, r *http.Request, status int, c *nodeCommand) error {
	form, err := h.Forms.Draw(r, forms.Config{Schema: c.schema(), Values: c.values, Problems: c.found})
	if err != nil {
		return err
	}
	id, node := c.e.ID.String(), c.node.Name
	title := fmt.Sprintf(c.text.title, node)
	heading, lead := c.words(title)
	back := views.NodeURL(id, node)
	page := views.CommandPage{
		Page: h.Page.Base(r, title, views.SectionExecutions, views.Crumb{Name: "Executions", URL: views.ExecutionsURL()},
			views.Crumb{Name: label.ExecutionTitle(c.e) + " " + label.ShortID(c.e.ID), URL: views.ExecutionURL(id)}, views.Crumb{Name: node, URL: back}),
		Heading: heading, Lead: lead, URL: views.NodeCommandURL(id, node, c.name), Back: back, Fields: form.Controls(), Form: form,
		Failed: c.failed, Reason: c.values.Get("$reason"), Answers: c.text.answers, Danger: c.text.danger,
	}
	return web.Render(w, r, status, views.CommandView(page))
}

// commandsOf are the commands that apply to the current state of a node.
func commandsOf(e query.Execution, d query.NodeDetail) []ui.Action {
	if e.Status.Ended() {
		return []ui.Action{{Name: "Retry from here…", URL: views.ResumeURL(e.ID.String(), d.Name), Icon: "redo"}}
	}
	if e.CancelRequestedAt != nil {
		return nil
	}
	link := func(command, name, icon string) ui.Action {
		return ui.Action{Name: name, URL: views.NodeCommandURL(e.ID.String(), d.Name, command), Icon: icon}
	}
	skip, succeed := link("skip", "Skip…", "x"), link("succeed", "Mark as succeeded…", "check")
	switch {
	case d.State == dag.Running && d.Operator.Type == workflow.TypeApproval:
		return []ui.Action{link("answer", "Answer…", "check"), skip}
	case d.State == dag.Failed || d.State == dag.Skipped || d.State == dag.Cancelled:
		return []ui.Action{link("retry", "Retry…", "redo"), succeed}
	case d.State.Active():
		return []ui.Action{skip, succeed}
	case d.State == dag.Succeeded:
		return nil
	case d.Reason != nil && d.Reason.Code == execution.ReasonHeld:
		return []ui.Action{link("release", "Release…", "play"), skip, succeed}
	}
	return []ui.Action{link("hold", "Hold…", "pause"), skip, succeed}
}
