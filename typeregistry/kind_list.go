package typeregistry

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// listKind is List<T>.
type listKind struct{ single }

func (listKind) entry() Entry {
	return Entry{Name: "List", Group: "container", Summary: "Values of one type, in order.", Example: "List<Integer(min=1)>(min_items=1, max_items=5)"}
}

func (listKind) shape() shape         { return elemShape }
func (listKind) composite(*Type) bool { return true }

func itemParams() []parameter {
	return []parameter{
		sizeParam("min_items", "The minimum number of entries.", func(p *Params) **int { return &p.MinItems }),
		sizeParam("max_items", "The maximum number of entries.", func(p *Params) **int { return &p.MaxItems }),
	}
}

func (listKind) params() []parameter {
	return append(itemParams(), boolParam("unique", "Entries must be unique.", func(p *Params) *bool { return &p.Unique }))
}

func (listKind) prepare(t *Type) error { return itemsInOrder(t) }

func itemsInOrder(t *Type) error {
	if p := t.Params; p.MinItems != nil && p.MaxItems != nil && *p.MinItems > *p.MaxItems {
		return fmt.Errorf("min_items %d is more than max_items %d", *p.MinItems, *p.MaxItems)
	}
	return nil
}

func (listKind) noun(*Type) string { return "a list" }

func (listKind) hint(t *Type) string { return itemsHint(t, "Add entries.") }

func itemsHint(t *Type, usual string) string {
	least, most := t.Params.MinItems, t.Params.MaxItems
	switch {
	case least != nil && most != nil && *least == *most:
		return fmt.Sprintf("Enter exactly %s.", entries(*most))
	case least != nil && most != nil:
		return fmt.Sprintf("Enter %d to %s.", *least, entries(*most))
	case most != nil:
		return fmt.Sprintf("Enter up to %s.", entries(*most))
	case least != nil && *least > 0:
		return fmt.Sprintf("Enter %s or more.", entries(*least))
	}
	return usual
}

func entries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return strconv.Itoa(n) + " entries"
}

func checkCount(c *checker, t *Type, path string, n int) {
	least, most := t.Params.MinItems, t.Params.MaxItems
	if least != nil && n < *least || most != nil && n > *most {
		c.problem(path, map[bool]string{true: "There is ", false: "There are "}[n == 1]+entries(n)+". "+itemsHint(t, ""))
	}
}

func (listKind) normalize(c *checker, t *Type, path string, v any) any {
	list, ok := v.([]any)
	if !ok {
		return c.wrong(t, path, v)
	}
	checkCount(c, t, path, len(list))
	out := make([]any, len(list))
	seen := map[string]bool{}
	for i, e := range list {
		at := join(path, strconv.Itoa(i))
		out[i] = t.Elem.normalize(c, at, e)
		if key := compactJSON(out[i]); t.Params.Unique {
			if seen[key] {
				c.problem(at, t.Elem.Render(out[i])+" is already in the list. Enter another value.")
			}
			seen[key] = true
		}
	}
	return out
}

func (listKind) jsonSchema(t *Type) map[string]any {
	out := map[string]any{"type": "array", "items": t.Elem.JSONSchema()}
	if p := t.Params.MinItems; p != nil {
		out["minItems"] = *p
	}
	if p := t.Params.MaxItems; p != nil {
		out["maxItems"] = *p
	}
	if t.Params.Unique {
		out["uniqueItems"] = true
	}
	return out
}

func (listKind) ui(t *Type, f *UIField, env Env) {
	f.Component, f.MinItems, f.MaxItems = "ListEditor", t.Params.MinItems, t.Params.MaxItems
	item := t.Elem.unnamed("Entry", env)
	f.Item = &item
	if t.Elem.Kind == KindEnum && t.Params.Unique {
		f.Component, f.MultiSelect, f.Options = "MultiSelect", true, t.Elem.Params.Options
	}
}

// decode reads rows. Without rows it reads the repeated values of one control, as a
// multiple select submits them.
func (listKind) decode(r *formReader, t *Type, name, path string) (any, bool) {
	rows, counted := r.rows(name)
	if !counted {
		return decodeRepeated(r, t, name, path)
	}
	out := make([]any, len(rows))
	for i, row := range rows {
		out[i], _ = t.Elem.impl.decode(r, t.Elem, row, join(path, strconv.Itoa(i)))
	}
	return out, true
}

