package triggers

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/trigger"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// typed are the values of the form, as they were typed.
type typed struct {
	kind                                                                          trigger.Kind
	name, sources, signature, secret, filter, workflow, version, inputs, priority string
	states, stages                                                                []string
	enabled                                                                       bool

	poll polled
	join joined
}

func typedOf(f url.Values) typed {
	return typed{
		poll: polledOf(f), join: joinedOf(f),
		kind: trigger.Kind(f.Get("kind")), name: f.Get("name"), sources: f.Get("sources"), signature: f.Get("signature"), secret: f.Get("secret"), filter: f.Get("filter"),
		workflow: f.Get("workflow"), version: f.Get("version"), inputs: f.Get("inputs"), priority: f.Get("priority"), states: f["states"], stages: f["stages"], enabled: f.Get("enabled") == "true",
	}
}

func typedTrigger(t trigger.Trigger) typed {
	out := typed{
		kind: t.Kind, name: t.Name, sources: strings.Join(t.Sources, "\n"), signature: string(t.Signature), secret: t.Secret, filter: t.Filter,
		workflow: t.Workflow, version: t.Version, inputs: pretty(t.Inputs), states: t.States, stages: t.Stages, enabled: t.Enabled,
	}
	if t.Priority != nil {
		out.priority = strconv.Itoa(*t.Priority)
	}
	out.poll, out.join = storedPoll(t.HTTP, t.S3), storedJoin(t)
	return out
}

// spec reads the values. It checks only JSON and numbers; the service checks everything else.
func (t typed) spec() (trigger.Spec, error) {
	sp := trigger.Spec{
		Name: t.name, Kind: t.kind, States: t.states, Stages: t.stages, Signature: trigger.Signature(t.signature), Secret: t.secret, Filter: t.filter,
		Workflow: strings.TrimSpace(t.workflow), Version: strings.TrimSpace(t.version), Enabled: t.enabled,
	}
	sp.HTTP, sp.S3 = t.poll.settings(sp.Kind)
	t.join.fill(&sp)
	for line := range strings.Lines(t.sources) {
		if line = strings.TrimSpace(line); line != "" {
			sp.Sources = append(sp.Sources, line)
		}
	}
	sp = sp.Own() // the form has values of other kinds that it does not show
	var problems []apperr.Field
	inputs, problem := readObject(t.inputs)
	if problem != "" {
		problems = append(problems, apperr.Field{Path: "inputs", Message: problem})
	}
	sp.Inputs = inputs
	if text := strings.TrimSpace(t.priority); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			problems = append(problems, apperr.Field{Path: "priority", Message: "Enter 0 to 100."})
		}
		sp.Priority = &n
	}
	return sp, apperr.InvalidFields("The trigger has invalid values.", problems)
}

func (h *Pages) newForm(w http.ResponseWriter, r *http.Request) error {
	if !mayLaunch(r) {
		return apperr.New(apperr.Forbidden, "You cannot add triggers to this project, because you cannot launch executions in it.")
	}
	q := r.URL.Query()
	t := typed{kind: trigger.Kind(q.Get("kind")), sources: q.Get("source"), workflow: q.Get("workflow"), enabled: true, states: []string{"SUCCEEDED"}, inputs: "{}"}
	if !slices.Contains(trigger.Kinds(), t.kind) {
		t.kind = trigger.OnExecution
	}
	t.poll, t.join = newPoll(), newJoin()
	return h.render(w, r, http.StatusOK, "", t, nil)
}

func (h *Pages) editForm(w http.ResponseWriter, r *http.Request) error {
	t, err := h.Triggers.Get(r.Context(), request.PathValue(r, "name"))
	if err != nil {
		return err
	}
	if !mayChange(r, t) {
		return apperr.New(apperr.Forbidden, "Only %s and administrators of the team can change this trigger.", t.Owner)
	}
	return h.render(w, r, http.StatusOK, t.Name, typedTrigger(t), nil)
}

func (h *Pages) add(w http.ResponseWriter, r *http.Request) error { return h.save(w, r, "") }

func (h *Pages) change(w http.ResponseWriter, r *http.Request) error {
	return h.save(w, r, request.PathValue(r, "name"))
}

// save stores the values of the form. A refused form keeps what was typed.
func (h *Pages) save(w http.ResponseWriter, r *http.Request, former string) error {
	if err := r.ParseForm(); err != nil {
		return apperr.New(apperr.Invalid, "The form could not be read.")
	}
	t := typedOf(r.PostForm)
	if t.join.change(r.PostForm) { // a condition was added or removed
		return h.render(w, r, http.StatusOK, former, t, nil)
	}
	sp, err := t.spec()
	if err == nil {
		var stored trigger.Trigger
		if stored, err = h.Triggers.Put(r.Context(), former, sp); err == nil {
			http.Redirect(w, r, views.TriggerURL(stored.Name)+"?done=saved", http.StatusSeeOther)
			return nil
		}
	}
	switch apperr.CodeOf(err) { //nolint:exhaustive // the others are error pages
	case apperr.Invalid:
		return h.render(w, r, http.StatusUnprocessableEntity, former, t, err)
	case apperr.Conflict:
		return h.render(w, r, http.StatusConflict, former, t, err)
	}
	return err
}

