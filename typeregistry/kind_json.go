package typeregistry

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"
)

// jsonKind is JSON: any JSON value.
type jsonKind struct{ single }

func (jsonKind) entry() Entry {
	return Entry{Name: "JSON", Group: "scalar", Summary: "Any JSON value.", Example: "JSON"}
}
func (jsonKind) noun(*Type) string { return "a JSON value" }
func (jsonKind) hint(*Type) string { return "Enter JSON, such as {\"a\": 1}." }

func (jsonKind) normalize(c *checker, t *Type, path string, v any) any {
	return canonicalJSON(c, t, path, v, 0)
}

// canonicalJSON normalizes the numbers of v and rejects values that are not JSON.
func canonicalJSON(c *checker, t *Type, path string, v any, depth int) any {
	if depth > 100 {
		c.problem(path, "The value is nested more than 100 levels deep. Enter a flatter value.")
		return v
	}
	switch x := v.(type) {
	case nil, bool:
		return v
	case string:
		checkText(c, path, x)
		return v
	case json.Number:
		if d, ok := parseDecimal(x.String()); ok {
			return d.canonical()
		}
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = canonicalJSON(c, t, path, e, depth+1)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(x))
		for k, e := range x {
			checkText(c, path, k)
			out[k] = canonicalJSON(c, t, path, e, depth+1)
		}
		return out
	}
	return c.wrong(t, path, v)
}

// checkText rejects a text that Postgres cannot store.
func checkText(c *checker, path, s string) {
	if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
		c.problem(path, "The text contains invalid characters. Enter plain text.")
	}
}

func (jsonKind) jsonSchema(*Type) map[string]any { return map[string]any{} }

func (jsonKind) ui(_ *Type, f *UIField, _ Env) { f.Component = "JSONEditor" }

func (jsonKind) decode(r *formReader, _ *Type, name, path string) (any, bool) {
	text, ok := r.text(name)
	if !ok || text == "" {
		return nil, false
	}
	v, err := DecodeJSON([]byte(text))
	if err != nil {
		r.problem(path, JSONProblem(text, err))
		return text, true
	}
	return v, true
}

// JSONProblem describes why DecodeJSON failed with err: the line and column of the
// first error in text, and how to correct it if the cause is clear.
func JSONProblem(text string, err error) string {
	fault, ok := errors.AsType[*json.SyntaxError](err)
	if !ok || fault.Offset < 1 || fault.Offset > int64(len(text)) {
		return "The text is not a single complete JSON value. Enter JSON, such as {\"a\": 1}."
	}
	before, rest := text[:fault.Offset-1], text[fault.Offset-1:]
	line := 1 + strings.Count(before, "\n")
	column := 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	return fmt.Sprintf("Line %d, column %d: %s.", line, column, jsonAdvice(before, rest, fault))
}

// jsonAdvice describes how to correct the error at the start of rest.
func jsonAdvice(before, rest string, fault *json.SyntaxError) string {
	r, _ := utf8.DecodeRuneInString(rest)
	found := quote(string(r))
	switch {
	case strings.ContainsRune("}]", r) && strings.HasSuffix(strings.TrimRight(before, " \t\r\n"), ","):
		return "remove the comma before " + found
	case r == '\'':
		return "use double quotation marks instead of single ones"
	case strings.HasSuffix(fault.Error(), "looking for beginning of object key string"):
		return "enter a name in double quotation marks instead of " + found
	case strings.HasSuffix(fault.Error(), "looking for beginning of value"):
		return "enter a value before " + found
	}
	return found + " is not expected here"
}

func (jsonKind) encode(_ *Type, v any, name string, out url.Values) {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		b = []byte(inputText(v))
	}
	out.Set(name, string(b))
}

func (jsonKind) render(_ *Type, v any) string { return compactJSON(v) }

func (jsonKind) accept(t, from *Type) error {
	if from.IsBlob() {
		return mismatch(t, from)
	}
	return nil
}
