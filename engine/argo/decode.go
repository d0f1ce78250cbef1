package argo

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/apperr"
)

// Text is a text in Argo's documents. Numbers and booleans are accepted, and read as they are
// written.
type Text string

// raw is a value that is passed on as it is.
type raw = any

// decoder reads decoded JSON into the types of this package. A field that a type does
// not have is a problem, and so is a field whose tag `argo` explains why it is not supported.
type decoder struct{ *problems }

// problems collects what is wrong with a document.
type problems struct{ list []apperr.Field }

// maxProblems bounds one report.
const maxProblems = 100

// add reports a problem, once: a template is read for each task that runs it.
func (p *problems) add(path, format string, args ...any) {
	found := apperr.Field{Path: path, Message: fmt.Sprintf(format, args...)}
	if len(p.list) < maxProblems && !slices.Contains(p.list, found) {
		p.list = append(p.list, found)
	}
}

// decode reads v, whose path is path, into the value that into points to.
func (d decoder) decode(v any, into any, path string) {
	d.value(v, reflect.ValueOf(into).Elem(), path)
}

func (d decoder) value(v any, to reflect.Value, path string) {
	if v == nil {
		return
	}
	switch to.Kind() {
	case reflect.Pointer:
		fresh := reflect.New(to.Type().Elem())
		d.value(v, fresh.Elem(), path)
		to.Set(fresh)
	case reflect.Struct:
		if text, ok := v.(string); ok && to.Type() == reflect.TypeFor[dependency]() {
			to.Set(reflect.ValueOf(dependency{Task: text}))
			return
		}
		d.object(v, to, path)
	case reflect.Slice:
		d.slice(v, to, path)
	case reflect.Map:
		d.mapping(v, to, path)
	case reflect.Interface:
		to.Set(reflect.ValueOf(v))
	default:
		d.scalar(v, to, path)
	}
}

func (d decoder) scalar(v any, to reflect.Value, path string) {
	switch to.Kind() {
	case reflect.String:
		switch v := v.(type) {
		case string:
			to.SetString(v)
			return
		case json.Number, bool:
			if to.Type() == reflect.TypeFor[Text]() {
				to.SetString(fmt.Sprint(v))
				return
			}
		}
		if _, is := v.(bool); is {
			d.add(path, "This must be a string, not %s. YAML reads y, n, yes, no, on and off as true or false; put the text in quotes.", describe(v))
			return
		}
		d.add(path, "This must be a string, not %s.", describe(v))
	case reflect.Bool:
		if b, ok := v.(bool); ok {
			to.SetBool(b)
			return
		}
		d.add(path, "This must be true or false, not %s.", describe(v))
	case reflect.Int64, reflect.Int:
		if n, ok := v.(json.Number); ok {
			if i, err := n.Int64(); err == nil {
				to.SetInt(i)
				return
			}
		}
		d.add(path, "This must be a whole number, not %s.", describe(v))
	default:
		panic("argo: a field of a type that is not decoded: " + to.Type().String())
	}
}

func (d decoder) slice(v any, to reflect.Value, path string) {
	list, ok := v.([]any)
	if !ok {
		d.add(path, "This must be a list, not %s.", describe(v))
		return
	}
	out := reflect.MakeSlice(to.Type(), len(list), len(list))
	for i, e := range list {
		d.value(e, out.Index(i), fmt.Sprintf("%s[%d]", path, i))
	}
	to.Set(out)
}

func (d decoder) mapping(v any, to reflect.Value, path string) {
	fields, ok := v.(map[string]any)
	if !ok {
		d.add(path, "This must be a mapping, not %s.", describe(v))
		return
	}
	out := reflect.MakeMapWithSize(to.Type(), len(fields))
	for _, k := range slices.Sorted(maps.Keys(fields)) {
		e := reflect.New(to.Type().Elem()).Elem()
		d.value(fields[k], e, path+"."+k)
		out.SetMapIndex(reflect.ValueOf(k), e)
	}
	to.Set(out)
}

func (d decoder) object(v any, to reflect.Value, path string) {
	fields, ok := v.(map[string]any)
	if !ok {
		d.add(path, "This must be a mapping, not %s.", describe(v))
		return
	}
	known := fieldsOf(to.Type(), nil)
	for _, k := range slices.Sorted(maps.Keys(fields)) {
		at := strings.TrimPrefix(path+"."+k, ".")
		index, ok := known[k]
		if !ok && fields[k] == nil { // a null field has no effect
			continue
		}
		if !ok {
			d.add(at, "Unknown field %q.%s", k, suggestion(k, slices.Sorted(maps.Keys(known))))
			continue
		}
		field := to.Type().FieldByIndex(index)
		if why := field.Tag.Get("argo"); why != "" {
			if fields[k] != nil {
				d.add(at, "FlowForge does not support this field. %s", why)
			}
		}
		d.value(fields[k], to.FieldByIndex(index), at)
	}
}

// fieldsOf returns the fields of a type, and of its embedded types, by their names in documents.
func fieldsOf(t reflect.Type, prefix []int) map[string][]int {
	known := map[string][]int{}
	for i := range t.NumField() {
		index := append(slices.Clone(prefix), i)
		if t.Field(i).Anonymous {
			maps.Copy(known, fieldsOf(t.Field(i).Type, index))
			continue
		}
		known[t.Field(i).Tag.Get("json")] = index
	}
	return known
}

func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case string:
		return fmt.Sprintf("the text %q", shorten(v))
	case bool, json.Number:
		return fmt.Sprint(v)
	case []any:
		return "a list"
	}
	return "a mapping"
}

func shorten(s string) string {
	const most = 60
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}

// suggestion names a similar word, if there is one.
func suggestion(word string, known []string) string {
	if near := apperr.Nearest(word, known); near != "" {
		return fmt.Sprintf(" Did you mean %q?", near)
	}
	return ""
}
