package typeregistry

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/apperr"
)

// Parse reads a type expression. The error is a *SyntaxError that names the column.
func (r *Registry) Parse(expr string) (*Type, error) {
	n, err := parseExpression(expr)
	if err != nil {
		return nil, err
	}
	return r.build(n)
}

// ParseNode reads decoded YAML or JSON: a string expression, or the object form.
func (r *Registry) ParseNode(raw any) (*Type, error) {
	n, err := objectNode(Plain(raw), "", 0)
	if err != nil {
		return nil, err
	}
	return r.build(n)
}

// problemOf turns an error of this package into an invalid field below path.
func problemOf(err error, path string) apperr.Field {
	if fault, ok := errors.AsType[*formError](err); ok {
		if fault.path == "" {
			return apperr.Field{Path: path, Message: fault.message}
		}
		return apperr.Field{Path: fault.path, Message: fault.message}
	}
	return apperr.Field{Path: path, Message: err.Error()}
}

func (r *Registry) names() []string {
	return append(slices.Clone(r.order), slices.Sorted(maps.Keys(r.customs))...)
}

// build resolves a parsed type.
func (r *Registry) build(n *node) (*Type, error) {
	if c, ok := r.customs[n.name]; ok {
		if len(n.params)+len(n.args)+len(n.types) > 0 || n.braces {
			return nil, n.location.errorf("%s does not accept parameters here: they are part of its definition", n.name)
		}
		return c.typ, nil
	}
	impl, ok := r.kinds[n.name]
	if !ok {
		return nil, n.location.errorf("%s is not a type.%s", quote(n.name), suggest(n.name, r.names()))
	}
	t := &Type{Kind: Kind(n.name), impl: impl}
	if err := r.buildParts(t, n); err != nil {
		return nil, err
	}
	if err := buildParams(t, n); err != nil {
		return nil, err
	}
	if err := impl.prepare(t); err != nil {
		return nil, n.location.errorf("%s: %s", n.name, err.Error())
	}
	return t, nil
}

// buildParts reads the parts in < > and { }.
func (r *Registry) buildParts(t *Type, n *node) error {
	s := t.impl.shape()
	if n.braces && s != fieldsShape && s != freeShape {
		return n.location.errorf("%s has no fields", n.name)
	}
	if len(n.types) > 0 && !slices.Contains([]shape{elemShape, mapShape, variantsShape, wordShape}, s) {
		return n.location.errorf("%s does not accept a type in < >", n.name)
	}
	switch s {
	case elemShape:
		return r.buildElem(t, n, n.types)
	case mapShape:
		types := n.types
		if len(types) == 2 {
			if key := types[0].node; key.name != string(KindString) || len(key.params) > 0 {
				return key.location.errorf("the keys of a Map are always String; use key_pattern to restrict them")
			}
			types = types[1:]
		}
		return r.buildElem(t, n, types)
	case variantsShape:
		return r.buildVariants(t, n)
	case wordShape:
		return buildWord(n)
	case fieldsShape, freeShape:
		if s == fieldsShape && len(n.fields) == 0 && !n.sets("extra") {
			return n.location.errorf("%s must have at least one field, such as %s{name: String}", n.name, n.name)
		}
		fields, problems := r.buildFields(n.fields)
		if len(problems) > 0 {
			return problems[0]
		}
		for i, f := range fields {
			if f.Rules != nil {
				return n.fields[i].location.errorf("field %s of %s has a rule (show_if, required_if, min, max or options); only inputs have rules", f.Name, n.name)
			}
		}
		t.Fields = fields
	}
	return nil
}

// sets reports whether a parameter is true.
func (n *node) sets(parameter string) bool {
	return slices.ContainsFunc(n.params, func(p nodeParam) bool { return p.name == parameter && p.value == true })
}

// buildWord turns the word in < > into the first parameter of the kind.
func buildWord(n *node) error {
	if len(n.types) == 0 {
		return nil
	}
	word := n.types[0].node
	if len(n.types) > 1 || n.types[0].tag != "" || word.braces || len(word.types)+len(word.params)+len(word.args) > 0 {
		return n.location.errorf("%s<…> must contain one word, such as %s<postgres>", n.name, n.name)
	}
	n.params = append(n.params, nodeParam{location: word.location, name: "kind", value: word.name})
	return nil
}

