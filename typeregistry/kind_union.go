package typeregistry

import (
	"fmt"
	"maps"
	"net/url"
	"strings"
)

// unionKind is Union<A | B>: a value of one variant under the variant's tag:
// {"$type": "Tag", "value": v}, or the fields of a Struct alongside "$type". A value
// without a tag belongs to the first variant that accepts it.
type unionKind struct{ single }

func (unionKind) entry() Entry {
	return Entry{Name: "Union", Group: "container", Summary: "A value of one of several types, including structs and lists.",
		Example: "Union<Adam: Struct{beta_1: Float = 0.9} | SGD: Struct{momentum: Float(min=0, max=1) = 0}>"}
}

func (unionKind) shape() shape         { return variantsShape }
func (unionKind) composite(*Type) bool { return true }
func (unionKind) noun(*Type) string    { return "one of the variants" }

func (unionKind) hint(t *Type) string { return "Choose " + listed(tags(t)) + "." }

func tags(t *Type) []string {
	out := make([]string, len(t.Variants))
	for i, v := range t.Variants {
		out[i] = v.Tag
	}
	return out
}

func variantNamed(t *Type, tag string) (*Type, bool) {
	for _, v := range t.Variants {
		if v.Tag == tag {
			return v.Type, true
		}
	}
	return nil, false
}

// inlinesFields reports whether the variant's fields are stored alongside "$type".
func inlinesFields(variant *Type) bool { return variant.holdsFields() }

func wrapVariant(tag string, variant *Type, value any) any {
	if object, ok := value.(map[string]any); ok && inlinesFields(variant) {
		out := maps.Clone(object)
		out["$type"] = tag
		return out
	}
	return map[string]any{"$type": tag, "value": value}
}

// unwrapVariant takes a tagged value apart; ok is false for a value without tag.
func unwrapVariant(t *Type, v any) (tag string, variant *Type, value any, ok bool) {
	object, isObject := v.(map[string]any)
	tag, tagged := object["$type"].(string)
	if !isObject || !tagged {
		return "", nil, v, false
	}
	variant, known := variantNamed(t, tag)
	if known && inlinesFields(variant) {
		rest := maps.Clone(object)
		delete(rest, "$type")
		return tag, variant, rest, true
	}
	return tag, variant, object["value"], true
}

func (k unionKind) normalize(c *checker, t *Type, path string, v any) any {
	tag, variant, value, tagged := unwrapVariant(t, v)
	switch {
	case tagged && variant == nil:
		c.problem(join(path, "$type"), sentence("There is no variant "+quote(tag)+".", k.hint(t)))
		return v
	case tagged:
		if object, _ := v.(map[string]any); !inlinesFields(variant) {
			refuseUnknown(c, path, object, "$type", "value")
		}
		return wrapVariant(tag, variant, variant.normalize(c, below(variant, path), value))
	}
	if v == nil {
		return c.wrong(t, path, v)
	}
	for _, variant := range t.Variants {
		probe := &checker{env: c.env}
		if out := variant.Type.normalize(probe, path, v); len(probe.problems) == 0 {
			return wrapVariant(variant.Tag, variant.Type, out)
		}
	}
	c.problem(path, sentence("The value matches none of the variants.", k.hint(t)))
	return v
}

func (unionKind) jsonSchema(t *Type) map[string]any {
	var alternatives []any
	for _, v := range t.Variants {
		alternatives = append(alternatives, taggedSchema(v), map[string]any{
			"allOf": []any{v.Type.JSONSchema(), map[string]any{"not": map[string]any{
				"type": "object", "required": []any{"$type"}, "properties": map[string]any{"$type": map[string]any{"type": "string"}}}}},
		})
	}
	return map[string]any{"anyOf": alternatives, "not": map[string]any{"type": "null"}}
}

func taggedSchema(v Variant) map[string]any {
	inner := v.Type.JSONSchema()
	tag := map[string]any{"const": v.Tag}
	if !inlinesFields(v.Type) {
		return map[string]any{"type": "object", "title": v.Tag, "properties": map[string]any{"$type": tag, "value": inner},
			"required": []any{"$type", "value"}, "additionalProperties": false}
	}
	properties, _ := inner["properties"].(map[string]any)
	properties = maps.Clone(properties)
	if properties == nil {
		properties = map[string]any{}
	}
	properties["$type"] = tag
	required, _ := inner["required"].([]any)
	if inner["propertyNames"] != nil {
		inner["propertyNames"] = map[string]any{"minLength": 1}
	}
	inner["properties"], inner["required"], inner["title"] = properties, append([]any{"$type"}, required...), v.Tag
	return inner
}

func (unionKind) ui(t *Type, f *UIField, env Env) {
	f.Component = "UnionSelect"
	for _, v := range t.Variants {
		f.Variants = append(f.Variants, UIVariant{Tag: v.Tag, Label: Humanize(v.Tag), Field: v.Type.unnamed(Humanize(v.Tag), env)})
	}
}

// below is the path of the variant's value in a union at path.
func below(variant *Type, path string) string {
	if inlinesFields(variant) {
		return path
	}
	return join(path, "value")
}

func (unionKind) decode(r *formReader, t *Type, name, path string) (any, bool) {
	tag, ok := r.text(name + ".$type")
	if !ok || tag == "" {
		return nil, false
	}
	variant, known := variantNamed(t, tag)
	if !known {
		return map[string]any{"$type": tag}, true
	}
	value, present := variant.impl.decode(r, variant, join(name, tag), below(variant, path))
	if !present && inlinesFields(variant) {
		value = map[string]any{}
	}
	return wrapVariant(tag, variant, value), true
}

func (unionKind) encode(t *Type, v any, name string, out url.Values) {
	tag, variant, value, tagged := unwrapVariant(t, v)
	if !tagged {
		canonical, problems := t.Normalize(v)
		if tag, variant, value, tagged = unwrapVariant(t, canonical); !tagged || len(problems) > 0 {
			return
		}
	}
	out.Set(name+".$type", tag)
	if variant != nil {
		variant.impl.encode(variant, value, join(name, tag), out)
	}
}

func (unionKind) control(r *formReader, t *Type, name string, segments []string) string {
	tag, _ := r.text(name + ".$type")
	variant, known := variantNamed(t, tag)
	if !known || len(segments) > 0 && strings.HasPrefix(segments[0], "$") {
		return name + ".$type"
	}
	if !inlinesFields(variant) && len(segments) > 0 && segments[0] == "value" {
		segments = segments[1:]
	}
	return variant.impl.control(r, variant, join(name, tag), segments)
}

func (unionKind) render(t *Type, v any) string {
	tag, variant, value, tagged := unwrapVariant(t, v)
	if !tagged || variant == nil {
		return inputText(v)
	}
	return tag + ": " + variant.Render(value)
}

// accept accepts a Union whose variants are all assignable to the variant with the same
// tag, and any type assignable to a variant.
func (unionKind) accept(t, from *Type) error {
	if from.Kind == KindUnion {
		for _, v := range from.Variants {
			mine, ok := variantNamed(t, v.Tag)
			if !ok {
				return fmt.Errorf("it has no variant %s", v.Tag)
			}
			if err := Assignable(v.Type, mine); err != nil {
				return fmt.Errorf("the variant %s: %w", v.Tag, err)
			}
		}
		return nil
	}
	for _, v := range t.Variants {
		if Assignable(from, v.Type) == nil {
			return nil
		}
	}
	return fmt.Errorf("%s matches none of its variants %s", from.Name(), listed(tags(t)))
}
