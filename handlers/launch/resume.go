package launch

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/forms"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// resumeDraft is the state of a form that resumes an execution.
type resumeDraft struct {
	*draft
	of       query.Execution
	fromNode string
	typed    map[string]typedResources // resources, by the names of operators
}

// newResume fills the form with the values of the execution.
func (h *Pages) newResume(r *http.Request, version string) (*resumeDraft, error) {
	id, err := request.ExecutionID(r)
	if err != nil {
		return nil, err
	}
	e, err := h.Executions.Get(r.Context(), id)
	if err != nil {
		return nil, err
	}
	wf, err := h.Workflows.Get(r.Context(), e.WorkflowID.String())
	if err != nil {
		return nil, err
	}
	v, err := h.Workflows.Version(r.Context(), e.WorkflowID.String(), cmp.Or(version, e.Version))
	if err != nil {
		return nil, err
	}
	d := &resumeDraft{of: e, draft: &draft{
		workflow: wf, ref: request.WorkflowRef(r.Context(), wf.Name, wf.ID), version: v, schema: v.Definition.Inputs,
		mode: views.LaunchForm, key: newKey(), shown: v.Version, name: e.Name, options: optionsOf(e.TTL),
	}}
	inputs := map[string]any{}
	for name, value := range e.Inputs {
		if _, ok := d.schema.Field(name); ok {
			inputs[name] = value
		}
	}
	d.values = d.schema.EncodeForm(inputs, forms.Prefix)
	return d, nil
}

// resumeForm draws the form with a preview.
func (h *Pages) resumeForm(w http.ResponseWriter, r *http.Request) error {
	d, err := h.newResume(r, r.URL.Query().Get("version"))
	if err != nil {
		return err
	}
	d.fromNode = r.URL.Query().Get("from")
	return h.renderResume(w, r, http.StatusOK, d)
}

// resume handles the form: it changes it, previews it, or resumes the execution.
func (h *Pages) resume(w http.ResponseWriter, r *http.Request) error {
	sent, err := h.Forms.Read(w, r, nil)
	if err != nil {
		return err
	}
	d, err := h.newResume(r, sent.Get("version"))
	if err != nil {
		return err
	}
	shown := d.shown
	d.take(sent)
	d.fromNode, d.typed = sent.Get("from"), takeResources(sent)
	if sent.Has("$panel") {
		inputs, problems := d.check(h.Forms.Env(r))
		preview, err := h.previewResume(r, d, inputs, problems)
		if err != nil {
			return err
		}
		preview.States = h.form(r, d.draft, nil).States()
		return web.Render(w, r, http.StatusOK, views.ResumeParts(preview))
	}
	if err := h.keepSecrets(r, d.draft); err != nil {
		return err
	}
	edited := d.edit()
	changed := d.shown != "" && d.shown != shown
	d.shown = shown
	if sent.Has("$version") || sent.Has("$check") || sent.Has("$restored") || edited || changed {
		return h.renderResume(w, r, http.StatusOK, d)
	}
	if h.form(r, d.draft, nil).Moved(d.hidden) {
		d.failed = "Nothing was launched: other fields apply with these values"
		return h.renderResume(w, r, http.StatusUnprocessableEntity, d)
	}
	inputs, problems := d.check(h.Forms.Env(r))
	request, err := d.request(inputs)
	if err != nil {
		return err
	}
	if len(problems)+len(d.options.faults) > 0 {
		d.failResume(problems)
		return h.renderResume(w, r, http.StatusUnprocessableEntity, d)
	}
	e, _, err := h.Executions.Resumption.Resume(r.Context(), request)
	if err == nil {
		http.Redirect(w, r, views.ExecutionURL(e.ID.String()), http.StatusSeeOther)
		return nil
	}
	switch code := apperr.CodeOf(err); code {
	case apperr.Invalid, apperr.Conflict, apperr.Quota, apperr.Unavailable, apperr.NotFound:
		d.refuse(err)
		d.failed = "Nothing was resumed: " + label.LowerFirst(strings.TrimSuffix(apperr.MessageOf(err), "."))
		return h.renderResume(w, r, web.Status(code), d)
	}
	return err
}

func (d *resumeDraft) failResume(problems []forms.Problem) {
	d.fail(problems)
	d.failed = fmt.Sprintf("Nothing was resumed: %s attention", units.Plural(len(problems)+len(d.options.faults), "value needs", "values need"))
}

// request is the request of the form. Errors outside the inputs are faults of the options. A
// missing value means the default.
func (d *resumeDraft) request(inputs map[string]any) (execution.ResumeRequest, error) {
	values := map[string]any{}
	for _, f := range d.schema.Fields {
		values[f.Name] = inputs[f.Name]
	}
	r := execution.ResumeRequest{
		Of: d.of.ID, From: d.fromNode, Version: d.version.Version, Inputs: values, Name: d.name, Resources: d.resources(),
		IdempotencyKey: d.idempotencyKey(map[string]any{"from": d.fromNode, "inputs": inputs, "resources": d.resources()}),
	}
	r.Cache, r.TTL = d.options.options()
	if d.priority != "" {
		priority, err := query.ParsePriority(d.priority)
		if err != nil {
			return r, err
		}
		r.Priority = &priority
	}
	return r, nil
}

// priorities are the priority of the earlier execution and those of a launch.
func (d *resumeDraft) priorities() []ui.Option {
	named := priorities(d.priority)
	was := d.of.Priority.String()
	for _, o := range named {
		if o.Value == was {
			was, _, _ = strings.Cut(o.Name, ":")
		}
	}
	if d.priority == "" {
		for i := range named {
			named[i].Selected = false
		}
	}
	return append([]ui.Option{{Name: "As before: " + was, Selected: d.priority == ""}}, named...)
}

