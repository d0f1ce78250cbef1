package launch

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"github.com/flowforge/flowforge/engine/schedule"
	"github.com/flowforge/flowforge/typeregistry"
	"github.com/flowforge/flowforge/views"
	"github.com/flowforge/flowforge/views/forms"
	"github.com/flowforge/flowforge/views/ui"
)

// taggable is an input, or a part of one, whose value can come from the times of a run.
type taggable struct {
	varied

	choices []ui.Option
}

// tags are the values that a run provides, by kind of input.
const (
	fireDay  = "{{ scheduled_time | date }}"
	fireTime = "{{ scheduled_time }}"
	pastDay  = "{{ data_interval_start | date }}"
	pastTime = "{{ data_interval_start }}"
)

// taggables lists the inputs that can take the times of a run.
func taggables(schema typeregistry.Schema, env typeregistry.Env) []taggable {
	days := []ui.Option{{Value: fireDay, Name: "Date of the run"}, {Value: pastDay, Name: "Date of the previous run"}}
	times := []ui.Option{{Value: fireTime, Name: "Time of the run"}, {Value: pastTime, Name: "Time of the previous run"}}
	var out []taggable
	for _, v := range variable(schema, env) {
		t := taggable{varied: v}
		switch v.kind.Kind {
		case typeregistry.KindDate:
			t.choices = days
		case typeregistry.KindDateTime:
			t.choices = times
		case typeregistry.KindString, typeregistry.KindText:
			t.choices = slices.Concat(days, times)
		case typeregistry.KindDataset, typeregistry.KindModel:
		default:
			continue
		}
		first := ui.Option{Name: "Same value at each run"}
		t.choices = slices.Concat([]ui.Option{first}, t.choices, []ui.Option{{Value: views.ScheduleText, Name: "Text with scheduled times"}})
		out = append(out, t)
	}
	return out
}

// tagDraft records which inputs take the times of a run.
type tagDraft struct {
	places []taggable
	sent   url.Values
	sample map[string]any // the inputs of the next run; nil if unknown
}

func (t *tagDraft) tagOf(path string) (text string, on bool) {
	choice := t.sent.Get(views.SchedulePrefix + "tag." + path)
	if choice == views.ScheduleText {
		return strings.TrimSpace(t.sent.Get(views.SchedulePrefix + "text." + path)), true
	}
	return choice, choice != ""
}

// tagged lists the paths of inputs that take the times of a run.
func (t *tagDraft) tagged() []string {
	var out []string
	for _, p := range t.places {
		if _, on := t.tagOf(p.path); on {
			out = append(out, p.path)
		}
	}
	return out
}

// names are the inputs that take the times of a run, in whole or in part.
func (t *tagDraft) names() []string {
	var names []string
	for _, path := range t.tagged() {
		if name, _, _ := strings.Cut(path, "."); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// apply writes the texts with tags into inputs.
func (t *tagDraft) apply(inputs map[string]any) {
	for _, path := range t.tagged() {
		text, _ := t.tagOf(path)
		setAt(inputs, strings.Split(path, "."), text)
	}
}

// take moves the texts with tags out of inputs into the controls. It returns the inputs without them.
func (t *tagDraft) take(inputs map[string]any) map[string]any {
	rest := copied(inputs)
	for _, p := range t.places {
		keys := strings.Split(p.path, ".")
		text, ok := valueAt(rest, keys).(string)
		if !ok || !schedule.HasTag(text) {
			continue
		}
		choice := views.ScheduleText
		for _, o := range p.choices {
			if o.Value != "" && squeezed(o.Value) == squeezed(text) {
				choice = o.Value
			}
		}
		t.sent.Set(views.SchedulePrefix+"tag."+p.path, choice)
		if choice == views.ScheduleText {
			t.sent.Set(views.SchedulePrefix+"text."+p.path, text)
		}
		removeAt(rest, keys)
	}
	return rest
}

// clear forgets which inputs take the times of a run, because JSON contains the tags.
func (t *tagDraft) clear() {
	for _, p := range t.places {
		t.sent.Del(views.SchedulePrefix + "tag." + p.path)
		t.sent.Del(views.SchedulePrefix + "text." + p.path)
	}
}

func squeezed(text string) string { return strings.ReplaceAll(text, " ", "") }

// block draws the controls that give an input the times of a run.
func (t *tagDraft) block(path string) templ.Component {
	if f, ok := t.field(path); ok {
		return views.ScheduleTagBlock(f)
	}
	return nil
}

func (t *tagDraft) fields() []views.ScheduleTag {
	var out []views.ScheduleTag
	for _, p := range t.places {
		if f, ok := t.field(p.path); ok {
			out = append(out, f)
		}
	}
	return out
}

func (t *tagDraft) field(path string) (views.ScheduleTag, bool) {
	at := slices.IndexFunc(t.places, func(p taggable) bool { return p.path == path })
	if at < 0 {
		return views.ScheduleTag{}, false
	}
	p := t.places[at]
	f := views.ScheduleTag{Path: path, Label: p.label, Choices: slices.Clone(p.choices), Text: t.sent.Get(views.SchedulePrefix + "text." + path)}
	chosen := t.sent.Get(views.SchedulePrefix + "tag." + path)
	for i := range f.Choices {
		f.Choices[i].Selected = f.Choices[i].Value == chosen
	}
	if _, on := t.tagOf(path); on && t.sample != nil {
		f.Sample, _ = valueAt(t.sample, strings.Split(path, ".")).(string)
	}
	return f, true
}

// valueAt is the value at a path of objects, nil for none.
func valueAt(v any, keys []string) any {
	for _, key := range keys {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[key]
	}
	return v
}

// setAt sets a value and creates the objects around it.
func setAt(m map[string]any, keys []string, v any) {
	for _, key := range keys[:len(keys)-1] {
		inner, ok := m[key].(map[string]any)
		if !ok {
			inner = map[string]any{}
			m[key] = inner
		}
		m = inner
	}
	m[keys[len(keys)-1]] = v
}

func removeAt(m map[string]any, keys []string) {
	if parent, ok := valueAt(m, keys[:len(keys)-1]).(map[string]any); ok {
		delete(parent, keys[len(keys)-1])
	}
}

// copied copies objects but not lists, because tags are only removed from objects.
func copied(m map[string]any) map[string]any {
	out := maps.Clone(m)
	if out == nil {
		return map[string]any{}
	}
	for key, v := range out {
		if inner, ok := v.(map[string]any); ok {
			out[key] = copied(inner)
		}
	}
	return out
}

// scheduleInputs are the inputs of a schedule with their tags, and the problems with the others.
func (d *draft) scheduleInputs(env typeregistry.Env) (map[string]any, []forms.Problem) {
	if d.mode == views.ScheduleJSON {
		return forms.ReadJSON(d.schedule.json)
	}
	all, problems := d.schema.DecodeForm(typeregistry.Form{Values: d.values}, forms.Prefix)
	inputs, problems := d.schema.WithoutHidden(copied(all), problems, env)
	tags := d.schedule.tags
	for name := range d.schema.Following(tags.names()) { // rules may read values that are known at a run
		if v, ok := all[name]; ok && v != nil {
			inputs[name] = v
		}
	}
	tags.apply(inputs)
	tagged := tags.tagged()
	problems = slices.DeleteFunc(problems, func(p forms.Problem) bool { return slices.Contains(tagged, p.Path) })
	return inputs, problems
}
