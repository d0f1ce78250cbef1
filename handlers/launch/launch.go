package launch

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/execution"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/handlers/request"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/forms"
	"github.com/flowforge/flowforge/web"
)

// launchByID redirects from the address in the source document to the form.
func (h *Pages) launchByID(w http.ResponseWriter, r *http.Request) error {
	wf, err := h.Workflows.Get(r.Context(), chi.URLParam(r, "id"))
	if err != nil {
		return err
	}
	target := views.LaunchURL(request.WorkflowRef(r.Context(), wf.Name, wf.ID))
	if r.URL.RawQuery != "" {
		target += "?" + r.URL.RawQuery
	}
	http.Redirect(w, r, target, http.StatusSeeOther)
	return nil
}

// launchForm draws the form with the defaults, then the inputs of an earlier execution, then
// those of the link.
func (h *Pages) launchForm(w http.ResponseWriter, r *http.Request) error {
	d, err := h.newDraft(r, r.URL.Query().Get("version"))
	if err != nil {
		return err
	}
	if err := h.prefill(r, d); err != nil {
		return err
	}
	return h.renderDraft(w, r, http.StatusOK, d)
}

// launch handles the form: it changes it, checks it, or launches the execution.
func (h *Pages) launch(w http.ResponseWriter, r *http.Request) error {
	sent, err := h.Forms.Read(w, r, h.formSchema)
	if err != nil {
		return err
	}
	d, err := h.newDraft(r, sent.Get("version"))
	if err != nil {
		return err
	}
	d.take(sent)
	if sent.Has("$panel") {
		inputs, problems := d.check(h.Forms.Env(r))
		return web.Render(w, r, http.StatusOK, views.LaunchParts(h.verdict(r, d, inputs, problems)))
	}
	if err := h.keepSecrets(r, d); err != nil {
		return err
	}
	if len(d.spoolFull) > 0 {
		d.fail(d.spoolFull)
		return h.renderDraft(w, r, http.StatusUnprocessableEntity, d)
	}
	switch {
	case sent.Has("$version"), sent.Has("$once"):
		return h.renderDraft(w, r, http.StatusOK, d)
	case sent.Has("$restored"):
		d.origin = &views.Provenance{From: "Your values from this tab were restored.", Text: "Nothing was launched yet.", Reset: views.LaunchVersionURL(d.ref, d.version.Version)}
		return h.renderDraft(w, r, http.StatusOK, d)
	case sent.Has("$view"):
		return h.renderDraft(w, r, d.show(sent.Get("$view"), h.Forms.Env(r)), d)
	case sent.Has("$save_preset"), sent.Has("$update_preset"):
		status, err := h.savePreset(r, d, sent.Get("$update_preset"))
		if err != nil {
			return err
		}
		return h.renderDraft(w, r, status, d)
	case sent.Has("$check"):
		if err := h.label(r, d, &execution.LaunchRequest{}); err != nil {
			return err
		}
		return h.renderDraft(w, r, d.checked(h.Forms.Env(r)), d)
	}
	if d.edit() {
		return h.renderDraft(w, r, http.StatusOK, d)
	}
	if d.shown != "" && d.shown != d.version.Version {
		d.origin = &views.Provenance{Kind: "warn", From: "You chose version " + d.version.Version + ".", Text: "Nothing was launched yet. Check the values, then launch."}
		return h.renderDraft(w, r, http.StatusOK, d)
	}
	if d.mode == views.LaunchForm && h.form(r, d, nil).Moved(d.hidden) {
		d.origin = &views.Provenance{Kind: "warn", From: "Other fields apply with these values.", Text: "Nothing was launched yet. Check the values, then launch.", Focus: true}
		return h.renderDraft(w, r, http.StatusUnprocessableEntity, d)
	}
	return h.launchDraft(w, r, d)
}

// label adds the tags and the note of the draft to a launch. Invalid ones become errors in the draft.
func (h *Pages) label(r *http.Request, d *draft, launch *execution.LaunchRequest) (err error) {
	launch.Within, err = h.Index.AtLaunch(r.Context(), d.options.labels())
	if apperr.Is(err, apperr.Invalid) {
		d.options.blame(err)
		return nil
	}
	return err
}

// launchDraft launches the execution, or responds with the form and its errors.
func (h *Pages) launchDraft(w http.ResponseWriter, r *http.Request, d *draft) error {
	inputs, problems := d.check(h.Forms.Env(r))
	use, ttl := d.options.options()
	request := execution.LaunchRequest{
		Workflow: d.workflow.ID.String(), Version: d.version.Version, Inputs: inputs, Name: d.name,
		IdempotencyKey: d.idempotencyKey(inputs), RelaunchOf: d.from, Cache: use, TTL: ttl,
	}
	if err := h.label(r, d, &request); err != nil {
		return err
	}
	if len(problems)+len(d.options.faults) > 0 {
		d.fail(problems)
		return h.renderDraft(w, r, http.StatusUnprocessableEntity, d)
	}
	var err error
	if request.Priority, err = d.requestedPriority(); err != nil {
		return err
	}
	e, created, err := h.Executions.Launches.Launch(r.Context(), request)
	if err == nil {
		if d.presetID != "" && created {
			err = h.Presets.Used(r.Context(), d.workflow.ID.String(), d.presetID)
		}
		if err != nil {
			h.Log.Warn("count the use of a preset", "error", err)
		}
		http.Redirect(w, r, views.ExecutionURL(e.ID.String()), http.StatusSeeOther)
		return nil
	}
	switch code := apperr.CodeOf(err); code {
	case apperr.Invalid, apperr.Conflict, apperr.Quota, apperr.Unavailable:
		d.refuse(err)
		return h.renderDraft(w, r, web.Status(code), d)
	}
	return err
}

// idempotencyKey lets a second press of the button on the same rendered form find the first
// execution. Changed values launch another one.
func (d *draft) idempotencyKey(inputs map[string]any) string {
	if d.mode == views.LaunchYAML && d.file.key != "" {
		return d.file.key
	}
	if d.key == "" {
		return ""
	}
	body, err := json.Marshal([]any{d.key, d.version.ID, inputs, d.name, d.priority, d.options.key()})
	if err != nil {
		return "" // inputs are decoded JSON, which encodes
	}
	sum := sha256.Sum256(body)
	return "form-" + hex.EncodeToString(sum[:16])
}

// newKey returns the key of one rendered form.
func newKey() string { return strings.ToLower(rand.Text()) }

// refuse shows why the engine rejected the launch.
func (d *draft) refuse(err error) {
	var problems []forms.Problem
	d.options.blame(err)
	for _, f := range apperr.FieldsOf(err) {
		if isOption(f.Path) {
			continue
		}
		path, isInput := strings.CutPrefix(f.Path, forms.Prefix+".")
		if !isInput {
			path = ""
		}
		problems = append(problems, forms.Problem{Path: path, Message: f.Message})
	}
	d.fail(problems)
	if len(problems)+len(d.options.faults) == 0 {
		d.failed = "Nothing was launched: " + label.LowerFirst(apperr.MessageOf(err))
	}
}

// parseFrom parses the id of the execution whose values the form copies.
func parseFrom(values url.Values) *uuid.UUID {
	id, err := uuid.Parse(values.Get("$from"))
	if err != nil {
		return nil
	}
	return &id
}
