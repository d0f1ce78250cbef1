package typeregistry

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// structKind is Struct{…}: named fields, which may be nested.
type structKind struct{ single }

func (structKind) entry() Entry {
	return Entry{Name: "Struct", Group: "container", Summary: "Named fields of different types.", Example: `Struct{name: String, size?: Integer(min=1), tags: List<String> = []}`}
}

func (structKind) shape() shape { return fieldsShape }

func (structKind) params() []parameter {
	return []parameter{boolParam("extra", "Other fields are allowed and kept. Their values are JSON.", func(p *Params) *bool { return &p.Extra })}
}

func (structKind) composite(*Type) bool { return true }
func (structKind) noun(*Type) string    { return "a set of fields" }
func (structKind) hint(*Type) string    { return "Fill in its fields." }

func (structKind) normalize(c *checker, t *Type, path string, v any) any {
	object, ok := v.(map[string]any)
	if !ok {
		return c.wrong(t, path, v)
	}
	declared, others := t.divide(object)
	out := normalizeFields(c, t.Fields, path, declared)
	for _, key := range sortedKeys(others) {
		out[key] = t.normalizeOther(c, path, key, others[key])
	}
	return out
}

func (structKind) jsonSchema(t *Type) map[string]any {
	out := fieldsSchema(t.Fields)
	if t.Params.Extra {
		out["additionalProperties"] = true
		out["propertyNames"] = map[string]any{"minLength": 1, "not": map[string]any{"const": variantKey}}
	}
	return out
}

func (structKind) ui(t *Type, f *UIField, env Env) {
	f.Component, f.Fields = "StructEditor", uiFields(t.Fields, env)
	if others := t.Others(); others != nil {
		item := others.Elem.unnamed("Value", env)
		f.Item = &item
	}
}

func (structKind) decode(r *formReader, t *Type, name, path string) (any, bool) {
	if !r.has(name) {
		return nil, false
	}
	out := decodeFields(r, t.Fields, name, path)
	t.decodeOthers(r, name, path, out)
	return out, true
}

func (structKind) encode(t *Type, v any, name string, out url.Values) {
	object, _ := v.(map[string]any)
	encodeFields(t.Fields, object, name, out)
	t.encodeOthers(object, name, out)
}

func (structKind) control(r *formReader, t *Type, name string, segments []string) string {
	if others := t.Others(); others != nil && len(segments) > 0 {
		if _, declared := t.FieldNamed(segments[0]); !declared {
			return mapKind{}.control(r, others, join(name, OthersControl), segments)
		}
	}
	return controlOfFields(r, t.Fields, name, segments)
}

func (structKind) render(t *Type, v any) string {
	object, ok := v.(map[string]any)
	if !ok {
		return inputText(v)
	}
	_, others := t.divide(object)
	names := sortedKeys(others)
	return renderSome(len(t.Fields)+len(names), func(i int) string {
		if i >= len(t.Fields) {
			name := names[i-len(t.Fields)]
			return name + " = " + compactJSON(others[name])
		}
		f := t.Fields[i]
		return f.Name + " = " + f.Type.Render(object[f.Name])
	})
}

func (structKind) accept(t, from *Type) error {
	if !from.holdsFields() {
		return mismatch(t, from)
	}
	return acceptFields(t, from)
}

// acceptFields compares field by field.
func acceptFields(t, from *Type) error {
	if from.Params.Extra && !t.Params.Extra {
		return fmt.Errorf("it may have other fields (extra=true), which %s does not keep", t.Name())
	}
	for _, f := range from.Fields {
		if _, ok := t.FieldNamed(f.Name); ok {
			continue
		}
		if !t.Params.Extra {
			return fmt.Errorf("it has no field %s", f.Name)
		}
		if err := Assignable(f.Type, t.Others().Elem); err != nil {
			return fmt.Errorf("its field %s: %w", f.Name, err)
		}
	}
	for _, f := range t.Fields {
		given, ok := from.FieldNamed(f.Name)
		switch {
		case !ok && f.Required:
			return fmt.Errorf("its field %s is missing", f.Name)
		case !ok:
		case f.Required && !given.Required && given.Default == nil:
			return fmt.Errorf("its field %s is required but may be absent", f.Name)
		default:
			if err := Assignable(given.Type, f.Type); err != nil {
				return fmt.Errorf("its field %s: %w", f.Name, err)
			}
		}
	}
	return nil
}

// hyperparameterKind is HyperparameterSet: like Struct, with ranges and scales for tuning.
// Without fields it accepts any named scalars.
type hyperparameterKind struct{ structKind }

func (hyperparameterKind) entry() Entry {
	return Entry{Name: "HyperparameterSet", Group: "data", Summary: "Training settings with ranges, scales and options.",
		Example: "HyperparameterSet{learning_rate: Float(min=1e-5, max=0.1, log=true) = 0.01, batch_size: Enum(64, 256) = 64}"}
}

