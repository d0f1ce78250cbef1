package typeregistry

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// CheckAll checks a value for every field, fills in defaults and rejects unknown names. Dotted
// names set parts of objects (Assemble). The result contains every declared field: nil for an
// omitted optional field. Problem paths start with the field's name.
func (s Schema) CheckAll(values map[string]any, env Env) (map[string]any, []Problem) {
	c := &checker{env: env}
	plain, _ := Plain(values).(map[string]any)
	plain = assemble(c, s.Fields, plain)
	if s.HasRules() || s.readsInputs() {
		return s.checkDependent(c, plain), c.problems
	}
	return normalizeFields(c, s.Fields, "", plain), c.problems
}

// normalizeFields checks the fields of schemas and structs.
func normalizeFields(c *checker, fields []Field, path string, values map[string]any) map[string]any {
	out := make(map[string]any, len(fields))
	for _, f := range fields {
		given, ok := values[f.Name]
		out[f.Name] = f.normalize(c, join(path, f.Name), given, ok)
	}
	checkTogether(c, fields, path, values, out)
	return out
}

// checkTogether rejects unknown names and compares fields with each other.
func checkTogether(c *checker, fields []Field, path string, values, out map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if _, ok := fieldNamed(fields, name); !ok {
			c.problem(join(path, name), "There is no field "+quote(name)+"."+cmp.Or(suggest(name, fieldNames(fields)), suggestPart(name, path, fields), fieldList(fields)))
		}
	}
	for _, f := range fields {
		for _, v := range f.Validators {
			if v.Field != "" {
				v.compare(c, join(path, f.Name), out[f.Name], out[v.Field])
			}
		}
	}
}

// listedFields is the largest number of fields that the error of an unknown name lists.
const listedFields = 12

// fieldList is a sentence with the names of few fields, "" for none or many.
func fieldList(fields []Field) string {
	if len(fields) == 0 || len(fields) > listedFields {
		return ""
	}
	return " The fields are " + strings.Join(fieldNames(fields), ", ") + "."
}

// suggestPart suggests the only part of an object that has the name, such as
// “hyperparameters.learning_rate” for learning_rate.
func suggestPart(name, path string, fields []Field) string {
	if found := partsNamed(name, path, fields); len(found) == 1 {
		return " Did you mean " + quote(found[0]) + "?"
	}
	return ""
}

// partsNamed returns the paths of the fields with a name, at any depth.
func partsNamed(name, path string, fields []Field) (found []string) {
	for _, f := range fields {
		inner, at := f.Type, join(path, f.Name)
		if strings.EqualFold(f.Name, name) {
			found = append(found, at)
		}
		if inner.Kind == KindOptional {
			inner = inner.Elem
		}
		found = append(found, partsNamed(name, at, inner.Fields)...)
	}
	return found
}

func fieldNames(fields []Field) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	return names
}

// normalize checks the value of one field. A blank text counts as missing unless the type
// allows it with min_length=0.
func (f Field) normalize(c *checker, path string, value any, given bool) any {
	if value == nil && (f.Type.Kind != KindOptional && f.Type.Kind != KindJSON || !given) {
		filled, ok := f.fill(c)
		if !ok {
			if f.Required {
				c.problem(path, sentence("A value is required.", f.Type.impl.hint(f.Type)))
			}
			return nil
		}
		value = filled
	}
	if value == "" && f.blankIsMissing() {
		if f.Required {
			c.problem(path, sentence("A value is required.", f.Type.impl.hint(f.Type)))
		}
		return nil
	}
	before := len(c.problems)
	out := f.Type.normalize(c, path, value)
	if len(c.problems) == before {
		for _, v := range f.Validators {
			v.check(c, f.Type, path, out)
		}
	}
	if len(c.problems) == before {
		f.checkOffered(c, path, out)
	}
	return out
}

// KeepsBlank reports whether "" is a value of the field, if a rule does not require another.
func (f Field) KeepsBlank() bool {
	inner := f
	if f.Type.Kind == KindOptional {
		inner = Field{Type: f.Type.Elem}
	}
	least := inner.Type.Params.MinLength
	return !inner.blankIsMissing() && (least == nil || *least == 0)
}

