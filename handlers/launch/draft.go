package launch

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/engine/launchfile"
	"github.com/flowforge/flowforge/engine/preset"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/forms"
)

// draft is the state of one launch form: its values, its view and its errors.
type draft struct {
	workflow workflow.Workflow
	ref      string // name or id of the workflow in links
	version  workflow.Version
	schema   typeregistry.Schema

	values url.Values // values of the form's controls
	hidden []string   // the fields that the sender hides, if it says so
	mode   string     // the view that contains the values
	text   string     // of the YAML view
	file   fileDraft  // what the text contains

	key, name, priority string
	options             launchOptions
	shown               string     // version that the form was drawn for
	develops            bool       // the form shows the version that the reader develops
	from                *uuid.UUID // source of the values

	presetID    string           // of the preset that filled in the form, or ""
	presetBased string           // its state when the form took its values
	saving      views.PresetForm // the form that saves a preset
	presets     []preset.Preset  // those of the workflow; nil until they are read

	kept  url.Values  // controls of a sweep, and of a launch, that only the other form shows
	sweep *sweepDraft // the form launches a sweep; nil: one execution

	schedule *scheduleDraft // the form saves a schedule; nil: it launches

	secrets   []forms.NewSecret // typed into the form; no other place contains their values
	spoolFull []forms.Problem   // secrets that could not be saved

	focus    string
	problems []forms.Problem
	failed   string
	origin   *views.Provenance
}

// take reads the submitted form.
func (d *draft) take(sent url.Values) {
	d.values = url.Values{}
	for name, v := range sent {
		if strings.HasPrefix(name, forms.Prefix+".") {
			d.values[name] = v
		}
	}
	d.hidden = sent[forms.HiddenFields]
	d.secrets = forms.TakeSecrets(d.values)
	for _, button := range forms.Buttons() {
		if v, ok := sent[button]; ok {
			d.values[button] = v
		}
	}
	d.mode = view(sent.Get("$mode"))
	d.text = strings.ReplaceAll(sent.Get("$yaml"), "\r\n", "\n")
	d.key, d.name, d.priority = sent.Get("$key"), strings.TrimSpace(sent.Get("name")), sent.Get("priority")
	d.options, d.kept = takeOptions(sent), keptControls(sent)
	d.shown = sent.Get("$shown")
	d.from = parseFrom(sent)
	d.develops = sent.Has("$dev")
	d.presetID, d.presetBased = sent.Get("$preset"), sent.Get("$preset_based")
	d.saving = takePresetForm(sent)
	if d.mode == views.LaunchYAML && sent.Has("$version") {
		d.text = launchfile.SetVersion(d.text, d.version.Version)
	}
	if d.mode == views.LaunchYAML {
		d.readFile()
	}
}

func view(name string) string {
	switch name {
	case views.LaunchYAML, views.LaunchPython, views.LaunchCommand:
		return name
	}
	return views.LaunchForm
}

// inputs decodes the values of the current view. The form keeps the values of hidden fields, which
// are not inputs.
func (d *draft) inputs(env typeregistry.Env) (map[string]any, []forms.Problem) {
	if d.mode == views.LaunchYAML {
		return d.file.inputs, d.file.problems
	}
	inputs, problems := d.schema.DecodeForm(typeregistry.Form{Values: d.values}, forms.Prefix)
	return d.schema.WithoutHidden(inputs, problems, env)
}

// check decodes and checks the values. It does not repeat errors that the form has found.
func (d *draft) check(env typeregistry.Env) (map[string]any, []forms.Problem) {
	inputs, problems := d.inputs(env)
	if inputs == nil {
		return nil, problems
	}
	reported := map[string]bool{}
	for _, p := range problems {
		reported[p.Path] = true
	}
	_, more := d.schema.CheckAll(inputs, env)
	for _, p := range more {
		if !reported[p.Path] {
			problems = append(problems, p)
		}
	}
	return inputs, problems
}

// checked checks the values on request of the reader and returns the HTTP status.
func (d *draft) checked(env typeregistry.Env) int {
	_, problems := d.check(env)
	d.options.options()
	if len(problems)+len(d.options.faults) == 0 {
		d.origin = &views.Provenance{Kind: "ok", From: "All values are valid.", Text: "Nothing was launched yet."}
		return http.StatusOK
	}
	d.fail(problems)
	return http.StatusUnprocessableEntity
}

// fail stores the errors for the form.
func (d *draft) fail(problems []forms.Problem) {
	d.problems = problems
	if n := len(problems) + len(d.options.faults); n > 0 {
		d.failed = fmt.Sprintf("Nothing was launched: %s attention", units.Plural(n, "value needs", "values need"))
	}
}

// show switches to another view with the values of this one and returns the HTTP status. If
// the form cannot represent the YAML, the YAML view stays and shows the reason.
func (d *draft) show(next string, env typeregistry.Env) int {
	next = view(next)
	if d.mode == views.LaunchYAML && next != views.LaunchYAML {
		values, problems := d.toForm()
		if len(problems) > 0 {
			d.problems = problems
			d.failed = fmt.Sprintf("The form cannot show these values: %s attention", units.Plural(len(problems), "value needs", "values need"))
			return http.StatusUnprocessableEntity
		}
		d.values, d.mode = values, next
		if _, wrong := d.check(env); next == views.LaunchForm {
			d.problems = wrong // each at its field
		}
		d.options.options()
		return http.StatusOK
	}
	if next == views.LaunchYAML && d.mode != views.LaunchYAML {
		inputs, _ := d.inputs(env)
		d.text = d.launchFile(inputs).YAML()
	}
	d.mode = next
	return http.StatusOK
}

// toForm converts the inputs of the file to values of controls.
func (d *draft) toForm() (url.Values, []forms.Problem) {
	if len(d.file.problems) > 0 {
		return nil, d.file.problems
	}
	return forms.ToForm(d.schema, d.file.inputs)
}

// edit applies the pressed button that changes the form, if any.
func (d *draft) edit() bool {
	values, focus, pressed := forms.Edit(d.schema, d.values)
	if pressed {
		d.values, d.focus = values, focus
	}
	return pressed
}

// drawn is the form for the draft.
func (d *draft) drawn() forms.Config {
	config := forms.Config{Schema: d.schema, Values: d.values, Problems: d.problems, Focus: d.focus, Options: views.InputOptionsURL(d.ref, d.version.Version)}
	if d.sweep != nil {
		config.Many, config.Varied = d.sweep.many, d.sweep.varies()
	}
	if d.schedule != nil {
		config.Many, config.Varied = d.schedule.tags.block, d.schedule.tags.names()
	}
	return config
}
