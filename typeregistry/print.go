package typeregistry

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// String writes the canonical expression of t.
func (t *Type) String() string {
	var b strings.Builder
	t.write(&b)
	return b.String()
}

func (t *Type) write(b *strings.Builder) {
	b.WriteString(t.Name())
	if t.Custom != "" {
		return
	}
	t.writeTypes(b)
	t.writeParams(b)
	t.writeFields(b)
}

func (t *Type) writeTypes(b *strings.Builder) {
	switch {
	case t.Elem != nil:
		b.WriteByte('<')
		if t.impl.shape() == mapShape {
			b.WriteString("String, ")
		}
		t.Elem.write(b)
		b.WriteByte('>')
	case len(t.Variants) > 0:
		tags := defaultTags(t.Variants)
		for i, v := range t.Variants {
			b.WriteString(map[bool]string{true: "<", false: " | "}[i == 0])
			if v.Tag != tags[i] {
				b.WriteString(v.Tag + ": ")
			}
			v.Type.write(b)
		}
		b.WriteByte('>')
	}
}

func (t *Type) writeParams(b *strings.Builder) {
	var args []string
	for _, o := range t.Params.Options {
		text := literal(o.Value)
		if o.Label != "" {
			text += ": " + compactJSON(o.Label)
		}
		args = append(args, text)
	}
	for _, p := range t.impl.params() {
		if v := p.get(&t.Params); v != nil {
			args = append(args, p.name+"="+literal(v))
		}
	}
	if len(args) > 0 {
		b.WriteString("(" + strings.Join(args, ", ") + ")")
	}
}

func (t *Type) writeFields(b *strings.Builder) {
	if len(t.Fields) == 0 {
		return
	}
	b.WriteByte('{')
	for i, f := range t.Fields {
		if i > 0 {
			b.WriteString(", ")
		}
		f.write(b)
	}
	b.WriteByte('}')
}

func (f Field) write(b *strings.Builder) {
	b.WriteString(f.Name)
	usual := requiredByDefault(f.Type, f.Default != nil)
	if !f.Required && usual {
		b.WriteByte('?')
	}
	b.WriteString(": ")
	f.Type.write(b)
	if f.Default != nil {
		b.WriteString(" = " + literal(Plain(f.Default)))
	}
	if attributes := f.attributes(); len(attributes) > 0 {
		b.WriteString(" @" + literal(attributes))
	}
}

// attributes are the attributes of a field besides name, type and default.
func (f Field) attributes() map[string]any {
	out := map[string]any{}
	if f.Required && !requiredByDefault(f.Type, f.Default != nil) {
		out["required"] = true
	}
	if f.Description != "" {
		out["description"] = f.Description
	}
	if f.Hints != (Hints{}) {
		out["ui"] = viaJSON(f.Hints)
	}
	if f.Rules != nil {
		maps.Copy(out, f.Rules.attributes())
	}
	if f.Source != nil {
		out["options"] = f.Source.attribute()
	}
	if len(f.Validators) > 0 {
		out["validators"] = viaJSON(f.Validators)
	}
	return out
}

// viaJSON turns one of our structs into decoded JSON.
func viaJSON(v any) any {
	b, err := encodeJSON(v)
	if err != nil {
		return nil
	}
	out, err := DecodeJSON(b)
	if err != nil {
		return nil
	}
	return out
}

// literal writes a value of an expression.
func literal(v any) string {
	switch x := v.(type) {
	case []Column:
		return literals(x, Column.literal)
	case []any:
		return literals(x, literal)
	case map[string]any:
		parts := make([]string, 0, len(x))
		for _, key := range slices.Sorted(maps.Keys(x)) {
			name := key
			if !isName(key) {
				name = compactJSON(key)
			}
			parts = append(parts, name+": "+literal(x[key]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case json.Number:
		if d, ok := parseDecimal(x.String()); ok {
			return d.canonical().String()
		}
	}
	return compactJSON(v)
}

func literals[T any](items []T, write func(T) string) string {
	parts := make([]string, len(items))
	for i, item := range items {
		parts[i] = write(item)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func (c Column) literal() string {
	name := c.Name
	if !isName(name) {
		name = compactJSON(name)
	}
	text := name + ": " + c.DType
	if len(c.Dimensions) > 0 {
		text += literals(c.Dimensions, func(n int) string {
			if n < 0 {
				return "?"
			}
			return strconv.Itoa(n)
		})
	}
	if len(c.Attributes) > 0 {
		text += " @" + literal(c.Attributes)
	}
	return text
}
