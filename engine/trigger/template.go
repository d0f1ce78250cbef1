package trigger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/flowforge/flowforge/apperr"
	"github.com/flowforge/flowforge/engine/expression"
)

// tag matches {{ expression }}.
var tag = regexp.MustCompile(`(?s)\{\{\s*(.*?)\s*\}\}`)

// names returns the names that the expressions of a kind can read. Those of OnAll depend on the
// conditions.
func names(kind Kind) []string {
	switch kind { //nolint:exhaustive // the others have the name of their kind
	case OnWebhook:
		return []string{"payload", "headers", "query"}
	case OnS3:
		return []string{"object"}
	}
	return []string{string(kind)}
}

// names returns the names that the expressions of a trigger can read.
func (sp *Spec) names() []string {
	if sp.Kind != OnAll || sp.Join == nil {
		return names(sp.Kind)
	}
	list := []string{joinName}
	for _, c := range sp.Join.All {
		list = append(list, c.Name)
	}
	return list
}

// fieldsOf returns the names below the name of a kind, nil for kinds whose events differ.
func fieldsOf(kind Kind) []string {
	switch kind { //nolint:exhaustive // the names of the others depend on the event
	case OnExecution:
		return []string{"id", "workflow", "version", "name", "state", "inputs", "outputs", "submitted_by", "error", "seconds"}
	case OnEvent:
		return []string{"id", "topic", "type", "time", "subject", "execution_id", "data"}
	case OnHTTP:
		return []string{"url", "status", "etag", "last_modified", "content_type", "body"}
	case OnS3:
		return []string{"key", "name", "bucket", "uri", "size", "etag", "modified", "change"}
	}
	return nil
}

// known contains the names that expressions can read, and the names below them; nil: any.
type known struct {
	names  []string
	fields map[string][]string
}

func knownOf(kind Kind) known {
	k := known{names: names(kind)}
	if fields := fieldsOf(kind); fields != nil {
		k.fields = map[string][]string{k.names[0]: fields}
	}
	return k
}

// known returns the names that the expressions of a trigger can read.
func (sp *Spec) known() known {
	if sp.Kind != OnAll || sp.Join == nil {
		return knownOf(sp.Kind)
	}
	k := known{names: sp.names(), fields: map[string][]string{joinName: {"key", "started"}}}
	for _, c := range sp.Join.All {
		if c.Kind == OnWebhook {
			k.fields[c.Name] = names(c.Kind)
		} else if fields := fieldsOf(c.Kind); fields != nil {
			k.fields[c.Name] = fields
		}
	}
	return k
}

// checkExpression returns the problem of an expression that reads known names, or "" if it is
// valid.
func checkExpression(known known, text string) string {
	e, err := expression.Parse(text)
	if err != nil {
		return apperr.MessageOf(err)
	}
	for _, ref := range e.References() {
		root := ref.Path[0]
		if !slices.Contains(known.names, root) {
			return fmt.Sprintf("Unknown name %q. Expressions of this trigger read %s.", root, strings.Join(known.names, ", "))
		}
		if fields := known.fields[root]; fields != nil && len(ref.Path) > 1 && !slices.Contains(fields, ref.Path[1]) {
			if near := apperr.Nearest(ref.Path[1], fields); near != "" {
				return fmt.Sprintf("Unknown name %q. Did you mean %q?", root+"."+ref.Path[1], root+"."+near)
			}
			return fmt.Sprintf("Unknown name %q. %s has %s.", root+"."+ref.Path[1], root, strings.Join(fields, ", "))
		}
	}
	return ""
}

// tagged reports whether a value contains a tag.
func tagged(v any) bool {
	switch v := v.(type) {
	case string:
		return tag.MatchString(v)
	case []any:
		return slices.ContainsFunc(v, tagged)
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(v)), tagged)
	}
	return false
}

// checkTags returns the problem of the tags in a value.
func checkTags(known known, path string, v any) (fields []apperr.Field) {
	switch v := v.(type) {
	case string:
		for _, m := range tag.FindAllStringSubmatch(v, -1) {
			if problem := checkExpression(known, m[1]); problem != "" {
				fields = append(fields, apperr.Field{Path: path, Message: problem})
			}
		}
	case []any:
		for i, item := range v {
			fields = append(fields, checkTags(known, fmt.Sprintf("%s.%d", path, i), item)...)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			fields = append(fields, checkTags(known, path+"."+name, v[name])...)
		}
	}
	return fields
}

// render replaces the tags in inputs with the values of their expressions. A text that is only a tag
// becomes a value of any type.
func render(inputs, env map[string]any) (map[string]any, []apperr.Field) {
	var fields []apperr.Field
	out := make(map[string]any, len(inputs))
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		out[name] = renderValue(inputs[name], "inputs."+name, env, &fields)
	}
	return out, fields
}

func renderValue(v any, path string, env map[string]any, fields *[]apperr.Field) any {
	switch v := v.(type) {
	case string:
		return renderText(v, path, env, fields)
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = renderValue(item, fmt.Sprintf("%s.%d", path, i), env, fields)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			out[name] = renderValue(v[name], path+"."+name, env, fields)
		}
		return out
	}
	return v
}

func renderText(text, path string, env map[string]any, fields *[]apperr.Field) any {
	value := func(expr string) any {
		e, err := expression.Parse(expr)
		if err == nil {
			var v any
			if v, err = e.Value(env); err == nil {
				return v
			}
		}
		*fields = append(*fields, apperr.Field{Path: path, Message: apperr.MessageOf(err)})
		return nil
	}
	if m := tag.FindStringSubmatchIndex(text); m != nil && m[0] == 0 && m[1] == len(text) {
		return value(text[m[2]:m[3]])
	}
	return tag.ReplaceAllStringFunc(text, func(found string) string {
		switch v := value(tag.FindStringSubmatch(found)[1]).(type) {
		case nil:
			return ""
		case string:
			return v
		case bool, int64, float64:
			return fmt.Sprint(v)
		default:
			raw, err := json.Marshal(v)
			if err != nil {
				*fields = append(*fields, apperr.Field{Path: path, Message: "The value cannot be written as text."})
			}
			return string(raw)
		}
	})
}

func encode(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	return raw, wrap("encode payload", err)
}

// decode decodes one JSON value. Numbers keep their digits.
func decode(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("decode JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("decode JSON: there is more than one value")
	}
	return nil
}
