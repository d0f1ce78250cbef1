package forms

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/typeregistry"
)

// LinkPrefix is the prefix of link parameters that fill in a form: "input.epochs=5".
const LinkPrefix = "input."

// inOrder lists the names of inputs that have a value: declared fields first. An empty
// text in an optional field is not a value.
func inOrder(schema typeregistry.Schema, inputs map[string]any) []string {
	var names []string
	for _, f := range schema.Fields {
		if v := inputs[f.Name]; v != nil && (v != "" || f.Required || f.Default != nil) {
			names = append(names, f.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		if _, declared := schema.Field(name); !declared {
			names = append(names, name)
		}
	}
	return names
}

// compact writes decoded JSON on one line, without HTML escapes.
func compact(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "null"
	}
	return strings.TrimRight(b.String(), "\n")
}

// ToForm converts inputs to the values of the form's controls. Problems are values that
// the form cannot represent: unknown names and shapes without a control.
func ToForm(schema typeregistry.Schema, inputs map[string]any) (url.Values, []Problem) {
	values := schema.EncodeForm(inputs, Prefix)
	back, _ := schema.DecodeForm(typeregistry.Form{Values: values}, Prefix)
	var problems []Problem
	for _, name := range inOrder(schema, inputs) {
		field, declared := schema.Field(name)
		if !declared {
			problems = append(problems, Problem{Path: name, Message: fmt.Sprintf("There is no field %q. Remove it, or correct its name.", name)})
			continue
		}
		if !same(field.Type, inputs[name], back[name]) {
			problems = append(problems, shapeProblem(field, inputs[name]))
		}
	}
	return values, problems
}

// same reports whether two values are equal for t, or are the same invalid text.
func same(t *typeregistry.Type, a, b any) bool {
	x, wrongA := t.Normalize(a)
	y, wrongB := t.Normalize(b)
	if len(wrongA) == 0 && len(wrongB) == 0 {
		return compact(x) == compact(y)
	}
	return len(wrongA) > 0 && len(wrongB) > 0 && (compact(x) == compact(y) || fmt.Sprint(a) == fmt.Sprint(b))
}

func shapeProblem(field typeregistry.Field, v any) Problem {
	if problems := field.Type.Check(v, typeregistry.Env{}); len(problems) > 0 {
		p := problems[0]
		p.Path = strings.TrimSuffix(field.Name+"."+p.Path, ".")
		return p
	}
	return Problem{Path: field.Name, Message: "The form has no control for this value. Launch it from the YAML view."}
}

// Link returns the parameters of a link that fills in the form with inputs, without
// default values.
func Link(schema typeregistry.Schema, inputs, defaults map[string]any) url.Values {
	out := url.Values{}
	for _, name := range inOrder(schema, inputs) {
		field, declared := schema.Field(name)
		if !declared || same(field.Type, inputs[name], defaults[name]) {
			continue
		}
		out.Set(LinkPrefix+name, text(inputs[name]))
	}
	return out
}

// Differing returns the values of inputs that differ from the defaults, without undeclared names.
func Differing(schema typeregistry.Schema, inputs, defaults map[string]any) map[string]any {
	out := map[string]any{}
	for _, name := range inOrder(schema, inputs) {
		if field, ok := schema.Field(name); ok && !same(field.Type, inputs[name], defaults[name]) {
			out[name] = inputs[name]
		}
	}
	return out
}

// Given returns the values of inputs without empty texts of optional fields and undeclared names.
func Given(schema typeregistry.Schema, inputs map[string]any) map[string]any {
	return Differing(schema, inputs, nil)
}

// Plain returns inputs for people to read: a reference to the catalogue is its text, where the type
// reads both.
func Plain(schema typeregistry.Schema, inputs map[string]any) map[string]any {
	out := maps.Clone(inputs)
	for _, f := range schema.Fields {
		object, ok := inputs[f.Name].(map[string]any)
		if !ok || len(object) != 1 {
			continue
		}
		if ref, ok := object["$catalogue"].(string); ok && same(f.Type, object, ref) {
			out[f.Name] = ref
		}
	}
	return out
}

// Show writes one value for users.
func Show(field typeregistry.Field, v any) string { return clip(field.Type.Render(v)) }

// FromLink reads the parameters of a link. It keeps invalid values for the form to show,
// and reports names that are not in the schema.
func FromLink(schema typeregistry.Schema, query url.Values) (inputs map[string]any, unknown []string) {
	inputs = map[string]any{}
	for key := range query {
		name, ok := strings.CutPrefix(key, LinkPrefix)
		if !ok {
			continue
		}
		field, declared := schema.Field(name)
		if !declared {
			unknown = append(unknown, name)
			continue
		}
		inputs[name] = fromText(field.Type, query.Get(key))
	}
	slices.Sort(unknown)
	return inputs, unknown
}

// fromText reads a value from a link or a command line: composite values as JSON, others
// as in a form.
func fromText(t *typeregistry.Type, s string) any {
	t = withoutOptional(t)
	if t.IsComposite() || t.IsBlob() && strings.HasPrefix(s, "{") {
		if v, err := typeregistry.DecodeJSON([]byte(s)); err == nil {
			return v
		}
	}
	return s
}

// text is the inverse of fromText.
func text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return compact(v)
}

// Defaults are the values of the fields that have one.
func Defaults(schema typeregistry.Schema, env typeregistry.Env) map[string]any {
	out := map[string]any{}
	for _, f := range schema.Fields {
		if v, ok := f.DefaultValue(env); ok {
			out[f.Name] = v
		}
	}
	return out
}

// Reference is a value of a form that refers to a catalogue entry.
type Reference struct {
	Type *typeregistry.Type
	Ref  string
}

// References lists the references of the form, so that the caller can fetch previews, and
// the types with choices (with an empty Ref).
func (f *Form) References() []Reference {
	var out []Reference
	for _, c := range f.Controls() {
		c.references(&out)
	}
	return out
}

func (c Control) references(out *[]Reference) {
	switch c.Type.Kind {
	case typeregistry.KindStruct, typeregistry.KindHyperparam:
		for _, m := range (structControl{c}).Members() {
			m.references(out)
		}
	case typeregistry.KindList, typeregistry.KindMap:
		for _, row := range append(listControl{c}.Rows(), listControl{c}.Blank()) {
			row.Value.references(out)
		}
	case typeregistry.KindUnion:
		for _, a := range (unionControl{c}).Alternatives() {
			a.Value.references(out)
		}
	default:
		if c.Type.IsBlob() {
			*out = append(*out, Reference{Type: c.Type})
			if c.Value() != "" {
				*out = append(*out, Reference{Type: c.Type, Ref: c.Value()})
			}
		}
	}
}

// particularShown is the number of differences that Particular names.
const particularShown = 3

// Particular describes in one line how inputs differ from the defaults.
func Particular(schema typeregistry.Schema, inputs, defaults map[string]any) string {
	var parts []string
	more := 0
	for _, f := range schema.Fields {
		v := inputs[f.Name]
		if v == nil || same(f.Type, v, defaults[f.Name]) {
			continue
		}
		if len(parts) == particularShown {
			more++
			continue
		}
		parts = append(parts, typeregistry.Humanize(f.Name)+" "+clip(f.Type.Render(v)))
	}
	if len(parts) == 0 {
		return "All defaults"
	}
	if more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(parts, " · ")
}

// clip truncates a value for a line with several values.
func clip(s string) string {
	const most = 40
	if letters := []rune(s); len(letters) > most {
		return string(letters[:most-1]) + "…"
	}
	return s
}
