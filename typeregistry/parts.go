package typeregistry

import (
	"maps"
	"strings"
)

// Assemble returns values in which dotted names, such as hyperparameters.learning_rate, are set in
// the objects to which they belong. An object that is not given starts from its default. A dotted
// name whose field does not exist or has no fields stays as it is, and CheckAll reports it.
func (s Schema) Assemble(values map[string]any, env Env) map[string]any {
	return assemble(&checker{env: env}, s.Fields, values)
}

func assemble(c *checker, fields []Field, values map[string]any) map[string]any {
	parts := map[string]map[string]any{} // by the first segment of their names
	for name, value := range values {
		if first, rest, dotted := strings.Cut(name, "."); dotted {
			if parts[first] == nil {
				parts[first] = map[string]any{}
			}
			parts[first][rest] = value
		}
	}
	if len(parts) == 0 {
		return values
	}
	out := maps.Clone(values)
	for first, rest := range parts {
		object, left, ok := setParts(c, fields, values[first], first, rest)
		if !ok {
			continue
		}
		out[first] = object
		for name := range rest {
			if _, stays := left[name]; !stays {
				delete(out, first+"."+name)
			}
		}
	}
	return out
}

// setParts returns a copy of the object called name with parts, by their names in it, and the parts
// that do not fit in it. It returns false if no part fits.
func setParts(c *checker, fields []Field, given any, name string, parts map[string]any) (map[string]any, map[string]any, bool) {
	f, ok := fieldNamed(fields, name)
	if !ok {
		return nil, nil, false
	}
	inner := objectType(f.Type)
	if inner == nil {
		return nil, nil, false
	}
	if given == nil {
		given, _ = f.fill(c)
	}
	object, isObject := given.(map[string]any)
	if given != nil && !isObject {
		return nil, nil, false
	}
	object = maps.Clone(object)
	if object == nil {
		object = make(map[string]any, len(parts))
	}
	left := map[string]any{}
	deeper := map[string]map[string]any{}
	for part, value := range parts {
		first, rest, dotted := strings.Cut(part, ".")
		if !dotted {
			object[part] = value
			continue
		}
		if deeper[first] == nil {
			deeper[first] = map[string]any{}
		}
		deeper[first][rest] = value
	}
	for first, rest := range deeper {
		set, wrong, ok := setParts(c, inner.Fields, object[first], first, rest)
		if !ok {
			wrong = rest
		} else {
			object[first] = set
		}
		for part, value := range wrong {
			left[first+"."+part] = value
		}
	}
	return object, left, len(left) < len(parts)
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
