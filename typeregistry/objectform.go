package typeregistry

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/apperr"
)

// objectNode reads the object form of a type: an expression in a string, or an
// object with "type" and the parameters.
func objectNode(raw any, path string, depth int) (*node, error) {
	if depth > maxDepth {
		return nil, location{path: path}.errorf("types can be nested at most %d levels deep", maxDepth)
	}
	switch x := raw.(type) {
	case string:
		n, err := parseExpression(x)
		if err != nil && path != "" {
			return nil, &formError{path: path, message: err.Error()}
		}
		if err == nil && path != "" {
			n.below(path)
		}
		return n, err
	case map[string]any:
		o := objectReader{object: x, path: path, depth: depth}
		return o.read()
	}
	return nil, location{path: path}.errorf("%s is not a type; write an expression such as Integer(min=1), or an object with the key type", quote(raw))
}

// objectReader reads one object; every key must be used.
type objectReader struct {
	object map[string]any
	path   string
	depth  int
}

func (o objectReader) read() (*node, error) {
	raw, ok := o.object["type"]
	if !ok {
		raw, ok = o.object["type_name"]
	}
	if !ok {
		return nil, location{path: o.path}.errorf("the key type is missing")
	}
	n, err := objectNode(raw, join(o.path, "type"), o.depth+1)
	if err != nil {
		return nil, err
	}
	n.location = location{path: o.path}
	for _, key := range slices.Sorted(maps.Keys(o.object)) {
		if key == "type" || key == "type_name" {
			continue
		}
		if err := o.key(n, key, o.object[key]); err != nil {
			return nil, err
		}
	}
	return n, nil
}

func (o objectReader) key(n *node, key string, value any) error {
	at := location{path: join(o.path, key)}
	switch kind := Kind(n.name); {
	case slices.Contains([]string{"of", "item", "items", "element", "value"}, key) && slices.Contains([]Kind{KindList, KindMap, KindOptional}, kind):
		elem, err := objectNode(value, at.path, o.depth+1)
		n.types = append(n.types, nodeType{node: elem})
		return err
	case key == "variants" && kind == KindUnion:
		n.union = true
		return o.variants(n, at, value)
	case slices.Contains([]string{"fields", "parameters", "schema"}, key) && slices.Contains([]Kind{KindStruct, KindHyperparam}, kind):
		n.braces = true
		fields, err := objectFields(value, at.path, o.depth+1)
		n.fields = fields
		return err
	case (key == "options" || key == "values" || key == "enum_values") && kind == KindEnum:
		list, ok := value.([]any)
		if !ok {
			return at.errorf("%s is not a list of options", quote(value))
		}
		n.args = append(n.args, list...)
		return nil
	case key == "parameters":
		object, ok := value.(map[string]any)
		if !ok {
			return at.errorf("%s is not an object of parameters", quote(value))
		}
		for _, name := range slices.Sorted(maps.Keys(object)) {
			n.params = append(n.params, nodeParam{location{path: join(at.path, name)}, name, object[name]})
		}
		return nil
	}
	n.params = append(n.params, nodeParam{at, key, value})
	return nil
}

func (o objectReader) variants(n *node, at location, value any) error {
	list, ok := value.([]any)
	if !ok {
		return at.errorf("%s is not a list of variants", quote(value))
	}
	for i, raw := range list {
		path := fmt.Sprintf("%s[%d]", at.path, i)
		var arg nodeType
		if object, ok := raw.(map[string]any); ok && object["tag"] != nil {
			object = maps.Clone(object)
			arg.tag, _ = object["tag"].(string)
			delete(object, "tag")
			raw = object
		}
		variant, err := objectNode(raw, path, o.depth+1)
		if err != nil {
			return err
		}
		arg.node = variant
		n.types = append(n.types, arg)
	}
	return nil
}

