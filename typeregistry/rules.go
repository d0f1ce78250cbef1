package typeregistry

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/engine/expression"
)

// Rules are expressions over the other fields of a schema, in the language of package
// expression. A field is named as itself, and as inputs.NAME. Empty ones do not apply.
type Rules struct {
	ShowIf     string `json:"show_if,omitempty"`     // whether the field applies; a hidden one has its default
	RequiredIf string `json:"required_if,omitempty"` // whether a value is required
	Min        string `json:"min,omitempty"`         // the smallest value, besides that of the type
	Max        string `json:"max,omitempty"`         // the largest value, besides that of the type
	Options    string `json:"options,omitempty"`     // the list of allowed values, besides those of the type

	parsed map[string]*expression.Expression // by key
}

// ruleKeys are the keys of rules, in the order in which they are evaluated.
func ruleKeys() []string { return []string{"show_if", "required_if", "min", "max", "options"} }

func (r *Rules) text(key string) *string {
	switch key {
	case "show_if":
		return &r.ShowIf
	case "required_if":
		return &r.RequiredIf
	case "min":
		return &r.Min
	case "max":
		return &r.Max
	}
	return &r.Options
}

// attributes are the rules as attributes of a field.
func (r *Rules) attributes() map[string]any {
	out := map[string]any{}
	for _, key := range ruleKeys() {
		if text := *r.text(key); text != "" {
			out[key] = text
		}
	}
	return out
}

// setRule reads one rule.
func (f *Field) setRule(key string, value any) error {
	text, ok := value.(string)
	if !ok {
		return fmt.Errorf("%s is not an expression; write one in quotes, such as \"kind == 'svc'\"", quote(value))
	}
	parsed, err := expression.Parse(text)
	if err != nil {
		return err
	}
	if f.Rules == nil {
		f.Rules = &Rules{parsed: map[string]*expression.Expression{}}
	}
	*f.Rules.text(key) = text
	f.Rules.parsed[key] = parsed
	return nil
}

// settleRules completes the rules of a field after all its attributes were read. A field that is
// required only while it is shown may be absent, so what it feeds must accept that.
func (f *Field) settleRules(n nodeField) error {
	r := f.Rules
	if r == nil {
		return nil
	}
	for _, key := range []string{"min", "max"} {
		if *r.text(key) != "" && f.Type.bounded() == nil {
			return n.location.errorf("%s of field %s: only numbers and dates have bounds", key, f.Name)
		}
	}
	explicit, present := n.attributes["required"].(bool)
	if r.RequiredIf != "" && present && explicit {
		return n.location.errorf("field %s has both required and required_if; use one of them", f.Name)
	}
	if r.ShowIf != "" && r.RequiredIf == "" && f.Required {
		r.RequiredIf, r.parsed["required_if"] = r.ShowIf, r.parsed["show_if"]
	}
	if r.RequiredIf != "" {
		f.Required = false
	}
	return nil
}

// bounded returns the type of a value with a smallest and a largest value, or nil.
func (t *Type) bounded() *Type {
	for t.Kind == KindOptional {
		t = t.Elem
	}
	switch t.Kind {
	case KindInteger, KindFloat, KindDate:
		return t
	}
	return nil
}

// reads returns the fields of a schema that the rules of f read.
func (f Field) reads(fields []Field) []string {
	var names []string
	add := func(refs []expression.Reference) {
		for _, ref := range refs {
			if name := readName(ref.Path, fields); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	for _, key := range ruleKeys() {
		if f.Rules == nil || f.Rules.parsed[key] == nil {
			continue
		}
		add(f.Rules.parsed[key].References())
	}
	f.EachSource("", func(_ string, part Field) { add(part.Source.references()) })
	return names
}

// readName is the field that a path reads: its first name, or the second after "inputs".
func readName(path []string, fields []Field) string {
	if _, own := fieldNamed(fields, path[0]); path[0] == "inputs" && !own && len(path) > 1 {
		return path[1]
	}
	return path[0]
}

// ruleProblems checks the rules of a whole schema: that what they read exists, and that they do
// not depend on each other in a cycle.
func ruleProblems(fields []Field, nodes []nodeField) []error {
	var problems []error
	for i, f := range fields {
		for _, name := range f.reads(fields) {
			if _, ok := fieldNamed(fields, name); !ok {
				problems = append(problems, nodes[i].location.errorf("a rule of field %s reads %s, which is not a field here.%s", f.Name, quote(name), suggest(name, fieldNames(fields))))
			}
		}
	}
	if len(problems) > 0 {
		return problems
	}
	if _, cycle := ruleOrder(fields); cycle != nil {
		i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == cycle[0] })
		problems = append(problems, nodes[i].location.errorf("the rules of these fields depend on each other: %s", strings.Join(cycle, " → ")))
	}
	return problems
}

// ruleOrder sorts fields so that each comes after those that it reads. Otherwise it returns the
// names of a cycle, the first one also at its end.
func ruleOrder(fields []Field) (order []int, cycle []string) {
	const visiting, done = 1, 2
	state := make([]int, len(fields))
	var path []string
	var visit func(i int) []string
	visit = func(i int) []string {
		switch state[i] {
		case done:
			return nil
		case visiting:
			return append(slices.Clone(path[slices.Index(path, fields[i].Name):]), fields[i].Name)
		}
		state[i], path = visiting, append(path, fields[i].Name)
		for _, name := range fields[i].reads(fields) {
			at := slices.IndexFunc(fields, func(f Field) bool { return f.Name == name })
			if at < 0 {
				continue
			}
			if found := visit(at); found != nil {
				return found
			}
		}
		state[i], path = done, path[:len(path)-1]
		order = append(order, i)
		return nil
	}
	for i := range fields {
		if found := visit(i); found != nil {
			return nil, found
		}
	}
	return order, nil
}

// Following returns the fields whose rules or options read one of the named fields, also through
// others.
func (s Schema) Following(names []string) map[string]bool {
	out := map[string]bool{}
	for _, f := range s.InOrderOfRules() {
		for _, name := range f.reads(s.Fields) {
			if out[name] || slices.Contains(names, name) {
				out[f.Name] = true
			}
		}
	}
	return out
}

// InOrderOfRules returns the fields so that each comes after those that its rules read.
func (s Schema) InOrderOfRules() []Field {
	order, _ := ruleOrder(s.Fields) // registration rejects cycles
	out := make([]Field, len(order))
	for i, at := range order {
		out[i] = s.Fields[at]
	}
	return out
}