func (hyperparameterKind) params() []parameter { return nil }
func (hyperparameterKind) shape() shape        { return freeShape }
func (hyperparameterKind) noun(*Type) string   { return "a set of hyperparameters" }

func (k hyperparameterKind) hint(t *Type) string {
	if len(t.Fields) == 0 {
		return "Add names with their values."
	}
	return k.structKind.hint(t)
}

func (k hyperparameterKind) normalize(c *checker, t *Type, path string, v any) any {
	object, ok := v.(map[string]any)
	if !ok || len(t.Fields) > 0 {
		return k.structKind.normalize(c, t, path, v)
	}
	out := make(map[string]any, len(object))
	for _, key := range sortedKeys(object) {
		value := canonicalScalar(object[key])
		if n, isNumber := value.(json.Number); isNumber {
			value = (&Type{Kind: KindFloat, impl: numberKind{}}).normalize(c, join(path, key), n)
		}
		switch value.(type) {
		case string, bool, json.Number:
		default:
			c.problem(join(path, key), quote(value)+" is not a single value. Enter a number, text, true or false.")
		}
		if key == "" {
			c.problem(path, "A name is empty. Enter a name for every value.")
		}
		out[key] = value
	}
	return out
}

func (k hyperparameterKind) jsonSchema(t *Type) map[string]any {
	if len(t.Fields) > 0 {
		return k.structKind.jsonSchema(t)
	}
	return map[string]any{"type": "object", "propertyNames": map[string]any{"minLength": 1},
		"additionalProperties": map[string]any{"type": []any{"string", "number", "boolean"}}}
}

func (k hyperparameterKind) ui(t *Type, f *UIField, env Env) {
	k.structKind.ui(t, f, env)
	f.Component, f.Schema = "HyperparameterEditor", t.JSONSchema()
}

// decode reads undeclared settings from rows of key and value. Text that is JSON for a
// number, Boolean or string becomes that value.
func (k hyperparameterKind) decode(r *formReader, t *Type, name, path string) (any, bool) {
	if len(t.Fields) > 0 {
		return k.structKind.decode(r, t, name, path)
	}
	v, present := mapKind{}.decode(r, freeValues(), name, path)
	object, _ := v.(map[string]any)
	for key, value := range object {
		text := inputText(value)
		if scalar, err := DecodeJSON([]byte(text)); err == nil && isScalar(scalar) {
			object[key] = scalar
		} else if d, ok := parseDecimal(text); ok {
			object[key] = d.canonical()
		}
	}
	return v, present
}

func freeValues() *Type {
	return &Type{Kind: KindMap, impl: mapKind{}, Elem: &Type{Kind: KindString, impl: stringKind{}, Params: Params{Multiline: true}}}
}

func isScalar(v any) bool {
	switch v.(type) {
	case string, bool, json.Number:
		return true
	}
	return false
}

func (k hyperparameterKind) encode(t *Type, v any, name string, out url.Values) {
	if len(t.Fields) > 0 {
		k.structKind.encode(t, v, name, out)
		return
	}
	object, _ := v.(map[string]any)
	out.Set(name+".$n", strconv.Itoa(len(object)))
	for i, key := range sortedKeys(object) {
		row := join(name, strconv.Itoa(i))
		out.Set(row+".$key", key)
		text := inputText(object[key])
		if s, ok := object[key].(string); ok && looksEncoded(s) {
			text = compactJSON(s)
		}
		out.Set(row+".$value", text)
	}
}

// looksEncoded reports whether decode would not read the text as a string.
func looksEncoded(s string) bool {
	scalar, err := DecodeJSON([]byte(s))
	_, number := parseDecimal(s)
	return err == nil && isScalar(scalar) || number
}

func (k hyperparameterKind) control(r *formReader, t *Type, name string, segments []string) string {
	if len(t.Fields) > 0 {
		return k.structKind.control(r, t, name, segments)
	}
	return mapKind{}.control(r, freeValues(), name, segments)
}

func (k hyperparameterKind) render(t *Type, v any) string {
	object, ok := v.(map[string]any)
	if !ok || len(t.Fields) > 0 {
		return k.structKind.render(t, v)
	}
	keys := sortedKeys(object)
	return strings.TrimSpace(renderSome(len(keys), func(i int) string { return keys[i] + " = " + inputText(object[keys[i]]) }))
}

func (k hyperparameterKind) accept(t, from *Type) error {
	if !from.holdsFields() {
		return mismatch(t, from)
	}
	if len(t.Fields) > 0 {
		return acceptFields(t, from)
	}
	for _, f := range from.Fields {
		if f.Type.IsComposite() || f.Type.IsBlob() {
			return fmt.Errorf("its field %s is not a single value", f.Name)
		}
	}
	return nil
}