func (r *Registry) buildElem(t *Type, n *node, types []nodeType) error {
	if len(types) != 1 || n.union || types[0].tag != "" {
		return n.location.errorf("%s must have one type, such as %s", n.name, t.impl.entry().Example)
	}
	elem, err := r.build(types[0].node)
	t.Elem = elem
	return err
}

func (r *Registry) buildVariants(t *Type, n *node) error {
	if len(n.types) < 2 || !n.union {
		return n.location.errorf("Union must have two or more types separated by |, such as Union<Integer | String>")
	}
	for _, arg := range n.types {
		typ, err := r.build(arg.node)
		if err != nil {
			return err
		}
		if typ.Kind == KindOptional {
			return arg.node.location.errorf("a Union cannot contain an Optional; make the Union itself optional")
		}
		t.Variants = append(t.Variants, Variant{Tag: arg.tag, Type: typ})
	}
	seen := map[string]bool{}
	for i, tag := range defaultTags(t.Variants) {
		v := &t.Variants[i]
		if v.Tag == "" {
			v.Tag = tag
		}
		if !isName(v.Tag) {
			return n.types[i].node.location.errorf("%s is not a tag: letters, digits, _ and - only", quote(v.Tag))
		}
		if seen[v.Tag] {
			return n.types[i].node.location.errorf("two variants have the tag %s; give one a different tag, such as other: %s", quote(v.Tag), v.Type.Name())
		}
		seen[v.Tag] = true
	}
	return nil
}

// defaultTags returns the tags of variants without an explicit tag: the name of the type,
// with its element type where that distinguishes two variants.
func defaultTags(variants []Variant) []string {
	count := map[string]int{}
	for _, v := range variants {
		count[v.Type.Name()]++
	}
	tags := make([]string, len(variants))
	for i, v := range variants {
		tags[i] = v.Type.Name()
		if count[tags[i]] > 1 && v.Type.Elem != nil {
			tags[i] += "Of" + v.Type.Elem.Name()
		}
	}
	return tags
}

// buildParams reads the parameters in ( ).
func buildParams(t *Type, n *node) error {
	if len(n.args) > 0 && t.impl.shape() != optionsShape {
		return n.location.errorf("%s: %s must have a name, such as min=1", n.name, quote(n.args[0]))
	}
	for _, arg := range n.args {
		t.Params.Options = append(t.Params.Options, readOption(arg))
	}
	seen := map[string]bool{}
	for _, given := range n.params {
		p, ok := parameterNamed(t.impl, given.name)
		if !ok {
			return given.location.errorf("%s has no parameter %s.%s", n.name, quote(given.name), parameterHelp(t.impl, given.name))
		}
		if seen[p.name] {
			return given.location.errorf("the parameter %s appears twice", p.name)
		}
		seen[p.name] = true
		if err := p.set(&t.Params, given.value); err != nil {
			return given.location.errorf("%s: %s", p.name, err.Error())
		}
	}
	return nil
}

func readOption(raw any) Option {
	if object, ok := raw.(map[string]any); ok && object["value"] != nil {
		label, _ := object["label"].(string)
		return Option{Value: canonicalScalar(object["value"]), Label: label}
	}
	return Option{Value: canonicalScalar(raw)}
}

func parameterNamed(impl behaviour, name string) (parameter, bool) {
	for _, p := range impl.params() {
		if p.named(name) {
			return p, true
		}
	}
	return parameter{}, false
}

func parameterHelp(impl behaviour, name string) string {
	var names []string
	for _, p := range impl.params() {
		names = append(names, p.name)
	}
	if len(names) == 0 {
		return " It has no parameters."
	}
	if s := suggest(name, names); s != "" {
		return s
	}
	return fmt.Sprintf(" Its parameters are %s.", strings.Join(names, ", "))
}

// ListOf returns List<elem>.
func ListOf(elem *Type) *Type { return &Type{Kind: KindList, Elem: elem, impl: listKind{}} }

// Plainly returns the built-in type of a kind without required parameters, or nil for other kinds.
func Plainly(kind Kind) *Type {
	t, err := Builtin().Parse(string(kind))
	if err != nil {
		return nil
	}
	return t
}

// OptionalOf returns Optional<elem>, or elem itself if it is already optional.
func OptionalOf(elem *Type) *Type {
	if elem.Kind == KindOptional {
		return elem
	}
	return &Type{Kind: KindOptional, Elem: elem, impl: optionalKind{}}
}
