package typeregistry

import (
	"net/url"
)

// OthersControl is the name, below the control of a Struct with extra=true, of the control with its
// other fields: rows of names and JSON values, as of a Map.
const OthersControl = "$extra"

// variantKey names the variant of a Union next to the fields of a Struct.
const variantKey = "$type"

// Others is the type of the fields that a Struct with extra=true does not declare, as a Map. It is
// nil for other types.
func (t *Type) Others() *Type {
	if !t.Params.Extra {
		return nil
	}
	return &Type{Kind: KindMap, impl: mapKind{}, Elem: &Type{Kind: KindJSON, impl: jsonKind{}}}
}

// divide returns the declared fields of an object and the others. Without extra=true, all count as
// declared.
func (t *Type) divide(object map[string]any) (declared, others map[string]any) {
	if !t.Params.Extra {
		return object, nil
	}
	declared, others = make(map[string]any, len(t.Fields)), map[string]any{}
	for name, value := range object {
		if _, ok := t.FieldNamed(name); ok {
			declared[name] = value
		} else {
			others[name] = value
		}
	}
	return declared, others
}

func (t *Type) normalizeOther(c *checker, path, key string, value any) any {
	switch key {
	case "":
		c.problem(path, "A name is empty. Enter a name for every value.")
	case variantKey:
		c.problem(path, "The name "+quote(key)+" is reserved. Enter another name.")
	}
	checkText(c, path, key)
	return t.Others().Elem.normalize(c, join(path, key), value)
}

// decodeOthers adds the other fields to the declared ones.
func (t *Type) decodeOthers(r *formReader, name, path string, out map[string]any) {
	if !t.Params.Extra {
		return
	}
	found, _ := mapKind{}.decode(r, t.Others(), join(name, OthersControl), path)
	others, _ := found.(map[string]any)
	for key, value := range others {
		if _, declared := t.FieldNamed(key); declared {
			r.problem(path, "The name "+quote(key)+" is used twice. Enter the value in the field with this name.")
			continue
		}
		out[key] = value
	}
}

func (t *Type) encodeOthers(object map[string]any, name string, out url.Values) {
	if !t.Params.Extra {
		return
	}
	_, others := t.divide(object)
	mapKind{}.encode(t.Others(), others, join(name, OthersControl), out)
}
