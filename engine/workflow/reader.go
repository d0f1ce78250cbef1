package workflow

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/flowforge/flowforge/apperr"
)

// maxProblems is the maximum number of problems in a report; a broken generator would
// repeat the same one.
const maxProblems = 100

// problems collects the problems of a document.
type problems struct {
	list    []apperr.Field
	dropped int
}

func (p *problems) add(path, format string, args ...any) {
	p.append(apperr.Field{Path: path, Message: fmt.Sprintf(format, args...)})
}

func (p *problems) append(fields ...apperr.Field) {
	room := max(0, min(len(fields), maxProblems-len(p.list)))
	p.list = append(p.list, fields[:room]...)
	p.dropped += len(fields) - room
}

func (p *problems) fields() []apperr.Field {
	if p.dropped == 0 {
		return p.list
	}
	return append(p.list, apperr.Field{Path: "document", Message: fmt.Sprintf("There are %d more problems.", p.dropped)})
}

// object reads one mapping of the document and records the keys that were read, so that
// finish can refuse the others.
type object struct {
	*problems
	path   string
	values map[string]any
	known  []string
}

// object returns the mapping at path; nil (with a problem unless v is nil) when v is
// not a mapping.
func (p *problems) object(v any, path string) *object {
	values, ok := v.(map[string]any)
	if !ok {
		if v != nil {
			p.add(path, "This must be a mapping, not %s.", describe(v))
		}
		return nil
	}
	return &object{problems: p, path: path, values: values}
}

// at returns the path of key.
func (o *object) at(key string) string {
	if key == "" {
		key = `""`
	}
	if o.path == "" {
		return key
	}
	return o.path + "." + key
}

// get returns the value of the first of names that exists; the others are aliases.
// present distinguishes null from absent.
func (o *object) get(names ...string) (v any, path string, present bool) {
	o.known = append(o.known, names...)
	path = o.at(names[0])
	for _, name := range names {
		value, ok := o.values[name]
		switch {
		case !ok:
		case present:
			o.add(o.at(name), "This is an alias of %s; keep only one of them.", path)
		default:
			v, path, present = value, o.at(name), true
		}
	}
	return v, path, present
}

// finish rejects the keys that were not read.
func (o *object) finish() {
	for _, key := range slices.Sorted(maps.Keys(o.values)) {
		if slices.Contains(o.known, key) {
			continue
		}
		message := fmt.Sprintf("Unknown field %q.", shorten(key, 60))
		if near := apperr.Nearest(key, o.known); near != "" {
			message += fmt.Sprintf(" Did you mean %q?", near)
		}
		o.append(apperr.Field{Path: o.at(shorten(key, 60)), Message: message})
	}
}

// text returns a string, "" when it is absent.
func (o *object) text(limit int, names ...string) string {
	v, path, _ := o.get(names...)
	return o.textValue(v, path, limit)
}

func (p *problems) textValue(v any, path string, limit int) string {
	s, ok := v.(string)
	switch {
	case v == nil:
	case !ok:
		p.add(path, "This must be text, not %s; put it in quotes.", describe(v))
	case len(s) > limit:
		p.add(path, "This is longer than %d bytes.", limit)
	default:
		return s
	}
	return ""
}

// list returns a list, nil when it is absent.
func (o *object) list(limit int, names ...string) ([]any, string) {
	v, path, _ := o.get(names...)
	l, ok := v.([]any)
	switch {
	case v == nil:
	case !ok:
		o.add(path, "This must be a list, not %s.", describe(v))
	case len(l) > limit:
		o.add(path, "There are %d entries; at most %d are allowed.", len(l), limit)
	default:
		return l, path
	}
	return nil, path
}

// texts returns a list of strings without empty ones.
func (o *object) texts(limit int, names ...string) []string {
	items, path := o.list(limit, names...)
	var out []string
	for i, item := range items {
		s, ok := item.(string)
		if !ok {
			o.add(fmt.Sprintf("%s[%d]", path, i), "This must be text, not %s; put it in quotes.", describe(item))
			continue
		}
		out = append(out, s)
	}
	return out
}

// textMap returns a mapping of names to text; numbers and booleans keep their spelling.
func (o *object) textMap(names ...string) map[string]string {
	v, path, _ := o.get(names...)
	inner := o.object(v, path)
	if inner == nil {
		return nil
	}
	out := make(map[string]string, len(inner.values))
	for key, item := range inner.values {
		switch item := item.(type) {
		case string:
			out[key] = item
		case json.Number:
			out[key] = item.String()
		case bool:
			out[key] = fmt.Sprint(item)
		default:
			o.add(inner.at(key), "This must be text, not %s.", describe(item))
		}
	}
	return out
}

// mapping returns any mapping, nil when it is absent.
func (o *object) mapping(names ...string) map[string]any {
	v, path, _ := o.get(names...)
	if inner := o.object(v, path); inner != nil && len(inner.values) > 0 {
		return inner.values
	}
	return nil
}

// boolean returns a boolean, fallback when it is absent.
func (o *object) boolean(fallback bool, names ...string) bool {
	v, path, _ := o.get(names...)
	b, ok := v.(bool)
	if v == nil {
		return fallback
	}
	if !ok {
		o.add(path, "This must be true or false, not %s.", describe(v))
		return fallback
	}
	return b
}

func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case bool:
		return "true or false"
	case string:
		return "text"
	case json.Number:
		return "the number " + shorten(v.String(), 30)
	case []any:
		return "a list"
	default:
		return "a mapping"
	}
}
