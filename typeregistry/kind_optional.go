package typeregistry

import (
	"fmt"
	"net/url"
)

// optionalKind is Optional<T>: a value of T, or none.
type optionalKind struct{ single }

func (optionalKind) entry() Entry {
	return Entry{Name: "Optional", Group: "container", Summary: "An optional value.", Example: "Optional<Integer>"}
}

func (optionalKind) shape() shape { return elemShape }

// composite is false for a scalar: its empty control means none.
func (optionalKind) composite(t *Type) bool { return t.Elem.IsComposite() }

func (optionalKind) prepare(t *Type) error {
	if t.Elem.Kind == KindOptional {
		return fmt.Errorf("the value is already optional; remove one Optional")
	}
	return nil
}

func (optionalKind) blob() bool { return false }

func (optionalKind) noun(t *Type) string { return t.Elem.impl.noun(t.Elem) }
func (optionalKind) hint(t *Type) string { return t.Elem.impl.hint(t.Elem) + " It is optional." }

func (optionalKind) normalize(c *checker, t *Type, path string, v any) any {
	inner := Field{Type: t.Elem}
	if v == nil || v == "" && inner.blankIsMissing() {
		return nil
	}
	return t.Elem.normalize(c, path, v)
}

func (optionalKind) jsonSchema(t *Type) map[string]any {
	alternatives := []any{t.Elem.JSONSchema(), map[string]any{"type": "null"}}
	if (Field{Type: t.Elem}).blankIsMissing() {
		alternatives = append(alternatives, map[string]any{"const": ""})
	}
	return map[string]any{"anyOf": alternatives}
}

// ui is the widget of the value; a composite value gets a checkbox that enables it.
func (optionalKind) ui(t *Type, f *UIField, env Env) {
	item := t.Elem.unnamed(f.Label, env)
	item.Required = false
	if t.Elem.IsComposite() || t.Elem.Kind == KindBoolean {
		f.Component, f.Item = "OptionalInput", &item
		return
	}
	own := *f
	*f = item
	f.Name, f.Label, f.Description, f.Type, f.Kind, f.Hint = own.Name, own.Label, own.Description, own.Type, own.Kind, own.Hint
	f.Item, f.Default, f.Validators = &item, nil, []UIValidator{}
}

// decode reads "$set" of a composite, and the control itself of a scalar; a
// control that is there but empty means none.
func (optionalKind) decode(r *formReader, t *Type, name, path string) (any, bool) {
	if set, present := r.text(name + ".$set"); present || t.Elem.IsComposite() {
		if set != "1" && set != "on" && set != "true" {
			return nil, present
		}
	}
	if t.Elem.Kind == KindBoolean {
		if text, ok := r.text(name); text == "" {
			return nil, ok
		}
	}
	v, present := t.Elem.impl.decode(r, t.Elem, name, path)
	if !present || v == "" {
		return v, t.Elem.IsComposite() || r.has(name)
	}
	return v, true
}

func (optionalKind) encode(t *Type, v any, name string, out url.Values) {
	switch {
	case t.Elem.IsComposite():
		if v == nil {
			out.Set(name+".$set", "0")
			return
		}
		out.Set(name+".$set", "1")
	case v == nil:
		out.Set(name, "")
		return
	case t.Elem.Kind == KindBoolean:
		out.Set(name, inputText(v))
		return
	}
	t.Elem.impl.encode(t.Elem, v, name, out)
}

func (optionalKind) control(r *formReader, t *Type, name string, segments []string) string {
	return t.Elem.impl.control(r, t.Elem, name, segments)
}

func (optionalKind) render(t *Type, v any) string {
	if v == nil {
		return "none"
	}
	return t.Elem.Render(v)
}

func (optionalKind) accept(t, from *Type) error {
	if from.Kind == KindOptional {
		from = from.Elem
	}
	return Assignable(from, t.Elem)
}