// renderResume responds with the complete page.
func (h *Pages) renderResume(w http.ResponseWriter, r *http.Request, status int, d *resumeDraft) error {
	form, err := h.Forms.Draw(r, d.drawn())
	if err != nil {
		return err
	}
	inputs, problems := d.check(h.Forms.Env(r))
	preview, err := h.previewResume(r, d, inputs, problems)
	if err != nil {
		return err
	}
	preview.States = form.States()
	id := d.of.ID.String()
	title := label.ExecutionTitle(d.of)
	page := views.ResumePage{
		Page: h.Page.Base(r, "Resume", views.SectionExecutions, views.Crumb{Name: "Executions", URL: views.ExecutionsURL()},
			views.Crumb{Name: title + " " + label.ShortID(d.of.ID), URL: views.ExecutionURL(id)}),
		Action: views.ResumeURL(id, ""), Title: title, Short: label.ShortID(d.of.ID), State: string(d.of.Status), Key: d.key, Shown: d.shown,
		Form: form, Failed: d.failed, ErrorLines: append(form.ErrorLines(), d.options.errorLines()...), From: d.fromNode, Name: d.name, Preview: preview,
		Versions: launchWorkflow(d.draft).Versions, Priorities: d.priorities(),
	}
	page.ResourceOverrides, page.MoreOverrides = d.resourceRows()
	for _, r := range page.ResourceOverrides {
		page.OverridesOpen = page.OverridesOpen || r.Typed()
	}
	page.Options = d.options.view(d.version, d.keeps(h.keepsWithout(d.version)))
	for _, n := range d.version.Plan.Nodes[:min(len(d.version.Plan.Nodes), maxOfferedNodes)] {
		page.Nodes = append(page.Nodes, n.Name)
	}
	page.Page.Title = "Resume " + title
	if d.failed != "" {
		page.Page.Title = "Error: " + page.Page.Title
	}
	return web.Render(w, r, status, views.ResumeView(page))
}

const (
	maxOfferedNodes   = 500 // names to choose from; users can type any other
	maxPreviewedNodes = 200 // nodes listed, those that run first; the others are counted
)

// keeps describes the retention of the new execution if the form does not set one.
func (d *resumeDraft) keeps(otherwise string) string {
	if d.of.TTL.IsZero() {
		return otherwise
	}
	return "Leave empty to use the setting of the previous launch."
}

// previewResume previews the effect of the form.
func (h *Pages) previewResume(r *http.Request, d *resumeDraft, inputs map[string]any, problems []forms.Problem) (views.ResumePreview, error) {
	request, err := d.request(inputs)
	if err != nil {
		return views.ResumePreview{}, err
	}
	if n := len(problems) + len(d.options.faults); n > 0 {
		text := units.Plural(n, "value needs attention", "values need attention")
		return views.ResumePreview{Refusal: text + ".", Summary: text, Faults: d.options.errorLines()}, nil
	}
	plan, err := h.Executions.Resumption.Plan(r.Context(), request)
	if known, ok := errors.AsType[*apperr.Error](err); ok && known.Code != apperr.Forbidden {
		p := views.ResumePreview{Refusal: known.Message, Summary: "Cannot be resumed with these values"}
		for _, f := range apperr.FieldsOf(err) {
			if isOption(f.Path) {
				id, label := optionControl(f.Path)
				p.Faults = append(p.Faults, forms.ErrorLine{Target: id, Label: label, Text: f.Message})
			}
		}
		return p, nil
	}
	if err != nil {
		return views.ResumePreview{}, err
	}
	p := views.ResumePreview{Refusal: plan.Refusal, Summary: fmt.Sprintf("%d of %s run", plan.Runs, units.Plural(plan.Runs+plan.Kept, "node", "nodes"))}
	if plan.Refusal != "" {
		p.Summary = "No node would run"
	}
	for _, c := range plan.Changes {
		p.Changes = append(p.Changes, views.ResumeChange{Name: c.Name, Target: forms.Prefix + "." + c.Name, Before: shortValue(c.Before), After: shortValue(c.After)})
	}
	runs := map[string]bool{}
	for _, n := range plan.Nodes {
		runs[n.Name] = n.Runs
		p.Nodes = append(p.Nodes, toResumeNode(d.of.ID, n))
	}
	p.Changes = append(p.Changes, d.resourceChanges(request.Resources, runs)...)
	slices.SortStableFunc(p.Nodes, func(a, b views.ResumeNode) int {
		switch {
		case a.Runs == b.Runs:
			return 0
		case a.Runs:
			return -1
		}
		return 1
	})
	if more := len(p.Nodes) - maxPreviewedNodes; more > 0 {
		p.Nodes = append(p.Nodes[:maxPreviewedNodes], views.ResumeNode{Name: fmt.Sprintf("and %d more", more), Why: "The command line and the API list all of them."})
	}
	return p, nil
}

func toResumeNode(of uuid.UUID, n execution.ResumeNode) views.ResumeNode {
	out := views.ResumeNode{Name: n.Name, State: string(n.Before), Runs: n.Runs, Why: n.Why}
	if n.Before != "" {
		out.URL = views.NodeURL(of.String(), n.Name)
	}
	if n.Runs && n.Kept > 0 {
		out.Inside = fmt.Sprintf("%d of its %d nodes are reused.", n.Kept, n.Inside)
	}
	return out
}

// shortValue is a short form of an input's value.
func shortValue(v any) string {
	if v == nil {
		return "none"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return "" // values of inputs are JSON
	}
	if short := []rune(string(text)); len(short) > maxShownValue {
		return string(short[:maxShownValue]) + "…"
	}
	return string(text)
}

// maxShownValue is the maximum length of a value in a list of changes, in characters.
const maxShownValue = 60