func decodeRepeated(r *formReader, t *Type, name, path string) (any, bool) {
	texts, ok := r.form.Values[name]
	if !ok || t.Elem.IsComposite() {
		return nil, false
	}
	out := []any{}
	for i, text := range texts {
		one := newFormReader(Form{Values: url.Values{name: {text}}})
		if v, present := t.Elem.impl.decode(one, t.Elem, name, join(path, strconv.Itoa(i))); present && text != "" {
			out = append(out, v)
		}
	}
	return out, true
}

func (listKind) encode(t *Type, v any, name string, out url.Values) {
	list, _ := v.([]any)
	out.Set(name+".$n", strconv.Itoa(len(list)))
	for i, e := range list {
		t.Elem.impl.encode(t.Elem, e, join(name, strconv.Itoa(i)), out)
	}
}

func (listKind) control(r *formReader, t *Type, name string, segments []string) string {
	rows, _ := r.rows(name)
	if len(segments) == 0 {
		return name
	}
	i, err := strconv.Atoi(segments[0])
	if err != nil || i < 0 || i >= len(rows) {
		return name
	}
	return t.Elem.impl.control(r, t.Elem, rows[i], segments[1:])
}

func (listKind) render(t *Type, v any) string {
	list, ok := v.([]any)
	if !ok {
		return inputText(v)
	}
	if len(list) == 0 {
		return "empty list"
	}
	return renderSome(len(list), func(i int) string { return t.Elem.Render(list[i]) })
}