// blankIsMissing reports whether "" counts as missing.
func (f Field) blankIsMissing() bool {
	if f.Type.Kind != KindString && f.Type.Kind != KindText {
		return false
	}
	return f.Type.Params.MinLength == nil && (f.Required || f.Default == nil)
}

// fill returns the value of an omitted field: its default, or an object whose fields all
// have defaults.
func (f Field) fill(c *checker) (any, bool) {
	if f.Default != nil {
		value := Plain(f.Default)
		if isToday(f.Type, value) && !c.env.Now.IsZero() {
			return c.env.Now.Format(dateLayout), true
		}
		return value, true
	}
	if f.Type.Kind != KindStruct && f.Type.Kind != KindHyperparam || f.Required && len(f.Type.Fields) == 0 {
		return nil, false
	}
	empty := map[string]any{}
	if probe := (&checker{}); normalizeFields(probe, f.Type.Fields, "", empty) == nil || len(probe.problems) > 0 {
		return nil, false
	}
	return empty, true
}

// isToday reports whether v is "today", the day of the launch.
func isToday(t *Type, v any) bool {
	return v == "today" && t.Kind == KindDate
}

// DefaultValue returns the value a form starts with: the default, with "today"
// resolved. ok is false when there is none.
func (f Field) DefaultValue(env Env) (value any, ok bool) {
	return f.fill(&checker{env: env})
}

// JSONSchema returns a JSON Schema (draft 2020-12) of the whole set of values.
func (s Schema) JSONSchema() map[string]any {
	out := fieldsSchema(s.Fields)
	out["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	return out
}

// JSONSchema returns a JSON Schema (draft 2020-12) that accepts what Check
// accepts without an environment, as far as the language can say it.
func (t *Type) JSONSchema() map[string]any {
	out := t.impl.jsonSchema(t)
	if t.Custom != "" {
		out["title"] = t.Custom
	}
	for _, rule := range t.Rules {
		rule.constrain(out)
	}
	return out
}

// constrain adds the rule to a JSON Schema, if it can be expressed.
func (v Validator) constrain(schema map[string]any) {
	extra := map[string]any{}
	switch v.Rule {
	case "pattern":
		extra["pattern"] = "^(?:" + v.Pattern + ")$"
	case "range":
		v.bounds().jsonSchema(extra)
	}
	if len(extra) > 0 {
		all, _ := schema["allOf"].([]any)
		schema["allOf"] = append(all, extra)
	}
}

func fieldsSchema(fields []Field) map[string]any {
	properties := map[string]any{}
	required := []any{}
	for _, f := range fields {
		properties[f.Name] = f.jsonSchema()
		if _, filled := f.fill(&checker{}); f.Required && !filled {
			required = append(required, f.Name)
		}
	}
	out := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

func (f Field) jsonSchema() map[string]any {
	schema := f.Type.JSONSchema()
	for _, v := range f.Validators {
		v.constrain(schema)
	}
	_, filled := f.fill(&checker{})
	switch {
	case f.Required && f.blankIsMissing():
		schema["minLength"] = 1
	case !f.Required && f.blankIsMissing():
		schema = map[string]any{"anyOf": []any{schema, map[string]any{"const": ""}, map[string]any{"type": "null"}}}
	case (!f.Required || filled) && f.Type.Kind != KindOptional:
		schema = map[string]any{"anyOf": []any{schema, map[string]any{"type": "null"}}}
	}
	schema["title"] = f.label()
	if f.Description != "" {
		schema["description"] = f.Description
	}
	if f.Default != nil {
		schema["default"] = f.Default
	}
	return schema
}

// label is the hint's label, or the name in words.
func (f Field) label() string {
	if f.Hints.Label != "" {
		return f.Hints.Label
	}
	return Humanize(f.Name)
}

// Humanize turns a name into a label: "batch_size" → "Batch size".
func Humanize(name string) string {
	words := strings.TrimSpace(strings.NewReplacer("_", " ", "-", " ").Replace(name))
	if words == "" {
		return name
	}
	return strings.ToUpper(words[:1]) + words[1:]
}
