package typeregistry

import (
	"maps"
	"slices"
	"strings"
)

// Assemble returns values in which dotted names, such as hyperparameters.learning_rate, are set in
// the objects to which they belong. An object that is not given starts from its default. A dotted
// name whose field does not exist or has no fields stays as it is, and CheckAll reports it.
func (s Schema) Assemble(values map[string]any, env Env) map[string]any {
	return assemble(&checker{env: env}, s.Fields, values)
}

func assemble(c *checker, fields []Field, values map[string]any) map[string]any {
	dotted := slices.DeleteFunc(slices.Sorted(maps.Keys(values)), func(name string) bool { return !strings.Contains(name, ".") })
	if len(dotted) == 0 {
		return values
	}
	out := maps.Clone(values)
	for _, name := range dotted {
		if setPart(c, fields, out, name, values[name]) {
			delete(out, name)
		}
	}
	return out
}

// setPart sets the field that a dotted name names, and reports whether there is such a field.
// It copies the objects that it changes.
func setPart(c *checker, fields []Field, values map[string]any, name string, value any) bool {
	first, rest, _ := strings.Cut(name, ".")
	f, ok := fieldNamed(fields, first)
	if !ok {
		return false
	}
	inner := objectType(f.Type)
	if inner == nil {
		return false
	}
	given := values[first]
	if given == nil {
		given, _ = f.fill(c)
	}
	object, isObject := given.(map[string]any)
	if given != nil && !isObject {
		return false
	}
	object = maps.Clone(object)
	if object == nil {
		object = map[string]any{}
	}
	if !strings.Contains(rest, ".") {
		object[rest] = value
	} else if !setPart(c, inner.Fields, object, rest, value) {
		return false
	}
	values[first] = object
	return true
}

// objectType is the type with fields that t is or may be, nil for others.
func objectType(t *Type) *Type {
	if t.Kind == KindOptional {
		t = t.Elem
	}
	if t.holdsFields() {
		return t
	}
	return nil
}