// objectFields reads a list of field objects, or {fields, required_fields}.
func objectFields(raw any, path string, depth int) ([]nodeField, error) {
	list, required, validators, path, err := unwrapFields(raw, path)
	if err != nil {
		return nil, err
	}
	var fields []nodeField
	for i, e := range list {
		f, err := objectField(e, fmt.Sprintf("%s[%d]", path, i), depth)
		if err != nil {
			return nil, err
		}
		f.merge(required, validators)
		fields = append(fields, f)
	}
	return fields, nil
}

// unwrapFields takes the list of fields out of the two forms that a schema may
// have; at is the path of the list.
func unwrapFields(raw any, path string) (list []any, required []string, validators []any, at string, err error) {
	if raw == nil {
		return nil, nil, nil, path, nil
	}
	if object, ok := raw.(map[string]any); ok && object["fields"] != nil {
		for _, key := range slices.Sorted(maps.Keys(object)) {
			if !slices.Contains([]string{"fields", "required_fields", "validators"}, key) {
				return nil, nil, nil, path, location{path: join(path, key)}.errorf("%s is not a known key; use fields, required_fields or validators", quote(key))
			}
		}
		if names, ok := object["required_fields"].([]any); ok {
			required = []string{}
			for _, name := range names {
				required = append(required, fmt.Sprint(name))
			}
		}
		validators, _ = object["validators"].([]any)
		raw, path = object["fields"], join(path, "fields")
	}
	list, ok := raw.([]any)
	if !ok {
		return nil, nil, nil, path, location{path: path}.errorf("this must be a list of fields, each with name and type")
	}
	return list, required, validators, path, nil
}

// merge applies the settings of a schema to its fields by name.
func (f *nodeField) merge(required []string, validators []any) {
	if slices.Contains(required, f.name) {
		f.attributes["required"] = true
	} else if _, present := f.attributes["required"]; required != nil && !present {
		f.attributes["required"] = false
	}
	for _, raw := range validators {
		rule, ok := raw.(map[string]any)
		if !ok || rule["field"] != f.name {
			continue
		}
		rule = maps.Clone(rule)
		delete(rule, "field")
		if other, ok := rule["other"]; ok {
			rule["field"] = other
			delete(rule, "other")
		}
		mine, _ := f.attributes["validators"].([]any)
		f.attributes["validators"] = append(slices.Clone(mine), rule)
	}
}

// objectField reads one field object.
func objectField(raw any, path string, depth int) (nodeField, error) {
	object, ok := raw.(map[string]any)
	f := nodeField{location: location{path: path}, attributes: map[string]any{}}
	if !ok {
		return f, f.location.errorf("%s is not a field; write an object with name and type", quote(raw))
	}
	if f.name, ok = object["name"].(string); !ok {
		return f, location{path: join(path, "name")}.errorf("a field must have a name")
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		value := object[key]
		switch key {
		case "name", "type":
		case "default", "default_value":
			f.hasDefault, f.value = value != nil, value
		case "ui_hints":
			f.attributes["ui"] = value
		case "required", "description", "ui", "validators", "show_if", "required_if", "min", "max", "options":
			f.attributes[key] = value
		default:
			return f, location{path: join(path, key)}.errorf("%s is not a known key; a field has name, type, description, default, required, ui, validators, show_if, required_if, min, max and options", quote(key))
		}
	}
	if object["type"] == nil {
		return f, location{path: join(path, "type")}.errorf("a field must have a type, such as Integer")
	}
	var err error
	f.node, err = objectNode(object["type"], join(path, "type"), depth+1)
	return f, err
}

// suggest returns a "Did you mean" sentence with the closest candidate.
func suggest(word string, candidates []string) string {
	best, least := "", 3
	for _, c := range candidates {
		if d := apperr.Distance(strings.ToLower(word), strings.ToLower(c)); d < least && 2*d <= len(word) {
			best, least = c, d
		}
	}
	if best == "" {
		return ""
	}
	return " Did you mean " + quote(best) + "?"
}
