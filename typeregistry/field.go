package typeregistry

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/flowforge/flowforge/apperr"
)

// maxFields is the maximum number of fields in a schema.
const maxFields = 500

// requiredByDefault reports whether a field without an explicit setting is required.
func requiredByDefault(t *Type, hasDefault bool) bool {
	return !hasDefault && t.Kind != KindOptional
}

// buildFields builds fields and checks them together; errors have their location.
func (r *Registry) buildFields(nodes []nodeField) ([]Field, []error) {
	if len(nodes) > maxFields {
		return nil, []error{nodes[0].location.errorf("there are %d fields; at most %d are allowed", len(nodes), maxFields)}
	}
	var fields []Field
	var problems []error
	seen := map[string]bool{}
	for _, n := range nodes {
		if !isName(n.name) || len(n.name) > 100 {
			problems = append(problems, n.location.errorf("%s is not a name: use letters, digits, _ and -, starting with a letter", quote(n.name)))
			continue
		}
		if seen[n.name] {
			problems = append(problems, n.location.errorf("the field %s appears twice", quote(n.name)))
			continue
		}
		seen[n.name] = true
		f, err := r.buildField(n)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		fields = append(fields, f)
	}
	if len(problems) == 0 {
		problems = crossFieldProblems(fields, nodes)
	}
	return fields, problems
}

func crossFieldProblems(fields []Field, nodes []nodeField) []error {
	var problems []error
	for i, f := range fields {
		for _, v := range f.Validators {
			if _, ok := fieldNamed(fields, v.Field); v.Field != "" && !ok {
				problems = append(problems, nodes[i].location.errorf("the validator %s compares with %s, which is not a field here", v.Rule, quote(v.Field)))
			}
		}
	}
	return problems
}

func (r *Registry) buildField(n nodeField) (Field, error) {
	t, err := r.build(n.node)
	if err != nil {
		return Field{}, err
	}
	f := Field{Name: n.name, Type: t}
	if n.hasDefault {
		if f.Default, err = readDefault(t, n); err != nil {
			return Field{}, err
		}
	}
	f.Required = requiredByDefault(t, n.hasDefault) && !n.optional
	for _, key := range slices.Sorted(maps.Keys(n.attributes)) {
		if err := f.setAttribute(key, n.attributes[key]); err != nil {
			return Field{}, n.location.errorf("%s of field %s: %s", key, n.name, err.Error())
		}
	}
	if err := f.settleRules(n); err != nil {
		return Field{}, err
	}
	if err := f.checkDefault(n); err != nil {
		return Field{}, err
	}
	return f, nil
}

// readDefault checks a default value and keeps its canonical form.
func readDefault(t *Type, n nodeField) (json.RawMessage, error) {
	value := Plain(n.value)
	if !isToday(t, value) {
		canonical, problems := t.Normalize(value)
		if len(problems) > 0 {
			return nil, n.location.errorf("the default of %s: %s", n.name, problems[0].describe())
		}
		value = canonical
	}
	return encodeJSON(value)
}

func (p Problem) describe() string {
	if p.Path == "" {
		return p.Message
	}
	return p.Path + ": " + p.Message
}

func (f *Field) setAttribute(key string, value any) error {
	var ok bool
	switch key {
	case "description":
		f.Description, ok = value.(string)
		if !ok && value != nil {
			return fmt.Errorf("%s is not a string", quote(value))
		}
	case "required":
		if f.Required, ok = value.(bool); !ok {
			return fmt.Errorf("%s is neither true nor false", quote(value))
		}
	case "ui":
		return readHints(value, &f.Hints)
	case "validators":
		list, ok := value.([]any)
		if !ok {
			return fmt.Errorf("%s is not a list of rules", quote(value))
		}
		for _, raw := range list {
			v, err := readValidator(raw, f.Type)
			if err != nil {
				return err
			}
			f.Validators = append(f.Validators, v)
		}
	case "options":
		if _, expression := value.(string); !expression {
			return f.setSource(value)
		}
		return f.setRule(key, value)
	case "show_if", "required_if", "min", "max":
		return f.setRule(key, value)
	default:
		return fmt.Errorf("%s is not a known key; use required, description, ui, validators, show_if, required_if, min, max or options", quote(key))
	}
	return nil
}

// readHints reads UI hints. It rejects unknown keys, so that a misspelt hint is an error.
func readHints(raw any, hints *Hints) error {
	if raw == nil {
		return nil
	}
	return strictDecode(raw, hints)
}

// Schema is an ordered list of fields: the inputs or outputs of a workflow or
// operator. It marshals to the list form that ParseSchema reads.
type Schema struct{ Fields []Field }

// Field returns the field called name.
func (s Schema) Field(name string) (Field, bool) { return fieldNamed(s.Fields, name) }

// ParseSchema reads a list of fields, or {fields, required_fields, validators}.
// Every problem carries its path below path, such as "inputs[2].type".
func (r *Registry) ParseSchema(raw any, path string) (Schema, []apperr.Field) {
	list, required, validators, at, err := unwrapFields(Plain(raw), path)
	if err != nil {
		return Schema{}, []apperr.Field{problemOf(err, path)}
	}
	var nodes []nodeField
	var problems []apperr.Field
	for i, e := range list {
		row := fmt.Sprintf("%s[%d]", at, i)
		n, err := objectField(e, row, 0)
		if err != nil {
			problems = append(problems, problemOf(err, row))
			continue
		}
		n.merge(required, validators)
		nodes = append(nodes, n)
	}
	fields, errs := r.buildFields(nodes)
	if len(errs) == 0 {
		errs = ruleProblems(fields, nodes)
	}
	for _, err := range errs {
		problems = append(problems, problemOf(err, path))
	}
	for _, name := range required {
		if !slices.ContainsFunc(nodes, func(n nodeField) bool { return n.name == name }) {
			problems = append(problems, apperr.Field{Path: join(path, "required_fields"), Message: quote(name) + " is not a field."})
		}
	}
	return Schema{Fields: fields}, problems
}

// MarshalJSON writes the list of fields.
func (s Schema) MarshalJSON() ([]byte, error) {
	if s.Fields == nil {
		return []byte("[]"), nil
	}
	return encodeJSON(s.Fields)
}

// MarshalJSON writes the object form of the field, its type as an expression.
func (f Field) MarshalJSON() ([]byte, error) {
	out := map[string]any{"name": f.Name, "type": f.Type.String(), "required": f.Required}
	if f.Default != nil {
		out["default"] = f.Default
	}
	maps.Copy(out, f.attributes())
	return encodeJSON(out)
}