// renderSome joins up to six parts and the number of the others.
func renderSome(n int, part func(int) string) string {
	var parts []string
	for i := range min(n, 6) {
		parts = append(parts, part(i))
	}
	if n > 6 {
		parts = append(parts, fmt.Sprintf("… and %d more", n-6))
	}
	if n == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

func (listKind) accept(t, from *Type) error {
	if from.Kind != KindList {
		return mismatch(t, from)
	}
	if err := Assignable(from.Elem, t.Elem); err != nil {
		return fmt.Errorf("its entries: %w", err)
	}
	return nil
}

// mapKind is Map<String, T>.
type mapKind struct{ single }

func (mapKind) entry() Entry {
	return Entry{Name: "Map", Group: "container", Summary: "Values of one type with unique keys.", Example: `Map<String, Float(min=0)>(key_pattern="[a-z]+")`}
}

func (mapKind) shape() shape         { return mapShape }
func (mapKind) composite(*Type) bool { return true }

func (mapKind) params() []parameter {
	return append(itemParams(), textParam("key_pattern", "A regular expression (RE2) that every key must match completely.", func(p *Params) *string { return &p.KeyPattern }))
}

func (mapKind) prepare(t *Type) error {
	if t.Params.KeyPattern != "" {
		re, err := compilePattern(t.Params.KeyPattern)
		if err != nil {
			return err
		}
		t.keyPattern = re
	}
	return itemsInOrder(t)
}

func (mapKind) noun(*Type) string   { return "a set of keys and values" }
func (mapKind) hint(t *Type) string { return itemsHint(t, "Add keys with their values.") }

func (mapKind) normalize(c *checker, t *Type, path string, v any) any {
	object, ok := v.(map[string]any)
	if !ok {
		return c.wrong(t, path, v)
	}
	checkCount(c, t, path, len(object))
	out := make(map[string]any, len(object))
	for _, key := range sortedKeys(object) {
		at := join(path, key)
		switch {
		case key == "":
			c.problem(path, "A key is empty. Enter a key for every value.")
		case t.keyPattern != nil && !t.keyPattern.MatchString(key):
			c.problem(at, "The key "+quote(key)+" does not match the pattern "+t.Params.KeyPattern+".")
		}
		out[key] = t.Elem.normalize(c, at, object[key])
	}
	return out
}

func (mapKind) jsonSchema(t *Type) map[string]any {
	keys := map[string]any{"minLength": 1}
	if t.Params.KeyPattern != "" {
		keys["pattern"] = "^(?:" + t.Params.KeyPattern + ")$"
	}
	out := map[string]any{"type": "object", "propertyNames": keys, "additionalProperties": t.Elem.JSONSchema()}
	if p := t.Params.MinItems; p != nil {
		out["minProperties"] = *p
	}
	if p := t.Params.MaxItems; p != nil {
		out["maxProperties"] = *p
	}
	return out
}

func (mapKind) ui(t *Type, f *UIField, env Env) {
	f.Component, f.MinItems, f.MaxItems = "MapEditor", t.Params.MinItems, t.Params.MaxItems
	item := t.Elem.unnamed("Value", env)
	f.Item = &item
}

// decode reads rows of key and value; a row with neither is skipped.
func (mapKind) decode(r *formReader, t *Type, name, path string) (any, bool) {
	rows, counted := r.rows(name)
	if !counted {
		return nil, false
	}
	out := map[string]any{}
	for _, row := range rows {
		key, _ := r.raw(row + ".$key")
		v, present := t.Elem.impl.decode(r, t.Elem, row+".$value", join(path, key))
		if key == "" {
			if present && !blank(v) {
				r.problem(path, "The value "+quote(v)+" has no key. Enter a key for every value.")
			}
			continue
		}
		if earlier, twice := out[key]; twice {
			r.problem(join(path, key), "The key "+quote(key)+" is used twice. Enter another key.")
			r.checkNow(t.Elem, join(path, key), earlier, v) // a later check would see only one of them
		}
		out[key] = v
	}
	return out, true
}

func (mapKind) encode(t *Type, v any, name string, out url.Values) {
	object, _ := v.(map[string]any)
	out.Set(name+".$n", strconv.Itoa(len(object)))
	for i, key := range sortedKeys(object) {
		row := join(name, strconv.Itoa(i))
		out.Set(row+".$key", key)
		t.Elem.impl.encode(t.Elem, object[key], row+".$value", out)
	}
}

func (mapKind) control(r *formReader, t *Type, name string, segments []string) string {
	rows, _ := r.rows(name)
	for n := len(segments); n > 0; n-- {
		for _, row := range rows {
			if key, _ := r.raw(row + ".$key"); key == strings.Join(segments[:n], ".") {
				return t.Elem.impl.control(r, t.Elem, row+".$value", segments[n:])
			}
		}
	}
	return name
}

func (mapKind) render(t *Type, v any) string {
	object, ok := v.(map[string]any)
	if !ok {
		return inputText(v)
	}
	keys := sortedKeys(object)
	return renderSome(len(keys), func(i int) string { return keys[i] + " = " + t.Elem.Render(object[keys[i]]) })
}

func (mapKind) accept(t, from *Type) error {
	switch {
	case from.Kind == KindMap:
		if err := Assignable(from.Elem, t.Elem); err != nil {
			return fmt.Errorf("its values: %w", err)
		}
		return nil
	case from.Kind == KindMetrics && (t.Elem.Kind == KindFloat || t.Elem.Kind == KindJSON):
		return nil
	}
	return mismatch(t, from)
}

// metricsKind is Metrics: named numbers.
type metricsKind struct{ mapKind }

func (metricsKind) entry() Entry {
	return Entry{Name: "Metrics", Group: "data", Summary: "Named numbers, such as accuracy and loss.", Example: "Metrics"}
}

func (metricsKind) shape() shape        { return plainShape }
func (metricsKind) params() []parameter { return itemParams() }
func (metricsKind) noun(*Type) string   { return "a set of named numbers" }
func (metricsKind) hint(t *Type) string { return itemsHint(t, "Add names with their numbers.") }

// prepare sets the implicit element type Float.
func (metricsKind) prepare(t *Type) error { return itemsInOrder(t) }

// asMap is the equivalent Map type of Metrics.
func (metricsKind) asMap(t *Type) *Type {
	number := &Type{Kind: KindFloat, impl: numberKind{}}
	return &Type{Kind: KindMetrics, Params: t.Params, Elem: number, impl: t.impl}
}

func (k metricsKind) normalize(c *checker, t *Type, path string, v any) any {
	return k.mapKind.normalize(c, k.asMap(t), path, v)
}
func (k metricsKind) jsonSchema(t *Type) map[string]any { return k.mapKind.jsonSchema(k.asMap(t)) }
func (k metricsKind) ui(t *Type, f *UIField, env Env) {
	k.mapKind.ui(k.asMap(t), f, env)
	f.Component = "MetricsEditor"
}
func (k metricsKind) decode(r *formReader, t *Type, name, path string) (any, bool) {
	return k.mapKind.decode(r, k.asMap(t), name, path)
}
func (k metricsKind) encode(t *Type, v any, name string, out url.Values) {
	k.mapKind.encode(k.asMap(t), v, name, out)
}
func (k metricsKind) control(r *formReader, t *Type, name string, segments []string) string {
	return k.mapKind.control(r, k.asMap(t), name, segments)
}
func (k metricsKind) render(t *Type, v any) string { return k.mapKind.render(k.asMap(t), v) }

func (k metricsKind) accept(t, from *Type) error {
	if from.Kind == KindMap {
		return Assignable(from.Elem, k.asMap(t).Elem)
	}
	return sameKind(t, from)
}
