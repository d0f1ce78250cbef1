package launch

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/flowforge/flowforge/access/auth"
	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/preset"
	"github.com/flowforge/flowforge/handlers/label"
	"github.com/flowforge/flowforge/platform/units"
	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/forms"
	"github.com/flowforge/flowforge/views/ui"
	"github.com/flowforge/flowforge/web"
)

// takePresetForm reads the part of the launch form that saves a preset.
func takePresetForm(sent url.Values) views.PresetForm {
	return views.PresetForm{
		Name: strings.TrimSpace(sent.Get("$preset_name")), Description: sent.Get("$preset_description"), Sharing: sent.Get("$preset_sharing"),
		Whole: sent.Get("$preset_values") != "changed", Default: sent.Has("$preset_default"), Errors: map[string]string{},
	}
}

// filled contains the inputs that a form took from a preset.
type filled struct {
	inputs map[string]any
	source *preset.Preset
	fitted preset.Fitted
	absent string // name of a preset that the reader cannot use
}

// fillPreset returns the inputs of the preset that a link names, or of the reader's default. A
// link with other values does not use the default.
func (h *Pages) fillPreset(r *http.Request, d *draft, link url.Values) (filled, error) {
	f := filled{inputs: map[string]any{}}
	var err error
	if d.presets, err = h.Presets.List(r.Context(), d.workflow.ID.String()); err != nil {
		return f, err
	}
	if link.Has("preset") {
		if name := link.Get("preset"); name != "" {
			p, err := h.Presets.Get(r.Context(), d.workflow.ID.String(), name)
			if apperr.Is(err, apperr.NotFound) {
				f.absent = name
				return f, nil
			}
			if err != nil {
				return f, err
			}
			f.source = &p
		}
	} else if p := preset.Default(d.presets); p != nil && !fillsIn(link) {
		found, err := h.Presets.Get(r.Context(), d.workflow.ID.String(), p.ID.String())
		switch {
		case err == nil:
			f.source = &found
		case !apperr.Is(err, apperr.NotFound): // deleted since
			return f, err
		}
	}
	if f.source == nil {
		return f, nil
	}
	if f.fitted, err = h.Presets.For(r.Context(), *f.source, d.version, h.Forms.Env(r)); err != nil {
		return f, err
	}
	f.inputs, d.presetID = f.fitted.Inputs, f.source.ID.String()
	d.presetBased = based(*f.source)
	return f, nil
}

// fillsIn reports whether a link sets values itself.
func fillsIn(link url.Values) bool {
	if link.Has("from") {
		return true
	}
	for name := range link {
		if strings.HasPrefix(name, forms.LinkPrefix) {
			return true
		}
	}
	return false
}

// note adds the preset to the origin of the values.
func (f filled) note(d *draft, p *views.Provenance) *views.Provenance {
	if f.absent != "" {
		return &views.Provenance{Kind: "warn", From: "There is no preset “" + f.absent + "” that you can use.", Text: "The form shows the defaults. Ask the person who sent you the link to share the preset."}
	}
	if p != nil && slices.ContainsFunc(d.presets, func(p preset.Preset) bool { return p.MyDefault || p.OurDefault }) {
		p.Reset = views.LaunchPresetURL(d.ref, "", d.version.Version)
	}
	if f.source == nil {
		return p
	}
	if p == nil {
		p = &views.Provenance{}
	}
	p.From, p.URL = "Filled in from the preset “"+f.source.Name+"”.", views.PresetURL(d.ref, d.presetID)
	p.Reset = views.LaunchPresetURL(d.ref, "", d.version.Version)
	if n := len(f.fitted.Incompatible); n > 0 {
		p.Kind = "warn"
		p.Text = "It was saved for version " + f.source.Version + ". " + units.Plural(n, "value no longer fits", "values no longer fit") + " version " + d.version.Version + " and " + verb(n) + " left out:"
	}
	for _, m := range f.fitted.Incompatible {
		p.Incompatible = append(p.Incompatible, incompatibleLine(d.schema, m))
	}
	if len(f.fitted.Added) > 0 {
		p.Text = strings.TrimSpace("New since version " + f.source.Version + ": " + strings.Join(f.fitted.Added, ", ") + ". " + p.Text)
	}
	return p
}