// render draws the form of the trigger called former, or of a new one for "".
func (h *Pages) render(w http.ResponseWriter, r *http.Request, status int, former string, t typed, failed error) error {
	m := views.TriggerForm{
		Page: h.Page.Base(r, "New trigger", views.SectionTriggers, views.Crumb{Name: "Triggers", URL: views.TriggersURL()}), Heading: "New trigger",
		Action: views.TriggersURL(), Cancel: views.TriggersURL(), Kind: string(t.kind), Webhook: t.kind == trigger.OnWebhook,
		Name: t.name, Sources: t.sources, Filter: t.filter, Workflow: t.workflow, Version: t.version, Inputs: t.inputs, Priority: t.priority, Enabled: t.enabled,
		SourcesLabel: wordsOf(t.kind).sources, SourcesHelp: wordsOf(t.kind).help,
		FilterHelp: "An expression. The trigger launches only if it is true, such as " + wordsOf(t.kind).filter,
		InputsHelp: "A JSON object. Strings can contain expressions: " + wordsOf(t.kind).inputs,
	}
	if former != "" {
		m.Page = h.Page.Base(r, "Edit "+former, views.SectionTriggers, views.Crumb{Name: "Triggers", URL: views.TriggersURL()}, views.Crumb{Name: former, URL: views.TriggerURL(former)})
		m.Heading, m.Action, m.Cancel = "Edit "+former, views.TriggerURL(former), views.TriggerURL(former)
	} else {
		for _, kind := range trigger.Kinds() {
			m.Kinds = append(m.Kinds, views.TriggerKind{Name: wordsOf(kind).name, Help: wordsOf(kind).short, URL: views.NewTriggerURL(string(kind)), Current: kind == t.kind})
		}
	}
	switch t.kind { //nolint:exhaustive // the others have neither
	case trigger.OnExecution:
		m.States = choices([]string{"SUCCEEDED", "FAILED", "CANCELLED"}, t.states)
	case trigger.OnModel:
		m.Stages = choices(trigger.ModelStages(), t.stages)
	case trigger.OnAll:
		var err error
		if m.Join, err = h.joinForm(r, t.join); err != nil {
			return err
		}
	case trigger.OnHTTP, trigger.OnS3:
		var err error
		if m.Poll, err = h.pollForm(r, t, former); err != nil {
			return err
		}
	}
	if err := h.options(r, t, &m); err != nil {
		return err
	}
	if failed != nil {
		m.Failed, m.Errors = apperr.MessageOf(failed), formErrors(failed)
		m.Problems = problems(m.Errors)
	}
	return web.Render(w, r, status, views.TriggerFormPage(m))
}

// choices are values to select, including the selected ones.
func choices(values, chosen []string) (list []views.NotificationChoice) {
	for _, v := range values {
		list = append(list, views.NotificationChoice{Value: v, Label: strings.ToUpper(v[:1]) + strings.ToLower(v[1:]), Chosen: slices.Contains(chosen, v)})
	}
	return list
}

// formErrors are the errors by field of the form. Errors of a single input are errors of the
// inputs.
func formErrors(failed error) map[string]string {
	out := map[string]string{}
	for _, f := range apperr.FieldsOf(failed) {
		field, message := formField(f.Path), f.Message
		if name, ok := strings.CutPrefix(f.Path, "inputs."); ok {
			field, message = "inputs", name+": "+f.Message
		}
		if out[field] != "" {
			message = out[field] + " " + message
		}
		out[field] = message
	}
	return out
}

// signatures are the kinds of signatures with their names.
func signatures(chosen string) []ui.Option {
	list := []ui.Option{
		{Value: string(trigger.GitHub), Name: "GitHub (X-Hub-Signature-256)"},
		{Value: string(trigger.GitLab), Name: "GitLab (X-Gitlab-Token)"},
		{Value: string(trigger.Standard), Name: "Standard Webhooks (HMAC with time)"},
		{Value: string(trigger.Bearer), Name: "Bearer token"},
	}
	for i := range list {
		list[i].Selected = list[i].Value == chosen
	}
	return list
}

const workflowsOffered = 200

// options fills in the workflows, signatures and secrets to choose from.
func (h *Pages) options(r *http.Request, t typed, m *views.TriggerForm) error {
	page, err := h.Workflows.List(r.Context(), workflow.Filter{Limit: workflowsOffered})
	if err != nil {
		return err
	}
	for _, w := range page.Items {
		m.Workflows = append(m.Workflows, w.Name)
	}
	if !m.Webhook {
		return nil
	}
	m.Signatures = signatures(t.signature)
	secrets, err := h.Secrets.List(r.Context())
	if err != nil {
		return err
	}
	for _, s := range secrets {
		m.Secrets = append(m.Secrets, ui.Option{Value: s.Name, Name: s.Name, Selected: s.Name == t.secret})
	}
	return nil
}
