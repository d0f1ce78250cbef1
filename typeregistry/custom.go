package typeregistry

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/apperr"
)

// CustomType defines a type on top of another.
type CustomType struct {
	Name        string `json:"type_name"`
	Extends     any    `json:"extends"` // a type expression or the object form; it may name custom types
	Description string `json:"description,omitempty"`
	// Schema has the parameters of the extended type ("min", "framework"), the
	// fields of a Struct or HyperparameterSet ("fields"), and any other facts
	// about the type, which are kept and shown.
	Schema     map[string]any `json:"schema,omitempty"`
	UIRenderer any            `json:"ui_renderer,omitempty"`      // see Renderer
	Rules      []any          `json:"validation_rules,omitempty"` // as for field validators
}

// custom is a resolved custom type.
type custom struct {
	def CustomType
	typ *Type
}

func (c *custom) entry() Entry {
	base := c.typ.impl.entry()
	def := c.def
	summary := def.Description
	if summary == "" {
		summary = "A " + fmt.Sprint(literalName(def.Extends)) + " subtype."
	}
	return Entry{Name: def.Name, Kind: c.typ.Kind, Group: base.Group, Summary: summary, Example: def.Name,
		Parameters: []Parameter{}, Custom: &def}
}

func literalName(extends any) any {
	if s, ok := extends.(string); ok {
		return s
	}
	return compactJSON(extends)
}

// With returns a registry that also contains defs, which may refer to each other in any
// order. Every problem names the definition by position, "types[1].extends"; with
// problems the registry is nil.
func (r *Registry) With(defs ...CustomType) (*Registry, []apperr.Field) {
	w := &definitionResolver{
		registry: &Registry{kinds: r.kinds, order: r.order, customs: maps.Clone(r.customs)},
		pending:  map[string]int{}, defs: defs,
	}
	for i, def := range defs {
		if reason := w.nameProblem(def.Name); reason != "" {
			w.problem(i, "type_name", reason)
			continue
		}
		w.pending[def.Name] = i
	}
	for _, def := range defs {
		w.resolve(def.Name, nil)
	}
	if len(w.problems) > 0 {
		return nil, w.problems
	}
	return w.registry, nil
}

// definitionResolver resolves definitions that name each other.
type definitionResolver struct {
	registry *Registry
	defs     []CustomType
	pending  map[string]int // definitions not resolved yet, by position
	problems []apperr.Field
}

func (w *definitionResolver) problem(i int, key, message string) {
	w.problems = append(w.problems, apperr.Field{Path: fmt.Sprintf("types[%d].%s", i, key), Message: message})
}

func (w *definitionResolver) nameProblem(name string) string {
	switch {
	case !isName(name) || name[0] < 'A' || name[0] > 'Z' || strings.Contains(name, "-") || len(name) > 100:
		return quote(name) + " is not a type name. Enter letters and digits, starting with a capital letter, such as RankingModel."
	case w.registry.kinds[name] != nil:
		return quote(name) + " is a built-in type. Enter another name."
	case w.registry.customs[name] != nil:
		return "There is a type " + quote(name) + " already. Enter another name."
	}
	if _, twice := w.pending[name]; twice {
		return quote(name) + " is defined twice."
	}
	return ""
}

// resolve builds the definition called name after its dependencies; trail is the chain of
// definitions being resolved.
func (w *definitionResolver) resolve(name string, trail []string) {
	i, ok := w.pending[name]
	if !ok {
		return
	}
	if at := slices.Index(trail, name); at >= 0 {
		delete(w.pending, name)
		w.problem(i, "extends", "The definition is circular: "+strings.Join(append(trail[at:], name), " → ")+".")
		return
	}
	def := w.defs[i]
	key := ""
	n, err := definitionNode(def)
	if err == nil {
		for _, used := range n.mentions(nil) {
			w.resolve(used, append(slices.Clone(trail), name))
		}
	}
	if _, still := w.pending[name]; !still {
		return
	}
	delete(w.pending, name)
	if err == nil {
		var typ *Type
		if typ, key, err = w.registry.buildCustom(def, n); err == nil {
			w.registry.customs[name] = &custom{def: def, typ: typ}
			return
		}
	}
	fault := problemOf(err, key)
	w.problem(i, fault.Path, fault.Message)
}

// mentions lists the type names that n uses.
func (n *node) mentions(names []string) []string {
	names = append(names, n.name)
	for _, t := range n.types {
		names = t.node.mentions(names)
	}
	for _, f := range n.fields {
		names = f.node.mentions(names)
	}
	return names
}

// definitionNode reads extends, and the fields that the schema adds to it.
func definitionNode(def CustomType) (*node, error) {
	n, err := objectNode(Plain(def.Extends), "extends", 0)
	if err != nil {
		return nil, err
	}
	takesFields := n.name == string(KindStruct) || n.name == string(KindHyperparam)
	if fields, ok := def.Schema["fields"]; ok && takesFields {
		n.braces = true
		schema := map[string]any{"fields": fields}
		for _, key := range []string{"required_fields", "validators"} {
			if def.Schema[key] != nil {
				schema[key] = def.Schema[key]
			}
		}
		if n.fields, err = objectFields(Plain(schema), "schema", 0); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// buildCustom makes the type of a definition whose dependencies are known.
func (r *Registry) buildCustom(def CustomType, n *node) (t *Type, key string, err error) {
	if base, ok := r.customs[n.name]; ok && len(n.params) == 0 {
		shallow := *base.typ
		t = &shallow
	} else if t, err = r.build(n); err != nil {
		return nil, "extends", err
	}
	for _, key := range slices.Sorted(maps.Keys(def.Schema)) {
		if p, ok := parameterNamed(t.impl, key); ok {
			if err := p.set(&t.Params, Plain(def.Schema[key])); err != nil {
				return nil, "schema", fmt.Errorf("%s: %w", key, err)
			}
		}
	}
	if err := t.impl.prepare(t); err != nil {
		return nil, "schema", err
	}
	t.Rules = slices.Clone(t.Rules)
	for _, raw := range def.Rules {
		v, err := readValidator(Plain(raw), t)
		if err == nil && v.Field != "" {
			err = fmt.Errorf("%s compares fields; use it on a field of the schema", v.Rule)
		}
		if err != nil {
			return nil, "validation_rules", err
		}
		t.Rules = append(t.Rules, v)
	}
	t.bases = append([]string{def.Name}, t.bases...)
	t.Custom = def.Name
	if err := t.render(def); err != nil {
		return nil, "ui_renderer", err
	}
	return t, "", nil
}

func (t *Type) holdsFields() bool {
	return t.impl.shape() == fieldsShape || t.impl.shape() == freeShape
}

// UnmarshalCustomType parses the JSON of a definition and rejects unknown keys.
func UnmarshalCustomType(data []byte) (CustomType, error) {
	var def CustomType
	v, err := DecodeJSON(data)
	if err == nil {
		err = strictDecode(v, &def)
	}
	return def, err
}