func verb(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

func incompatibleLine(schema typeregistry.Schema, m preset.IncompatibleValue) forms.ErrorLine {
	name, _, _ := strings.Cut(m.Path, ".")
	if _, ok := schema.Field(name); !ok {
		return forms.ErrorLine{Label: m.Path, Text: "this version does not have this input."}
	}
	form := forms.New(forms.Config{Schema: schema, Problems: []forms.Problem{forms.Problem(m)}})
	for _, line := range form.ErrorLines() {
		return line
	}
	return forms.ErrorLine{Label: m.Path, Text: m.Message}
}

// savePreset saves the values of the form as a new preset, or into the preset with ID update. It
// returns the status of the answer.
func (h *Pages) savePreset(r *http.Request, d *draft, update string) (int, error) {
	env := h.Forms.Env(r)
	inputs, problems := d.inputs(env)
	if len(problems) > 0 {
		d.refusePreset(problems)
		return http.StatusUnprocessableEntity, nil
	}
	changed := forms.Differing(d.schema, inputs, forms.Defaults(d.schema, env))
	edit := preset.Edit{Version: d.version.Version, Inputs: changed, Env: env}
	var saved preset.Preset
	var err error
	if update != "" {
		saved, err = h.updatePreset(r, d, update, edit, forms.Given(d.schema, inputs))
	} else {
		sharing := preset.Sharing(d.saving.Sharing)
		edit.Name, edit.Description, edit.Sharing = &d.saving.Name, &d.saving.Description, &sharing
		if d.saving.Whole {
			edit.Inputs = forms.Given(d.schema, inputs)
		}
		saved, err = h.Presets.Save(r.Context(), d.workflow.ID.String(), edit)
	}
	switch apperr.CodeOf(err) {
	case "":
	case apperr.Invalid, apperr.Conflict, apperr.Forbidden:
		d.blamePreset(err)
		return web.Status(apperr.CodeOf(err)), nil
	default:
		return 0, err
	}
	if update == "" && d.saving.Default {
		if saved, err = h.Presets.SetDefault(r.Context(), d.workflow.ID.String(), saved.ID.String(), preset.Mine, true); err != nil {
			return 0, err
		}
	}
	d.presetID, d.presetBased, d.saving, d.presets = saved.ID.String(), based(saved), views.PresetForm{Whole: true}, nil
	d.origin = &views.Provenance{Kind: "ok", From: "The preset “" + saved.Name + "” was saved.", URL: views.PresetURL(d.ref, d.presetID), Text: "Nothing was launched yet.", Focus: true}
	return http.StatusOK, nil
}

// updatePreset saves the inputs that the preset already has, and those that differ from the
// defaults.
func (h *Pages) updatePreset(r *http.Request, d *draft, id string, edit preset.Edit, given map[string]any) (preset.Preset, error) {
	old, err := h.Presets.Get(r.Context(), d.workflow.ID.String(), id)
	if err != nil {
		return preset.Preset{}, err
	}
	for name := range old.Inputs {
		if v, ok := given[name]; ok {
			edit.Inputs[name] = v
		}
	}
	if edit.Based = basedOn(d.presetBased); edit.Based == nil {
		edit.Based = &old.UpdatedAt
	}
	return h.Presets.Change(r.Context(), d.workflow.ID.String(), id, edit)
}

// based encodes the state of a preset in a form that changes it.
func based(p preset.Preset) string { return p.UpdatedAt.Format(time.RFC3339Nano) }

// basedOn decodes the output of based. It is nil for a form without it.
func basedOn(text string) *time.Time {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return nil
	}
	return &at
}

func (d *draft) refusePreset(problems []forms.Problem) {
	d.problems = problems
	d.failed = "The preset was not saved: " + units.Plural(len(problems), "value needs attention", "values need attention")
	d.saving.Open = true
}

// blamePreset shows why a preset was not saved.
func (d *draft) blamePreset(err error) {
	var problems []forms.Problem
	d.saving.Open = true
	for _, f := range apperr.FieldsOf(err) {
		if path, ok := strings.CutPrefix(f.Path, forms.Prefix+"."); ok {
			problems = append(problems, forms.Problem{Path: path, Message: f.Message})
			continue
		}
		d.saving.Errors[f.Path] = f.Message
	}
	if len(problems) > 0 {
		d.refusePreset(problems)
		return
	}
	d.failed = "The preset was not saved: " + label.LowerFirst(apperr.MessageOf(err))
}

// presetErrorLines are the lines of the error summary about the form that saves a preset.
func (d *draft) presetErrorLines() []forms.ErrorLine {
	var lines []forms.ErrorLine
	for _, f := range []struct{ name, label string }{{"name", "Preset name"}, {"sharing", "Shared with"}, {"description", "Description"}} {
		if message := d.saving.Errors[f.name]; message != "" {
			lines = append(lines, views.PresetErrorLine(f.name, f.label, message))
		}
	}
	return lines
}

// presetsShown is the number of presets next to the form.
const presetsShown = 8

// presetPanel lists the presets for the form: those in use and the defaults first, then the most
// used ones.
func (h *Pages) presetPanel(r *http.Request, d *draft) (views.PresetPanel, error) {
	panel := views.PresetPanel{URL: views.PresetsURL(d.ref)}
	if d.presets == nil {
		var err error
		if d.presets, err = h.Presets.List(r.Context(), d.workflow.ID.String()); err != nil {
			return panel, err
		}
	}
	list := slices.Clone(d.presets)
	rank := func(p preset.Preset) int {
		switch {
		case p.ID.String() == d.presetID:
			return -4
		case p.MyDefault:
			return -3
		case p.OurDefault:
			return -2
		}
		return 0
	}
	slices.SortStableFunc(list, func(a, b preset.Preset) int {
		if rank(a) != rank(b) {
			return rank(a) - rank(b)
		}
		return b.Uses - a.Uses
	})
	for _, p := range list {
		if p.ID.String() == d.presetID {
			panel.Current, panel.Based = d.presetID, d.presetBased
			if p.MayChange && p.Origin == "" {
				panel.Update = p.Name
			}
		}
	}
	panel.More = max(0, len(list)-presetsShown)
	for _, p := range list[:min(len(list), presetsShown)] {
		panel.Rows = append(panel.Rows, h.presetRow(r, d, p))
	}
	if !d.mayLaunch(r) {
		return panel, nil
	}
	form := d.saving
	if err := h.offerSharing(r, d, &form); err != nil {
		return panel, err
	}
	panel.Form = &form
	return panel, nil
}

func (d *draft) mayLaunch(r *http.Request) bool {
	subject, ok := auth.SubjectOf(r.Context())
	return ok && subject.May(auth.ExecutionLaunch, d.workflow.ProjectID)
}

// offerSharing adds the choices of who can use a preset.
func (h *Pages) offerSharing(r *http.Request, d *draft, form *views.PresetForm) error {
	project, team, mayTeam, err := h.Presets.Audience(r.Context(), d.workflow)
	if err != nil {
		return err
	}
	for _, s := range preset.Sharings() {
		if s == preset.Team && !mayTeam && form.Sharing != string(s) {
			continue
		}
		name := sharedWith(s, project, team)
		form.Sharings = append(form.Sharings, ui.Option{Value: string(s), Name: strings.ToUpper(name[:1]) + name[1:], Selected: form.Sharing == string(s)})
	}
	return nil
}

func sharedWith(s preset.Sharing, project, team string) string {
	switch s {
	case preset.Project:
		return "project “" + project + "”"
	case preset.Team:
		return "team “" + team + "”"
	case preset.Private:
	}
	return "only you"
}

// presetRow is a preset with the values that the version of d accepts from it.
func (h *Pages) presetRow(r *http.Request, d *draft, p preset.Preset) views.PresetRow {
	id := p.ID.String()
	row := views.PresetRow{
		Name: p.Name, URL: views.PresetURL(d.ref, id), LaunchURL: views.LaunchPresetURL(d.ref, id, ""), Description: p.Description,
		Shared: sharedWith(p.Sharing, p.Project, p.Team), By: p.OwnerName, Version: p.Version, Changed: h.Page.Clock(r).Moment(p.UpdatedAt), Current: id == d.presetID,
		Values: forms.Particular(d.schema, p.Inputs, forms.Defaults(d.schema, typeregistry.Env{Now: h.Now()})),
	}
	if d.version.Version != d.workflow.Latest {
		row.LaunchURL = views.LaunchPresetURL(d.ref, id, d.version.Version)
	}
	if p.Inputs == nil {
		row.Values = "Large values"
	}
	switch {
	case p.MyDefault:
		row.Default = "your default"
	case p.OurDefault:
		row.Default = "default"
	}
	if p.Mine {
		row.By = "you"
	}
	if p.Uses > 0 {
		row.Uses = units.Plural(p.Uses, "launch", "launches")
	}
	return row
}
